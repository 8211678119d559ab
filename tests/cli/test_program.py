"""The program around the command line: an interruption before it begins or after it is done leaves no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, *_):
        if name == "tui_tuner.cli.parsers":
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
