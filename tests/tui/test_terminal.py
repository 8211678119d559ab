"""The app in a real terminal: the user's editor gets it and gives it back."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect

LIMIT_S = 200
ROOT = Path(__file__).resolve().parents[2]


def test_the_users_editor_gets_the_terminal_and_its_result_is_the_decision(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsleep 0.5\necho "// edited by hand" >> "$1"\n')
    editor.chmod(0o755)
    environment = {**os.environ, "EDITOR": str(editor), "TERM": "xterm-256color", "HOME": str(tmp_path)}
    child = pexpect.spawn(
        sys.executable,
        ["-m", "tests.tui.in_terminal"],
        cwd=str(ROOT),
        env=environment,
        dimensions=(36, 120),
        timeout=LIMIT_S,
    )
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
