"""What a strategy may do, put together from the session's effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.journal.recall import Recall
from tui_tuner.memory.recollection import Recollection
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.search.client import SearchClient
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.evaluations import KernelBench
from tui_tuner.session.inbox import Inbox
from tui_tuner.session.instructions import Instruction, Thaw
from tui_tuner.session.machine import Machine
from tui_tuner.session.options import SessionOptions
from tui_tuner.session.plan import Plan
from tui_tuner.session.proposals import JournaledSearch
from tui_tuner.session.remembering import SessionMemory
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.talk import Emit, Talk
from tui_tuner.source import Source
from tui_tuner.strategies.base import Incumbent
from tui_tuner.strategies.steps import Decision, Step


class SessionEffects(Talk):
    """Implements `tui_tuner.strategies.base.Effects` for one session.

    Attributes:
        options: what the user chose.
        budget: what is spent and what is left.
        bench: the device and all that was evaluated on it.
        remembering: the memory of earlier sessions.
        tuned_baseline: the kernel as given with its own tunables tuned, where that made it faster.
    """

    def __init__(
        self,
        run: RunDirectory,
        machine: Machine,
        recall: Recall,
        budget: Budget,
        conversation: Conversation,
        plan: Plan,
        inbox: Inbox,
        emit: Emit,
    ) -> None:
        super().__init__(conversation, plan, inbox, emit)
        self._run = run
        self._recall = recall
        self._frozen: Configuration = {}
        self._kept_free: set[str] = set()
        self.options: SessionOptions = run.options
        self.seed: int = run.options.seed
        self.budget = budget
        self.bench = KernelBench(machine, recall, budget, emit, run.options.delta, self._best_ms)
        self.remembering = SessionMemory(run, recall)
        self.problem: Problem = self.bench.problem
        self.baseline: Candidate = baseline(self.problem)
        self.incumbent = Incumbent(self.baseline, self.bench.given, (1.0, 1.0, 1.0))
        self.tuned_baseline: Incumbent | None = None
        self._open()

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return self._recall.elapsed

    @property
    def frozen(self) -> Configuration:
        """The tunables that are held at a value."""
        return dict(self._frozen)

    async def recollect(self, candidate: Candidate | None = None) -> Recollection:
        """What earlier sessions found for kernels like this one."""
        found = await self.remembering.recollect(self.problem, self.bench.device, candidate or self.baseline)
        for text, warning in self.remembering.news_of(found):
            self.note(text, warning=warning)
        return found

    def freeze(self, frozen: Configuration) -> None:
        """Hold tunables at a value, where the user does not want them free."""
        wanted = {name: value for name, value in frozen.items() if name not in self._kept_free}
        if wanted != self._frozen:
            self._frozen = wanted
            self._emit(events.ParametersFrozen(frozen=wanted))
        self._inbox.operation_done()

    def _check_asking(self) -> None:
        self.budget.check_target(self.incumbent.speedup[0])
        self.budget.check_evaluations()

    def proposals(self, search: SearchClient, content: Mapping[str, Any]) -> JournaledSearch:
        """What a search chooses, journaled."""
        return JournaledSearch(self._recall, search, content)

    async def evaluate(self, candidate: Candidate, configurations: Sequence[Configuration]) -> list[Evaluation]:
        """Build, verify and measure; the kernel is kept as a file."""
        self._run.keep_kernel(candidate)
        self.budget.check_target(self.incumbent.speedup[0])
        return await self.bench.evaluate(candidate, configurations)

    async def approve(self, step: Step, candidate: Source | None = None, rationale: str = "") -> Decision:
        """Put a step to the user; a proposed kernel is kept as a file."""
        if candidate is not None:
            self._run.keep_kernel(candidate)
        return await super().approve(step, candidate, rationale)

    async def challenge(self, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against the incumbent; it becomes the incumbent if it is faster."""
        comparison = await self.compare(self.incumbent, candidate, evaluation)
        if not self.bench.is_faster(comparison):
            return comparison
        before = self.incumbent.speedup
        speedup = (before[0] * comparison.ratio, before[1] * comparison.low, before[2] * comparison.high)
        self.incumbent = Incumbent(candidate, evaluation, speedup)
        if candidate.id == self.baseline.id:
            self.tuned_baseline = self.incumbent
            self._emit(events.BaselineMeasured(given=self.bench.given, tuned=evaluation))
        self._emit(events.IncumbentChanged(candidate=candidate, evaluation=evaluation, speedup=speedup))
        return comparison

    async def compare(self, incumbent: Incumbent, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against any other, interleaved and on fresh data."""
        return await self.bench.compare(incumbent, candidate, evaluation)

    def _obey(self, instruction: Instruction) -> None:
        if not isinstance(instruction, Thaw):
            super()._obey(instruction)
            return
        self._kept_free.add(instruction.name)
        if self._frozen.pop(instruction.name, None) is not None:
            self._emit(events.ParametersFrozen(frozen=dict(self._frozen)))

    def _best_ms(self) -> float | None:
        timing = self.incumbent.evaluation.timing
        return None if timing is None else timing.median
