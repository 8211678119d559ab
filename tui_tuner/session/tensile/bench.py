"""The effect `benchmark`: one run of Tensile, recorded with what it said."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.journal.recall import Recall
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.tensile.run_directory import TensileRun
from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.strategies.tensile.effects import as_candidate
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.installed.ask import check_installed
from tui_tuner.tensile.installed.verdict import Standing, Verdict
from tui_tuner.tensile.measure import Bench, measure
from tui_tuner.tensile.outcome import FINALS, RoundOutcome


class Benchmarks:
    """Runs Tensile, or recalls what it said.

    Args:
        bench: None in a replay.
    """

    def __init__(
        self,
        run: TensileRun,
        bench: Bench | None,
        recall: Recall,
        budget: Budget,
        emit: Callable[[events.Event], None],
    ) -> None:
        self._run = run
        self._bench = bench
        self._recall = recall
        self._budget = budget
        self._emit = emit
        self._told_not_asked = False

    async def start(self) -> dict[str, Any]:
        """Which Tensile measures; recorded once.

        Raises:
            JournalError: this is another one than the session began with.
        """

        async def live() -> dict[str, Any]:
            return self._here()

        recorded = await self._recall.once("tensile", {}, live)
        if self._bench is not None and self._here()["version"] != recorded["version"]:
            here, then = self._here()["version"] or "?", recorded["version"] or "?"
            raise JournalError(
                f"the session was measured with Tensile {then}; here is {here}",
                hint="name that one with --tensile, or begin a new session",
            )
        return recorded

    def _have_bench(self) -> Bench:
        if self._bench is None:
            raise RuntimeError("a replay runs nothing")
        return self._bench

    def _here(self) -> dict[str, Any]:
        tensile = self._have_bench().tensile
        return {"program": tensile.program.name, "version": tensile.version}

    async def refusal(self, configuration: Configuration) -> str:
        """Why the installed Tensile would not take a configuration; empty if it would, or cannot be asked."""
        content = {"text": _digest(configuration.text), "sizes": _digest(self._run.sizes_text or "")}

        async def live() -> dict[str, Any]:
            verdict = await check_installed(self._have_bench().tensile, configuration.text, self._run.sizes_text)
            return verdict.model_dump(mode="json")

        verdict = Verdict.model_validate(await self._recall.once("installed", content, live))
        if verdict.standing is Standing.NOT_ASKED and not self._told_not_asked:
            self._told_not_asked = True
            self._emit(events.Note(text=f"Tensile's own parser is not asked about edits: {verdict.message}"))
        ours = tuple(group.permutations for group in configuration.size_groups)
        if verdict.permutations and verdict.permutations != ours:
            text = f"Tensile itself counts {sum(verdict.permutations):,} permutations, this program {sum(ours):,}"
            self._emit(events.Note(level="warning", text=text))
        return verdict.message if verdict.standing is Standing.REFUSED else ""

    async def benchmark(self, number: int, configuration: Configuration) -> RoundOutcome:
        """Measure a configuration as this round.

        Raises:
            BudgetSpent: the budget allows no further run.
        """
        candidate = as_candidate(configuration, "").id
        started = events.BenchmarkStarted(
            round=number, candidate=candidate, permutations=configuration.permutations, sizes=configuration.sizes
        )
        content = {"round": number, "text": _digest(configuration.text), "sizes": _digest(self._run.sizes_text or "")}

        async def live() -> dict[str, Any]:
            stopped = self._stopped(configuration)
            if stopped:
                return {"stopped": stopped}
            self._emit(started)
            outcome = await self._measure(number, configuration)
            return outcome.model_dump(mode="json")

        result = self._recall.known("benchmark", content)
        if result is None:
            result = await self._recall.once("benchmark", content, live)
        elif "stopped" not in result:
            self._emit(started)
        if "stopped" in result:
            raise BudgetSpent(result["stopped"])
        outcome = RoundOutcome.model_validate(result)
        self._budget.evaluations += configuration.permutations
        self._emit(events.BenchmarkFinished(round=number, candidate=candidate, outcome=outcome))
        for text in outcome.notes:
            self._emit(events.Note(level="warning", text=text))
        return outcome

    async def _measure(self, number: int, configuration: Configuration) -> RoundOutcome:
        label = f"{number:02d}" if number < FINALS else f"finals-{number - FINALS + 1}"

        def tell(line: str) -> None:
            self._emit(events.BenchmarkOutput(round=number, text=line))

        directory = self._run.directory_of(label)
        try:
            return await measure(self._have_bench(), configuration, directory, tell)
        except OSError as error:
            hint = "make room or mend what is wrong there, then resume the run"
            raise JournalError(f"cannot be written: {error.strerror}", hint=hint, file=directory) from error

    def _stopped(self, configuration: Configuration) -> str:
        """Why this run is not begun; empty if it may be."""
        left = self._budget.evaluations_left
        if configuration.permutations > left:
            return f"the run would measure {configuration.permutations:,} permutations, {left:,} are left"
        try:
            self._budget.check_time(self._recall.elapsed)
        except BudgetSpent as spent:
            return str(spent)
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
