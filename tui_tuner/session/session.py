"""A tuning session: drives a strategy, records its effects, and tells the story as one stream of events."""

from __future__ import annotations

from tui_tuner import __version__
from tui_tuner.errors import UserError
from tui_tuner.evaluate.datasets import label_of
from tui_tuner.evaluate.results import Comparison, Evaluator
from tui_tuner.format import time_unit
from tui_tuner.journal.journal import RecordEnds
from tui_tuner.llm.base import Backend
from tui_tuner.memory.memory import Memory
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Test
from tui_tuner.report import SessionOutcome, count_failures, title_of, write_as_written, write_best
from tui_tuner.session.effects import SessionEffects
from tui_tuner.session.events import BaselineMeasured, DeviceReady, Note, SessionStarted
from tui_tuner.session.machine import Machine
from tui_tuner.session.plan import Plan
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.base import BudgetSpent, Incumbent, ModelFailed, Strategy
from tui_tuner.strategies.choose import fault_of
from tui_tuner.strategies.propose_tests import propose_tests
from tui_tuner.strategies.rewriting.failures import CandidateFailed
from tui_tuner.strategies.steps import Approver, Factor
from tui_tuner.subjects import KERNEL, Subject


class Session(EventStream):
    """A live, resumed or replayed session.

    Args:
        evaluator: None in a replay.
        backend: None where there is no model, and in a replay.
        memory: None where it is off, and in a replay.
    """

    def __init__(
        self,
        run: RunDirectory,
        strategy: Strategy,
        evaluator: Evaluator | None,
        backend: Backend | None,
        *,
        max_tokens: int = 16384,
        memory: Memory | None = None,
    ) -> None:
        super().__init__(run, backend, max_tokens, f"{run.problem.kernel.source} | {strategy.name}")
        self._run = run
        self._strategy = strategy
        self._memory = memory
        self._machine = Machine(run.problem, evaluator, self._recall)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return KERNEL

    async def _close(self) -> None:
        try:
            await self._machine.close()
        finally:
            await super()._close()

    async def _tune(self, approver: Approver) -> None:
        self._emit(Note(text="taking the device; checking and timing the kernel as given"))
        started = await self._machine.start(await self._proposed_tests())
        self._emit(DeviceReady(device=started.device, sandbox=started.sandbox))
        if started.note:
            self._emit(Note(level="warning", text=started.note))
        for test in started.tests:
            sizes = {**self._machine.problem.sizes, **test.sizes}
            self._emit(Note(text=f"verified as well, as the model proposed: {label_of(sizes, test.inputs)}"))
        for dropped in started.dropped:
            self._emit(Note(text=f"a test that the model proposed is of no use: {dropped}"))
        for left_out in started.left_out:
            self._emit(Note(text=f"not checked, since the kernel as given fails there itself: {left_out}"))
        self._emit(BaselineMeasured(given=started.given))
        plan = Plan(approver, self._recall, self._emit)
        effects = SessionEffects(
            self._run,
            self._machine,
            self._recall,
            self._budget,
            self._conversation,
            plan,
            self._inbox,
            self._emit,
        )
        effects.remembering.use(self._memory)
        try:
            reason = await self._run_strategy(effects)
        finally:
            await effects.bench.cancel_speculation()
        await self._finish(effects, reason)

    async def _proposed_tests(self) -> list[Test]:
        """What the model proposes to verify at, where the user gives no tests."""
        problem = await self._machine.untested() if self._strategy.needs_model else None
        if problem is None:
            return []
        try:
            return await propose_tests(self._conversation.ask, problem)
        except (ModelFailed, BudgetSpent) as failed:
            self._emit(Note(level="warning", text=f"no tests, so only the timed size is verified: {failed}"))
            return []

    async def _run_strategy(self, effects: SessionEffects) -> str:
        try:
            await self._strategy.run(effects)
        except BudgetSpent as spent:
            return str(spent)
        except ModelFailed as failed:
            effects.note(str(failed), warning=True)
            return f"the model failed: {failed}"
        except CandidateFailed as failed:
            effects.note(failed.told, warning=True)
            return f"the strategy gave up: {failed.reason}"
        except (UserError, RecordEnds):
            raise
        except Exception as error:
            if type(self._strategy).__module__.startswith("tui_tuner."):
                raise
            fault = fault_of(self._strategy, error)
            effects.note(fault, warning=True)
            return fault
        return "the strategy is done"

    async def _finish(self, effects: SessionEffects, reason: str) -> None:
        outcome = await conclude(effects, self._run, self._strategy.name, reason)
        written = effects.incumbent.evaluation.as_written
        if written:
            effects.note(f"the best configuration, ready to paste: {written}")
        result = None
        if self._run.journal.writable:
            best = effects.incumbent
            write_best(
                self._run.path,
                effects.problem,
                self._run.problem_text,
                best.candidate,
                best.evaluation.configuration,
            )
            write_as_written(self._run.path, best.candidate.kernel, written)
            result = str(outcome.write(self._run.path))
            await self._remember(effects, outcome)
        self._emit(
            self._finished(outcome.status, reason, speedup=outcome.speedup, times=outcome.paired_times, result=result)
        )

    async def _remember(self, effects: SessionEffects, outcome: SessionOutcome) -> None:
        best = effects.incumbent
        measured = effects.bench.evaluations_of(best.candidate)
        failed = await effects.remembering.keep(effects.problem, outcome, best, measured, effects.plan.accepted())
        if failed:
            effects.note(failed, warning=True)

    def _started(self) -> SessionStarted:
        problem = self._run.problem
        return self._begun(str(problem.kernel.source), problem.language, self._strategy.name, baseline(problem))


