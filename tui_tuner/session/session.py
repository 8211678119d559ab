"""A tuning session: drives a strategy, records its effects, and tells the story as one stream of events."""

from __future__ import annotations

import math
from contextlib import suppress

from tui_tuner.errors import UserError
from tui_tuner.evaluate.evaluator import Evaluator, MachineReport
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.journal.reading import RESULT
from tui_tuner.journal.recall import RecordEnds
from tui_tuner.llm import Backend
from tui_tuner.memory import Memory
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.inputs import array_bytes, label_of
from tui_tuner.problem.model import Test
from tui_tuner.report import SessionOutcome
from tui_tuner.search import DEFAULT_METHOD, methods_of
from tui_tuner.session.conversation import Models
from tui_tuner.session.effects import SessionEffects
from tui_tuner.session.events import (
    BaselineMeasured,
    DeviceReady,
    EvaluationFinished,
    Event,
    IncumbentChanged,
    Note,
    SessionFinished,
    SessionStarted,
)
from tui_tuner.session.machine import Machine
from tui_tuner.session.outcome import best_so_far, conclude, outcome_so_far, write_outcome
from tui_tuner.session.plan import Plan
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.base import BudgetSpent, Incumbent, ModelFailed, Strategy
from tui_tuner.strategies.choose import fault_of
from tui_tuner.strategies.propose_tests import propose_tests
from tui_tuner.strategies.rewriting.failures import CandidateFailed
from tui_tuner.strategies.single_step import tune_incumbent_last
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import KERNEL, Subject

MUCH_BYTES = 2**29


