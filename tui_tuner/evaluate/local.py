"""Evaluation on this machine: confined builds, many at once, and one runner that owns the device."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from typing import TypeVar

from tui_tuner.errors import DeviceError, MachineError
from tui_tuner.evaluate.devices.base import POWER_CAP
from tui_tuner.evaluate.devices.choose import spelled
from tui_tuner.evaluate.devices.cuda.ceilings import ceilings_candidate
from tui_tuner.evaluate.devices.cuda.checks import checks_candidate
from tui_tuner.evaluate.devices.kind import DeviceChoice, DeviceSelection
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.given import check_given
from tui_tuner.evaluate.library import NamedLibrary
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.profiling.profiler import Profiler, in_a_runner
from tui_tuner.evaluate.profiling.roofline import Roofline, expected_bytes, roofline
from tui_tuner.evaluate.programs import MeasuredPrograms, launch_shapes
from tui_tuner.evaluate.quoted import quoted
from tui_tuner.evaluate.results import Build, Comparison, DeviceInfo, Evaluation, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import (
    CeilingsRequest,
    ChecksRequest,
    ComparisonAnswer,
    ComparisonRequest,
    DeviceAnswer,
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    OpenRequest,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.sanitizers import Kernel, Sanitizers, chosen_tools
from tui_tuner.evaluate.several import Places, of_the_challenger
from tui_tuner.evaluate.site import ArtifactBuilder, LocalOptions, Site, ThisMachine, Tools, expected
from tui_tuner.format import first_of
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Configuration, Problem, Test

PAUSES_S = (1.0, 5.0)
"""Pauses before what the machine kept from being done is tried again."""
_DOUBTFUL = 0.1
"""Share of such a pause before what is only doubtful is tried again: it may be the candidate's doing."""
Outcome = TypeVar("Outcome")


