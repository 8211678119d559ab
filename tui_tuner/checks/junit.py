"""JUnit XML, which continuous integration reads: one test case for each thing that was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

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
