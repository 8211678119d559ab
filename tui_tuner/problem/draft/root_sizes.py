"""Which names of a launch that was read stand for sizes: those that the kernel counts to, and none made of others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from tui_tuner.problem.draft.guesses import is_counted_to
from tui_tuner.problem.draft.worked_out import names, replaced, without_number

_MANY = 4096
"""What a kernel counts to that the emulator is better given less of."""


def counted_to(body: str, passed: Mapping[str, ast.expr], roots: Mapping[str, int | None]) -> Iterator[str]:
    """The sizes of scalars that a kernel counts to, where they are large, or come from outside."""
    for name, node in passed.items():
        size = without_number(node)
        number = roots.get(size.id, 0) if isinstance(size, ast.Name) else 0
        if not isinstance(size, ast.Name) or (number is not None and number < _MANY):
            continue
        if is_counted_to(name, body):
            yield size.id


def made_of_others(made: Mapping[str, ast.expr], nodes: Iterable[ast.expr]) -> dict[str, ast.expr]:
    """The sizes of which a part stands by itself too, as w beside `size = w * h`, with what they are made of.

    Args:
        made: what sizes were set to.
        nodes: what grid, arrays and scalars come to.
    """
    found: dict[str, ast.expr] = {}
    used = {one for node in nodes for one in names(node)}
    for name, value in made.items():
        if name in used and names(value) & used - {name}:
            found = {one: replaced(node, {name: value}) for one, node in found.items()} | {name: value}
            used = (used - {name}) | names(value)
    return found
