"""Problems that nobody wrote, tried before a run is begun: the kernel as given on the processor, at chosen sizes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import TracebackType

from tui_tuner.errors import UserError
from tui_tuner.evaluate.devices.choose import spelled
from tui_tuner.evaluate.launch_shapes import launch_shapes
from tui_tuner.evaluate.results import DeviceInfo, Failure
from tui_tuner.evaluate.runner.protocol import DeviceAnswer, Executable, OpenRequest, RehearsalAnswer, RehearsalRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.site import ArtifactBuilder
from tui_tuner.evaluate.this_machine import LocalOptions, ThisMachine
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language, Problem, Test


@dataclass(frozen=True)
class TrialResult:
    """What came of a trial.

    Attributes:
        reason: why the kernel as given cannot be checked there; None if it can.
        is_built: whether it ran at all.
        seconds: what running took.
        no_numbers: outputs with elements that are no number.
    """

    reason: str | None
    is_built: bool = True
    seconds: float = 0.0
    no_numbers: frozenset[str] = frozenset()


class Trials:
    """Tries drafts for the kernels of one file, one after another.

    Args:
        options: where and how to build; the device is the processor, whatever they say.
        language: of the file; CUDA kernels are emulated.

    Attributes:
        where: they are tried, in words.
        long_s: what a trial, which is some launches, takes at most where sessions there are not to be tedious, seconds.
    """

    def __init__(self, options: LocalOptions, language: Language) -> None:
        is_emulated = COMPILED_LANGUAGES[language].has_emulator
        self.where = "the emulator" if is_emulated else "this processor"
        self.long_s = 1.0 if is_emulated else 0.3
        self._options = replace(options, device="emulator" if is_emulated else language, profile=False)
        self._site = ThisMachine(self._options)
        self._device: DeviceInfo | None = None
        self._builder: ArtifactBuilder | None = None

    async def __aenter__(self) -> Trials:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._site.first.close()
        await self._site.close()

    async def outcome(self, problem: Problem, tests: Sequence[Test]) -> TrialResult:
        """Run the kernel as given at tests, as every candidate would be, and see whether that can be checked.

        Args:
            problem: at the sizes of the emulator, where there is one.

        Raises:
            UserError: this machine has no compiler for it.
        """
        builder, device = await self._ready(problem)
        trial = problem.with_tests(tests)
        given = baseline(trial)
        configuration = given.default_configuration
        shapes = launch_shapes(given, configuration, trial, device)
        if isinstance(shapes, Failure):
            return TrialResult(shapes.message)
        build = await builder.build(given, configuration, trial.kernel.compiler_options)
        if build.artifact is None:
            failure = build.failure
            return TrialResult(
                "" if failure is None else f"{failure.message}\n{failure.detail}".strip(), is_built=False
            )
        executable = Executable(artifact=build.artifact, symbol=build.symbol, shapes=shapes)
        began = time.monotonic()
        try:
            answer = await self._site.first.ask(RehearsalRequest(problem=trial, baseline=executable))
        except RunnerDied as died:
            return TrialResult(f"{died.failure.kind}: {died.failure.message}")
        except UserError as error:
            return TrialResult(error.message)
        if not isinstance(answer, RehearsalAnswer):
            raise RuntimeError(f"unexpected answer to rehearse: {answer!r}")
        return TrialResult(answer.reason, seconds=time.monotonic() - began, no_numbers=frozenset(answer.no_numbers))

    async def _ready(self, problem: Problem) -> tuple[ArtifactBuilder, DeviceInfo]:
        if self._builder is None or self._device is None:
            selection, _ = await self._site.chosen(problem)
            choice = selection.first
            await self._site.ready(choice, problem)
            policy = self._options.policy
            request = OpenRequest(device=spelled(choice), allow_unconfined=policy.allow_unconfined, run="")
            answer = await self._site.first.open(request)
            if not isinstance(answer, DeviceAnswer):
                raise RuntimeError(f"unexpected answer to open: {answer!r}")
            self._device = answer.device
            self._builder = (await self._site.tools(choice, answer.device, problem)).builder
        return self._builder, self._device
