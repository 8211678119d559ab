"""What Python's operators and functions make of values that are known; `UNKNOWN` where they make nothing of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from math import prod
from typing import Any

from tui_tuner.problem.expression_nodes import ARITHMETIC, COMPARISONS

UNKNOWN = object()
"""The value of what is not known without running the script."""
MOST_BITS = 62
_MOST_VALUES = 4096
_MOST_CHARACTERS = 100_000
_OPERATIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **ARITHMETIC,
    **COMPARISONS,
    ast.Pow: lambda a, b: a**b if abs(b) < MOST_BITS and abs(a) < 1 << MOST_BITS else UNKNOWN,
    ast.LShift: lambda a, b: a << b if 0 <= b < MOST_BITS else UNKNOWN,
    ast.RShift: lambda a, b: a >> b,
}
_ELEMENTS = {
    "float": "double",
    "double": "double",
    "single": "float",
    "half": "half",
    "int": "long long",
    "bool": "bool",
    "float16": "half",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
_SIMPLE: dict[str, Callable[..., Any]] = {
    "list": list,
    "tuple": list,
    "sorted": sorted,
    "reversed": lambda one: one[::-1],
    "max": max,
    "min": min,
    "len": len,
    "sum": sum,
    "int": int,
    "float": float,
    "str": lambda one: str(one) if isinstance(one, str | int | float) else UNKNOWN,
    "prod": lambda one: prod(listed(one)) if isinstance(one, list) else one,
}


def element_named(name: str) -> str | None:
    """C's word for NumPy's type of numbers of this name, as `float32`; None where there is none."""
    return _ELEMENTS.get(name.rstrip("_"))


def operated(operation: ast.operator | ast.cmpop, left: object, right: object) -> object:
    """What an operator makes of numbers, or of texts or lists that are added, or of a text and what is put into it."""
    if isinstance(operation, ast.Mod) and isinstance(left, str):
        return filled(left, r"%[dis]", right if isinstance(right, list) else [right])
    of_numbers = all(isinstance(one, int | float) for one in (left, right))
    joined = isinstance(operation, ast.Add) and type(left) is type(right) and isinstance(left, str | list)
    operate = _OPERATIONS.get(type(operation))
    if operate is None or not (of_numbers or joined):
        return UNKNOWN
    found = operate(left, right)
    return UNKNOWN if joined and len(found) > _MOST_CHARACTERS else found


def filled(text: object, place: str, given: list[object]) -> object:
    """A text with values in its places, which a pattern finds."""
    if not isinstance(text, str):
        return UNKNOWN
    pieces = re.split(place, text)
    is_plain = not any(re.search("[%{}]", one) for one in pieces)
    if len(pieces) != len(given) + 1 or not is_plain:
        return UNKNOWN
    return joined(one for pair in zip(pieces, [*given, ""], strict=True) for one in pair)


def joined(parts: Iterable[object]) -> object:
    """Texts and numbers in one text."""
    found = list(parts)
    return "".join(map(str, found)) if all(isinstance(one, str | int | float) for one in found) else UNKNOWN


def result_of(name: str, given: list[object], words: Mapping[str, object]) -> object:
    """What a function of Python makes of known values."""
    if name in ("dict", "OrderedDict"):
        return {**(given[0] if given and isinstance(given[0], dict) else {}), **words}
    if words or any(one is UNKNOWN for one in given):
        return UNKNOWN
    if name in ("range", "arange"):
        numbers = range(*(one for one in given if isinstance(one, int)))
        return list(numbers) if len(numbers) <= _MOST_VALUES else UNKNOWN
    if name in _SIMPLE:
        return _SIMPLE[name](*given)
    number, element = given[0] if len(given) == 1 else UNKNOWN, element_named(name)
    if isinstance(number, float) and element not in (None, "float", "double", "half"):
        return int(number)  # as `numpy.int32(2e7)`
    return UNKNOWN if element is None else number


def all_of(values: Iterable[object]) -> object:
    """A list of values, unless one is not known."""
    found = list(islice(values, _MOST_VALUES))
    return UNKNOWN if any(one is UNKNOWN for one in found) else found


def listed(value: object) -> list[Any]:
    """The items of a list, or the characters of a text; none of anything else."""
    return list(value) if isinstance(value, list | str) else []


def item(value: object, key: object) -> object:
    """What stands in a list, text or dictionary there."""
    of_list = isinstance(value, list | str) and isinstance(key, int)
    return value[key] if of_list or isinstance(value, dict) else UNKNOWN  # type: ignore[index]


def part(value: object, bounds: list[object]) -> object:
    """The items of a list, or the characters of a text, from one place to another, by steps."""
    first, after, step = (one if isinstance(one, int) else None for one in bounds)
    is_known = all(one is None or isinstance(one, int) for one in bounds)
    return value[first:after:step] if is_known and isinstance(value, list | str) else UNKNOWN
