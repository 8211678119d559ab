"""`tune-all`: which files are meant, how the budget is shared, and what is done when it is asked again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.checks.test_mutants import KERNEL, TABLES
from tui_tuner.app.batch import SUMMARY, Row, problem_files, share_of
from tui_tuner.cli import main
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.session_options import SessionOptions

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def spent(**amounts: Any) -> Row:
    return Row("a.toml", "runs/a", "finished", **amounts)


def test_problem_files_are_those_with_a_kernel_that_no_run_has_left(tmp_path: Path) -> None:
    files = {
        "b/two.toml": "[kernel]\n", "one.toml": "[kernel]\n", "broken.toml": "[kernel]\nname = two words\n",
        "pyproject.toml": "[project]\n", "notes.toml": "no words", "run/journal.jsonl": "", "run/best.toml": "[kernel]",
        ".hidden/three.toml": "[kernel]",
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [str(file.relative_to(tmp_path)) for file in problem_files(tmp_path)]
    assert found == ["b/two.toml", "broken.toml", "one.toml"]


def test_what_one_problem_leaves_is_shared_by_those_that_follow() -> None:
    total = SessionOptions(max_evaluations=30, max_calls=9, max_seconds=90, max_cost=3)
    assert share_of(total, [], 3) == {"max_evaluations": 10, "max_calls": 3, "max_seconds": 30, "max_cost": 1}
    first = spent(evaluations=4, model_calls=1, elapsed_s=10, cost=0.5)
    left = {"max_evaluations": 13, "max_calls": 4, "max_seconds": 40, "max_cost": 1.25}
    assert share_of(total, [first], 2) == left
    assert share_of(total, [spent(cost=None)], 2)["max_cost"] == 0, "what was paid is not known: nothing is left"
    with pytest.raises(SettingsError, match="nothing of the budget is left"):
        share_of(total, [spent(evaluations=30)], 1)


@pytest.mark.slow
@needs_compiler
def test_all_are_tuned_once_and_one_that_cannot_be_stops_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all").mkdir()
    for name, text in (("sums.cu", KERNEL), ("sums.toml", TABLES), ("broken.toml", "[kernel]\n")):
        (tmp_path / "all" / name).write_text(text)
    runs = tmp_path / "runs"
    words = ["tune-all", str(tmp_path / "all"), "--device", "emulator", "--llm", "none", "--run-dir", str(runs)]
    assert main([*words, "--max-evals", "4", "--json"]) == ExitCode.FAILED
    told = json.loads(capsys.readouterr().out)
    assert told == json.loads((runs / SUMMARY).read_text())
    broken, sums = told["problems"]
    assert (broken["status"], sums["status"]) == ("failed", "no_improvement")
    journal = (runs / "sums/journal.jsonl").read_bytes()
    (tmp_path / "all/broken.toml").unlink()
    assert main([*words, "--max-evals", "4"]) == ExitCode.FINISHED
    out, err = capsys.readouterr()
    assert "done before" in err
    assert "no_improvement" in out
    assert (runs / "sums/journal.jsonl").read_bytes() == journal, "what is done is not done again"
    (tmp_path / "all/sums.cu").write_text(KERNEL + "\n")
    assert main([*words, "--max-evals", "4"]) == ExitCode.FAILED
    assert "has changed since this run" in capsys.readouterr().err


def test_a_directory_without_problems_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune-all", str(tmp_path)]) == ExitCode.USAGE
    assert "no problem file below this directory" in capsys.readouterr().err
    assert main(["tune-all", str(tmp_path / "none")]) == ExitCode.USAGE
    assert "is no directory" in capsys.readouterr().err
