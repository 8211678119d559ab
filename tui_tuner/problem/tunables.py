"""Tunables: which names and values they may have, and which values are near each other."""

from __future__ import annotations

import keyword
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.languages import COMPILED_LANGUAGES, Language, Value

_C_WORDS = """
    alignas alignof asm auto bool break case catch char class const constexpr const_cast continue decltype default
    delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new noexcept nullptr operator private protected public register reinterpret_cast restrict return
    short signed sizeof static static_assert static_cast struct switch template this throw true try typedef typeid
    typename union unsigned using virtual void volatile while
"""
_PREDEFINED_WORDS = """
    threadIdx blockIdx blockDim gridDim warpSize get_global_id get_local_id get_group_id get_global_size
    get_local_size get_num_groups barrier main defined min max abs ceil ceil_div size_t half kernel_tuner
"""
_C_FAMILY = frozenset(_C_WORDS.split())
_PREDEFINED = frozenset(_PREDEFINED_WORDS.split())
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def keywords(language: Language) -> frozenset[str]:
    """Words that can be no identifier in this language."""
    traits = COMPILED_LANGUAGES.get(language)
    return _C_FAMILY if traits is None else _C_FAMILY | traits.reserved


def why_no_size(name: str) -> str | None:
    """Why expressions cannot use this name, in words."""
    if not _NAME.fullmatch(name):
        return f"'{name}' is not a name: letters, digits and underscores, not a digit first"
    return f"'{name}' is a word of expressions" if keyword.iskeyword(name) else None


def why_no_tunable(name: str, language: Language) -> str | None:
    """Why this name cannot be a tunable, in words."""
    if reason := why_no_size(name):
        return reason
    if name in keywords(language) | _PREDEFINED or name.startswith("__"):
        return f"'{name}' has a meaning in the kernel's language already"
    return None


def exact(value: Value) -> Hashable:
    """Tells True from 1 and 1 from 1.0, which are equal to Python and not to a compiler."""
    return type(value), value


def exact_key(configuration: Mapping[str, Value]) -> Hashable:
    """A key that equal configurations share and no others, whatever the order of their names."""
    return frozenset(zip(configuration, map(type, configuration.values()), configuration.values(), strict=True))


def is_ordinal(values: Sequence[Value]) -> bool:
    """Whether the values have an order: they are numbers, each another one."""
    return not any(isinstance(value, str | bool) for value in values) and len(set(values)) == len(values)


def in_order(values: Sequence[Value]) -> list[Value]:
    """Numbers ascending; text and truth values, which have no order, as they are given."""
    if not is_ordinal(values):
        return list(values)
    return sorted(values, key=float)


def steps_between(values: Sequence[Value]) -> dict[Hashable, int]:
    """The place of each value in its order: the difference of two of them is their distance in steps."""
    return {exact(value): place for place, value in enumerate(in_order(values))}


@dataclass(frozen=True)
class ValueFault:
    """A value that a tunable cannot have: its index, why, and the way out."""

    index: int
    message: str
    hint: str


def value_faults(name: str, values: Sequence[Value]) -> Iterator[ValueFault]:
    """What is wrong with the values of a tunable, in their order; nothing if they can be searched."""
    for index, value in enumerate(values):
        if type(value) is not type(values[0]):
            hint = "write all of them as numbers of one kind (1.0, 2.5), all as text, or all as true and false"
            yield ValueFault(index, f"the values of '{name}' are of different kinds", hint)
        elif value in values[:index]:
            yield ValueFault(index, f"'{name}' has the value {value!r} twice", "take one of them out")
        elif isinstance(value, str) and not (value and value.isprintable()):
            yield ValueFault(index, f"'{name}' has a value that is no macro: {value!r}", "use one line of text")
        elif reason := _no_number(value):
            yield ValueFault(index, f"'{name}' has {reason}", "use a finite number of at most 63 bits")


def _no_number(value: Value) -> str | None:
    try:
        if not isinstance(value, str):
            evaluate(value, {})
    except ExpressionError as error:
        return str(error)
    return None
