"""What the stand-in prints."""

from __future__ import annotations

import sys
from typing import NoReturn

RULE = "#" * 80


def say(*lines: str) -> None:
    """Print lines, at once."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def warn(message: str) -> None:
    """Warn as Tensile does."""
    say(f"Tensile::WARNING: {message}")


def fatal(message: str) -> NoReturn:
    """End as Tensile does where a configuration is wrong."""
    say(f"Tensile::FATAL: {message}")
    sys.exit(-1)