class LocalEvaluator:
    """Evaluates candidates of one problem on the devices of this machine, or of another site."""

    def __init__(self, problem: Problem, options: LocalOptions, site: Site | None = None) -> None:
        self._given_problem = problem
        self._problem = problem
        self._options = options
        self._site = site or ThisMachine(options)
        self._places = Places(self._site.first, options.log)
        self._programs = MeasuredPrograms()
        self._builder: ArtifactBuilder | None = None
        self._profiler: Profiler | None = None
        self._device: DeviceInfo | None = None
        self._roofline: Roofline | None = None
        self._troubles: list[str] = []
        self._sanitizers: Sanitizers | None = None
        self._library: NamedLibrary | None = None
        self._told_of_heat: set[str] = set()
        self._choice: tuple[DeviceSelection, str] | None = None
        self._first = ""

    @property
    def doing(self) -> str:
        """What the first device is at."""
        return self._places.first.doing

    async def sized_problem(self) -> Problem:
        """The problem at the sizes of the device that `start` takes."""
        selection, _ = await self._chosen()
        return kind_named(selection.first.kind).sized(self._given_problem)

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """Take the device, measure its ceilings, check and time the kernel as given, try proposed tests with it."""
        selection, note = await self._chosen()
        self._problem = await self.sized_problem()
        await self._load_library(selection.first)
        taken, tools, left_out = await self._take_devices(selection, proposed)
        given = baseline(self._problem)
        checked = await check_given(self._problem, proposed, self._executable, self._places)
        self._problem = checked.problem
        default = given.default_configuration
        await self._programs.know(await self._must_build(given, default), (given.id, default), checked.answer)
        others = first_of(taken.others)  # of another run some only wait to watch its next kernel
        disturbed = [f"other processes are on the device, so times may be disturbed: {others}"] if others else []
        said = [*disturbed, *await self._places.join()]
        library, why = (None, "") if self._library is None else await self._library.time(self._problem, self._first)
        return MachineReport(
            device=taken.device,
            sandbox=tools.sandbox,
            note="; ".join(filter(None, (note, *left_out, *said, why))),
            given=self._evaluation(given, default, checked.build, checked.answer),
            tests=checked.tests,
            dropped=checked.dropped,
            devices=self._places.titles,
            left_out=checked.answer.left_out,
            allowed=checked.answer.allowed,
            jobs=tools.jobs,
            library=library,
            profiles=tools.profiler is not None,
        )

    async def _load_library(self, choice: DeviceChoice) -> None:
        """Begin to load the library that the problem names, where this machine can time it."""
        if kind_named(choice.kind).has_toolkit and self._site.is_here and self._problem.library is not None:
            self._library = NamedLibrary(self._options.log, self._options.run)
            await self._library.begin()

    async def _take_devices(
        self, selection: DeviceSelection, proposed: Sequence[Test]
    ) -> tuple[DeviceAnswer, Tools, list[str]]:
        """Take the devices and what builds for them, with the ceilings of the first; a line for each that is left out.

        The kernel as given is built meanwhile, so that it is at hand when it is checked.
        """
        choice = selection.first
        await self._site.ready(choice, self._problem)
        # With tests that are only proposed another problem may be prepared.
        drawn = self._problem if self._problem.tests or not proposed else None
        opening = self._opening().model_copy(update={"problem": drawn})
        watching = chosen_tools(self._options.sanitizers, kind_named(choice.kind).sanitizers)
        taken = await self._places.take(spelled(choice), opening.model_copy(update={"tools": [*watching]}))
        self._first = taken.place
        title, others = await self._site.others(selection, taken)
        tools = await self._site.tools(choice, taken.device, self._problem)
        self._builder, self._profiler = tools.builder, tools.profiler
        given = baseline(self._problem)
        device, left_out, _ = await asyncio.gather(
            self._measure_ceilings(taken.device, tools.builder),
            self._places.take_others(title, others, opening, taken, named=self._site.named),
            tools.builder.build(given, given.default_configuration, self._problem.kernel.compiler_options),
        )
        self._device = device.model_copy(update={"toolchain": tools.toolchain})
        self._roofline = roofline(self._problem, self._device)
        self._sanitizers = Sanitizers(
            tools=watching,
            given=(given, given.default_configuration),
            build=lambda candidate, at, more: self._executable(candidate, at, self._problem, more),
            ask=self._places.ask,
            policy=self._options.policy,
            tell=self._troubles.append,
        )
        return taken.model_copy(update={"device": self._device}), tools, left_out

    def news(self) -> list[str]:
        """What happened to devices since this was asked last, a line each."""
        told, self._troubles = self._troubles, []
        return told + self._places.news()

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, verify and measure one configuration; again where the machine was at fault, or busy."""
        return await self._again(lambda: self._evaluate(candidate, configuration, best_ms), _is_implausible)

    async def _evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        built = await self._executable(candidate, configuration, self._problem)
        if isinstance(built, Failure):
            return Evaluation(candidate=candidate.id, configuration=configuration, failure=built)
        build, executable = built
        if executable is None:
            return self._evaluation(candidate, configuration, build, EvaluationAnswer(failure=build.failure))
        request, kernel = EvaluationRequest(executable=executable, best_ms=best_ms), (candidate, configuration)
        answer, first = await self._programs.answer(
            executable, (candidate.id, configuration), lambda: self._measured(kernel, request)
        )
        return self._evaluation(candidate, configuration, build, answer).model_copy(update={"same_as": first})

    async def _measured(self, kernel: Kernel, request: EvaluationRequest) -> EvaluationAnswer:
        try:
            answer = expected(EvaluationAnswer, await self._places.ask(request))
        except RunnerDied as died:
            answer = EvaluationAnswer(failure=died.failure)
        if (failure := answer.failure) is not None:
            located = failure if self._sanitizers is None else await self._sanitizers.located(kernel, failure)
            answer = answer.model_copy(update={"failure": quoted(located, kernel[0].source)})
        self._troubles += [f"left out of all checks from now on: {one}" for one in answer.left_out]
        return answer

    async def compare(
        self, incumbent: Kernel, challenger: Kernel, delta: float, *, thorough: bool = False
    ) -> Comparison:
        """Time two configurations, interleaved; both were built before. A challenger that wins is watched as well."""
        tools = None if self._device is None or self._device.is_cpu else self._sanitizers  # builds disturb a CPU
        async with nullcontext() if tools is None else tools.building_for(challenger):
            comparison = await self._again(lambda: self._timed(incumbent, challenger, delta, thorough), _is_implausible)
            if not comparison.is_faster(delta):
                return comparison
            return comparison.model_copy(update={"failure": await self.accusation(*challenger)})

    async def accusation(self, candidate: Candidate, configuration: Configuration) -> Failure | None:
        """What the tools find that watch what a kernel does to memory; None where it is fit to be accepted."""
        if self._sanitizers is None:
            return None
        tools = self._sanitizers
        return await self._again(lambda: tools.accusation((candidate, configuration)))

    async def _timed(self, incumbent: Kernel, challenger: Kernel, delta: float, thorough: bool) -> Comparison:
        old, new = await self._must_build(*incumbent), await self._must_build(*challenger)
        asked = ComparisonRequest(incumbent=old, challenger=new, delta=delta, thorough=thorough)
        try:
            answer = await self._places.ask(asked)
        except RunnerDied as died:
            return Comparison.failed(of_the_challenger(died))
        return expected(ComparisonAnswer, answer).comparison

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """The machine code of a configuration that was built before, and what the first device counts in a launch."""
        if self._profiler is None:
            return NO_PROFILE
        built = await self._must_build(candidate, configuration)
        launch = in_a_runner(built, self._problem, self._opening(self._first), self._options.log)
        return await self._profiler.profile(built.artifact, built.symbol, launch)

    async def close(self) -> None:
        """End the runners and what starts compilers, and remove what is too much of the builds of all runs."""
        try:
            if self._library is not None:
                await self._library.close()
            await self._places.close()
        finally:
            await self._site.close()

    def _opening(self, device: str = "") -> OpenRequest:
        """What a runner is told first; where no device is named that is filled in."""
        options = self._options
        return OpenRequest(device=device, allow_unconfined=options.policy.allow_unconfined, run=options.run)

    async def _chosen(self) -> tuple[DeviceSelection, str]:
        if self._choice is None:
            self._choice = await self._site.chosen(self._given_problem)
        return self._choice

    async def _executable(
        self, candidate: Candidate, configuration: Configuration, problem: Problem, more: Sequence[str] = ()
    ) -> Failure | tuple[Build, Executable | None]:
        if self._builder is None or self._device is None:
            raise RuntimeError("the evaluator is not started")
        shapes = launch_shapes(candidate, configuration, problem, self._device)
        if isinstance(shapes, Failure):
            return shapes
        build = await self._builder.build(candidate, configuration, [*self._problem.kernel.compiler_options, *more])
        if build.artifact is None:
            return build, None
        return build, Executable(artifact=build.artifact, symbol=build.symbol, shapes=shapes)

    async def _must_build(self, candidate: Candidate, configuration: Configuration) -> Executable:
        built = await self._executable(candidate, configuration, self._problem)
        if isinstance(built, Failure) or built[1] is None:
            raise RuntimeError(f"{candidate.id} was evaluated before but does not build any more: {built}")
        return built[1]

    def _evaluation(
        self, candidate: Candidate, configuration: Configuration, build: Build, answer: EvaluationAnswer
    ) -> Evaluation:
        timing, failure, share = answer.timing, answer.failure, None
        if timing is not None:
            self._tell_of_heat(timing)
        if timing is not None and self._roofline is not None:
            share = self._roofline.share(timing.median)
            if self._roofline.impossible(timing.median):
                takes = f"moving its bytes takes ({self._roofline.memory_ms:.4g} ms)"
                message = f"{timing.median:.4g} ms is less than {takes}"
                timing, failure = None, Failure(kind=FailureKind.IMPLAUSIBLE, message=message)
        return Evaluation(
            candidate=candidate.id,
            configuration=configuration,
            timing=timing,
            failure=failure,
            resources=build.resources,
            share=share,
            error=answer.error,
            build_ms=build.milliseconds,
            verify_ms=answer.verify_ms,
            measure_ms=answer.measure_ms,
        )

    def _tell_of_heat(self, timing: Timing) -> None:
        """Say once for each cause what held the device down while it was timed."""
        hot = [reason for reason in timing.throttled_by if reason != POWER_CAP]
        cause = "dropped" if timing.dropped else ", ".join(hot)
        if not cause or cause in self._told_of_heat:
            return
        self._told_of_heat.add(cause)
        at = "" if timing.temperature_c is None else f" at {timing.temperature_c} °C"
        if hot:
            said = f"the device stays held down{at} ({cause}): its times are too long. Let it cool, or lower its power"
        else:
            said = f"{timing.dropped} times were dropped, since the device was held down; it has cooled{at}"
        self._troubles.append(said)

    async def _build_ours(self, candidate: Candidate, device: DeviceInfo, builder: ArtifactBuilder) -> str:
        build = await builder.build(candidate, {}, [])
        if build.artifact is None:
            message = "" if build.failure is None else build.failure.message
            raise DeviceError(
                f"the compiler cannot build for {device.architecture}: {message}",
                hint="`tuner-tui doctor` shows the toolchain; install a CUDA toolkit that knows this device",
            )
        return build.artifact

    async def _measure_ceilings(self, device: DeviceInfo, builder: ArtifactBuilder) -> DeviceInfo:
        """The device with its measured ceilings, where it is one that has some; from then on it checks by itself."""
        if not kind_named(device.kind).has_ceilings:
            return device
        outputs = {argument.dtype for argument in self._problem.arguments if argument.output}
        ours = self._build_ours(checks_candidate(outputs), device, builder)
        measured, checks = await asyncio.gather(self._ceilings(device, builder), ours)
        await self._places.open(ChecksRequest(artifact=checks))
        return measured

    async def _ceilings(self, device: DeviceInfo, builder: ArtifactBuilder) -> DeviceInfo:
        artifact = await self._build_ours(ceilings_candidate(), device, builder)
        moved = expected_bytes(self._problem)  # what there is less of goes at a lower bandwidth
        try:
            answer = await self._places.first.ask(CeilingsRequest(artifact=artifact, bytes=moved))
        except RunnerDied as died:
            raise DeviceError(f"the device fails at a plain copy: {died.failure.message}") from died
        return answer.device if isinstance(answer, DeviceAnswer) else device

    async def _again(
        self, attempt: Callable[[], Awaitable[Outcome]], is_doubtful: Callable[[Outcome], bool] = lambda _: False
    ) -> Outcome:
        """An outcome that is not doubtful, or the last one.

        Raises:
            MachineError: the machine was at fault every time.
        """
        for pause_s in PAUSES_S:
            try:
                outcome = await attempt()
                if not is_doubtful(outcome):
                    return outcome
                await asyncio.sleep(pause_s * _DOUBTFUL)
            except MachineError as error:
                self._troubles.append(f"{error.message}: no candidate is to blame, it is tried again")
                await asyncio.sleep(pause_s)
        return await attempt()


def _is_implausible(outcome: Evaluation | Comparison) -> bool:
    return outcome.failure is not None and outcome.failure.kind is FailureKind.IMPLAUSIBLE
