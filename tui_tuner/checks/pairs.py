"""`tuner-tui verify` and `tuner-tui compare`: is a kernel right, and is it faster than another of the same problem."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from pathlib import Path

from tui_tuner.checks import Code
from tui_tuner.checks.places import OpenMachine, opened, pair_named
from tui_tuner.cli.parsers import tell
from tui_tuner.errors import DeviceError, ExitCode
from tui_tuner.evaluate.datasets import label_of, test_sizes
from tui_tuner.evaluate.results import Comparison, Failure, Timing
from tui_tuner.format import interval_words, time_unit, time_words
from tui_tuner.problem.candidate import Candidate, baseline

DELTA = 0.01
"""Where only right or wrong is asked, how exactly both are timed on the way."""
_CODES = {
    "FAST": ExitCode.FINISHED,
    "SAME": Code.SAME,
    "SLOW": Code.SLOW,
    "UNCLEAR": Code.UNCLEAR,
    "WRONG": Code.WRONG,
}


def verdict(comparison: Comparison, delta: float) -> str:
    """FAST, SLOW or SAME where all of the interval is above, below or within a factor of 1 + delta; else UNCLEAR."""
    if comparison.failure is not None:
        return "WRONG"
    if comparison.low > 1 + delta:
        return "FAST"
    if comparison.high < 1 / (1 + delta):
        return "SLOW"
    return "SAME" if comparison.low >= 1 / (1 + delta) and comparison.high <= 1 + delta else "UNCLEAR"


async def compared(machine: OpenMachine, second: Candidate, delta: float) -> Comparison:
    """A kernel against the kernel as given: checked at every test, then on fresh inputs, and timed in turns.

    Each is the challenger once, since only a challenger's outputs are looked at between its launches. The interval
    holds those of both turns.
    """
    evaluator, given = machine.evaluator, baseline(machine.problem)
    first, other = ((one, one.default_configuration) for one in (given, second))
    checked = await evaluator.evaluate(*other, best_ms=None)
    if checked.failure is not None:
        return Comparison(ratio=0.0, low=0.0, high=0.0, pairs=0, failure=checked.failure)
    there = await evaluator.compare(first, other, delta)
    if there.failure is not None:
        return there
    back = await evaluator.compare(other, first, delta)
    if back.failure is not None:  # the kernel that is known to be right: no verdict on the other
        raise DeviceError(f"the first kernel fails on fresh inputs: {back.failure.in_words}")
    return there.model_copy(
        update={
            "ratio": math.sqrt(there.ratio / back.ratio),
            "low": min(there.low, 1 / back.high),
            "high": max(there.high, 1 / back.low),
            "pairs": there.pairs + back.pairs,
        }
    )


async def verify(chosen: argparse.Namespace) -> int:
    """Say whether a kernel computes what another does.

    Raises:
        UserError: one of them cannot be used.
    """
    pair = await asyncio.to_thread(pair_named, chosen.against, chosen.kernel)
    async with opened(pair.problem, chosen.device, allow_unconfined=chosen.allow_unconfined) as machine:
        failure = await _fault(machine, pair.second)
        places = [label_of(sizes) for sizes in test_sizes(machine.problem)]
    if chosen.json:
        names = {"kernel": str(chosen.kernel), "against": str(chosen.against)}
        tell(json.dumps({**names, "right": failure is None, "checked_at": places, **_told(machine, failure)}))
    elif failure is None:
        tell(f"right: {chosen.kernel} computes what {chosen.against} does, at {'; '.join(places)}")
    else:
        tell(_wrong(chosen.kernel, failure))
    return ExitCode.FINISHED if failure is None else Code.WRONG


async def _fault(machine: OpenMachine, second: Candidate) -> Failure | None:
    """What is wrong with a kernel at the tests, or on fresh inputs."""
    given = baseline(machine.problem)
    checked = await machine.evaluator.evaluate(second, second.default_configuration, best_ms=None)
    if checked.failure is not None:
        return checked.failure
    first, other = ((one, one.default_configuration) for one in (given, second))
    compared = await machine.evaluator.compare(first, other, DELTA)
    return compared.failure or await machine.evaluator.accusation(*other)


async def compare(chosen: argparse.Namespace) -> int:
    """Say whether the second of two kernels is faster than the first.

    Raises:
        UserError: one of them cannot be used.
    """
    pair = await asyncio.to_thread(pair_named, chosen.first, chosen.second)
    async with opened(pair.problem, chosen.device, allow_unconfined=chosen.allow_unconfined) as machine:
        comparison = await compared(machine, pair.second, chosen.delta)
    said = verdict(comparison, chosen.delta)
    if chosen.json:
        names = {"first": str(chosen.first), "second": str(chosen.second), "verdict": said, "delta": chosen.delta}
        told = comparison.model_dump(mode="json", exclude={"failure"})
        tell(json.dumps({**names, **told, **_told(machine, comparison.failure)}))
    elif comparison.failure is not None:
        tell(_wrong(chosen.second, comparison.failure))
    else:
        for line in _lines(chosen.first, chosen.second, comparison, said):
            tell(line)
        tell(f"on {machine.report.device.name}")
    return _CODES[said]


def _lines(first: Path, second: Path, comparison: Comparison, said: str) -> list[str]:
    times = ((first, comparison.incumbent), (second, comparison.challenger))
    ratio = f"{comparison.ratio:.3f}x [{comparison.low:.3f}, {comparison.high:.3f}]"
    pairs = f"{comparison.pairs} pairs in turns on fresh inputs"
    return [f"{said}: {second} is {ratio} as fast as {first}, {pairs}", *(_time(*each) for each in times)]


def _time(file: Path, timing: Timing | None) -> str:
    if timing is None:
        return f"  {file}"
    unit = time_unit(cpu=timing.cpu)
    return f"  {time_words(timing.median, unit)} {interval_words(timing.low, timing.high)}  {file}"


def _wrong(kernel: Path, failure: Failure) -> str:
    detail = f"\n{failure.detail}" if failure.detail else ""
    return f"WRONG: {kernel}: {failure.in_words}{detail}"


def _told(machine: OpenMachine, failure: Failure | None) -> dict[str, object]:
    """What every JSON answer tells: the device, and why the kernel failed."""
    device = machine.report.device
    told = {"name": device.name, "toolchain": device.toolchain, "cpu_times": device.cpu_times}
    return {"device": told, "failure": None if failure is None else failure.model_dump(mode="json")}
