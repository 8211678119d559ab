"""Evaluation of a kernel that is written in Python: this program chooses, Helion or Triton builds and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.python_kernels.client import KernelClient
from tui_tuner.evaluate.python_kernels.messages import (
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelEvaluationAnswer,
    KernelEvaluationRequest,
    KernelOpenRequest,
)
from tui_tuner.evaluate.python_kernels.process import DEFAULT, KernelProcess, ProcessOptions
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem, Test

BUILD_LIMIT_S = 60.0
"""As Helion's own limit."""
UNCONFINED = "none: the kernel's file is your own code and runs in a process of its own"


@dataclass(frozen=True)
class PythonOptions:
    """How to evaluate.

    Attributes:
        log: file for what the kernel's process prints.
        jobs: builds at once.
        process: how the kernel's process is started.
    """

    log: Path
    jobs: int
    build_limit_s: float = BUILD_LIMIT_S
    process: ProcessOptions = DEFAULT


class PythonEvaluator:
    """Evaluates configurations of one kernel; a candidate's text is always that of the user's file."""

    def __init__(self, problem: Problem, options: PythonOptions) -> None:
        self._problem = problem
        opening = KernelOpenRequest(
            file=str(problem.directory / problem.kernel.source),
            kernel=problem.kernel.name,
            source=problem.source_text,
            default=problem.default_configuration,
            tolerance=problem.tolerance,
            jobs=options.jobs,
            build_limit_s=options.build_limit_s,
        )
        self._client = KernelClient(partial(KernelProcess.start, options.log, options.process), opening)

    async def sized_problem(self) -> Problem | None:
        """None: a model cannot propose other arguments than the file's."""
        return None

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """Take the device, check and time the default configuration."""
        opened = await self._client.open()
        failure = opened.given.failure
        if failure is not None:
            raise ProblemError(
                f"the kernel as given fails: {failure.kind}, {failure.message}",
                hint="check the file's arguments and its default configuration",
                file=self._problem.directory / self._problem.kernel.source,
            )
        candidate = baseline(self._problem)
        given = _evaluation(candidate, candidate.default_configuration, opened.given)
        return MachineReport(device=opened.device, sandbox=UNCONFINED, note="", given=given)

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, check and time one configuration."""
        request = KernelEvaluationRequest(id=self._client.next_number(), configuration=configuration, best_ms=best_ms)
        answer = await self._client.ask(request)
        if not isinstance(answer, KernelEvaluationAnswer):
            raise RuntimeError(f"unexpected answer to evaluate: {answer!r}")
        return _evaluation(candidate, configuration, answer)

    async def compare(
        self, incumbent: tuple[Candidate, Configuration], challenger: tuple[Candidate, Configuration], delta: float
    ) -> Comparison:
        """Time two configurations, interleaved, on arguments made afresh."""
        request = KernelComparisonRequest(
            id=self._client.next_number(), incumbent=incumbent[1], challenger=challenger[1], delta=delta
        )
        answer = await self._client.ask(request)
        if not isinstance(answer, KernelComparisonAnswer):
            raise RuntimeError(f"unexpected answer to compare: {answer!r}")
        return answer.comparison

    async def close(self) -> None:
        """End the kernel's process."""
        await self._client.close()


def _evaluation(candidate: Candidate, configuration: Configuration, answer: KernelEvaluationAnswer) -> Evaluation:
    return Evaluation(
        candidate=candidate.id,
        configuration=configuration,
        timing=answer.timing,
        failure=answer.failure,
        resources=answer.resources,
        error=answer.error,
        as_written=answer.as_written,
        build_ms=answer.build_ms,
        verify_ms=answer.verify_ms,
        measure_ms=answer.measure_ms,
    )
