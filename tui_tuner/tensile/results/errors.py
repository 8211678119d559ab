"""Files of results that cannot be understood, and how they are read up to that point."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.text import clean

_LONGEST_NAME = 80


class ResultsError(UserError):
    """Results of Tensile that are missing or malformed."""


def results_text(file: Path, largest: int) -> str:
    """The text of a file of results.

    Raises:
        ResultsError: it is missing, larger than `largest` bytes, or not text.
    """
    try:
        size = file.stat().st_size
        if size > largest:
            raise ResultsError(f"it has {size >> 20} MiB; at most {largest >> 20} MiB are read", file=file)
        raw = file.read_bytes()
    except OSError as error:
        raise ResultsError(f"it cannot be read: {error.strerror}", file=file) from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ResultsError("it is not text", file=file, line=line) from error
    if "\0" in text:
        raise ResultsError("it is not text", file=file, line=text.count("\n", 0, text.index("\0")) + 1)
    return text


def shown(name: str) -> str:
    """A name out of a file, safe to print and no longer than a line."""
    name = clean(name).replace("\n", " ")
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
