"""A `Problem` made in Python is checked, tuned, resumed and replayed like one from a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import tui_tuner
from tests.session.fakes import PROBLEM, SOURCE, FakeEvaluator
from tui_tuner import Argument, Kernel, Launch, Problem, Search
from tui_tuner.app.sessions import replayed_session, resumed_session
from tui_tuner.errors import JournalError, ProblemError
from tui_tuner.problem.load import load_problem, parse_problem, problem_text, written_in_file, written_in_python
from tui_tuner.problem.model import Reference
from tui_tuner.settings import Settings

TABLES = sorted((Path(__file__).parents[2] / "sample_kernels").glob("*.toml"))
SAMPLES = [file for file in TABLES if "[kernel]" in file.read_text("utf-8")]
HERE = {"strategy": "search", "device": "emulator", "max_evaluations": 12}


def scale(**changes: object) -> Problem:
    content: dict[str, object] = {
        "kernel": Kernel(source="scale.cu", name="scale"),
        "sizes": {"n": 4096},
        "launch": Launch(problem_size=["n"]),
        "arguments": [
            Argument(name="y", dtype="float32", shape=["n"], output=True),
            Argument(name="x", dtype="float32", shape=["n"]),
            Argument(name="n", dtype="int32", value="n"),
        ],
        "tunables": {"block_size_x": [32, 64, 128, 256]},
        "source_text": SOURCE,
    }
    return Problem(**{**content, **changes})


def test_a_kernel_that_is_in_no_file_is_tuned_and_its_run_goes_on_from_the_command_line(
    tmp_path: Path, evaluators: list[FakeEvaluator]
) -> None:
    result = tui_tuner.tune(scale(), run_directory=tmp_path / "run", **HERE)

    assert result.configuration == {"block_size_x": 256}
    assert SOURCE in result.source
    again = load_problem(result.best_problem)
    assert again.tunables == {"block_size_x": [256]}
    resumed = asyncio.run(resumed_session(tmp_path / "run", {}, Settings()))
    resumed.run.journal.close()
    replayed = replayed_session(tmp_path / "run")
    assert resumed.run.problem.model_copy(update={"directory": Path()}) == scale()
    assert replayed.run.problem == resumed.run.problem


def test_the_same_problem_made_again_goes_on_and_another_one_does_not(
    tmp_path: Path, evaluators: list[FakeEvaluator]
) -> None:
    run = tmp_path / "run"
    tui_tuner.tune(scale(), run_directory=run, **HERE)
    tui_tuner.tune(scale(), run_directory=run, **HERE)

    assert evaluators[1].evaluated == []
    with pytest.raises(JournalError, match="another problem"):
        tui_tuner.tune(scale(sizes={"n": 8192}), run_directory=run, **HERE)


def test_its_text_is_a_problem_file_that_says_the_same_as_the_one_written_by_hand(tmp_path: Path) -> None:
    (tmp_path / "scale.cu").write_text(SOURCE)
    (tmp_path / "scale.toml").write_text(PROBLEM)
    by_hand = written_in_file(tmp_path / "scale.cu").problem

    beside = {"tests": by_hand.tests, "source_text": "", "directory": tmp_path}
    made = written_in_python(scale(defaults={"block_size_x": 32}, **beside))
    assert made.problem == by_hand
    assert made.file == tmp_path / "scale.toml"


@pytest.mark.parametrize("file", SAMPLES, ids=lambda file: file.stem)
def test_every_sample_is_the_same_problem_after_it_was_written_down(file: Path) -> None:
    problem = load_problem(file)
    text = problem_text(problem)
    assert parse_problem(text, directory=file.parent, file=file, source_text=problem.source_text) == problem


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"source_text": ""}, "the kernel's file scale.cu is missing\n  give Problem a source_text"),
        (
            {"kernel": Kernel(source="scale.cu", name="scael")},
            "the source has no kernel 'scael'\n  did you mean 'scale'?",
        ),
        ({"kernel": Kernel(source="scale", name="scale")}, "says no language\n  give Kernel a language"),
        ({"launch": Launch(problem_size=["m"])}, "'m'"),
        ({"search": Search(restrictions=["block_size_x > 512"])}, "block_size_x > 512"),
        ({"reference": Reference(python="absent.py:scale")}, "absent.py"),
    ],
)
def test_what_is_wrong_with_it_is_told_without_a_line_of_a_file_that_nobody_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProblemError) as caught:
        tui_tuner.tune(scale(**changes), **HERE)
    assert told in str(caught.value)
    assert str(caught.value).startswith("Problem: ") or "missing" in caught.value.message
    assert caught.value.line is None
    assert not Path("tuner-runs").exists()
