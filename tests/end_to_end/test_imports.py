"""What an import loads: the engine no screen and no vendor's package; a short command next to nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tui_tuner

SCREENS = {"textual", "rich"}
ENGINE = {"pydantic", "numpy", "scipy", "tree_sitter", "httpx", "kernel_tuner"}
VENDORS = {"pycuda", "cupy", "cuda", "kernel_tuner", "torch", "pyopencl", "openai", "anthropic", "ollama"}


def loaded_by(module: str, directory: Path) -> set[str]:
    """Top-level packages that a fresh interpreter has after importing a module."""
    program = f"import json, sys, {module}\nprint(json.dumps([*{{name.partition('.')[0] for name in sys.modules}}]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=directory)
    return set(json.loads(done.stdout))


ROOMS = (
    "tui_tuner.session.session",
    "tui_tuner.strategies.choose",
    "tui_tuner.evaluate.local",
    "tui_tuner.evaluate.runner.server",
    "tui_tuner.problem.load",
    "tui_tuner.llm.choose",
    "tui_tuner.search.client",
    "tui_tuner.report",
)


def test_no_room_of_the_engine_loads_a_screen_or_a_vendors_package(tmp_path: Path) -> None:
    loaded = loaded_by(", ".join(ROOMS), tmp_path)

    assert "tui_tuner" in loaded
    assert not loaded & (SCREENS | VENDORS)


@pytest.mark.slow
def test_a_search_in_a_process_of_its_own_loads_nothing_of_sessions(tmp_path: Path) -> None:
    """It is loaded with every session, for its own libraries alone."""
    searches = "tui_tuner.search.process, tui_tuner.search.surrogate, tui_tuner.search.kernel_tuner_strategy"
    loaded = loaded_by(searches, tmp_path)

    assert {"numpy", "kernel_tuner"} <= loaded
    assert not loaded & (SCREENS | {"pydantic", "tree_sitter", "httpx"})


@pytest.mark.slow
def test_the_command_line_loads_no_screen_and_no_vendors_package(tmp_path: Path) -> None:
    assert not loaded_by("tui_tuner.cli, tui_tuner.headless", tmp_path) & (SCREENS | VENDORS)


def test_the_screen_loads_no_vendors_package(tmp_path: Path) -> None:
    loaded = loaded_by("tui_tuner.tui.app, tui_tuner.tui.screen", tmp_path)

    assert loaded >= SCREENS, "else the test above could not fail"
    assert not loaded & VENDORS


@pytest.mark.slow
def test_the_frame_of_the_screen_is_there_before_anything_of_sessions(tmp_path: Path) -> None:
    loaded = loaded_by("tui_tuner.tui.app, tui_tuner.app.showing, tui_tuner.app.attaching", tmp_path)

    assert loaded >= SCREENS
    assert not loaded & ENGINE


@pytest.mark.slow
def test_the_first_picture_of_the_start_screen_waits_for_no_model_of_the_settings(tmp_path: Path) -> None:
    program = "tui_tuner.cli.session_commands as c, tui_tuner.app.overview, tui_tuner.tui.start.start_app"
    (tmp_path / "tuner-tui.toml").write_text('[session]\ndevice = "emulator"\n', "utf-8")

    loaded = loaded_by(f"{program}; assert not c._is_recorded(None)", tmp_path)

    assert loaded >= SCREENS
    assert not loaded & ENGINE - {"tree_sitter"}  # which Textual loads for editors


@pytest.mark.slow
def test_a_recording_that_the_settings_name_needs_no_kernel_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "tuner-tui.toml").write_text('[session]\ndevice = "Recorded:times.json"\n', "utf-8")

    loaded_by("tui_tuner.cli.session_commands as c; assert c._is_recorded(None)", tmp_path)


def loaded_by_command(arguments: list[str], directory: Path, settings: str = "") -> set[str]:
    """Top-level packages that a fresh interpreter has after a command, and `pydantic` only where it has models."""
    if settings:
        (directory / "mine.toml").write_text(settings, "utf-8")
    program = (
        "import json, sys\nfrom tui_tuner.cli import main\n"
        f"try:\n    code = main({arguments!r})\nexcept SystemExit as end:\n    code = end.code\n"
        "print()\nprint(json.dumps([code or 0, *{name.partition('.')[0] for name in sys.modules}]))"
    )
    environment = {**os.environ, "TUNER_TUI_CONFIG": str(directory / "mine.toml")}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=directory, env=environment
    )
    code, *loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(loaded)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["help", "tensile"],
        ["bench-search", "--help"],
        ["runs"],
        ["config"],
        ["completion", "bash"],
        ["completion", "zsh"],
        ["completion", "fish"],
    ],
    ids=" ".join,
)
def test_a_short_command_loads_neither_engine_nor_screen_nor_event_loop(tmp_path: Path, arguments: list[str]) -> None:
    loaded = loaded_by_command(arguments, tmp_path)

    assert "tui_tuner" in loaded
    assert not loaded & (ENGINE | SCREENS | VENDORS | {"asyncio"})


def test_runs_that_are_there_are_listed_as_lightly(tmp_path: Path) -> None:
    header = {"journal": 1, "created": "now", "options": {"strategy": "search"}, "model": None}
    (tmp_path / "tuner-runs/one").mkdir(parents=True)
    (tmp_path / "tuner-runs/one/journal.jsonl").write_text(json.dumps(header) + "\n", "utf-8")

    assert not loaded_by_command(["runs"], tmp_path) & (ENGINE | SCREENS | VENDORS | {"asyncio"})


def test_a_settings_file_is_checked_by_the_models_of_the_settings_alone(tmp_path: Path) -> None:
    loaded = loaded_by_command(["config"], tmp_path, "[session]\nseed = 3\n[model]\nmax_tokens = 512\n")

    assert loaded & ENGINE == {"pydantic"}
    assert not loaded & (SCREENS | VENDORS)


def test_no_room_imports_the_root_that_offers_them_all() -> None:
    root = Path(tui_tuner.__file__).parent

    files = [file for file in root.rglob("*.py") if re.search(r"^\s*from tui_tuner import\b", file.read_text(), re.M)]

    assert files == []


def test_a_file_holds_one_idea_of_350_lines_at_most() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in Path(tui_tuner.__file__).parent.rglob("*.py")}

    assert {str(file): lines for file, lines in lengths.items() if lines > 350} == {}
