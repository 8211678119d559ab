"""The strategy `explicit` with the real program and a user's own steps: done, refused, blocked; files with mistakes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end import answers
from tests.end_to_end.kernels import SOURCE, rewrite, write_kernel
from tests.end_to_end.program import Ended, ModelDouble, records, tuner_tui

STEPS = """\
[[steps]]
id = "tile"
prompt_template = "Let a block of $name share what it loads."

[[steps]]
id = "double_buffer"
prompt_template = "Load the next tile while this one is used."
depends_on = ["tile"]
skip_evaluation = true

[[steps]]
id = "skip_passes"
prompt_template = "Leave out the passes of $name that change nothing."
tune_params = { stride = [1, 80] }
"""
SKIPPING = SOURCE.replace("pass++", "pass += stride")
REASON = "Nothing is loaded twice."
ANSWERS = [
    answers.to("worth_step", answers.worth(False, REASON), step="tile"),
    answers.to("worth_step", answers.worth(), step="skip passes"),
    answers.to("apply_step", rewrite(code=SKIPPING, block_size=(64,), passes=(400,)), step="skip passes"),
]


@dataclass(frozen=True)
class Finished:
    run: Path
    model: ModelDouble
    ended: Ended


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("explicit")
    write_kernel(directory, tests=[333], passes=[400])
    (directory / "mine.toml").write_text(STEPS)
    model = ModelDouble(directory / "model", ANSWERS)
    options = (*model.asked_by("explicit"), "--steps", "mine.toml", "--max-evals", 9, "--run-dir", "run")
    return Finished(
        directory / "run", model, tuner_tui("scale.cu", "--auto", "--device", "emulator", *options, cwd=directory)
    )


def test_a_step_that_is_worth_doing_is_done_and_one_that_is_not_blocks_what_depends_on_it(finished: Finished) -> None:
    assert finished.ended.code == 0, finished.ended.err
    story = finished.ended.err
    assert f"step 2 tile: skipped (not worth doing here: {REASON})\n" in story
    assert "step 3 double buffer: skipped (it needs 'tile', which was skipped)\n" in story
    assert "step 4 skip passes: validated\n" in story
    assert "step 4 skip passes: accepted " in story


def test_the_model_is_asked_about_each_step_with_the_users_words_and_never_about_a_blocked_one(
    finished: Finished,
) -> None:
    judged, worthwhile, kernel = finished.model.prompts
    assert "Let a block of scale share what it loads." in judged
    for prompt in (worthwhile, kernel):
        assert "Leave out the passes of scale that change nothing." in prompt
        assert "skipped: not worth doing here: Nothing is loaded twice." in prompt
    assert "- stride: 1, 80" in kernel


def test_the_result_is_that_of_the_step_that_was_done(finished: Finished) -> None:
    result = json.loads((finished.run / "result.json").read_text())

    assert (result["strategy"], result["status"], result["best_title"]) == ("explicit", "finished", "skip passes")
    assert result["best"]["configuration"] == {"block_size_x": 64, "passes": 400, "stride": 80}
    assert (result["model_calls"], result["evaluations"]) == (3, 2)


def test_the_steps_stand_in_the_journal_so_that_a_replay_needs_no_file_of_steps(
    finished: Finished, tmp_path: Path
) -> None:
    (finished.run.parent / "mine.toml").unlink()
    before = records(finished.run)
    replayed = tuner_tui("replay", finished.run, "--auto", cwd=tmp_path)

    assert replayed.code == 0, replayed.err
    assert replayed.out.splitlines() == finished.ended.out.splitlines()[:-1], "all but where it was written"
    assert records(finished.run) == before


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('depends_on = ["tile"]', 'depends_on = ["tille"]', "mine.toml:8: step 'double_buffer' depends on 'tille'"),
        ("skip_evaluation", "skip_evalution", "mine.toml:9: unknown key 'skip_evalution'"),
        ('id = "double_buffer"', 'id = "tile"', "mine.toml:6: step 'tile' is there twice"),
        ("of $name share", "of $nam share", "mine.toml:3: the prompt_template of step 'tile' has the placeholder $nam"),
        ("[1, 80]", "[]", "mine.toml:14: "),
        ("[[steps]]", "[[steps]", "mine.toml:1: this is not TOML"),
    ],
)
def test_a_mistake_in_a_file_of_steps_is_named_with_its_line_and_begins_no_run(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    write_kernel(tmp_path)
    assert old in STEPS
    (tmp_path / "mine.toml").write_text(STEPS.replace(old, new))
    options = ("--auto", "--device", "emulator", "--strategy", "explicit", "--steps", "mine.toml", "--llm", "none")
    ended = tuner_tui("scale.cu", *options, cwd=tmp_path)

    assert (ended.code, ended.out) == (1, "")
    assert told in ended.err
    assert not (tmp_path / "tuner-runs").exists()


def test_a_file_of_steps_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    ended = tuner_tui("scale.cu", "--auto", "--strategy", "explicit", "--steps", "gone.toml", cwd=tmp_path)

    assert (ended.code, ended.out) == (1, "")
    assert "gone.toml: " in ended.err
    assert not (tmp_path / "tuner-runs").exists()


@pytest.mark.slow
def test_that_there_is_no_model_for_the_steps_is_said(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400])
    (tmp_path / "mine.toml").write_text(STEPS)
    options = ("--strategy", "explicit", "--steps", "mine.toml", "--llm", "none", "--max-evals", 2)

    ended = tuner_tui("scale.cu", "--auto", "--device", "emulator", *options, cwd=tmp_path)

    assert "'explicit' with its options needs a language model: running the strategy 'search'" in ended.err
