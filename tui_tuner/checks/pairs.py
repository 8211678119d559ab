"""`tuner-tui verify` and `tuner-tui compare`: is a kernel right, and is it faster than another of the same problem."""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from tui_tuner.checks import Code
from tui_tuner.checks.junit import Case
from tui_tuner.checks.places import OpenMachine, Pair, opened, pair_named
from tui_tuner.errors import ExitCode
from tui_tuner.evaluate.evaluator import in_both_turns, verdict
from tui_tuner.evaluate.results import Comparison, Failure, Timing
from tui_tuner.format import interval_words, time_unit, time_words
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.inputs import label_of, test_sizes
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
    compared = await machine.evaluator.compare(first, other, DELTA)
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
