"""Problems that nobody wrote, tried before a run is begun: the kernel as given, on the processor if that can run it."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType

from tui_tuner.errors import UserError
from tui_tuner.evaluate.devices.choose import choose_device, spelled
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind, fault_of_end
from tui_tuner.evaluate.programs import launch_shapes
from tui_tuner.evaluate.results import DeviceInfo, Failure
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, Executable, OpenRequest, RehearsalAnswer, RehearsalRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.site import ArtifactBuilder, LocalOptions, ThisMachine, expected
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.inputs import array_bytes
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language, Problem, Test

_LEAST_MS, _MOST_MS = 0.05, 10.0
"""A launch that is shorter is mostly its beginning and its end; one that is longer makes a session tedious."""
_MOST_BYTES = 2**28
"""Of arrays whose sizes are guesses; several times what the caches of GPUs hold."""
_MOST_FITTED = 10
_FAR = 4
"""By so much too short or too long, sizes are doubled or halved twice."""
_PLACES = {"cuda": ("emulator", "the emulator"), "c": ("c", "this processor")}
"""Where kernels of a language are tried, and how that is called; others on the session's device."""


@dataclass(frozen=True)
class TrialResult:
    """What came of a trial.

    Attributes:
        fault: why the kernel as given cannot be checked there; None if it can.
        is_built: whether it ran at all.
        seconds: what running took.
        no_numbers: outputs with elements that are no number.
        launch_ms: what a launch takes, where that was asked.
        hardly_changed: outputs of which a launch changes few elements, and how many of how many.
    """

    fault: GivenFault | None
    is_built: bool = True
    seconds: float = 0.0
    no_numbers: frozenset[str] = frozenset()
    launch_ms: float | None = None
    hardly_changed: Mapping[str, tuple[int, int]] = field(default_factory=dict)


class Trials:
    """Tries drafts for the kernels of one file, one after another.

    Args:
        options: where and how to build. Kernels are tried on the processor, those in OpenCL on the device that the
            options name; a CUDA kernel that cannot be built there, as with tensor cores, on the GPU that they name,
            where that is one of this machine with its toolkit.
        language: of the file; CUDA kernels are emulated.

    Attributes:
        long_s: what a trial, which is some launches, takes at most where sessions there are not to be tedious, seconds.
    """

    def __init__(self, options: LocalOptions, language: Language) -> None:
        self.long_s = 1.0 if COMPILED_LANGUAGES[language].has_blocks else 0.3
        device, where = _PLACES.get(language, (options.device, "the OpenCL device"))
        self._bench = _Bench(options, device, where)
        self._session, self._language = options, language
        self._gpu: _Bench | None = None
        self._may_have_gpu = True

    @property
    def where(self) -> str:
        """Where kernels are tried, in words."""
        return self._bench.where

    async def __aenter__(self) -> Trials:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._bench.close()
        if self._gpu is not None and self._gpu is not self._bench:
            await self._gpu.close()

    async def outcome(self, problem: Problem, tests: Sequence[Test]) -> TrialResult:
        """Run the kernel as given at tests, as every candidate would be, and see whether that can be checked.

        Args:
            problem: at the sizes of the emulator, where there is one.

        Raises:
            UserError: this machine has no compiler for it.
        """
        trial = problem.with_tests(tests)
        result = await self._bench.outcome(trial)
        if result.is_built or self._bench.is_gpu or (gpu := await self._gpu_for(problem)) is None:
            return result
        on_gpu = await gpu.outcome(trial)
        if not on_gpu.is_built:
            return result
        await self._bench.close()
        self._bench = gpu
        return on_gpu

    async def doublings(self, problem: Problem, drafted: Callable[[int], Awaitable[Problem]]) -> tuple[int, float]:
        """How often the sizes of a draft are best doubled, so that a launch keeps a GPU busy and is soon over.

        Args:
            problem: as it was drafted.
            drafted: the same with its sizes doubled so often; below zero, halved.

        Returns:
            That number, and what a launch takes then, ms; 0 where the session has no GPU, or none helps.
        """
        best = 0, math.inf
        number, towards = 0, 0
        if (gpu := await self._gpu_for(problem)) is None:
            return best
        for _ in range(_MOST_FITTED):
            result = await gpu.outcome(problem.with_tests([Test(sizes={})]), is_timed=True)
            took = _launch_ms(result)
            if took is None:
                break
            best, step = (number, took), _step(took)
            if step == 0 or step * towards < 0:
                break
            following = await drafted(number + step)
            is_too_large = step > 0 and array_bytes(following, {}) > _MOST_BYTES
            if is_too_large or following.sizes == problem.sizes:
                break
            problem, number, towards = following, number + step, step
        return best if math.isfinite(best[1]) else (0, math.inf)

    async def _gpu_for(self, problem: Problem) -> _Bench | None:
        """The GPU that a session would take, opened once; None where it would take none."""
        if self._gpu is None and self._may_have_gpu:
            self._gpu = await self._opened_gpu(problem)
            self._may_have_gpu = self._gpu is not None
        return self._gpu

    async def _opened_gpu(self, problem: Problem) -> _Bench | None:
        try:
            selection, _ = await choose_device(self._session.device, self._language)
        except UserError:
            return None
        choice = selection.first
        if not kind_named(choice.kind).has_toolkit:
            return None
        bench = _Bench(self._session, spelled(choice), "the GPU", is_gpu=True)
        try:
            await bench.ready(problem)
        except UserError:
            await bench.close()
            return None
        return bench


