"""What a Tensile session offers the rounds: awaited effects, each of them journaled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.strategies.base import Dialogue
from tui_tuner.strategies.tensile.options import TensileOptions
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.sizes import ProblemSizes
from tui_tuner.tensile.outcome import RoundOutcome, Winner


class TensileEffects(Dialogue, Protocol):
    """The session as the rounds see it. Asked again with the same content, the journal answers."""

    @property
    def given(self) -> Configuration:
        """The configuration as the user gave it."""
        ...

    @property
    def options(self) -> TensileOptions:
        """The user's settings."""
        ...

    @property
    def sizes(self) -> ProblemSizes | None:
        """Those of a file of their own, as the alternate format has it."""
        ...

    @property
    def elapsed(self) -> float:
        """Seconds since the session began, as first recorded."""
        ...

    @property
    def permutations_left(self) -> int | None:
        """How many more may be measured; None for no limit."""
        ...

    def show_winners(self, number: int, winners: Sequence[Winner]) -> None:
        """Tell the best at every problem size, after a round."""
        ...

    async def refusal(self, configuration: Configuration) -> str:
        """Why the installed Tensile itself would not take a configuration; empty if it would, or cannot be asked."""
        ...

    async def benchmark(self, number: int, configuration: Configuration) -> RoundOutcome:
        """Let Tensile measure a configuration; a failure is in the outcome and costs only this run.

        Raises:
            BudgetSpent: the budget allows no further run.
        """
        ...


def as_candidate(configuration: Configuration, title: str) -> Candidate:
    """A configuration as what screens and journals know: a source with a title."""
    return Candidate(source=configuration.text, kernel=configuration.file.name, launch=Launch(), title=title)
