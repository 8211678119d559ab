"""`tuner-tui verify`, `compare` and `check --baseline`: is a kernel right, and is it faster than another.

The other is one of the same problem, or the best of an earlier result, against which it may have become slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.checks import Case, Code
from tui_tuner.checks.places import OpenMachine, Pair, opened, pair_named, problem_named
from tui_tuner.errors import DeviceError, ExitCode, ProblemError, SettingsError
from tui_tuner.evaluate.evaluator import in_both_turns, verdict
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, Timing
from tui_tuner.format import interval_words, time_unit, time_words
from tui_tuner.journal.reading import RESULT
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.inputs import label_of, test_sizes
from tui_tuner.problem.model import Problem
from tui_tuner.report import SessionOutcome, problem_key
from tui_tuner.text import tell

DELTA = 0.01
"""Where only right or wrong is asked, how exactly both are timed on the way."""
_CODES = {
    "FAST": ExitCode.FINISHED,
    "SAME": Code.SAME,
    "SLOW": Code.SLOW,
    "UNCLEAR": Code.UNCLEAR,
    "WRONG": Code.WRONG,
}


async def compared(machine: OpenMachine, second: Candidate, delta: float) -> Comparison:
    """A kernel against the kernel as given: checked at every test, then as `in_both_turns` says."""
    evaluator, given = machine.evaluator, baseline(machine.problem)
    first, other = ((one, one.default_configuration) for one in (given, second))
    checked = await evaluator.evaluate(*other, best_ms=None)
    if checked.failure is not None:
        return Comparison.failed(checked.failure)
    return await in_both_turns(evaluator, first, other, delta)


def _opened(pair: Pair, chosen: argparse.Namespace) -> AbstractAsyncContextManager[OpenMachine]:
    allowed = bool(chosen.allow_unconfined)
    return opened(pair.problem, chosen.device, allow_unconfined=allowed, given=pair.first)


async def verify(chosen: argparse.Namespace) -> tuple[int, list[Case]]:
    """Say whether a kernel computes what another does.

    Raises:
        UserError: one of them cannot be used.
    """
    pair = await asyncio.to_thread(pair_named, chosen.against, chosen.kernel)
    async with _opened(pair, chosen) as machine:
        failure = await _fault(machine, pair.second)
        places = [label_of(sizes) for sizes in test_sizes(machine.problem)]
    if chosen.json:
        names = {"kernel": str(chosen.kernel), "against": str(chosen.against)}
        tell(json.dumps({**names, "right": failure is None, "checked_at": places, **_told(machine, failure)}))
    elif failure is None:
        tell(f"right: {chosen.kernel} computes what {chosen.against} does, at {'; '.join(places)}")
    else:
        tell(_wrong(chosen.kernel, failure))
    return (ExitCode.FINISHED if failure is None else Code.WRONG), [_right(failure, f"at {'; '.join(places)}")]


async def _fault(machine: OpenMachine, second: Candidate) -> Failure | None:
    """What is wrong with a kernel at the tests, or on fresh inputs."""
    given = baseline(machine.problem)
    checked = await machine.evaluator.evaluate(second, second.default_configuration, best_ms=None)
    if checked.failure is not None:
        return checked.failure
    first, other = ((one, one.default_configuration) for one in (given, second))
    compared = await machine.evaluator.compare(first, other, DELTA, thorough=True)
    return compared.failure or await machine.evaluator.accusation(*other)


async def compare(chosen: argparse.Namespace) -> tuple[int, list[Case]]:
    """Say whether the second of two kernels is faster than the first.

    Raises:
        UserError: one of them cannot be used.
    """
    pair = await asyncio.to_thread(pair_named, chosen.first, chosen.second)
    async with _opened(pair, chosen) as machine:
        comparison = await compared(machine, pair.second, chosen.delta)
    said = verdict(comparison, chosen.delta)
    lines = compared_lines(chosen.first, chosen.second, comparison, chosen.delta)
    lines.append(f"on {machine.report.device.name}")
    if chosen.json:
        names = {"first": str(chosen.first), "second": str(chosen.second), "verdict": said, "delta": chosen.delta}
        told = comparison.model_dump(mode="json", exclude={"failure"})
        tell(json.dumps({**names, **told, **_told(machine, comparison.failure)}))
    elif comparison.failure is not None:
        tell(_wrong(chosen.second, comparison.failure))
    else:
        for line in lines:
            tell(line)
    right = _right(comparison.failure)
    return _CODES[said], [right] if comparison.failure is not None else [right, timed(said, lines)]


def compared_lines(first: Path, second: Path, comparison: Comparison, delta: float) -> list[str]:
    """The verdict on a comparison with both times, a line each, and what may tell where it tells nothing."""
    said, times = verdict(comparison, delta), ((first, comparison.incumbent), (second, comparison.challenger))
    ratio = f"{comparison.ratio:.3f}x [{comparison.low:.3f}, {comparison.high:.3f}]"
    pairs = f"{comparison.pairs} pairs in turns on fresh inputs"
    lines = [f"{said}: {second} is {ratio} as fast as {first}, {pairs}", *(_time(*each) for each in times)]
    if said == "UNCLEAR":
        lines.append(f"  a machine that is less busy may tell, or a --delta of more than {delta:g}")
    return lines


def _time(file: Path, timing: Timing | None) -> str:
    if timing is None:
        return f"  {file}"
    unit = time_unit(cpu=timing.cpu)
    return f"  {time_words(timing.median, unit)} {interval_words(timing.low, timing.high)}  {file}"


def _wrong(kernel: Path, failure: Failure) -> str:
    detail = f"\n{failure.detail}" if failure.detail else ""
    return f"WRONG: {kernel}: {failure.in_words}{detail}"


def _right(failure: Failure | None, output: str = "") -> Case:
    """Whether a kernel is right, as a test case."""
    if failure is None:
        return Case("right", output=output)
    return Case("right", "failure", failure.in_words, failure.detail)


def timed(said: str, lines: list[str]) -> Case:
    """A verdict on times as a test case: only what is certainly slower fails."""
    output = "\n".join(lines)
    return Case("time", "failure", lines[0], output) if said == "SLOW" else Case("time", output=output)


def _told(machine: OpenMachine, failure: Failure | None) -> dict[str, object]:
    """What every JSON answer tells: the device, and why the kernel failed."""
    device = machine.report.device
    told = {"name": device.name, "toolchain": device.toolchain, "cpu_times": device.is_cpu}
    return {"device": told, "failure": None if failure is None else failure.model_dump(mode="json")}


async def check_regression(chosen: argparse.Namespace) -> tuple[int, list[Case]]:
    """Verify a kernel, time it in its default configuration, and compare that with the best of a result.

    Raises:
        UserError: result or kernel cannot be used, or the result is of another device or problem.
    """
    most = DELTA if chosen.max_regression is None else chosen.max_regression
    result = _read(chosen.baseline)
    problem = (await asyncio.to_thread(problem_named, chosen.kernel)).problem
    async with opened(problem, chosen.device, allow_unconfined=bool(chosen.allow_unconfined)) as machine:
        must_be_of(result, machine.problem, machine.report.device, chosen.baseline)
    then, now = _best_timing(result), machine.report.given.timing
    if then is None or now is None:
        raise ProblemError("has no time of its best kernel", hint="tune the kernel again", file=chosen.baseline)
    ratio = between(then, now)
    said = verdict(ratio, most)
    lines = _lines(chosen, said, ratio, result, machine)
    if chosen.json:
        tell(json.dumps(_as_json(chosen, said, most, ratio, machine)))
    else:
        for line in lines:
            tell(line)
    return (ExitCode.FAILED if said == "SLOW" else ExitCode.FINISHED), [Case("right"), timed(said, lines)]


def _best_timing(result: SessionOutcome) -> Timing | None:
    """The time of a result's best: that taken in turns at its end, as the fastest of many is partly fast by luck."""
    confirmed = None if result.comparison is None else result.comparison.challenger
    return confirmed or result.best.timing


