"""Where in a problem file, or a file of steps, a mistake stands."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.positions import KeyPath, key_lines, line_of


@dataclass(frozen=True)
class KeyLocations:
    """A file with the lines of its keys."""

    file: Path
    lines: dict[KeyPath, int] = field(repr=False)

    @classmethod
    def of(cls, text: str, file: Path) -> KeyLocations:
        """The places of a well-formed TOML text."""
        return cls(file, key_lines(text))

    def error(self, message: str, *path: str | int, hint: str | None = None) -> ProblemError:
        """The error for the key at this path."""
        return ProblemError(message, hint=hint, file=self.file, line=line_of(self.lines, path))

    def known_part(self, path: Collection[str | int]) -> KeyPath:
        """The path up to the first thing that does not stand in the text."""
        known: KeyPath = ()
        for part in path:
            if (*known, part) not in self.lines:
                break
            known = (*known, part)
        return known


def written(path: KeyPath) -> str:
    """A path as people write it: "arguments[2].shape" with counts from 1, as in a list."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
