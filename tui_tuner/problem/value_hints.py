"""What was meant where a value of a problem file is of another kind than its key takes."""

from __future__ import annotations

from typing import get_args

import tomlkit
from pydantic_core import ErrorDetails

from tui_tuner.problem.argument import type_names
from tui_tuner.problem.c_types import dtype_of
from tui_tuner.text import suggestion

_CHARACTERS_SHOWN = 80


def hint_for(mistake: ErrorDetails) -> str | None:
    """What to write instead; None where the message says it.

    Args:
        mistake: as pydantic tells it.
    """
    key, given = str(mistake["loc"][-1]), mistake["input"]
    if mistake["type"] == "literal_error" and key == "dtype":
        return _dtype(str(given))
    if mistake["type"] == "list_type" and isinstance(given, str | int | float):
        return _in_brackets(key, given)
    if mistake["type"] == "list_type" and isinstance(given, dict) and len(mistake["loc"]) == 1:
        return f"each of them is a table of a list: [[{key}]], with two brackets"
    if mistake["type"].startswith("int_") and mistake["loc"][0] == "sizes" and isinstance(given, str):
        return f"a size is one number, without a unit or a sum: {key} = 65536"
    return None


def _dtype(given: str) -> str:
    meant, width = dtype_of(given, "cuda", {})
    if meant is None:
        return suggestion(given, get_args(type_names), "dtypes")
    several = f", and each '{given}' counts as {width} elements of the shape" if width > 1 else ""
    return f"'{given}' of the kernel is dtype = \"{meant}\"{several}"


def _in_brackets(key: str, given: str | int | float) -> str | None:
    written = tomlkit.item([given]).as_string()
    return f"a list stands in brackets: {key} = {written}" if len(written) <= _CHARACTERS_SHOWN else None
