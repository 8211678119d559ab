"""A project's file is data from a directory that may be somebody else's: what it may set, and what needs trust."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tui_tuner.cli import main
from tui_tuner.errors import SettingsError
from tui_tuner.settings import load_settings

HARMLESS = (
    "[session]\nstrategy = 'search'\ndevice = 'emulator'\nllm = 'none'\nmax_calls = 9\nmax_cost = 1.5\nseed = 4\n"
    "[session.rounds]\nseeds = 1\n[strategies.autonomous]\nkeep_neutral = true\n[model]\ntemperature = 0.1\n"
)
REFUSED = [
    ("[session]\nstrategy = 'mine.py:Mine'\n", "session.strategy"),
    ("[session]\nstrategy = 'mine.py'\n", "session.strategy"),
    ("[strategies.'mine.py']\nx = 1\n", "strategies.mine.py.x"),
    ("[strategies.'mine.py:Mine']\nx = 1\n", "strategies.mine.py:Mine.x"),
    ("[session]\nallow_unconfined = true\n", "session.allow_unconfined"),
    ("[session]\nllm = 'command:sh'\n", "session.llm"),
    ("[session]\nllm = 'auto'\n", "session.llm"),
    ("[session]\ndevice = ' Ray://there:1'\n", "session.device"),
    ("[session]\nmax_calls = 101\n", "session.max_calls"),
    ("[session]\nmax_calls = '101'\n", "session.max_calls"),
    ("[session]\nmax_cost = 3.0\n", "session.max_cost"),
    ("[session]\nmemory = true\n", "session.memory"),
    ("[model]\ncommand = 'sh'\n", "model.command"),
    ("[model]\n'base_url' = 'http://there'\n", "model.base_url"),
    ("[memory]\nfile = 'memory'\n", "memory.file"),
    ("[build]\nnvcc = 'nvcc'\n", "build.nvcc"),
    ("[tensile]\ntensile = 'there'\n", "tensile.tensile"),
]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a project whose Python file must not be run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    Path("mine.toml").write_text("[session]\nmax_cost = 2.0\n")
    Path("k").mkdir()
    for directory in ("k", "."):
        Path(directory, "mine.py").write_text("raise SystemExit('it was run')\n")
    return Path("k/tuner-tui.toml")


def test_how_a_kernel_is_searched_may_be_set(project: Path) -> None:
    project.write_text(HARMLESS)
    session = load_settings(beside=Path("k/a.cu")).session
    assert (session.strategy, session.llm, session.max_cost) == ("search", "none", 1.5)


@pytest.mark.parametrize(("text", "name"), REFUSED)
def test_what_runs_reaches_or_pays_for_something_is_refused_with_its_line(project: Path, text: str, name: str) -> None:
    project.write_text(text)
    with pytest.raises(SettingsError) as raised:
        load_settings(beside=project.parent)
    assert str(raised.value).startswith(f"k/tuner-tui.toml:2: {name}: a project may not set this")
    assert "tuner-tui config trust k" in str(raised.value)


def test_a_project_that_is_trusted_may_and_its_paths_begin_at_its_file(project: Path) -> None:
    project.write_text("[session]\nstrategy = 'mine.py:Mine'\nmax_cost = 9\n[build]\nnvcc = 'bin/nvcc'\n")
    assert main(["config", "trust", "k"]) == 0
    assert main(["config", "trust", "k"]) == 0
    settings = load_settings(beside=project.parent)
    assert settings.projects.trusted == (project.parent.resolve(),)
    assert (settings.session.strategy, settings.session.max_cost) == ("k/mine.py:Mine", 9)
    assert settings.build.nvcc == Path("k/bin/nvcc")
    Path("other").mkdir()
    Path("other/tuner-tui.toml").write_text(project.read_text())
    with pytest.raises(SettingsError, match="a project may not set this"):
        load_settings(beside=Path("other"))


@pytest.mark.parametrize(
    "text", ["[projects]\ntrusted = ['/']\n", "[screen]\nbell = 'never'\n", "[log]\nlevel = 'off'\n"]
)
def test_what_is_the_users_own_is_set_by_no_project(project: Path, text: str) -> None:
    project.write_text(text)
    assert main(["config", "trust", "k"]) == 0
    with pytest.raises(SettingsError, match="is for your own settings, not for a project's"):
        load_settings(beside=project.parent)


def test_a_directory_that_is_not_there_is_not_trusted(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "trust", "nowhere"]) == 2
    assert "nowhere: there is no such directory" in capsys.readouterr().err


def test_a_directory_whose_name_is_no_text_does_not_spoil_the_settings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "trust", "k"]) == 0
    odd = os.fsdecode(b"d\xff")
    Path(odd).mkdir()
    assert main(["config", "trust", odd]) == 2
    assert "what is to be set is not UTF-8 text\n  a directory needs a name that is" in capsys.readouterr().err
    assert load_settings().projects.trusted == (project.parent.resolve(),)
