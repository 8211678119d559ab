"""Evaluation of a kernel that is written in Python: described by its process; Helion or Triton builds and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.quoted import quoted
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.evaluate.sandbox.confinement import abi_version
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.problem.triton import is_rewritable
from tui_tuner.python_kernels import (
    KernelComparisonAnswer,
    KernelComparisonRequest,
    KernelEvaluationAnswer,
    KernelEvaluationRequest,
    KernelOpenRequest,
    Rewritten,
)
from tui_tuner.python_kernels.client import DEFAULT, KernelClient, KernelProcess, ProcessOptions
from tui_tuner.python_kernels.from_file import visible_gpu
from tui_tuner.python_kernels.tools import Launcher, MemoryWatch, PythonProfiler, profiling_tools

_OWN_CODE = "none: the kernel's file is your own code and runs in a process of its own"
_CONFINED = f"{_OWN_CODE}; what a model writes of it is compiled confined, by Landlock"


@dataclass(frozen=True)
class PythonOptions:
    """How to evaluate.

    Attributes:
        log: file for what the kernel's process prints.
        jobs: builds at once.
        process: how the kernel's process is started.
        allow_unconfined: whether what a model writes is compiled where nothing can confine that.
        profile: whether more is told of a configuration than its time.
        memcheck: whether a rewritten kernel is watched before it is accepted.
        nvcc: beside which the tools for profiles may be; None for the usual places.
    """

    log: Path
    jobs: int
    process: ProcessOptions = DEFAULT
    allow_unconfined: bool = False
    profile: bool = False
    memcheck: bool = False
    nvcc: Path | None = None


class PythonEvaluator:
    """Evaluates one kernel of the user's file, as it is and rewritten.

    Attributes:
        doing: nothing: its process does not tell.
    """

    doing = ""

    def __init__(self, problem: Problem, options: PythonOptions) -> None:
        self._problem = problem
        opening = KernelOpenRequest(
            file=str(problem.directory / problem.kernel.source),
            kernel=problem.kernel.name,
            host=None if problem.kernel.host is None else str(problem.directory / problem.kernel.host),
            source=problem.source_text,
            tensor_bytes=problem.kernel.tensor_bytes,
            default=problem.default_configuration,
            rewritten=self._rewritten(baseline(problem)),
            tolerance=problem.tolerance,
            jobs=options.jobs,
            allow_unconfined=options.allow_unconfined,
        )
        self._client = KernelClient(partial(KernelProcess.start, options.log, options.process), opening)
        self._policy = Policy(allow_unconfined=options.allow_unconfined)
        launcher = Launcher(opening, options.process, options.log)
        self._profiler: PythonProfiler | None = None
        if options.profile and (tools := profiling_tools(self._policy, options.nvcc)) is not None:
            self._profiler = PythonProfiler(tools, self._client, launcher)
        given = problem.default_configuration, opening.rewritten
        self._watch = MemoryWatch(launcher, given) if options.memcheck else None

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
        is_compiled_confined = abi_version() and is_rewritable(self._problem.source_text, self._problem.kernel.name)
        sandbox = _CONFINED if is_compiled_confined else _OWN_CODE
        profiles = self._profiler is not None
        return MachineReport(device=opened.device, sandbox=sandbox, note="", given=given, profiles=profiles)

    def news(self) -> Sequence[str]:
        """What tools are of no use; a device that is lost ends the session."""
        told: list[str] = []
        if self._watch is not None:
            told, self._watch.news = self._watch.news, told
        return told

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, check and time one configuration."""
        request = KernelEvaluationRequest(
            id=self._client.next_number(),
            configuration=configuration,
            rewritten=self._rewritten(candidate),
            best_ms=best_ms,
        )
        answer = await self._client.ask(request)
        if not isinstance(answer, KernelEvaluationAnswer):
            raise RuntimeError(f"unexpected answer to evaluate: {answer!r}")
        return _evaluation(candidate, configuration, answer)

    async def compare(
        self,
        incumbent: tuple[Candidate, Configuration],
        challenger: tuple[Candidate, Configuration],
        delta: float,
        *,
        thorough: bool = False,
    ) -> Comparison:
        """Time two configurations, interleaved, on arguments made afresh; a rewritten one that wins is watched too."""
        request = KernelComparisonRequest(
            id=self._client.next_number(),
            incumbent=incumbent[1],
            incumbent_rewritten=self._rewritten(incumbent[0]),
            challenger=challenger[1],
            challenger_rewritten=self._rewritten(challenger[0]),
            delta=delta,
        )
        answer = await self._client.ask(request)
        if not isinstance(answer, KernelComparisonAnswer):
            raise RuntimeError(f"unexpected answer to compare: {answer!r}")
        rewritten = request.challenger_rewritten
        if self._watch is None or rewritten is None or not answer.comparison.is_faster(delta):
            return answer.comparison
        failure = await self._watch.accusation((challenger[1], rewritten))
        told = None if failure is None else quoted(failure, challenger[0].source)
        return answer.comparison.model_copy(update={"failure": told})

    def _rewritten(self, candidate: Candidate) -> Rewritten | None:
        """What a candidate has that the file has not."""
        if candidate.source == self._problem.source_text and candidate.launch.grid is None:
            return None
        return Rewritten(source=candidate.source, grid=candidate.launch.grid, restrictions=candidate.restrictions)

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """The machine code of a configuration that was built before, and what the device counts in a launch."""
        if self._profiler is None:
            return NO_PROFILE
        return await self._profiler.profile(configuration, self._rewritten(candidate))

    async def close(self) -> None:
        """End the kernel's process, and what starts the tools."""
        self._policy.close()
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
        geometry=answer.geometry,
    )


def evaluator_for(problem: Problem, options: LocalOptions) -> PythonEvaluator:
    """What evaluates a kernel in Python on the device that the user named.

    Raises:
        DeviceError: as of `visible_gpu`.
    """
    process = ProcessOptions(visible_gpu(options.device))
    own = PythonOptions(
        options.log,
        options.jobs,
        process,
        allow_unconfined=options.policy.allow_unconfined,
        profile=options.profile,
        memcheck="memcheck" in options.sanitizers,
        nvcc=options.nvcc,
    )
    return PythonEvaluator(problem, own)
