"""What the rounds may do, put together from the session's effects."""

from __future__ import annotations

from collections.abc import Sequence

from tui_tuner.journal.recall import Recall
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.inbox import Inbox
from tui_tuner.session.plan import Plan
from tui_tuner.session.talk import Emit, Talk
from tui_tuner.session.tensile.bench import Benchmarks
from tui_tuner.session.tensile.run_directory import UNLIMITED, TensileRun
from tui_tuner.strategies.tensile.options import TensileOptions
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.sizes import ProblemSizes
from tui_tuner.tensile.outcome import RoundOutcome, Winner, mean_gain


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
        self._gain = mean_gain(winners) or 1.0
        self._emit(events.WinnersChanged(round=number, winners=list(winners)))

    def _check_asking(self) -> None:
        self._budget.check_target(self._gain)

    async def refusal(self, configuration: Configuration) -> str:
        """Why the installed Tensile itself would not take a configuration."""
        return await self._benchmarks.refusal(configuration)

    async def benchmark(self, number: int, configuration: Configuration) -> RoundOutcome:
        """Let Tensile measure a configuration."""
        return await self._benchmarks.benchmark(number, configuration)
