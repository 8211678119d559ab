"""Evaluations that wait in the session's thread, gathered into batches for the thread that can make them."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem, Test

QUIET_S = 0.1
"""A batch is complete when for so long no further evaluation was asked for, seconds."""


@dataclass(frozen=True)
class EmbeddedStart:
    """Somebody waits for the device and the kernel as given."""

    answer: Future[MachineReport] = field(default_factory=Future)


@dataclass(frozen=True)
class EmbeddedEvaluation:
    """Somebody waits for an evaluation."""

    candidate: Candidate
    configuration: Configuration
    answer: Future[Evaluation] = field(default_factory=Future)


@dataclass(frozen=True)
class EmbeddedComparison:
    """Somebody waits for a comparison."""

    incumbent: Configuration
    challenger: Configuration
    delta: float
    answer: Future[Comparison] = field(default_factory=Future)


EmbeddedRequest = EmbeddedStart | EmbeddedEvaluation | EmbeddedComparison


class BatchingEvaluator:
    """Implements `tui_tuner.evaluate.evaluator.Evaluator`; another thread does the work, a batch at a time."""

    def __init__(self) -> None:
        self._asked: queue.Queue[EmbeddedRequest | None] = queue.Queue()
        self._next: EmbeddedRequest | None = None

    async def sized_problem(self) -> Problem | None:
        """None: a model cannot propose other arguments than those that the kernel was called with."""
        return None

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """The device and the kernel as given."""
        asked = EmbeddedStart()
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, check and time one configuration."""
        asked = EmbeddedEvaluation(candidate, configuration)
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        """Time two configurations, interleaved."""
        asked = EmbeddedComparison(incumbent[1], challenger[1], delta)
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def close(self) -> None:
        """Do nothing: the device is the other program's."""

    def end(self) -> None:
        """Nobody will ask any more."""
        self._asked.put(None)

    def next_batch(self) -> Sequence[EmbeddedRequest] | None:
        """Wait for what is asked next: one start or comparison, or many evaluations; None at the end."""
        first = self._next or self._asked.get()
        self._next = None
        if not isinstance(first, EmbeddedEvaluation):
            return None if first is None else [first]
        batch: list[EmbeddedRequest] = [first]
        while True:
            try:
                asked = self._asked.get(timeout=QUIET_S)
            except queue.Empty:
                return _wanted(batch)
            if not isinstance(asked, EmbeddedEvaluation):
                self._keep(asked)
                return _wanted(batch)
            batch.append(asked)

    def _keep(self, asked: EmbeddedRequest | None) -> None:
        if asked is None:
            self.end()
        self._next = asked


def _wanted(batch: Sequence[EmbeddedRequest]) -> list[EmbeddedRequest]:
    """What is still waited for."""
    return [asked for asked in batch if asked.answer.set_running_or_notify_cancel()]
