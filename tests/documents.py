"""The user documents, and what the tests take from them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", ROOT / ".github/CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TUTORIAL = ROOT / "docs/tutorial.md"
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


def command_lines(text: str) -> Iterator[list[str]]:
    """The words of every command that a document shows on a line of its own, up to where the shell takes over."""
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        shown = re.match(r" {4,}(?:\$ )?(?:\w+=\S+ |timeout \S+ |nohup )*tuner-tui\b(.*)", line)
        if shown:
            words = shlex.split(shown[1], comments=True)
            ends = [words.index(mark) for mark in ("|", ">", "&", "&&", ";") if mark in words]
            yield words[: min(ends, default=len(words))]