def between(then: Timing, now: Timing) -> Comparison:
    """How fast a kernel is now, relative to then; the interval holds every ratio that the two intervals allow."""
    return Comparison(
        ratio=then.median / now.median, low=then.low / now.high, high=then.high / now.low, pairs=0,
        incumbent=then, challenger=now,
    )  # fmt: skip


def _read(path: Path) -> SessionOutcome:
    """A result, named by its file or by the directory of its run.

    Raises:
        SettingsError: there is none, or it is none.
    """
    file = path / RESULT if path.is_dir() else path
    try:
        return SessionOutcome.model_validate_json(file.read_bytes())
    except OSError as error:
        hint = "name the result.json of a run, or its directory"
        raise SettingsError(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        message = f"is no result of a kernel's session: {f'{place}: ' if place else ''}{first['msg']}"
        raise SettingsError(message, hint="name the result.json of a run", file=file) from None


def must_be_of(result: SessionOutcome, problem: Problem, device: DeviceInfo, file: Path) -> None:
    """Refuse times that say nothing about each other.

    Raises:
        DeviceError: they are of different devices.
        ProblemError: they are of different problems.
    """
    if (result.device.kind, result.device.name) != (device.kind, device.name):
        message = f"was timed on {result.device.name} ({result.device.kind}), and this is {device.name} ({device.kind})"
        raise DeviceError(message, hint="name that device with --device, or tune on this one", file=file)
    if result.sizes is not None and result.sizes != problem.sizes:
        message = f"was timed at {label_of(result.sizes)}, and the kernel is now timed at {label_of(problem.sizes)}"
        raise ProblemError(message, hint="tune the kernel again after its [sizes] have changed", file=file)
    if result.problem_key and result.problem_key != problem_key(problem):
        message = f"is of another problem ({result.kernel}): its language or [[arguments]] are others"
        raise ProblemError(message, hint="tune the kernel again", file=file)


def _lines(
    chosen: argparse.Namespace, said: str, ratio: Comparison, result: SessionOutcome, machine: OpenMachine
) -> list[str]:
    device = machine.report.device
    speed = f"{ratio.ratio:.3f}x [{ratio.low:.3f}, {ratio.high:.3f}]"
    lines = [f"{said}: {chosen.kernel} is {speed} as fast as the best of {chosen.baseline}"]
    for when, timing in (("then", ratio.incumbent), ("now ", ratio.challenger)):
        if timing is not None:
            unit = time_unit(cpu=timing.cpu)
            lines.append(f"  {when}  {time_words(timing.median, unit)} {interval_words(timing.low, timing.high)}")
    lines.append(f"on {device.name}")
    if result.device.toolchain != device.toolchain:
        lines.append(f"  built by {device.toolchain}; then by {result.device.toolchain}")
    if result.sizes is None:
        lines.append("  the result is of an earlier version and does not say its sizes: taken to be the same problem")
    return lines


def _as_json(
    chosen: argparse.Namespace, said: str, most: float, ratio: Comparison, machine: OpenMachine
) -> dict[str, object]:
    device, names = machine.report.device, {"kernel": str(chosen.kernel), "baseline": str(chosen.baseline)}
    told = ratio.model_dump(mode="json", exclude={"failure", "pairs", "incumbent", "challenger"})
    times = {"then": ratio.incumbent, "now": ratio.challenger}
    return {
        **names,
        "verdict": said,
        "max_regression": most,
        **told,
        **{name: None if time is None else time.model_dump(mode="json") for name, time in times.items()},
        "device": {"name": device.name, "toolchain": device.toolchain, "cpu_times": device.is_cpu},
    }