def _launch_ms(result: TrialResult) -> float | None:
    """What a launch took, ms; infinity where it was not waited for, None where the kernel fails."""
    is_late = result.fault is not None and result.fault.kind is GivenFaultKind.LATE
    return math.inf if is_late else result.launch_ms


def _step(took_ms: float) -> int:
    """How often sizes are doubled next, for a launch that took so long."""
    if took_ms < _LEAST_MS:
        return 2 if took_ms * _FAR < _LEAST_MS else 1
    if took_ms > _MOST_MS:
        return -2 if took_ms > _MOST_MS * _FAR else -1
    return 0


class _Bench:
    """A device on which kernels are tried.

    Attributes:
        where: it is, in words.
        is_gpu: whether it is no processor's.
    """

    def __init__(self, options: LocalOptions, device: str, where: str, *, is_gpu: bool = False) -> None:
        self.where = where
        self.is_gpu = is_gpu
        self._options = replace(options, device=device, profile=False)
        self._site = ThisMachine(self._options)
        self._device: DeviceInfo | None = None
        self._builder: ArtifactBuilder | None = None

    async def close(self) -> None:
        """Give the device back."""
        await self._site.first.close()
        await self._site.close()

    async def outcome(self, trial: Problem, *, is_timed: bool = False) -> TrialResult:
        """Run the kernel as given at the tests of a problem.

        Raises:
            UserError: this machine has no compiler for it.
        """
        builder, device = await self.ready(trial)
        given = baseline(trial)
        configuration = given.default_configuration
        shapes = launch_shapes(given, configuration, trial, device)
        if isinstance(shapes, Failure):
            return TrialResult(GivenFault(message=shapes.message, kind=GivenFaultKind.TOO_LARGE))
        build = await builder.build(given, configuration, trial.kernel.compiler_options)
        if build.artifact is None:
            failure = build.failure
            said = "" if failure is None else f"{failure.message}\n{failure.detail}".strip()
            return TrialResult(GivenFault(message=said), is_built=False)
        executable = Executable(artifact=build.artifact, symbol=build.symbol, shapes=shapes)
        began = time.monotonic()
        try:
            request = RehearsalRequest(problem=trial, baseline=executable, is_timed=is_timed)
            answer = expected(RehearsalAnswer, await self._site.first.ask(request))
        except RunnerDied as died:
            return TrialResult(fault_of_end(died.failure, killed=died.killed))
        except UserError as error:
            return TrialResult(GivenFault(message=error.message))
        return TrialResult(
            answer.fault,
            seconds=time.monotonic() - began,
            no_numbers=frozenset(answer.no_numbers),
            launch_ms=answer.launch_ms,
            hardly_changed=answer.hardly_changed,
        )

    async def ready(self, problem: Problem) -> tuple[ArtifactBuilder, DeviceInfo]:
        """What builds, and the device, which is taken the first time.

        Raises:
            UserError: there is none, or no compiler for it.
        """
        if self._builder is None or self._device is None:
            selection, _ = await self._site.chosen(problem)
            choice = selection.first
            await self._site.ready(choice, problem)
            policy = self._options.policy
            request = OpenRequest(device=spelled(choice), allow_unconfined=policy.allow_unconfined, run="")
            answer = expected(DeviceAnswer, await self._site.first.open(request))
            self._device = answer.device
            self._builder = (await self._site.tools(choice, answer.device, problem)).builder
        return self._builder, self._device
