"""The program around the command line: early and late interruptions, and what comes of a bare start."""

from __future__ import annotations

import argparse
import inspect
import shutil
import signal
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.program import tuner_tui
from tui_tuner.app import showing
from tui_tuner.app.showing import FrontEnd
from tui_tuner.cli import main, session_commands
from tui_tuner.errors import ExitCode, JournalError
from tui_tuner.journal.runs import last_run
from tui_tuner.tui.start import FailedChoice

SAMPLES = Path(__file__).parents[2] / "sample_kernels"
BEFORE = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "tui_tuner.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
"""
AFTER = """
import atexit, os, signal
atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize(("customised", "code"), [(BEFORE, -signal.SIGINT), (AFTER, 0), ("", 0)])
def test_an_interruption_while_it_loads_or_leaves_is_no_traceback(tmp_path: Path, customised: str, code: int) -> None:
    (tmp_path / "sitecustomize.py").write_text(customised)
    command = [sys.executable, "-m", "tui_tuner", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}, check=False)
    assert done.returncode == code
    assert done.stderr == ""
    assert done.stdout.startswith("tuner-tui ") == (code == 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_was_closed_is_none_that_a_file_takes_the_place_of(tmp_path: Path, closed: str) -> None:
    program = (
        "import os, sys; from tui_tuner.__main__ import _have_streams; _have_streams();"
        "sys.stdout.write('a'); sys.stderr.write('b'); sys.stdin.read();"
        "sys.exit(open(os.devnull).fileno() < 3)"
    )
    command = ["sh", "-c", f'exec "$0" -P -c "$1" {closed}', sys.executable, program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False)
    assert (done.returncode, done.stderr) == (0, "" if "2>" in closed else "b")


def test_a_directory_that_was_deleted_is_told_in_a_line(tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    lost.mkdir()
    command = ["sh", "-c", 'rmdir "$PWD"; exec "$0" -m tui_tuner runs', sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, cwd=lost, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("tuner-tui: the working directory is no longer there\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", [["config"], ["completion", "bash"], ["--version"]], ids="-".join)
def test_an_output_that_has_no_room_is_told_in_a_line(tmp_path: Path, command: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        words = [sys.executable, "-m", "tui_tuner", *command]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("tuner-tui: what is printed cannot be written: No space left on device\n")


@pytest.mark.parametrize("place", [".", "..", "/", ""])
def test_a_directory_gets_no_problem_file(tmp_path: Path, place: str) -> None:
    done = tuner_tui("init", place, cwd=tmp_path)
    assert done.code == 1
    assert "is a directory\n  name a kernel's file" in done.err


def test_a_command_that_is_interrupted_before_it_begins_leaves_nothing_that_is_awaited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting: list[Coroutine[Any, Any, int]] = []

    def interrupted(done: Coroutine[Any, Any, int], *_: object) -> int:
        waiting.append(done)
        raise KeyboardInterrupt

    monkeypatch.setattr("tui_tuner.cli._in_a_loop", interrupted)
    assert main(["init", "kernel.cu"]) == ExitCode.INTERRUPTED
    assert inspect.getcoroutinestate(waiting[0]) == inspect.CORO_CLOSED


@pytest.mark.parametrize("words", [["attach", "gone"], ["replay", "gone"], ["resume", "gone"]])
@pytest.mark.parametrize("has_terminal", [True, False])
async def test_a_command_that_fails_goes_back_to_the_screen_as_long_as_there_is_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], has_terminal: bool
) -> None:
    seen: list[FailedChoice | None] = []

    async def choose(_directory: Path, before: FailedChoice | None, _theme: str | None) -> list[str]:
        seen.append(before)
        return words if before is None else []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(showing, "chosen_command", choose)
    monkeypatch.setattr(FrontEnd, "has_terminal", has_terminal)
    if not has_terminal:
        with pytest.raises(JournalError):
            await session_commands._start(None)
        return
    assert await session_commands._start(None) == 0
    first, second = seen
    assert first is None
    assert second is not None
    assert second.words == words
    assert "gone" in str(second.fault)


@pytest.mark.parametrize("words", [["--theme", "tuner-light"], ["--theme=tuner-light"]])
def test_a_theme_alone_is_that_of_the_start_screen_and_of_what_is_chosen_there(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    seen: list[str | None] = []

    async def choose(_directory: Path, before: FailedChoice | None, theme: str | None) -> list[str]:
        seen.append(theme)
        return ["replay", "run"] if before is None and len(seen) == 1 else []

    async def replay(chosen: argparse.Namespace) -> int:
        seen.append(chosen.theme)
        raise JournalError("gone")

    monkeypatch.setattr(showing, "chosen_command", choose)
    monkeypatch.setattr(session_commands, "replay", replay)
    monkeypatch.setattr(FrontEnd, "has_terminal", True)
    assert main(words) == 0
    assert seen == ["tuner-light"] * 3


@pytest.mark.parametrize("command", ["attach", "watch"])
def test_a_run_that_is_watched_may_be_the_last_at_work_and_has_to_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command]) == ExitCode.USAGE
    assert "name a RUN, or --last for the one last at work" in capsys.readouterr().err
    for name in ("one-prompt", "autonomous"):
        run = tmp_path / "tuner-runs" / name
        run.mkdir(parents=True)
        shutil.copy(SAMPLES / f"recorded/{name.replace('-', '_')}-matmul/journal.jsonl", run)
    monkeypatch.setattr(FrontEnd, "has_terminal", True)
    assert main([command, "--last"]) == ExitCode.FAILED
    assert str(last_run(Path("tuner-runs"))) in capsys.readouterr().err
