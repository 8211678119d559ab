"""`check --baseline` as a user calls it, on the emulator, and its JUnit file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.checks.test_mutants import KERNEL, TABLES
from tui_tuner.checks import Case, write_junit
from tui_tuner.checks.pairs import between, must_be_of
from tui_tuner.cli import main
from tui_tuner.errors import DeviceError, ExitCode, ProblemError
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.results import Timing
from tui_tuner.problem.load import load_problem
from tui_tuner.report import SessionOutcome, problem_key

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel with a run beside it."""
    directory = tmp_path_factory.mktemp("tuned")
    (directory / "sums.cu").write_text(KERNEL)
    (directory / "sums.toml").write_text(TABLES)
    words = [str(directory / "sums.cu"), "--auto", "--quiet", "--device", "emulator", "--llm", "none"]
    main([*words, "--max-evals", "1", "--run-dir", str(directory / "run")])
    return directory / "sums.cu"


def result_with(tuned: Path, name: str, factor: float) -> Path:
    """The run's result as if its times had been so many times as long."""
    result: dict[str, Any] = json.loads((tuned.parent / "run/result.json").read_text())
    timing = result["best"]["timing"]
    timing.update({key: timing[key] * factor for key in ("median", "low", "high")})
    result["comparison"] = None
    file = tuned.with_name(name)
    file.write_text(json.dumps(result))
    return file


def cases(file: Path) -> dict[str, str]:
    """What became of every case of a JUnit file."""
    found = ElementTree.parse(file).getroot().iter("testcase")  # noqa: S314 (ours)
    return {case.attrib["name"]: next((part.tag for part in case), "passed") for case in found}


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(
    ("factor", "said", "code", "case"),
    [(0.01, "SLOW", ExitCode.FAILED, "failure"), (100, "FAST", ExitCode.FINISHED, "system-out")],
)
def test_a_kernel_is_measured_against_an_earlier_result(
    tuned: Path, capsys: pytest.CaptureFixture[str], factor: float, said: str, code: ExitCode, case: str
) -> None:
    file, junit = result_with(tuned, f"{said}.json", factor), tuned.with_name(f"{said}.xml")
    words = ["check", str(tuned), "--device", "emulator", "--baseline", str(file), "--max-regression", "3%"]
    assert main([*words, "--junit", str(junit), "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["max_regression"]) == (said, 0.03)
    assert told["low"] <= told["ratio"] <= told["high"]
    assert cases(junit) == {"right": "passed", "time": case}


@needs_compiler
def test_a_result_of_another_device_or_problem_is_refused(tuned: Path) -> None:
    text = (tuned.parent / "run/result.json").read_text()
    result, problem = SessionOutcome.model_validate_json(text), load_problem(tuned.with_suffix(".toml"))
    same = problem.model_copy(update={"sizes": result.sizes})
    must_be_of(result, same, result.device, tuned)
    elsewhere = result.device.model_copy(update={"name": "another"})
    with pytest.raises(DeviceError, match="and this is another"):
        must_be_of(result, same, elsewhere, tuned)
    with pytest.raises(ProblemError, match="was timed at rows=64"):
        must_be_of(result, same.model_copy(update={"sizes": {"rows": 1}}), result.device, tuned)
    with pytest.raises(ProblemError, match="is of another problem"):
        must_be_of(result, same.model_copy(update={"arguments": same.arguments[:1]}), result.device, tuned)
    old = result.model_copy(update={"sizes": None, "problem_key": ""})
    must_be_of(old, same.model_copy(update={"sizes": {"rows": 1}, "arguments": []}), result.device, tuned)
    assert result.problem_key == problem_key(problem)


def test_the_interval_holds_all_that_the_two_allow() -> None:
    then, now = Timing(median=1, low=0.99, high=1.01, samples=9), Timing(median=1.05, low=1.03, high=1.07, samples=9)
    ratio = between(then, now)
    assert (ratio.low, ratio.high) == pytest.approx((0.99 / 1.07, 1.01 / 1.03))
    assert [verdict(ratio, most) for most in (0.01, 0.03, 0.10)] == ["SLOW", "UNCLEAR", "SAME"]


@pytest.mark.parametrize(
    ("text", "reason"), [(None, "cannot be read"), ("{", "is no result"), ("{}", "is no result of a kernel's session")]
)
def test_a_baseline_that_is_none_is_told_in_the_junit_file_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, reason: str
) -> None:
    baseline, junit = tmp_path / "result.json", tmp_path / "out.xml"
    if text is not None:
        baseline.write_text(text)
    assert main(["check", "x.cu", "--baseline", str(baseline), "--junit", str(junit)]) == ExitCode.USAGE
    assert reason in capsys.readouterr().err
    assert cases(junit) == {"right": "error"}


def test_a_junit_file_counts_its_cases_and_bears_any_text(tmp_path: Path) -> None:
    made = [Case("a<b"), Case("b", "failure", "no \x1b[31m & \x00"), Case("c", "skipped", "not built")]
    write_junit(tmp_path / "out.xml", "check", Path("k.cu"), made)
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]  # noqa: S314 (ours)
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]
    assert cases(tmp_path / "out.xml") == {"a<b": "passed", "b": "failure", "c": "skipped"}
