"""Journals as they were before their lines carried digests: those a test may rewrite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def lines_without_digests(journal: Path) -> list[dict[str, Any]]:
    """What each line says, its digest left out."""
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    return [{name: value for name, value in line.items() if name != "digest"} for line in lines]


def write_without_digests(journal: Path, lines: list[dict[str, Any]]) -> None:
    """Make these the lines of a journal."""
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