class Session(EventStream):
    """A live, resumed or replayed session.

    Args:
        evaluator: None in a replay.
        backend: None where there is no model, and in a replay.
        memory: None where it is off, and in a replay.
        models: makes another model by its name; None where none can be had.
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
        models: Models | None = None,
    ) -> None:
        super().__init__(run, backend, max_tokens, f"{run.problem.kernel.source} | {strategy.name}", models)
        self._run = run
        self._strategy = strategy
        self._memory = memory
        self._machine = Machine(run.problem, evaluator, self._recall, self._warn, self._note)
        self._effects: SessionEffects | None = None
        self._kept_best: Incumbent | None = None
        self._unkept = ""

    @property
    def subject(self) -> Subject:
        """What the session is about."""
        return KERNEL

    async def _close(self) -> None:
        try:
            await self._machine.close()
        finally:
            await super()._close()

    async def _tune(self, approver: Approver) -> None:
        self._emit(Note(text=f"taking the device; checking and timing the kernel as given{await self._memory_words()}"))
        started = await self._machine.start(await self._proposed_tests(), method=self._first_method())
        self._tell_of(started)
        plan = Plan(approver, self._recall, self._emit, self._controls)
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
        self._effects, self._kept_best = effects, effects.incumbent
        self._pairs.use(effects.bench)
        try:
            reason = await self._run_strategy(effects)
            while (successor := effects.take_successor()) is not None:
                self._strategy = successor
                reason = await self._run_strategy(effects)
        finally:
            await effects.bench.cancel_speculation()
        await self._finish(effects, reason)

    def _tell_of(self, started: MachineReport) -> None:
        """The device, what is verified where, and the kernel as given."""
        devices = [*started.devices]
        self._emit(
            DeviceReady(device=started.device, sandbox=started.sandbox, devices=devices, library=started.library)
        )
        if started.library is not None:
            self._emit(Note(text=f"a library computes the same: {started.library.in_words}"))
        if started.note:
            self._emit(Note(level="warning", text=started.note))
        for test in started.tests:
            sizes = {**self._machine.problem.sizes, **test.sizes}
            self._emit(Note(text=f"verified as well, as the model proposed: {label_of(sizes, test.inputs)}"))
        for dropped in started.dropped:
            self._emit(Note(text=f"a test that the model proposed is of no use: {dropped}"))
        for left_out in started.left_out:
            self._emit(Note(text=f"left out of all checks: {left_out}"))
        problem = self._machine.problem
        held_by = diagnosis(problem, started.device, baseline(problem), started.given)
        self._emit(BaselineMeasured(given=started.given, diagnosis=held_by))

    async def _memory_words(self) -> str:
        """What the arrays take at the timed size: where that is much, preparing them takes its time."""
        if array_bytes(self._run.problem, {}) < MUCH_BYTES:
            return ""
        sized = await self._machine.sized()
        nbytes = 0 if sized is None else array_bytes(sized, {})
        return f" (its arrays take {nbytes / 2**30:.1f} GiB)" if nbytes >= MUCH_BYTES else ""

    def _first_method(self) -> str | None:
        """The method that the strategy begins with, where that is one which takes its time to load."""
        configurations = math.prod(map(len, self._run.problem.tunables.values()))
        if not self._strategy.searches_first or configurations <= self._budget.evaluations_left:
            return None
        return methods_of(self._run.options.search or DEFAULT_METHOD).local

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
            if not self._conversation.is_over:
                return str(spent)
        except ModelFailed as failed:
            effects.note(str(failed), warning=True)
            return f"the model failed: {failed}"
        except CandidateFailed as failed:
            effects.note(failed.told, warning=True)
            return f"the strategy gave up: {failed.reason}"
        except (UserError, RecordEnds):
            raise
        except (Exception, SystemExit) as error:
            if type(self._strategy).__module__.startswith("tui_tuner."):
                raise
            fault = fault_of(self._strategy, error)
            self._keep_best(fault.message)
            raise fault from error
        if self._conversation.is_over:
            return await self._search_only(effects)
        return effects.cut_short or "the strategy is done"

    async def _search_only(self, effects: SessionEffects) -> str:
        """What the user chose in the place of a model that fails: the best kernel's parameters are searched."""
        try:
            await tune_incumbent_last(effects, rounds=False)
        except BudgetSpent as spent:
            return str(spent)
        return effects.cut_short or "the parameters are searched; you chose to go on without the model"

    async def _finish(self, effects: SessionEffects, reason: str) -> None:
        outcome = await conclude(effects, self._run, self._strategy.name, reason)
        written = effects.incumbent.evaluation.as_written
        if written:
            effects.note(f"the best configuration, ready to paste: {written}")
        self._effects = None
        result = None
        if self._run.journal.writable:
            result = write_outcome(outcome, effects.incumbent, effects, self._run)
            await self._remember(effects, outcome)
        self._emit(
            self._finished(outcome.status, reason, speedup=outcome.speedup, times=outcome.paired_times, result=result)
        )

    def _warn(self, text: str) -> None:
        self._emit(Note(level="warning", text=text))

    def _note(self, text: str) -> None:
        self._emit(Note(text=text))

    def _emit(self, event: Event) -> None:
        super()._emit(event)
        if isinstance(event, EvaluationFinished | IncumbentChanged):
            try:
                self._keep_best("the session has not come to its end", only_new=True)
            except OSError as error:  # the journal has all of it: the next evaluation is early enough
                self._tell_unkept(error)

    def _keep_best(self, reason: str, *, only_new: bool = False) -> SessionOutcome | None:
        """Have the best so far on disk, whatever happens next; what was written, if anything was."""
        effects = self._effects
        if effects is None or not self._run.journal.writable:
            return None
        best = best_so_far(effects)
        if only_new and best == self._kept_best:
            return None
        outcome = outcome_so_far(best, effects, self._run, self._strategy.name, reason)
        write_outcome(outcome, best, effects, self._run)
        self._kept_best, self._unkept = best, ""
        return outcome

    def _tell_unkept(self, error: OSError) -> None:
        """Say once that the best so far could not be written, and that it will be tried again."""
        text = f"the best so far could not be written, tried again after the next evaluation: {error.strerror}"
        if text != self._unkept:
            self._unkept = text
            self._warn(text)

    def _told_so_far(self, reason: str) -> SessionOutcome | None:
        """The best so far of a record that ends before its session does, which nothing is written of."""
        effects = self._effects
        if effects is None or self._run.journal.writable:
            return None
        return outcome_so_far(best_so_far(effects), effects, self._run, self._strategy.name, reason)

    def _interrupted(self, reason: str) -> SessionFinished:
        outcome = None
        with suppress(OSError):  # a disk that is full may be why
            outcome = self._keep_best(reason) or self._told_so_far(reason)
        if outcome is None:
            return super()._interrupted(reason)
        result = str(self._run.path / RESULT) if self._run.journal.writable else None
        given, best = outcome.baseline.timing, outcome.best.timing
        if given is None or best is None or outcome.best == outcome.baseline:
            return self._finished("interrupted", reason, result=result)
        return self._finished(
            "interrupted",
            reason,
            speedup=outcome.speedup,
            times=outcome.paired_times or (given.median, best.median),
            confirmed=outcome.confirmed,
            result=result,
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
