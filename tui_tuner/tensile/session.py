"""A Tensile session: drives the rounds, records their effects, and tells the story as one stream of events."""

from __future__ import annotations

from typing import Any, Literal

from tui_tuner import __version__
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.llm.base import Backend
from tui_tuner.session.events import DeviceReady, Note, SessionStarted
from tui_tuner.session.plan import Plan
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.base import BudgetSpent, ModelFailed
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import Subject
from tui_tuner.tensile.document.notices import notices
from tui_tuner.tensile.effects import BenchmarkEffect, TensileEffects
from tui_tuner.tensile.events import text_of
from tui_tuner.tensile.finals import Finals, metrics, run_finals
from tui_tuner.tensile.history import History, MeasuredRound
from tui_tuner.tensile.knowledge.known import Knowledge
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import mean_gain
from tui_tuner.tensile.report import RoundSummary, TensileOutcome, write_report
from tui_tuner.tensile.rounds import TensileRounds
from tui_tuner.tensile.run_directory import TensileRun
from tui_tuner.tensile.subject import TENSILE

EDITED, WINNERS = "best.yaml", "winners.yaml"
_SANDBOX = "Tensile builds and runs kernels as it always does; a model reaches it through checked values only"


class TensileSession(EventStream):
    """A live, resumed or replayed session.

    Args:
        bench: None in a replay.
        backend: None where there is no model, and in a replay.
    """

    def __init__(
        self,
        run: TensileRun,
        knowledge: Knowledge,
        bench: TensileBench | None,
        backend: Backend | None,
        *,
        max_tokens: int = 16384,
    ) -> None:
        super().__init__(run, backend, max_tokens, f"{run.configuration.file.name} | tensile")
        self._run = run
        self._knowledge = knowledge
        self._benchmarks = BenchmarkEffect(run, bench, self._recall, self._budget, self._emit)

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return TENSILE

    async def _tune(self, approver: Approver) -> None:
        started = await self._benchmarks.start()
        self._emit(DeviceReady(device=self._device(started), sandbox=_SANDBOX))
        self._tell_notices()
        plan = Plan(approver, self._recall, self._emit)
        effects = TensileEffects(
            self._run,
            self._benchmarks,
            self._recall,
            self._budget,
            self._conversation,
            plan,
            self._inbox,
            self._emit,
        )
        rounds = TensileRounds(effects, self._knowledge)
        reason = await self._run_rounds(rounds, effects)
        finals = await run_finals(effects, rounds.history)
        self._finish(rounds.history, finals, reason, started["version"])

    def _tell_notices(self) -> None:
        table = self._knowledge.table
        self._emit(Note(text=f"valid values: {table.name}, {table.source}"))
        for text in notices(self._run.configuration, table):
            self._emit(Note(level="warning", text=text))

    async def _run_rounds(self, rounds: TensileRounds, effects: TensileEffects) -> str:
        try:
            return await rounds.run()
        except BudgetSpent as spent:
            return str(spent)
        except ModelFailed as failed:
            effects.note(str(failed), warning=True)
            return f"the model failed: {failed}"

    def _finish(self, history: History, finals: Finals, reason: str, version: str) -> None:
        outcome = self._outcome(history, finals, reason, version)
        result = None
        if self._run.journal.writable:
            path = self._run.path
            (path / EDITED).write_bytes(history.current.text.encode("utf-8"))
            if finals.winners is not None:
                (path / WINNERS).write_bytes(finals.winners.text.encode("utf-8"))
            write_report(path, outcome)
            result = str(outcome.write(path))
        self._emit(self._finished(outcome.status, reason, speedup=outcome.gain, result=result))

    def _outcome(self, history: History, finals: Finals, reason: str, version: str) -> TensileOutcome:
        return TensileOutcome(
            program=__version__,
            configuration=self._run.configuration.file.name,
            status=self._status(history, finals),
            reason=reason,
            model=self._run.model,
            tensile=version,
            device=self._gpu(history),
            winners=list(history.winners.values()),
            rounds=[_summary_of(one) for one in history.rounds],
            gain=finals.speedup,
            metrics=metrics(history, finals.runs),
            permutations=self._budget.evaluations,
            model_calls=self._budget.model_calls,
            cost=self._budget.cost,
            elapsed_s=round(self._recall.elapsed, 3),
            edited=EDITED,
            winners_file=None if finals.winners is None else WINNERS,
        )

    def _status(self, history: History, finals: Finals) -> Literal["finished", "no_improvement", "failed"]:
        """An improvement is one that every run of the finalists shows; without them, one that the rounds saw."""
        if history.first is None:
            return "failed"
        if finals.gains:
            return "finished" if min(finals.gains) > 1 else "no_improvement"
        gain = mean_gain(history.winners.values()) or 1.0
        return "finished" if gain >= 1 + self._run.settings.min_gain else "no_improvement"

    def _gpu(self, history: History) -> str:
        first = history.first
        return self._run.settings.gpu or ("" if first is None else first.outcome.device)

    def _device(self, started: dict[str, Any]) -> DeviceInfo:
        name = self._run.settings.gpu or "AMD GPU"
        return DeviceInfo(kind="tensile", name=name, backend=f"Tensile {started['version']}".strip())

    def _started(self) -> SessionStarted:
        run = self._run
        given = text_of(run.configuration, "as given")
        return self._begun(run.configuration.file.name, "yaml", run.options.strategy, given)


def _summary_of(one: MeasuredRound) -> RoundSummary:
    failure = one.outcome.failure
    return RoundSummary(
        number=one.number,
        edits=[edit.words() for edit, _, _ in one.edits],
        permutations=one.configuration.permutations,
        seconds=one.outcome.seconds,
        gain=one.gain,
        failure=None if failure is None else f"{failure.kind}: {failure.message}",
    )
