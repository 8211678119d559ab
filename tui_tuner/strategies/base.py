"""What a strategy is, and what it may do: a handful of awaited effects, each of them journaled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.llm import Message
from tui_tuner.memory import Recollection
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.search.client import SearchClient
from tui_tuner.session_options import SearchOptions
from tui_tuner.strategies import PLACES
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Factor, Step
from tui_tuner.strategies.views import BenchView, BudgetView, ModelView, Proposals
from tui_tuner.subjects import Source

ATTEMPTS = 3
"""Calls for one question at most, where a strategy does not say otherwise."""
ReplyType = TypeVar("ReplyType", bound=BaseModel)
Read = TypeVar("Read")
Listener = Callable[[], Callable[[str], None]]
"""Called at the start of each live call of the model; what it returns is given the words as they arrive."""


class BudgetSpent(Exception):
    """No more evaluations, calls, time or money; or the target is met. What is known stays known."""


class StepSkipped(BudgetSpent):
    """The user ended what ran; a search ends with what it found, and the strategy goes on with its next step."""


class ModelGone(BudgetSpent):
    """The model cannot be reached again and again; what is known stays known.

    Attributes:
        partial: what had arrived of a reply that broke off.
    """

    def __init__(self, reason: str, partial: str = "") -> None:
        super().__init__(reason)
        self.partial = partial


class ModelFailed(Exception):
    """The model gave no usable reply; it costs the question, not the session.

    Attributes:
        partial: what had arrived of a reply that broke off.
        way_out: what the user can do about it.
    """

    def __init__(self, reason: str, partial: str = "", way_out: str = "") -> None:
        super().__init__(reason)
        self.partial = partial
        self.way_out = way_out


class FaultyReply(Exception):
    """A reply of the right form that cannot be used.

    Attributes:
        faults: everything that is wrong with it, in words for the model.
    """

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = [*faults]


async def ask_and_read(
    ask: Callable[[Callable[[ReplyType], list[str]]], Awaitable[ReplyType]], read: Callable[[ReplyType], Read]
) -> Read:
    """What `read` makes of a reply of the model; it is the check of the reply as well, and reads it once.

    Args:
        ask: asks with the check that it is given, as the effect `ask` does.
        read: raises `FaultyReply` for a reply that is to be put back to the model.

    Raises:
        FaultyReply: `ask` brings a faulty reply without checking it.
    """
    last: list[Read] = []

    def check(reply: ReplyType) -> list[str]:
        try:
            last[:] = [read(reply)]
        except FaultyReply as faulty:
            return faulty.faults
        return []

    reply = await ask(check)
    return last[0] if last else read(reply)


@dataclass(frozen=True)
class Incumbent:
    """The best accepted so far.

    Attributes:
        speedup: how much faster it is than the kernel as given, with the ends of the interval.
        comparison: in turns with the kernel as given; None where it was timed in turns with another, or not at all.
    """

    candidate: Candidate
    evaluation: Evaluation
    speedup: Factor
    comparison: Comparison | None = None


class Dialogue(Protocol):
    """What a session of any kind offers that has to do with people and the model; all of it journaled."""

    @property
    def model(self) -> ModelView:
        """What is known of the model."""

    def add_step(self, title: str, detail: str = "", after: Step | None = None) -> Step:
        """A new line of the plan, at its end or after another step."""

    def update_step(self, step: Step) -> Step:
        """Show a step in another state, as in `update_step(step.now(StepState.RUNNING))`; returns it."""

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line of the story for people."""

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int = ATTEMPTS,
        listener: Listener | None = None,
    ) -> ReplyType:
        """A reply of the model, validated; what the user told the session goes with the prompt.

        Args:
            purpose: the name of the prompt, as in "plan".
            check: lists what else is wrong with a reply that has the right form, in words for the model.
            attempts: calls at most; all but the first put the faults of a reply back to the model.
            listener: hears a reply while it arrives; in a replay, where none does, nothing.

        Raises:
            ModelFailed: it gives no usable reply.
            BudgetSpent: the budget allows no further call, or the model is gone.
        """

    async def approve(
        self,
        step: Step,
        candidate: Source | None = None,
        rationale: str = "",
        *,
        about: ApprovalLevel | None = None,
    ) -> Decision:
        """Put a step to the user, if they want to be asked about such a thing.

        Args:
            about: what is decided; None for a kernel where there is a candidate, else for a step.
        """


