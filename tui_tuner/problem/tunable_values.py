"""What is wrong with the values of a tunable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.table import Value


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