UNCHANGED: Factor = (1.0, 1.0, 1.0)


async def conclude(effects: SessionEffects, run: RunDirectory, strategy: str, reason: str) -> SessionOutcome:
    """Time the best against the kernel as given, and against that kernel with its own parameters tuned.

    Both are paired measurements on fresh data: factors found on the way are never multiplied into a claim.
    """
    best, tuned = effects.incumbent, effects.tuned_baseline
    given = Incumbent(effects.baseline, effects.bench.given, UNCHANGED)
    comparison = None if best.evaluation == effects.bench.given else await _against(effects, given)
    over_tuned = None
    if tuned is not None and best.evaluation != tuned.evaluation:
        over_tuned = _factor(await _against(effects, tuned))
    speedup = UNCHANGED if comparison is None else _factor(comparison)
    return SessionOutcome(
        program=__version__,
        kernel=str(run.problem.kernel.source),
        status="finished" if speedup[1] > 1 else "no_improvement",
        reason=reason,
        strategy=strategy,
        model=run.model,
        seed=run.options.seed,
        device=effects.bench.device,
        sandbox=effects.bench.sandbox,
        time_unit=time_unit(cpu=effects.bench.device.cpu_times),
        baseline=effects.bench.given,
        baseline_tuned=None if tuned is None else tuned.evaluation,
        best=best.evaluation,
        best_title=title_of(best.candidate),
        speedup=speedup,
        speedup_over_tuned=over_tuned,
        comparison=comparison,
        evaluations=effects.budget.evaluations,
        builds=sum(e.build_ms > 0 for e in effects.bench.all_evaluations()),
        failures=count_failures(effects.bench.all_evaluations()),
        model_calls=effects.budget.model_calls,
        cost=effects.budget.cost,
        elapsed_s=effects.elapsed,
    )


async def _against(effects: SessionEffects, old: Incumbent) -> Comparison:
    best = effects.incumbent
    return await effects.compare(old, best.candidate, best.evaluation)


def _factor(comparison: Comparison) -> Factor:
    if comparison.failure is not None:
        return UNCHANGED
    return comparison.ratio, comparison.low, comparison.high