class Effects(Dialogue, Protocol):
    """What the session offers a strategy. Asked again with the same content, the journal answers.

    What it does are methods; what it knows is in parts: `bench`, `budget`, `model` and `options`.
    """

    @property
    def bench(self) -> BenchView:
        """The device, and all that was evaluated on it."""

    @property
    def budget(self) -> BudgetView:
        """What is spent and what is left."""

    @property
    def options(self) -> SearchOptions:
        """What the user chose for the search of parameters."""

    @property
    def problem(self) -> Problem:
        """The problem, at the sizes that the device is tuned for."""

    @property
    def baseline(self) -> Candidate:
        """The kernel as given."""

    @property
    def incumbent(self) -> Incumbent:
        """The best accepted so far."""

    @property
    def seed(self) -> int:
        """Seed of every random choice of the strategy."""

    @property
    def wording(self) -> int:
        """The wording of the prompts, as `tui_tuner.prompts.WORDING` was when the session began."""

    @property
    def frozen(self) -> Configuration:
        """The tunables that are frozen at a value."""

    def proposed_steps(self) -> list[Step]:
        """The steps that are still to come, in the order of the plan, as the user left them."""

    def freeze(self, frozen: Configuration) -> None:
        """Hold tunables at a value from now on, where the user does not want them free."""

    async def recollect(self, candidate: Candidate | None = None) -> Recollection:
        """What earlier sessions found for kernels like this one; empty where the user wants no memory.

        Args:
            candidate: the kernel that its configurations are for, None for the one as given.
        """

    def proposals(self, search: SearchClient, content: Mapping[str, Any]) -> Proposals:
        """What a search chooses, journaled: use this and not the search itself.

        Args:
            content: all that determines the search.
        """

    async def evaluate(
        self, candidate: Candidate, configurations: Sequence[Configuration], unfinished: int = 0
    ) -> list[Evaluation]:
        """Build, verify and measure; one result a configuration, in their order.

        Args:
            unfinished: so many results may be missing, those that take longest. They are worked at until they are asked
                for again, or given up by `bench.cancel_speculation`.

        Raises:
            BudgetSpent: the budget does not reach for all of them; those done are in `bench.evaluations_of`.
            StepSkipped: the user ended it; those done are there as well.
        """

    async def compare(self, incumbent: Incumbent, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against any other on fresh data, interleaved; changes no incumbent."""

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """What the compiler made of a configuration that was measured, and what the device counted while it ran.

        Empty where no tool can tell that.
        """

    async def challenge(self, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against the incumbent on fresh data; it becomes the incumbent if it is faster.

        Raises:
            Rejected: it is faster, and the user, who wants to be asked, does not want it.
        """


_NAME_AT = {place: name for name, place in PLACES.items()}


class Strategy(BaseModel, ABC):
    """A tuning strategy: ordinary async code, deterministic given its effects; its fields are its options.

    Attributes:
        name: as the user writes it; the class's own name where `strategies` has none for it.
        needs_model: whether it is of no use without a language model.
        searches_first: whether it begins with a search of the tunables, without a model.
        rewrites: whether it changes the kernel's code, which not every device can build.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    name: ClassVar[str]
    needs_model: ClassVar[bool] = False
    searches_first: ClassVar[bool] = False
    rewrites: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401  # pydantic's own options
        super().__init_subclass__(**options)
        if "name" not in cls.__dict__:
            cls.name = _NAME_AT.get(f"{cls.__module__}:{cls.__qualname__}", cls.__name__)

    def kept(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of the options that it was made from, so that it can be made again on any machine."""
        return dict(options)

    @abstractmethod
    async def run(self, session: Effects) -> None:
        """Tune; what is found is in `session.incumbent`.

        Raises:
            BudgetSpent: may be passed on, the session ends with the incumbent.
        """
