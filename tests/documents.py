"""The user documents, and what the tests take from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROBLEM_FILE = (ROOT / "docs/problem-file.md").read_text("utf-8")
DEVICES = (ROOT / "docs/devices-and-models.md").read_text("utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def code(text: str) -> Iterator[str]:
    """Indented lines, without comments, and code between words."""
    for line in text.splitlines():
        pieces = [line.partition(" #")[0]] if line.startswith("    ") else re.findall(r"`([^`]+)`", line)
        yield from (piece.strip() for piece in pieces)
