"""`check`, `verify` and `compare` as a user calls them, on the emulator."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.checks.test_mutants import KERNEL, TABLES
from tests.checks.test_regression import cases
from tui_tuner.checks import Code, pairs
from tui_tuner.checks.check import FaultOutcome, Trial, verdict_lines
from tui_tuner.checks.mutants import Fault, Mutant
from tui_tuner.cli import main
from tui_tuner.errors import ExitCode
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Test

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
WRONG = KERNEL.replace("i < columns; i++", "i < columns / 4 * 4; i++")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "sums.cu").write_text(KERNEL)
    (tmp_path / "sums.toml").write_text(TABLES)
    (tmp_path / "wrong.cu").write_text(WRONG)
    return tmp_path / "sums.cu"


def between(low: float, high: float) -> Comparison:
    return Comparison(ratio=(low + high) / 2, low=low, high=high, pairs=30)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.02, 1.04, "FAST"),
        (1.005, 1.04, "UNCLEAR"),
        (0.995, 1.005, "SAME"),
        (0.97, 0.985, "SLOW"),
        (0.97, 0.995, "UNCLEAR"),
    ],
)
def test_a_verdict_needs_the_whole_interval(low: float, high: float, said: str) -> None:
    assert verdict(between(low, high), 0.01) == said
    lines = pairs.compared_lines(Path("a.cu"), Path("b.cu"), between(low, high), 0.01)
    assert lines[0].startswith(f"{said}: b.cu is ")
    assert any("--delta" in line for line in lines) == (said == "UNCLEAR"), "who is told nothing has a way on"


def test_a_kernel_that_is_wrong_is_neither_fast_nor_slow() -> None:
    failure = Failure(kind=FailureKind.WRONG_RESULT, message="no")
    assert verdict(between(2, 3).model_copy(update={"failure": failure}), 0.01) == "WRONG"


@pytest.mark.slow
@needs_compiler
def test_a_kernel_is_right_or_wrong_against_another(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, junit = str(kernel.with_name("wrong.cu")), kernel.with_name("out.xml")
    words = ["verify", wrong, "--against", str(kernel), "--device", "emulator", "--json", "--junit", str(junit)]
    assert main(words) == Code.WRONG
    assert cases(junit) == {"right": "failure"}
    assert "columns=10" in junit.read_text()
    told = json.loads(capsys.readouterr().out)
    assert (told["right"], told["failure"]["kind"]) == (False, "wrong result")
    assert main(["compare", str(kernel), wrong, "--device", "emulator", "--junit", str(junit)]) == Code.WRONG
    assert cases(junit) == {"right": "failure"}
    assert capsys.readouterr().out.startswith(f"WRONG: {wrong}: wrong result: at rows=64, columns=10")


@pytest.mark.slow
@needs_compiler
def test_a_kernel_is_compared_with_itself(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "emulator", "--delta", "50%", "--json", "--junit", str(kernel.with_name("out.xml"))]
    code = main(["compare", str(kernel), str(kernel), *words])
    assert cases(kernel.with_name("out.xml")) == {"right": "passed", "time": "system-out"}
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] in ("SAME", "UNCLEAR")
    assert code == Code[told["verdict"]]
    assert told["low"] <= told["ratio"] <= told["high"]
    assert told["device"]["cpu_times"] is True


@pytest.mark.slow
@needs_compiler
def test_a_hole_of_the_check_is_found_and_closed(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    even = TABLES.replace("columns = 100", "columns = 64").replace("columns = 10 ", "columns = 16 ")
    kernel.with_suffix(".toml").write_text(even)
    assert main(["check", str(kernel), "--device", "emulator", "--faults", "4"]) == Code.HOLES
    told = capsys.readouterr().out
    assert "MISSED     the last elements are left out (line 6: rows -> (rows) / 8 * 8)" in told
    assert "MISSED     a bounds check is left out" in told
    assert "expected   from the kernel as given itself" in told


def test_a_fault_that_one_more_test_does_not_notice_either_is_told_so(kernel: Path) -> None:
    given = baseline(load_problem(kernel))
    mutant = Mutant(Fault.TAIL, 6, "rows", "(rows) / 8 * 8", given)
    trials, test = [Trial(mutant, FaultOutcome.MISSED)], Test(sizes={"rows": 61})
    either = "           (a test at rows=61 does not notice it either)"
    assert either in verdict_lines(trials, test, set())
    assert either not in verdict_lines(trials, test, {given.id})
    assert "sizes = { rows = 61 }" in verdict_lines(trials, test, {given.id})
    assert either not in verdict_lines(trials, test, None), "it was not tried"


def test_who_has_a_reference_is_not_asked_for_one(kernel: Path) -> None:
    given = baseline(load_problem(kernel))
    for fault in (Fault.LARGE, Fault.PRECISION):
        trials = [Trial(Mutant(fault, 8, "columns", "columns / 2", given), FaultOutcome.MISSED)]
        said = ["\n".join(verdict_lines(trials, None, None, has_reference=there)) for there in (False, True)]
        assert [text.count("[tolerance]") for text in said] == [1, 1]
        assert [text.count("[reference]") for text in said] == [1, 0]


@pytest.mark.slow
@needs_compiler
def test_a_kernel_that_does_twice_the_work_is_slow(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = kernel.with_name("slow.cu")
    for file, work in ((kernel, 4000), (slow, 8000)):  # far more than what a busy machine adds to a launch
        file.write_text(KERNEL.replace("out[row] =", f"for (volatile int n = 0; n < {work}; n++) {{}} out[row] ="))
    junit = kernel.with_name("out.xml")
    assert main(["compare", str(kernel), str(slow), "--device", "emulator", "--junit", str(junit)]) == Code.SLOW
    assert cases(junit) == {"right": "passed", "time": "failure"}
    assert capsys.readouterr().out.startswith("SLOW: ")


@pytest.mark.slow
def test_what_cannot_be_compared_is_told_with_a_way_out(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = kernel.with_name("odd.cu")
    odd.write_text(KERNEL.replace("int rows, int columns", "int rows"))
    other = {"small": ("rows = 64", "rows = 8"), "filled": ('"in"\n', '"in"\nfill = "uniform"\n')}
    for name, change in other.items():
        kernel.with_name(f"{name}.cu").write_text(KERNEL)
        kernel.with_name(f"{name}.toml").write_text(TABLES.replace(*change).replace("sums.cu", f"{name}.cu"))
    kernel.with_name("host.c").write_text(KERNEL.replace("__global__ ", ""))
    kernel.with_name("host.toml").write_text(TABLES.replace("sums.cu", "host.c"))
    kernel.with_name("sums.cl").write_text(KERNEL)
    for name in ("run", "recording"):
        (kernel.parent / name).mkdir()
    (kernel.parent / "recording" / "journal.jsonl").write_text("{}\n")
    for file, reason in (
        (odd, "does not fit the problem file"),
        (kernel.with_name("none.cu"), "there is no kernel file"),
        (kernel.with_name("none"), "there is no kernel file"),
        (kernel.with_name("sums.cl"), "is no cuda kernel"),
        (kernel.parent / "run", "is no run that found a kernel"),
        (kernel.parent / "recording", "recording --as problem > "),
        (kernel.with_name("host.c"), "it is in c, the other kernel in cuda"),
        (
            kernel.with_name("small.cu"),
            "its sizes are rows=8, columns=100, those of the other kernel rows=64",
        ),
        (kernel.with_name("filled.cu"), "its argument 2 is not that of the other kernel"),
    ):
        junit = kernel.with_name("out.xml")
        words = ["compare", str(kernel), str(file), "--device", "emulator", "--junit", str(junit)]
        assert main(words) == ExitCode.FAILED
        assert reason in capsys.readouterr().err
        assert cases(junit) == {"right": "error"}
    idle = kernel.with_name("idle.cu")
    idle.write_text(KERNEL.replace("int columns) {", "int columns) { if (rows) return;"))
    assert main(["compare", str(idle), str(kernel), "--device", "emulator"]) == ExitCode.FAILED
    assert f"{idle}: at rows=64, columns=10 the kernel as given leaves 64 of 64" in capsys.readouterr().err
    idle.write_text(KERNEL.replace("* columns", "* column"))
    assert main(["compare", str(idle), str(kernel), "--device", "emulator"]) == ExitCode.FAILED
    assert "does not build: idle.cu:8:" in capsys.readouterr().err
    assert main(["check", str(kernel), "--device", "recorded:x.json"]) == ExitCode.USAGE
    assert "a recording can run no kernel" in capsys.readouterr().err
