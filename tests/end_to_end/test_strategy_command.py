"""`tuner-tui strategy`: the file that it writes tunes a kernel as it is; the list names all there are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.kernels import rewrite, write_kernel
from tests.end_to_end.program import ModelDouble, tuner_tui
from tui_tuner.cli import main
from tui_tuner.strategies.choose import STRATEGIES


@pytest.mark.slow
def test_the_written_strategy_tunes_a_kernel_and_its_run_goes_on_by_itself(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 80])
    written = tuner_tui("strategy", "new", cwd=tmp_path)
    assert written.code == 0, written.err
    assert "--strategy my_strategy.py:MyStrategy" in written.out

    model = ModelDouble(tmp_path / "model", rewrite(block_size=(64,), passes=(100, 5)))
    strategy = ("--strategy", "my_strategy.py:MyStrategy", "--set", "rounds=1")
    budget = ("--max-evals", 8, "--run-dir", "run")
    ended = tuner_tui(
        "scale.cu", "--auto", "--device", "emulator", "--llm", model.name, *strategy, *budget, cwd=tmp_path
    )

    assert ended.code == 0, ended.err
    assert "passes=5" in ended.out
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["strategy"] == "MyStrategy"
    assert "More work per thread" in ended.err
    assert len(model.prompts) == 2, "one for each idea of the template"

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = tuner_tui("resume", "../run", "--auto", cwd=elsewhere)
    assert again.code == 0, again.err
    assert len(model.prompts) == 2, "nothing is asked twice"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_that_is_there_is_written_over_only_if_it_is_asked_for(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "ours.py").write_text("mine")
    assert main(["strategy", "new", "ours.py"]) == 2
    assert "ours.py: is there already\n  add --force" in capsys.readouterr().err
    assert (here / "ours.py").read_text() == "mine"

    assert main(["strategy", "new", "ours.py", "--force"]) == 0
    assert "--strategy ours.py:MyStrategy" in (here / "ours.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["new", "ours.txt"], "ours.txt: a strategy is a Python file\n  write ours.py"),
        (["new", "absent/ours.py"], "absent/ours.py: cannot be written: No such file or directory"),
    ],
)
def test_a_place_where_no_strategy_can_be_written_is_named(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(["strategy", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["nwe"], ["list", "ours.py"], ["list", "--force"]])
def test_other_arguments_are_a_usage_error(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["strategy", *arguments])
    assert "usage: tuner-tui strategy" in capsys.readouterr().err


def test_the_list_names_every_strategy_that_the_program_brings_with_its_options(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["strategy", "list"]) == 0
    out = capsys.readouterr().out
    for name, strategy in STRATEGIES.items():
        assert f"{name}: {(strategy.__doc__ or '').splitlines()[0]}\n" in out
        for option in strategy.model_fields:
            assert f"{option}=" in out
