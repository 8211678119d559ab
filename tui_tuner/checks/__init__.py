"""What a user may ask of kernels without tuning them: is the check sound, is a kernel right, which one is faster."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from tui_tuner.cli.flags import add_unconfined, positive, share
from tui_tuner.errors import writing
from tui_tuner.resources import write_whole
from tui_tuner.text import clean


@dataclass(frozen=True)
class Case:
    """One test case.

    Attributes:
        verdict: `error` where nothing could be found out.
        message: the reason where it did not pass, in a line.
        output: what a reader may want to know beside it.
    """

    name: str
    verdict: Literal["passed", "failure", "error", "skipped"] = "passed"
    message: str = ""
    output: str = ""


def write_junit(file: Path, command: str, kernel: Path, cases: Sequence[Case]) -> None:
    """Write the cases as one test suite, whole or not at all.

    Raises:
        SettingsError: the file cannot be written.
    """
    suite = ElementTree.Element("testsuite", name=f"tuner-tui {command}", tests=str(len(cases)))
    for verdict, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(sum(case.verdict == verdict for case in cases)))
    for case in cases:
        _add(suite, case, clean(str(kernel)))
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, encoding="unicode")
    with writing(file, "name another with --junit"):
        write_whole(file, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _add(suite: ElementTree.Element, case: Case, kernel: str) -> None:
    element = ElementTree.SubElement(suite, "testcase", classname=kernel, name=clean(case.name))
    if case.verdict != "passed":
        ElementTree.SubElement(element, case.verdict, message=clean(case.message))
    if case.output:
        ElementTree.SubElement(element, "system-out").text = clean(case.output)


_FILE = "a .cu, .cl or .c file, a .toml file, or the directory of a run, whose best kernel is meant"


class Code(IntEnum):
    """What these commands return to the shell, beside 0 and the codes of all commands."""

    HOLES = 10
    WRONG = 11
    SAME = 12
    SLOW = 13
    UNCLEAR = 14


def add_check(parser: argparse.ArgumentParser) -> None:
    """The options of checking a problem's check."""
    parser.add_argument("kernel", type=Path, metavar="KERNEL", help=_FILE)
    most = "how many faults are put into the kernel at most, one at a time (default 30)"
    parser.add_argument("--faults", type=positive, default=30, metavar="N", help=most)
    baseline = "a result.json, or its run: instead of faults, ask whether the kernel is slower than the best there"
    parser.add_argument("--baseline", type=Path, metavar="FILE", help=baseline)
    most = "with --baseline: how much slower is no regression, as in 0.03 or 3%% (default 1%%)"
    parser.add_argument("--max-regression", type=share, metavar="SHARE", help=most)
    _add_machine(parser)
    slower = "with --baseline 1 where all of the interval is slower than allowed, else 0"
    parser.epilog = (
        f"exit code: 0 every fault was noticed, {Code.HOLES} some were not, 1 it cannot be checked; {slower}"
    )
    parser.set_defaults(command=_check)


def add_verify(parser: argparse.ArgumentParser) -> None:
    """The options of verifying a kernel."""
    parser.add_argument("kernel", type=Path, metavar="KERNEL", help=f"what is to be verified: {_FILE}")
    against = "a kernel of the same problem that is known to be right; its problem file says how to launch and check"
    parser.add_argument("--against", type=Path, required=True, metavar="OTHER", help=against)
    _add_machine(parser)
    parser.epilog = f"exit code: 0 right, {Code.WRONG} wrong, 1 it cannot be verified"
    parser.set_defaults(command=_verify)


def add_compare(parser: argparse.ArgumentParser) -> None:
    """The options of comparing two kernels."""
    parser.add_argument("first", type=Path, metavar="A", help=_FILE)
    parser.add_argument("second", type=Path, metavar="B", help="another of the same problem; FAST is what this one is")
    delta = "differences up to this are none, as in 0.01 (default) or 1%%"
    parser.add_argument("--delta", type=share, default=0.01, metavar="SHARE", help=delta)
    _add_machine(parser)
    codes = ", ".join(f"{code.value} {code.name}" for code in (Code.SAME, Code.SLOW, Code.UNCLEAR))
    parser.epilog = f"exit code: 0 FAST, {codes}, {Code.WRONG} B is wrong, 1 they cannot be compared"
    parser.set_defaults(command=_compare)


def _add_machine(parser: argparse.ArgumentParser) -> None:
    devices = "auto (default), cuda[:N], opencl[:N], c, emulator"
    parser.add_argument("--device", metavar="NAME", help=devices)
    add_unconfined(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    junit = "write what came of it as JUnit XML as well"
    parser.add_argument("--junit", type=Path, metavar="FILE", help=junit)


async def _check(chosen: argparse.Namespace) -> int:
    from tui_tuner.checks.check import check
    from tui_tuner.checks.pairs import check_regression

    if chosen.baseline is None and chosen.max_regression is not None:
        chosen.parser.error("--max-regression needs --baseline")
    return await _answered(check if chosen.baseline is None else check_regression, chosen, "check", chosen.kernel)


async def _verify(chosen: argparse.Namespace) -> int:
    from tui_tuner.checks.pairs import verify

    return await _answered(verify, chosen, "verify", chosen.kernel)


async def _compare(chosen: argparse.Namespace) -> int:
    from tui_tuner.checks.pairs import compare

    return await _answered(compare, chosen, "compare", chosen.second)


async def _answered(
    ask: Callable[[argparse.Namespace], Awaitable[tuple[int, list[Case]]]],
    chosen: argparse.Namespace,
    command: str,
    kernel: Path,
) -> int:
    """Carry a command out, and write what came of it as JUnit XML where that is asked for."""
    from tui_tuner.checks import Case, write_junit
    from tui_tuner.errors import UserError

    try:
        code, cases = await ask(chosen)
    except UserError as error:
        if chosen.junit is not None:
            write_junit(chosen.junit, command, kernel, [Case("right", "error", error.message, str(error))])
        raise
    if chosen.junit is not None:
        write_junit(chosen.junit, command, kernel, cases)
    return code
