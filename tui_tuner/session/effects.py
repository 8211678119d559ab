"""What a strategy may do, put together from the session's effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.memory.recollection import Recollection
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.search.client import Search
from tui_tuner.search.rounds import RoundOptions
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.evaluations import Evaluations
from tui_tuner.session.inbox import Inbox
from tui_tuner.session.instructions import Instruction, Thaw
from tui_tuner.session.machine import Machine
from tui_tuner.session.plan import Plan
from tui_tuner.session.proposals import Proposals
from tui_tuner.session.recall import Recall
from tui_tuner.session.remembering import Remembering
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.talk import Emit, Talk
from tui_tuner.strategies.base import Incumbent
from tui_tuner.strategies.steps import Decision, Step


class SessionEffects(Talk):
    """Implements `tui_tuner.strategies.base.Effects` for one session."""

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
        self._options = run.options
        self._machine = machine
        self._recall = recall
        self._budget = budget
        self.remembering = Remembering(run, recall)
        self._frozen: Configuration = {}
        self._kept_free: set[str] = set()
        self.baseline: Candidate = baseline(machine.problem)
        self.given: Evaluation = machine.started.given
        self.incumbent = Incumbent(self.baseline, self.given, (1.0, 1.0, 1.0))
        self.tuned_baseline: Incumbent | None = None
        self.evaluations = Evaluations(machine, recall, budget, emit, self._best_ms)
        self.evaluations.keep(self.given)
        self._open()

    @property
    def problem(self) -> Problem:
        """The problem, at the sizes that the device is tuned for."""
        return self._machine.problem

    @property
    def device(self) -> DeviceInfo:
        """The device."""
        return self._machine.device

    @property
    def members(self) -> Sequence[Configuration] | None:
        """The only configurations of the kernel as given that there are, as in a recording; None for all valid ones."""
        return self._machine.started.members

    @property
    def budget(self) -> Budget:
        """What is spent so far."""
        return self._budget

    @property
    def elapsed(self) -> float:
        """Seconds since the session began."""
        return self._recall.elapsed

    @property
    def sandbox(self) -> str:
        """How builds are confined, in one line."""
        return self._machine.started.sandbox

    @property
    def search_method(self) -> str | None:
        """The search that the user named, None for the default."""
        return self._options.search

    @property
    def rounds(self) -> RoundOptions:
        """How a model chooses configurations round by round."""
        return self._options.rounds

    @property
    def seed(self) -> int:
        """Seed of every random choice of the strategy."""
        return self._options.seed

    @property
    def evaluations_left(self) -> int:
        """How many more evaluations the budget allows."""
        return self._budget.evaluations_left

    @property
    def model_calls(self) -> int:
        """How often the model was called so far."""
        return self._budget.model_calls

    @property
    def frozen(self) -> Configuration:
        """The tunables that are held at a value."""
        return dict(self._frozen)

    @property
    def accepted_steps(self) -> list[Step]:
        """The steps that made a new best."""
        return self._plan.accepted()

    async def recollect(self, candidate: Candidate | None = None) -> Recollection:
        """What earlier sessions found for kernels like this one."""
        found = await self.remembering.recollect(self.problem, self.device, candidate or self.baseline)
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
        self._budget.check_target(self.incumbent.speedup[0])
        self._budget.check_evaluations()

    def head_start(self, candidate: Candidate, configuration: Configuration) -> None:
        """Begin with an evaluation that will probably be asked for."""
        self.evaluations.head_start(candidate, configuration)

    async def drop_head_starts(self) -> None:
        """End those evaluations that nobody asked for."""
        await self.evaluations.drop_head_starts()

    def proposals(self, search: Search, content: Mapping[str, Any]) -> Proposals:
        """What a search chooses, journaled."""
        return Proposals(self._recall, search, content)

    async def evaluate(self, candidate: Candidate, configurations: Sequence[Configuration]) -> list[Evaluation]:
        """Build, verify and measure; the kernel is kept as a file."""
        self._run.keep_kernel(candidate)
        self._budget.check_target(self.incumbent.speedup[0])
        return await self.evaluations.batch(candidate, configurations)

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """All that was evaluated of a candidate so far."""
        return self.evaluations.of(candidate)

    async def approve(self, step: Step, candidate: Candidate | None = None, rationale: str = "") -> Decision:
        """Put a step to the user; a proposed kernel is kept as a file."""
        if candidate is not None:
            self._run.keep_kernel(candidate)
        return await super().approve(step, candidate, rationale)

    def is_faster(self, comparison: Comparison) -> bool:
        """Whether the interval's lower end is above the least gain that counts."""
        return comparison.failure is None and comparison.low > 1 + self._options.delta

    async def challenge(self, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against the incumbent; it becomes the incumbent if it is faster."""
        comparison = await self.compare(self.incumbent, candidate, evaluation)
        if not self.is_faster(comparison):
            return comparison
        before = self.incumbent.speedup
        speedup = (before[0] * comparison.ratio, before[1] * comparison.low, before[2] * comparison.high)
        self.incumbent = Incumbent(candidate, evaluation, speedup)
        if candidate.id == self.baseline.id:
            self.tuned_baseline = self.incumbent
            self._emit(events.BaselineMeasured(given=self.given, tuned=evaluation))
        self._emit(events.IncumbentChanged(candidate=candidate, evaluation=evaluation, speedup=speedup))
        return comparison

    async def compare(self, incumbent: Incumbent, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against any other, interleaved and on fresh data."""
        old, new = incumbent.evaluation.configuration, evaluation.configuration
        content = {
            "incumbent": [incumbent.candidate.id, old],
            "challenger": [candidate.id, new],
            **self._machine.context,
        }

        async def live() -> dict[str, Any]:
            evaluator = await self._machine.evaluator()
            comparison = await evaluator.compare((incumbent.candidate, old), (candidate, new), self._options.delta)
            return comparison.model_dump(mode="json")

        comparison = Comparison.model_validate(await self._recall.once("compare", content, live))
        self._emit(events.Compared(candidate=candidate.id, configuration=new, comparison=comparison))
        return comparison

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
