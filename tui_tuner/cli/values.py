"""What a word on the command line stands for: a pair, a time, a factor, a count, a share."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any


def name_and_value(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a pair; a value that is no TOML is text."""
    from tui_tuner.problem.toml_file import toml_value  # once a value is read; --help reads none

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is no option; write NAME=VALUE")
    return name.strip(), toml_value(value)


def seconds(text: str) -> float:
    """A time in seconds."""
    from tui_tuner.format import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def factor(text: str) -> float:
    """A factor above 0, as in 2x."""
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no factor; write 2x")
    return number


def directory(text: str) -> Path:
    """A directory's path; none at all would be where the program was started."""
    if not text.strip():
        raise argparse.ArgumentTypeError("names no directory")
    return Path(text)


def positive(text: str) -> int:
    """How many, at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return number


def share(text: str) -> float:
    """A part of one, as in 0.03 or 3%."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share between 0 and 1, as in 0.03 or 3%")
    return number
