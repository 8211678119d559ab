"""The app in a real terminal: the user's editor gets it and gives it back."""

from __future__ import annotations

import io
import os
import signal
import sys
from pathlib import Path

import pexpect
import pytest

LIMIT_S = 200
ROOT = Path(__file__).resolve().parents[2]


def spawned(module: str, home: Path, directory: Path = ROOT, *words: str, **more: str) -> pexpect.spawn[bytes]:
    """A module's program in a terminal of its own of 36 lines and 120 columns."""
    environment = {**os.environ, "TERM": "xterm-256color", "HOME": str(home), **more}
    return pexpect.spawn(
        sys.executable,
        ["-m", module, *words],
        cwd=str(directory),
        env=environment,
        dimensions=(36, 120),
        timeout=LIMIT_S,
    )


def test_the_users_editor_gets_the_terminal_and_its_result_is_the_decision(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsleep 0.5\necho "// edited by hand" >> "$1"\n')
    editor.chmod(0o755)
    child = spawned("tests.tui.in_terminal", tmp_path, EDITOR=str(editor))
    child.expect("awaits you")
    child.expect(pexpect.TIMEOUT, timeout=1.0)
    child.send("e")
    child.expect("finished without")
    for _ in range(LIMIT_S):
        child.send("q")
        if child.expect(["decided edit.*// edited by hand", pexpect.TIMEOUT], timeout=1) == 0:
            break
    child.expect("status no_improvement")
    child.expect(pexpect.EOF)


WINDOW_S = 2.0
A_SECOND_OF_CLOCK = 100
"""Bytes that a second of the clock costs at most; a line drawn anew costs several hundred."""


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["", "q"], ids=["waiting", "behind a dialog"])
def test_a_screen_that_waits_writes_its_clock_and_nothing_else(tmp_path: Path, keys: str) -> None:
    child = spawned("tests.tui.in_terminal", tmp_path)
    child.expect("awaits you")
    child.send(keys)
    is_quiet = any(len(_heard(child)) < WINDOW_S * A_SECOND_OF_CLOCK for _ in range(10))
    child.close(force=True)
    assert is_quiet


def _heard(child: pexpect.spawn[bytes]) -> bytes:
    """What is written within the window; the first of it may still belong to what was drawn before."""
    child.logfile_read = read = io.BytesIO()
    child.expect(pexpect.TIMEOUT, timeout=WINDOW_S)
    return read.getvalue()


A_CHANGE = 5000
"""Bytes that a key costs at most of which a few lines are drawn anew; all of them cost 7 to 30 thousand."""


def _quiet(home: Path, **environment: str) -> pexpect.spawn[bytes]:
    """A session whose screen stands, with a question open."""
    child = spawned("tests.tui.in_terminal", home, **environment)
    child.expect("awaits you")
    _settled(child)
    return child


def _settled(child: pexpect.spawn[bytes]) -> bytes:
    """What is written until nothing but the clock is."""
    read = b""
    while len(more := _heard(child)) > WINDOW_S * A_SECOND_OF_CLOCK:
        read += more
    return read + more


@pytest.mark.slow
def test_a_key_that_goes_to_another_pane_writes_what_changes_by_it(tmp_path: Path) -> None:
    child = _quiet(tmp_path)
    child.send("\t")
    written = _settled(child)
    child.close(force=True)
    assert b"Benchmarks" not in written  # the title is there already, and only its frame gets another color
    assert 0 < len(written) < A_CHANGE


@pytest.mark.slow
@pytest.mark.parametrize(("key", "shown"), [("q", b"Leave"), (";", b"a")])
def test_over_ssh_what_comes_over_the_screen_leaves_it_as_it_is(tmp_path: Path, key: str, shown: bytes) -> None:
    child = _quiet(tmp_path, SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 22")
    child.send(key)
    opened = _settled(child)
    child.send("\x1b")
    closed = _settled(child)
    child.close(force=True)
    assert shown in opened
    assert b"Benchmarks" not in opened
    assert max(len(opened), len(closed)) < A_CHANGE


@pytest.mark.slow
def test_over_ssh_the_palette_leaves_the_screen_below_as_bright_as_it_is(tmp_path: Path) -> None:
    child = _quiet(tmp_path, SSH_CONNECTION="10.0.0.1 50000 10.0.0.2 22")
    child.send("\x10")
    opened = _settled(child)
    child.send("\x1b")
    closed = _settled(child)
    child.close(force=True)
    assert b" leave" in opened
    assert b"matmul.cu" not in opened + closed, "the header stands above all that is opened"


@pytest.mark.slow
@pytest.mark.parametrize("what", ["key", "size", "size for a moment", "stopped"])
def test_what_else_may_have_changed_the_terminal_has_all_of_it_drawn_again(tmp_path: Path, what: str) -> None:
    child = _quiet(tmp_path)
    if what == "key":
        child.send("\x0c")
    elif what == "stopped":
        child.kill(signal.SIGTSTP)
        child.expect(pexpect.TIMEOUT, timeout=0.5)
        child.kill(signal.SIGCONT)
    else:
        child.setwinsize(30, 110)
        if what != "size":
            child.setwinsize(36, 120)
    written = _settled(child)
    child.close(force=True)
    assert all(words in written for words in (b"awaits you", b"Plan", b"Chat"))


@pytest.mark.slow
def test_a_start_screen_writes_its_first_picture_once(tmp_path: Path) -> None:
    """Over a slow line every picture more is a second of waiting."""
    child = spawned("tui_tuner", tmp_path, tmp_path, PYTHONPATH=str(ROOT))
    child.expect("none yet")
    before = child.before or b""
    child.close(force=True)
    assert before.count(b"kernels in") == 1


@pytest.mark.slow
def test_what_is_typed_while_the_start_screen_makes_room_is_left_to_the_screen_of_the_session(tmp_path: Path) -> None:
    child = spawned("tests.tui.start_in_terminal", tmp_path, ROOT, "ending")
    child.expect("none yet")
    child.send("\r")
    child.expect("ending")
    child.send("3j")
    child.expect("left .* b'3j'")
    child.expect(pexpect.EOF)


@pytest.mark.slow
def test_what_is_read_together_with_the_key_that_leaves_the_start_screen_goes_on_to_the_next(tmp_path: Path) -> None:
    child = spawned("tests.tui.start_in_terminal", tmp_path)
    child.expect("none yet")
    child.send("\r3jq")
    child.expect("left .* b'' 3 j q")
    child.expect(pexpect.EOF)
