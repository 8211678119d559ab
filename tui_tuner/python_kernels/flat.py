"""Configurations of Helion and Triton as flat tunables with plain values.

A list becomes one tunable an element (`block_sizes_0`, `block_sizes_1`). A value that a tunable cannot have (None, an
empty text, a list, or one of several kinds) is written as Python writes it. Read back, text that is a Python literal
stands for that literal and all other text for itself, so that no table is needed to go back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from tui_tuner.problem.model import Value
from tui_tuner.problem.triton import OPTIONS

Tree = dict[str, object]
"""A configuration as Helion or Triton has it: values and lists of values by name."""

_ELEMENT = re.compile(r"(?P<key>\w+)_(?P<place>\d+)", re.ASCII)


def element_name(key: str, place: int) -> str:
    """Name of the tunable for one element of a list."""
    return f"{key}_{place}"


def is_element_name(name: str) -> bool:
    """Whether a name reads as that of an element: no single value may be called like this."""
    return _ELEMENT.fullmatch(name) is not None


def plain_values(values: Sequence[object]) -> list[Value]:
    """The values of one tunable, all of one kind."""
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {bool, int, float}:
        return [value for value in values if isinstance(value, bool | int | float)]
    return [_text(value) for value in values]


def value_of(plain: Value) -> object:
    """What a tunable's value stands for."""
    if not isinstance(plain, str):
        return plain
    try:
        value: object = ast.literal_eval(plain)
    except (ValueError, SyntaxError):
        return plain
    return value


def gathered(configuration: Mapping[str, Value]) -> Tree:
    """The configuration with its lists put together again.

    Raises:
        KeyError: an element of a list is missing.
    """
    tree: Tree = {}
    elements: dict[str, dict[int, object]] = {}
    for name, plain in configuration.items():
        found = _ELEMENT.fullmatch(name)
        if found is None:
            tree[name] = value_of(plain)
        else:
            elements.setdefault(found["key"], {})[int(found["place"])] = value_of(plain)
    return tree | {key: [places[place] for place in range(len(places))] for key, places in elements.items()}


def triton_line(options: Mapping[str, object]) -> str:
    """The options of a launch as a `triton.Config`, ready to paste."""
    own = {name: value for name, value in options.items() if name not in OPTIONS}
    others = "".join(f", {name}={options[name]!r}" for name in OPTIONS if name in options)
    return f"triton.Config({own!r}{others})"


def _text(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and value.strip() == value != "" and value_of(value) is value:
        return value
    return repr(value)
