"""The effect `evaluate`: a batch of configurations, each evaluated once, many on their way at a time.

A search that can choose the next ones before all are known waits for those that are done first; which they were is
recorded, as `first`.

Speculation begins with what a reply will probably ask for while it still arrives. It is recorded when it is asked for,
so that no result depends on it.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.evaluator import in_both_turns
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.format import configuration_words
from tui_tuner.journal.recall import Recall
from tui_tuner.problem.candidate import Candidate, Configured, baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.processes.limits import usable_cores
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import Controls
from tui_tuner.session.machine import Machine
from tui_tuner.strategies.base import BudgetSpent, Incumbent, StepSkipped

BUILDING = usable_cores()
"""As many builds at once as there are cores, or as the evaluator says, of several devices, if that is more."""
WAITING = 2
"""And so many for each device that are at work there or wait for it."""


class KernelBench:
    """Implements `tui_tuner.strategies.views.BenchView`: evaluates and compares, and knows what came of it.

    Args:
        machine: started.
        controls: end what the user skips.
        delta: least relative gain that counts.
        best_ms: tells the incumbent's time, so that hopeless configurations are cut short.

    Attributes:
        problem: at the sizes that the device is tuned for.
        sandbox: how builds are confined, in one line.
        members: the only configurations of the kernel as given that there are, as in a recording; None for all valid
            ones.
        given: the kernel as given, in its default configuration.
        library: what the library needs that the problem names.
        allowed: how far outputs may be off, see `MachineReport.allowed`.
        profiles: whether more can be told of a configuration than its time.
        fastest: what was measured as fastest, the kernel as given apart; None before anything was.
        devices: how many measure side by side.
    """

    def __init__(
        self,
        machine: Machine,
        recall: Recall,
        budget: Budget,
        emit: Callable[[events.Event], None],
        controls: Controls,
        delta: float,
        best_ms: Callable[[], float | None],
    ) -> None:
        self.problem: Problem = machine.problem
        self.device: DeviceInfo = machine.device
        self.sandbox: str = machine.started.sandbox
        self.members: Sequence[Configuration] | None = machine.started.members
        self.given: Evaluation = machine.started.given
        self.library: LibraryTime | None = machine.started.library
        self.allowed: Mapping[str, AllowedError] = machine.started.allowed
        self.profiles: bool = machine.started.profiles
        self.devices: int = max(1, len(machine.started.devices))
        self._places = asyncio.Semaphore(max(BUILDING, machine.started.jobs) + WAITING * self.devices)
        self._machine = machine
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._controls = controls
        self._delta = delta
        self._best_ms = best_ms
        self.fastest: tuple[Candidate, Evaluation] | None = None
        self._numbers: dict[tuple[str, str], int] = {}
        self._by_candidate: dict[str, dict[str, Evaluation]] = defaultdict(dict)
        self._by_candidate[self.given.candidate][_name(self.given.configuration)] = self.given
        self._candidates = {self.given.candidate: baseline(self.problem)}
        self._speculations: dict[tuple[str, str], asyncio.Future[dict[str, Any]]] = {}
        self._profiles: dict[tuple[str, str], Profile] = {}

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """All evaluations of a candidate, in their order."""
        return list(self._by_candidate[candidate.id].values())

    def all_evaluations(self) -> list[Evaluation]:
        """All evaluations of the session."""
        return [evaluation for known in self._by_candidate.values() for evaluation in known.values()]

    async def evaluate(
        self, candidate: Candidate, configurations: Sequence[Configuration], unfinished: int = 0
    ) -> list[Evaluation]:
        """One evaluation a configuration, in their order; so many may be missing, which go on.

        Raises:
            BudgetSpent: the budget did not reach for all.
            StepSkipped: the user ended it before all were done.
        """
        if not unfinished:
            return await self._all(candidate, configurations)
        first = await self._first(candidate, configurations, len(configurations) - unfinished)
        evaluations = await self._all(candidate, [configurations[place] for place in first["done"]])
        if "skipped" in first:
            raise StepSkipped(first["skipped"])
        return evaluations

    async def _first(self, candidate: Candidate, configurations: Sequence[Configuration], count: int) -> dict[str, Any]:
        """Begin with all of them, and say which are done once so many are."""
        names = [(candidate.id, _name(one)) for one in configurations]
        for name in names:
            self._number(name)

        async def live() -> dict[str, Any]:
            for one in configurations:
                self.speculate(candidate, one)
            begun = {name: self._speculations[name] for name in names if name in self._speculations}
            (ended,) = await self._controls.run([_done([*begun.values()], count - len(names) + len(begun))])
            done = [place for place, name in enumerate(names) if name not in begun or begun[name].done()]
            return {"done": done, **({"skipped": str(ended)} if isinstance(ended, StepSkipped) else {})}

        content = {"candidate": candidate.id, "configurations": [name for _, name in names]}
        return await self._recall.once("first", self._recall.nth("first", content), live)

    async def _all(self, candidate: Candidate, configurations: Sequence[Configuration]) -> list[Evaluation]:
        name = candidate.id
        known = self._by_candidate[name]
        self._candidates[name] = candidate
        new = {_name(c): c for c in configurations if _name(c) not in known}
        allowed = list(new.values())[: self._budget.allowed_of(len(new))]
        content = self._recall.nth("skipped", {"candidate": name, "configurations": [*map(_name, allowed)]})
        skipped = self._recall.known("skipped", content)
        done = range(len(allowed)) if skipped is None else skipped["done"]
        jobs = [
            self._one(candidate, name, c) if index in done else self._left_out(candidate, c)
            for index, c in enumerate(allowed)
        ]
        outcomes = await self._controls.run(jobs)
        for outcome in outcomes:
            if isinstance(outcome, Evaluation):
                known[_name(outcome.configuration)] = outcome
        if skipped is not None:
            raise StepSkipped(skipped["reason"])
        for outcome in outcomes:
            if isinstance(outcome, StepSkipped):
                done = [index for index, each in enumerate(outcomes) if isinstance(each, Evaluation)]
                self._recall.record("skipped", content, {"reason": str(outcome), "done": done})
            if isinstance(outcome, BudgetSpent):
                raise outcome
        if len(allowed) < len(new):
            raise BudgetSpent(f"the {self._budget.evaluations} evaluations allowed are made")
        return [known[_name(c)] for c in configurations]

    async def compare(self, incumbent: Incumbent, candidate: Candidate, evaluation: Evaluation) -> Comparison:
        """Time a configuration against any other, interleaved and on fresh data."""
        old, new = incumbent.evaluation.configuration, evaluation.configuration
        content = {
            "incumbent": [incumbent.candidate.id, old],
            "challenger": [candidate.id, new],
            **self._machine.context,
        }

        async def live() -> Comparison:
            evaluator = await self._machine.evaluator()
            comparing = evaluator.compare((incumbent.candidate, old), (candidate, new), self._delta)
            return await self._machine.watched(comparing)

        self._emit(events.ComparisonBegun(candidate=candidate.id, configuration=new))
        comparison = await self._recall.once_as(Comparison, "compare", content, live)
        self._emit(events.Compared(candidate=candidate.id, configuration=new, comparison=comparison))
        return comparison

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """What is known of a configuration that was measured, beside its time, where `profiles` says that it can be."""
        name = candidate.id, _name(configuration)
        if name in self._profiles:
            return self._profiles[name]

        async def live() -> Profile:
            evaluator = await self._machine.evaluator()
            counting = evaluator.profile(candidate, configuration)
            return await self._machine.watched(counting, beside="the device's counters of a launch")

        self._emit(events.ProfileBegun(candidate=candidate.id, configuration=configuration))
        content = self._content(name[0], configuration)
        self._profiles[name] = profile = await self._recall.once_as(Profile, "profile", content, live)
        measured = self._by_candidate[candidate.id][name[1]]
        found = diagnosis(self.problem, self.device, candidate, measured, profile)
        self._emit(events.Profiled(candidate=name[0], configuration=configuration, profile=profile, diagnosis=found))
        return profile

    async def compare_beside(self, first: Configured, second: Configured) -> Comparison:
        """Time two configurations that were measured in turns, see `in_both_turns`; the strategy learns nothing of it.

        Raises:
            UserError: one of them was not measured, or the machine cannot time them.
        """
        pair = self._measured(first), self._measured(second)
        evaluator = await self._machine.evaluator()
        return await self._machine.watched(in_both_turns(evaluator, *pair, self._delta))

    def _measured(self, one: Configured) -> tuple[Candidate, Configuration]:
        known = self._by_candidate.get(one.candidate, {}).get(_name(one.configuration))
        if known is None or known.timing is None:
            raise SettingsError(f"{one.candidate} was not timed with {configuration_words(one.configuration)}")
        return self._candidates[one.candidate], one.configuration

    @property
    def least_gain(self) -> float:
        """The relative gain that makes a challenger the incumbent, at least."""
        return self._delta

    def is_faster(self, comparison: Comparison) -> bool:
        """Whether the interval's lower end is above the least gain that counts."""
        return comparison.is_faster(self._delta)

    def speculate(self, candidate: Candidate, configuration: Configuration) -> None:
        """Begin to evaluate what will probably be asked for; nothing is recorded or booked before it is."""
        key = (candidate.id, _name(configuration))
        if not self._recall.is_live or key in self._speculations or key[1] in self._by_candidate[candidate.id]:
            return
        self._speculations[key] = asyncio.ensure_future(self._live(self._number(key), candidate, configuration))

    async def cancel_speculation(self) -> None:
        """End the evaluations that nobody asked for."""
        left, self._speculations = self._speculations, {}
        for key, begun in left.items():
            if not begun.cancel():  # what is cancelled on its way says so itself
                self._emit(events.EvaluationLeft(number=self._number(key)))
        await asyncio.gather(*left.values(), return_exceptions=True)

    async def _one(self, candidate: Candidate, name: str, configuration: Configuration) -> Evaluation | BudgetSpent:
        content = self._content(name, configuration)
        number, live = self._begun(candidate, configuration)
        stopped = self._recall.known("stopped", content)
        if stopped is not None:
            return BudgetSpent(stopped["reason"])
        try:
            result = await self._recall.once("evaluate", content, live)
        except BudgetSpent as spent:
            self._recall.record("stopped", content, {"reason": str(spent)})
            return spent
        evaluation = Evaluation.model_validate(result)
        if evaluation.is_counted:
            self._budget.book_evaluations(1)
        if evaluation.ms is not None and evaluation.ms < (self._fastest_ms or math.inf):
            self.fastest = candidate, evaluation
        held_by = diagnosis(self.problem, self.device, candidate, evaluation)
        self._emit(events.EvaluationFinished(number=number, evaluation=evaluation, diagnosis=held_by))
        return evaluation

    async def _left_out(self, candidate: Candidate, configuration: Configuration) -> BudgetSpent:
        """Nothing, of an evaluation that was skipped before; it had a number."""
        self._begun(candidate, configuration)
        return StepSkipped()

    @property
    def _fastest_ms(self) -> float | None:
        return None if self.fastest is None else self.fastest[1].ms

    def _begun(
        self, candidate: Candidate, configuration: Configuration
    ) -> tuple[int, Callable[[], Awaitable[dict[str, Any]]]]:
        """The number of an evaluation and what does it, which may be under way already."""
        key = (candidate.id, _name(configuration))
        number, begun = self._number(key), self._speculations.pop(key, None)
        if begun is not None:
            return number, lambda: begun
        return number, lambda: self._live(number, candidate, configuration)

    def _number(self, key: tuple[str, str]) -> int:
        """The number of an evaluation: they are numbered as they are first named, after the kernel as given."""
        return self._numbers.setdefault(key, len(self._numbers) + 2)

    async def _live(self, number: int, candidate: Candidate, configuration: Configuration) -> dict[str, Any]:
        async with self._places:
            await self._recall.may_begin()
            self._budget.check_time(self._recall.elapsed)
            self._emit(events.EvaluationStarted(number=number, candidate=candidate.id, configuration=configuration))
            evaluator = await self._machine.evaluator()
            best = min(filter(None, (self._best_ms(), self._fastest_ms)), default=None)
            evaluating = evaluator.evaluate(candidate, configuration, best)
            try:
                evaluation = await self._machine.watched(evaluating, alone=False)
            except asyncio.CancelledError:
                self._emit(events.EvaluationLeft(number=number))
                raise
        return evaluation.model_dump(mode="json")

    def _content(self, candidate: str, configuration: Configuration) -> dict[str, Any]:
        return {"candidate": candidate, "configuration": configuration, **self._machine.context}


async def _done(tasks: Sequence[asyncio.Future[Any]], count: int) -> None:
    """Wait until so many are done; once one of them is out of budget, so that none follows, until all are."""
    while left := [task for task in tasks if not task.done()]:
        ended = [task for task in tasks if task.done()]
        if len(ended) >= count and not any(isinstance(task.exception(), BudgetSpent) for task in ended):
            return
        await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)


def _name(configuration: Configuration) -> str:
    return repr(sorted(configuration.items()))
