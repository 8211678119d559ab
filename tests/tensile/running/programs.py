"""Small programs that behave as Tensile may."""

from __future__ import annotations

import sys
from pathlib import Path

from tui_tuner.tensile.program import Tensile


def python_program(directory: Path, body: str, name: str = "Tensile") -> Path:
    """An executable Python script."""
    directory.mkdir(parents=True, exist_ok=True)
    program = directory / name
    program.write_text(f"#!{sys.executable}\n{body}\n")
    program.chmod(0o755)
    return program


def as_tensile(directory: Path, body: str) -> Tensile:
    """The script as a Tensile that was found."""
    return Tensile((str(python_program(directory, body)),), "")
