"""What an import loads: the engine no screen and no vendor's package, the command line no screen until it is wanted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCREENS = {"textual", "rich"}
VENDORS = {"pycuda", "cupy", "cuda", "kernel_tuner", "torch", "pyopencl", "openai", "anthropic", "ollama"}


def loaded_by(module: str, directory: Path) -> set[str]:
    """Top-level packages that a fresh interpreter has after importing a module."""
    program = f"import json, sys, {module}\nprint(json.dumps([*{{name.partition('.')[0] for name in sys.modules}}]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=directory)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize(
    "module",
    [
        "tui_tuner.session.session",
        "tui_tuner.strategies.choose",
        "tui_tuner.evaluate.local",
        "tui_tuner.evaluate.runner",
        "tui_tuner.problem.load",
        "tui_tuner.llm.choose",
        "tui_tuner.search.client",
        "tui_tuner.report.tuned_kernel",
    ],
)
def test_no_room_of_the_engine_loads_a_screen_or_a_vendors_package(tmp_path: Path, module: str) -> None:
    loaded = loaded_by(module, tmp_path)

    assert "tui_tuner" in loaded
    assert not loaded & (SCREENS | VENDORS)


def test_the_command_line_loads_no_screen_and_no_vendors_package(tmp_path: Path) -> None:
    assert not loaded_by("tui_tuner.cli, tui_tuner.headless", tmp_path) & (SCREENS | VENDORS)


def test_the_screen_loads_no_vendors_package(tmp_path: Path) -> None:
    loaded = loaded_by("tui_tuner.tui.app", tmp_path)

    assert loaded >= SCREENS, "else the test above could not fail"
    assert not loaded & VENDORS
