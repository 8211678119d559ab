"""What the stand-in prints, in one of two layouts: that of TensileLite 4.33, and that of Tensile 4.44.

The newer one breaks lines at the width of the terminal, 80 columns or what COLUMNS says, and gives up without a mark.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

RULE = "#" * 80


OLDER, NEWER = "4.33", "4.44"
"""Layouts by their versions."""


def broken(line: str) -> list[str]:
    """A line as the newer layout prints it: broken behind a blank, which stays, or within a word that is too long."""
    width, found, rest = int(os.environ.get("COLUMNS", "80")), [], line
    while len(rest) > width:
        at = rest.rfind(" ", 0, width + 1) + 1 or width
        found.append(rest[:at][:width])
        rest = rest[at:]
    return [*found, rest]


def tell(layout: str, *lines: str) -> None:
    """Print lines of Tensile's own."""
    say(*(lines if layout == OLDER else [part for line in lines for part in broken(line)]))


def say(*lines: str) -> None:
    """Print lines, at once."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def warn(message: str) -> None:
    """Warn as Tensile does."""
    say(f"Tensile::WARNING: {message}")


def fatal(message: str) -> NoReturn:
    """End as Tensile does where a configuration is wrong."""
    raise GivesUp(message)


class GivesUp(Exception):
    """Tensile ends, with words that stand in the layout's way at the end of what it prints."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def end(self, layout: str) -> NoReturn:
        """Print them and end."""
        mark = "Tensile::FATAL: " if layout == OLDER else ""
        tell(layout, *f"{mark}{self.message}".split("\n"))
        sys.exit(-1)
