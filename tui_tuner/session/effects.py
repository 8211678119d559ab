"""What a strategy may do, put together from the session's effects."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation, Failure
from tui_tuner.format import configuration_words, factor_interval
from tui_tuner.journal.recall import Recall
from tui_tuner.memory import Memory, Recollection
from tui_tuner.memory.entry import (
    MOST_HELPED,
    MOST_OTHERS,
    HelpfulStep,
    MemoryEntry,
    TimedConfiguration,
    features_of,
    times_of,
)
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.report import SessionOutcome
from tui_tuner.search.client import SearchClient
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import UseStrategy
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.evaluations import KernelBench
from tui_tuner.session.machine import Machine
from tui_tuner.session.plan import Emit, Inbox, Instruction, Plan, Thaw
from tui_tuner.session.proposals import JournaledSearch
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.talk import Talk
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.base import BudgetSpent, Incumbent, StepSkipped, Strategy
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.rewriting.failures import Rejected
from tui_tuner.strategies.steps import UNCHANGED, ApprovalLevel, Decision, Step, StepState
from tui_tuner.subjects import Source


class SessionEffects(Talk):
    """Implements `tui_tuner.strategies.base.Effects` for one session.

    Attributes:
        options: what the user chose.
        bench: the device and all that was evaluated on it.
        remembering: the memory of earlier sessions.
        tuned_baseline: the kernel as given with its own tunables tuned, where that made it faster.
        cut_short: why the budget let less be evaluated than was last asked for; empty where it did not.
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
        super().__init__(conversation, plan, inbox, budget, emit)
        self._run = run
        self._recall = recall
        self._search_process = machine.search_process
        self._frozen: Configuration = {}
        self._kept_free: set[str] = set()
        self.options: SessionOptions = run.options
        self.seed: int = run.options.seed
        self.wording: int = run.wording
        self.bench = KernelBench(machine, recall, budget, emit, plan.controls, run.options.delta, self._best_ms)
        self.remembering = SessionMemory(run, recall)
        self.problem: Problem = self.bench.problem
        self.baseline: Candidate = baseline(self.problem)
        self.incumbent = Incumbent(self.baseline, self.bench.given, UNCHANGED)
        self.tuned_baseline: Incumbent | None = None
        self.cut_short = ""
        self.refused: list[Evaluation] = []
        self._before: list[tuple[Incumbent, list[Step]]] = []
        self._told_missing: set[str] = set()
        self._successor: Strategy | None = None
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

    def take_successor(self) -> Strategy | None:
        """The strategy that the user wants to go on with, if there is one; what was planned before is given up."""
        successor, self._successor = self._successor, None
        if successor is not None:
            self.plan.give_up(f"the strategy is {successor.name} from here on")
            self._emit(events.StrategyChanged(strategy=successor.name))
        return successor

    def _check_strategy(self) -> None:
        """Whether the strategy is still the one that is wanted; it ends between two of its steps.

        Raises:
            BudgetSpent: it is not.
        """
        if self._successor is not None and not self.plan.under_way:
            raise BudgetSpent("another strategy goes on")

    def update_step(self, step: Step) -> Step:
        """Show a step as it is now."""
        if step.state is StepState.RUNNING:
            self._check_strategy()
        return super().update_step(step)

    def _check_asking(self) -> None:
        self._check_strategy()
        self.budget.check_target(self.incumbent.speedup[0])
        self.budget.check_evaluations()

    def proposals(self, search: SearchClient, content: Mapping[str, Any]) -> JournaledSearch:
        """What a search chooses, journaled; it runs where the session's other searches do."""
        search.process = self._search_process
        known = content.get("known", 0)
        most = search.space.size_up_to(content["most"] + known) - known
        self._emit(events.SearchBegun(candidate=content["candidate"], evaluations=most))
        return JournaledSearch(self._recall, search, content)

    async def evaluate(
        self, candidate: Candidate, configurations: Sequence[Configuration], unfinished: int = 0
    ) -> list[Evaluation]:
        """Build, verify and measure; the kernel is kept as a file."""
        self._inbox.effect_begins()
        self._check_strategy()
        self._run.keep_kernel(candidate)
        self.cut_short = ""
        try:
            self.budget.check_target(self.incumbent.speedup[0])
            return await self.bench.evaluate(candidate, configurations, unfinished)
        except StepSkipped:
            raise
        except BudgetSpent as spent:
            self.cut_short = str(spent)
            raise

    async def approve(
        self,
        step: Step,
        candidate: Source | None = None,
        rationale: str = "",
        *,
        about: ApprovalLevel | None = None,
    ) -> Decision:
        """Put a step to the user; a proposed kernel is kept as a file."""
        self._check_strategy()
        if candidate is not None:
            self._run.keep_kernel(candidate)
        return await super().approve(step, candidate, rationale, about=about)

    async def _have_accepted(self, evaluation: Evaluation, comparison: Comparison) -> None:
        """Ask whether what is faster becomes the incumbent, where the user wants to be asked about that.

        Raises:
            Rejected: it does not.
        """
        under_way = self.plan.under_way
        if self.plan.controls.level is not ApprovalLevel.ACCEPT or not under_way:
            return
        faster = factor_interval(comparison.factor)
        words = f"{faster} over the best so far, {configuration_words(evaluation.configuration)}: take it as the best?"
        decision = await super().approve(under_way[0], rationale=words, about=ApprovalLevel.ACCEPT)
        if decision.action != "approve":
            self.refused.append(evaluation)
            raise Rejected(decision.message, faster)
        self.plan.put(under_way[0])

    async def challenge(self, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against the incumbent; it becomes the incumbent if it is faster."""
        comparison = await self.compare(self.incumbent, candidate, evaluation)
        if not self.bench.is_faster(comparison):
            self.refused.append(evaluation)
            return comparison
        await self._have_accepted(evaluation, comparison)
        before = self.incumbent.speedup
        speedup = (before[0] * comparison.ratio, before[1] * comparison.low, before[2] * comparison.high)
        is_direct = self.incumbent.evaluation == self.bench.given
        self._before.append((self.incumbent, self.plan.under_way))
        self.incumbent = Incumbent(candidate, evaluation, speedup, comparison if is_direct else None)
        if candidate.id == self.baseline.id:
            self.tuned_baseline = self.incumbent
            self._emit(events.BaselineMeasured(given=self.bench.given, tuned=evaluation))
        self._emit(events.IncumbentChanged(candidate=candidate, evaluation=evaluation, speedup=speedup))
        return comparison

    def fall_back(self, failure: Failure) -> None:
        """Take the incumbent before the present one, which is wrong after all; what made it the best is rejected."""
        self.refused.append(self.incumbent.evaluation)
        self.note(f"the best is wrong after all: {failure.in_words}", warning=True)
        self.incumbent, steps = self._before.pop()
        for step in steps:
            self.plan.put(step.now(StepState.REJECTED, reason=f"wrong after all: {failure.in_words}"))
        best = self.incumbent
        self._emit(
            events.IncumbentChanged(
                candidate=best.candidate, evaluation=best.evaluation, speedup=best.speedup, refuted=failure
            )
        )

    async def compare(self, incumbent: Incumbent, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against any other, interleaved and on fresh data."""
        self._inbox.effect_begins()
        return await self.bench.compare(incumbent, candidate, evaluation)

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """What is known of a configuration that was measured, beside its time."""
        if not self.bench.profiles:  # nor does a run that began without them count an operation for it
            return NO_PROFILE
        self._inbox.effect_begins()
        profile = await self.bench.profile(candidate, configuration)
        for reason in profile.missing:
            if reason not in self._told_missing:
                self._told_missing.add(reason)
                self.note(f"not profiled: {reason}")
        return profile

    def _obey(self, instruction: Instruction) -> None:
        if isinstance(instruction, UseStrategy):
            self._follow(instruction)
            return
        if not isinstance(instruction, Thaw):
            super()._obey(instruction)
            return
        self._kept_free.add(instruction.name)
        if self._frozen.pop(instruction.name, None) is not None:
            self._emit(events.ParametersFrozen(frozen=dict(self._frozen)))

    def _follow(self, wanted: UseStrategy) -> None:
        """Go on with another strategy once the present step is done."""
        try:
            self._successor = strategy_named(wanted.name, wanted.options)
        except SettingsError as error:
            self.note(f"{error.message}; the strategy stays", warning=True)
            return
        self.note(f"strategy {self._successor.name} goes on once the present step is done")

    def _best_ms(self) -> float | None:
        return self.incumbent.evaluation.ms


class SessionMemory:
    """The memory as the journal knows it, and the live one behind it."""

    def __init__(self, run: RunDirectory, recall: Recall) -> None:
        self._run = run
        self._recall = recall
        self._memory: Memory | None = None
        self._told: set[str] = set()

    def use(self, memory: Memory | None) -> None:
        """Ask and tell this memory from now on; a replay has none."""
        self._memory = memory

    async def recollect(self, problem: Problem, device: DeviceInfo, candidate: Candidate) -> Recollection:
        """What the memory offered when it was first asked; nothing, and no record of it, where it is off."""
        if not (self._run.options.memory or self._run.options.cache_replies):
            return Recollection()

        async def live() -> Recollection:
            return Recollection() if self._memory is None else await self._memory.recall(problem, device, candidate)

        content = {"candidate": candidate.id}
        if not self._recall.writable and self._recall.known("memory", content) is None:
            return Recollection()  # an earlier version did not ask here
        return await self._recall.once_as(Recollection, "memory", content, live)

    def news_of(self, found: Recollection) -> Iterator[tuple[str, bool]]:
        """What people should know of a recollection and were not told yet, and whether it is a warning."""
        kernels, seeds = len(found.lines), len(found.seeds)
        offer = f"from earlier sessions: {kernels} similar kernels, {seeds} configurations" if kernels or seeds else ""
        for text, warning in ((offer, False), (found.warning, True)):
            if text and text not in self._told:
                self._told.add(text)
                yield text, warning

    async def keep(
        self, problem: Problem, outcome: SessionOutcome, best: Incumbent, measured: list[Evaluation], steps: list[Step]
    ) -> str:
        """Keep what a live session found, if that is an improvement; returns why it could not be kept, or nothing.

        Args:
            measured: of the best kernel.
            steps: those that were accepted.
        """
        if self._memory is None or outcome.status != "finished":
            return ""
        header = self._run.journal.header
        run = hashlib.sha256(f"{self._run.path.resolve()}\n{header.get('created')}".encode()).hexdigest()[:32]
        try:
            entry = MemoryEntry(
                created=str(header.get("created")),
                features=features_of(problem),
                device=outcome.device.name,
                kind=outcome.device.kind,
                architecture=outcome.device.architecture,
                times=times_of(outcome.device),
                best=_measured([best.evaluation])[0],
                others=_measured([e for e in measured if e.configuration != best.evaluation.configuration]),
                speedup=outcome.speedup,
                helped=[_helped(step) for step in steps[:MOST_HELPED]],
            )
        except (ValidationError, IndexError) as error:
            return f"this session is not remembered: {error}"
        return await self._memory.remember(run, entry)


def _measured(evaluations: list[Evaluation]) -> list[TimedConfiguration]:
    fastest = fastest_first(evaluations)[:MOST_OTHERS]
    return [TimedConfiguration(configuration=e.configuration, ms=e.ms) for e in fastest if e.ms is not None]


def _helped(step: Step) -> HelpfulStep:
    return HelpfulStep(title=step.title, factor=None if step.factor is None else step.factor[0])
