"""The effect `recollect`, and what is kept of a session when it ends with an improvement."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.journal.recall import Recall
from tui_tuner.memory.entry import (
    MOST_HELPED,
    MOST_OTHERS,
    HelpfulStep,
    MemoryEntry,
    TimedConfiguration,
)
from tui_tuner.memory.features import features_of
from tui_tuner.memory.memory import Memory
from tui_tuner.memory.recollection import Recollection
from tui_tuner.memory.similarity import times_of
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Problem
from tui_tuner.report.result import SessionOutcome
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.strategies.base import Incumbent
from tui_tuner.strategies.steps import Step


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

        async def live() -> dict[str, Any]:
            found = Recollection() if self._memory is None else await self._memory.recall(problem, device, candidate)
            return found.model_dump(mode="json")

        return Recollection.model_validate(await self._recall.once("memory", {"candidate": candidate.id}, live))

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
    timed = [(e.timing.median, e.configuration) for e in evaluations if e.timing is not None]
    fastest = sorted(timed, key=lambda pair: pair[0])[:MOST_OTHERS]
    return [TimedConfiguration(configuration=configuration, ms=milliseconds) for milliseconds, configuration in fastest]


def _helped(step: Step) -> HelpfulStep:
    return HelpfulStep(title=step.title, factor=None if step.factor is None else step.factor[0])
