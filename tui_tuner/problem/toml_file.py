"""A TOML file as tables with the place of everything in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tomli

from tui_tuner.errors import ProblemError
from tui_tuner.problem.place import KeyLocations


def read_text(file: Path) -> str:
    """The text of a file.

    Raises:
        ProblemError: it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise ProblemError(f"{file} cannot be read: {error.strerror}", file=file) from None
    except UnicodeDecodeError:
        raise ProblemError("this is not UTF-8 text", file=file) from None


def read_toml(text: str, file: Path) -> tuple[dict[str, Any], KeyLocations]:
    """The tables of a TOML text, and where they stand in it.

    Args:
        file: the name that errors give.

    Raises:
        ProblemError: it is not TOML; with the line.
    """
    try:
        return tomli.loads(text), KeyLocations.of(text, file)
    except tomli.TOMLDecodeError as error:
        raise ProblemError(
            f"this is not TOML: {error.msg}", hint='text needs quotes: name = "matmul"', file=file, line=error.lineno
        ) from None
