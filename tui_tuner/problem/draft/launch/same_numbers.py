"""Numbers that a host writes twice, as an array's `N` beside the kernel's `n`: one size, by the name that is passed."""

from __future__ import annotations

import ast
from collections.abc import Collection

from tui_tuner.problem.draft.arithmetic.worked_out import evaluated, names, replaced
from tui_tuner.problem.draft.launch.reading import LaunchReading

_LARGE = 64
"""What is written twice from here on is hardly so by chance."""


class SameNumbers:
    """Finds the size that stands for a number, where there is only one and nothing else is that number."""

    def __init__(self, reading: LaunchReading) -> None:
        self._roots = reading.roots
        self._passed = {
            node.id for node in reading.passed.values() if isinstance(node, ast.Name)
        } & reading.roots.keys()
        counted = {name for axis in reading.grid if axis is not None for name in names(axis[0])}
        self._counted = counted & reading.roots.keys()
        of_block = [number for _, node in reading.block if node is not None and (number := evaluated(node, {}))]
        self._fixed: set[str | int] = {*reading.stated, *of_block}

    def in_shape(self, node: ast.expr) -> ast.expr:
        """An extent by the sizes that the kernel is passed, as far as it is made of others with numbers of theirs."""
        others = names(node) & self._roots.keys() - self._passed - self._counted - self._fixed
        found = {name: self._one_of(self._passed, self._roots[name]) for name in others}
        return replaced(node, {name: ast.Name(other) for name, other in found.items() if other})

    def in_scalar(self, node: ast.expr, shapes: Collection[ast.expr]) -> ast.expr:
        """A number that is passed by the size of it that arrays and threads are made of."""
        sizes = self._counted.union(*map(names, shapes)) & self._roots.keys()
        return node if names(node) & sizes else self._named(node, sizes)

    def _named(self, node: ast.expr, sizes: Collection[str]) -> ast.expr:
        number = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name) and node.id not in self._fixed:
            number = self._roots.get(node.id)
        name = self._one_of(sizes, number if isinstance(number, int) else None)
        return ast.Name(name) if name else node

    def _one_of(self, sizes: Collection[str], number: int | None) -> str:
        """The only one of these sizes that is this number; empty where there is none, or another too."""
        if number is None or number < _LARGE or number in self._fixed:
            return ""
        found = [name for name in sizes if self._roots[name] == number]
        return found[0] if len(found) == 1 else ""
