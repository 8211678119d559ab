"""What the rounds may do, put together from the session's effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_tuner.llm.base import Message
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.inbox import Inbox
from tui_tuner.session.plan import Plan
from tui_tuner.session.recall import Recall
from tui_tuner.session.talk import Emit, Talk
from tui_tuner.session.tensile.bench import Benchmarks
from tui_tuner.session.tensile.run_directory import UNLIMITED, TensileRun
from tui_tuner.strategies.base import ATTEMPTS, Listener, ReplyType
from tui_tuner.strategies.tensile.options import TensileOptions
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.sizes import ProblemSizes
from tui_tuner.tensile.outcome import RoundOutcome, Winner, geometric_mean


class TensileSessionEffects(Talk):
    """Implements `tui_tuner.strategies.tensile.effects.TensileEffects` for one session."""

    def __init__(
        self,
        run: TensileRun,
        benchmarks: Benchmarks,
        recall: Recall,
        budget: Budget,
        conversation: Conversation,
        plan: Plan,
        inbox: Inbox,
        emit: Emit,
    ) -> None:
        super().__init__(conversation, plan, inbox, emit)
        self._run = run
        self._benchmarks = benchmarks
        self._recall = recall
        self._budget = budget
        self._gain = 1.0
        self._open()

    @property
    def given(self) -> Configuration:
        """The configuration as the user gave it."""
        return self._run.configuration

    @property
    def sizes(self) -> ProblemSizes | None:
        """Those of a file of their own."""
        return self._run.sizes

    @property
    def options(self) -> TensileOptions:
        """The user's settings."""
        return self._run.settings

    @property
    def elapsed(self) -> float:
        """Seconds since the session began, as first recorded."""
        return self._recall.elapsed

    @property
    def permutations_left(self) -> int | None:
        """How many more may be measured; None for no limit."""
        unlimited = self._run.options.max_evaluations >= UNLIMITED
        return None if unlimited else self._budget.evaluations_left

    def show_winners(self, number: int, winners: Sequence[Winner]) -> None:
        """Tell the best at every problem size, after a round."""
        self._gain = geometric_mean(w.gain for w in winners if w.gain is not None) or 1.0
        self._emit(events.WinnersChanged(round=number, winners=list(winners)))

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int = ATTEMPTS,
        listener: Listener | None = None,
    ) -> ReplyType:
        """A validated reply of the model; a target that is met ends the session before it."""
        self._budget.check_target(self._gain)
        return await super().ask(purpose, messages, reply_type, check, attempts, listener)

    async def refusal(self, configuration: Configuration) -> str:
        """Why the installed Tensile itself would not take a configuration."""
        return await self._benchmarks.refusal(configuration)

    async def benchmark(self, number: int, configuration: Configuration) -> RoundOutcome:
        """Let Tensile measure a configuration."""
        return await self._benchmarks.benchmark(number, configuration)
