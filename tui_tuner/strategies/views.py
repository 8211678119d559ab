"""What a strategy can know: the parts of its effects, which have no more to them than these names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.search.client import KnownTimes


class Proposals(Protocol):
    """The choices of a search, journaled.

    Attributes:
        unfinished: of so many of the last batch no result is needed yet: they come again with the next.
    """

    unfinished: int

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def __aiter__(self) -> Self: ...

    async def __anext__(self) -> list[Configuration]:
        """The configurations to evaluate next."""

    async def tell(self, times: Sequence[float | None], others: KnownTimes = ()) -> None:
        """Tell the time of each configuration of the last batch, ms, None where it failed; see `SearchClient.tell`."""


class ModelView(Protocol):
    """What is known of the model."""

    async def prompt_tokens(self) -> int | None:
        """How many tokens a prompt may have; None if unknown."""


class BudgetView(Protocol):
    """What is spent and what is left."""

    @property
    def evaluations_left(self) -> int:
        """How many more evaluations are allowed."""

    @property
    def raised(self) -> int:
        """How many evaluations the user has added so far."""

    @property
    def model_calls(self) -> int:
        """How often the model was called so far."""

    @property
    def calls_left(self) -> int:
        """How many more calls of the model are allowed."""


class BenchView(Protocol):
    """The device, and all that was evaluated on it."""

    @property
    def device(self) -> DeviceInfo:
        """The device."""

    @property
    def members(self) -> Sequence[Configuration] | None:
        """The only configurations of the kernel as given that there are, as in a recording; None for all valid ones."""

    @property
    def given(self) -> Evaluation:
        """The kernel as given, in its default configuration."""

    @property
    def library(self) -> LibraryTime | None:
        """What the library needs that the problem names; None where none is."""

    @property
    def allowed(self) -> Mapping[str, AllowedError]:
        """How far elements of outputs may be off, by the names of these."""

    @property
    def devices(self) -> int:
        """How many devices measure side by side."""

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """All that was evaluated of a candidate so far."""

    @property
    def least_gain(self) -> float:
        """The relative gain that makes a challenger the incumbent, at least."""

    def is_faster(self, comparison: Comparison) -> bool:
        """Whether a comparison makes the challenger the incumbent."""

    def speculate(self, candidate: Candidate, configuration: Configuration) -> None:
        """Begin with an evaluation that will probably be asked for; that changes no result, only the time."""

    async def cancel_speculation(self) -> None:
        """End those evaluations that were begun and that nobody asked for."""
