"""A launch as the host writes it, read for what it comes to over the sizes that it is made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from tui_tuner.problem.draft.build_options import BuildMacro
from tui_tuner.problem.draft.c_expressions import NotArithmetic
from tui_tuner.problem.draft.grid_reading import grid_axes
from tui_tuner.problem.draft.guesses import is_counted_to, usual_block
from tui_tuner.problem.draft.host_launches import HostLaunch
from tui_tuner.problem.draft.host_loops import is_of_some_steps
from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.draft.launch_names import NO_OPTIONS, LaunchNames
from tui_tuner.problem.draft.worked_out import evaluated, names, replaced, without_number
from tui_tuner.problem.signature import KernelSignature

_MANY = 4096
"""What a kernel counts to that the emulator is better given less of."""


class LaunchReading(LaunchNames):
    """Reads one launch of a kernel: what its grid, its block, its arrays and its scalars come to.

    Attributes:
        shapes: elements of the arrays that the host takes memory for.
        grid: what is divided to give the blocks along each axis, and by what; None for an axis that cannot be read.
        passed: what the scalars are, as far as that can be read.
        bounds: roots that the kernel counts to, with the host's number where that is large; None from outside.
    """

    def __init__(
        self,
        program: HostProgram,
        words: frozenset[str],
        signature: KernelSignature,
        launch: HostLaunch,
        stated: Collection[str] = (),
        options: Mapping[str, BuildMacro] = NO_OPTIONS,
    ) -> None:
        super().__init__(program, words, signature, launch, stated, options)
        self.shapes = dict(self._extents())
        self.grid = grid_axes(self)
        self.passed = self._values()
        self._part_sizes()
        self.bounds = {name: self.roots[name] for name in self._counted_to()}
        self._suppose_block()

    def _extents(self) -> Iterator[tuple[str, ast.expr]]:
        """The elements of each array, where the memory that the host takes is so many of them."""
        for given, parameter in self.arguments:
            for name, taken, one in self.memory.arrays(given, self.launch.place, parameter):
                with suppress(NotArithmetic):
                    yield name, self.elements(taken, one)

    def _values(self) -> dict[str, ast.expr]:
        """What the scalars are, as far as that can be read."""
        found: dict[str, ast.expr] = {}
        for name, dtype, given in self.scalars():
            if dtype == "bool" and is_of_some_steps(self.program.code, self.program.meaning, given, self.launch.place):
                found[name] = ast.Constant(1)
                continue
            is_shift = re.search(rf"<<\s*{re.escape(name)}\b", self.signature.body)  # no more than its sizes allow
            of_loop = None if is_shift else self.program.halfway(given, self.launch.place)
            with suppress(NotArithmetic):
                node = self.expression(*(of_loop or (given, self.launch.place)))
                found[name] = self._same_in_extents(node, given) if of_loop else node
        return found

    def _same_in_extents(self, halfway: ast.expr, given: str) -> ast.expr:
        """The number halfway through a loop; where extents are made of what the loop counts, its name for both."""
        said = [*self.shapes.values(), *(axis[0] for axis in self.grid if axis is not None)]
        used, number = {name for node in said for name in names(node)}, evaluated(halfway, self.roots)
        counted = next((one for one in self.chain(given, self.launch.place) if one in used), None)
        if counted is None or not number:
            return halfway
        self.roots[counted] = number
        return ast.Name(counted)

    def _part_sizes(self) -> None:
        """Let a size be what it is made of, where a part of that stands by itself too."""
        of_grid = [one for axis in self.grid if axis is not None for one in axis if one is not None]
        made = {name: value for name, (value, _) in self._made.items()}
        others = _made_of_others(made, [*self.shapes.values(), *self.passed.values(), *of_grid])
        for name, value in others.items():
            self.roots.pop(name, None)
            self.roots |= {one: self._made[name][1].get(one) for one in names(value) - self.roots.keys()}
        put = partial(replaced, others=others)
        self.shapes = {one: put(node) for one, node in self.shapes.items()}
        self.passed = {one: put(node) for one, node in self.passed.items()}
        self.grid = [axis and (put(axis[0]), axis[1] and put(axis[1])) for axis in self.grid]

    def _counted_to(self) -> Iterator[str]:
        """The sizes of scalars that the kernel counts to, where they are large, or come from outside."""
        for name, node in self.passed.items():
            size = without_number(node)
            number = self.roots.get(size.id, 0) if isinstance(size, ast.Name) else 0
            is_large = number is None or number >= _MANY
            if isinstance(size, ast.Name) and is_large and is_counted_to(name, self.signature.body):
                yield size.id

    def _suppose_block(self) -> None:
        """Let threads of which the host says no number, and that the kernel is passed too, be a usual number of them.

        The block is that then, and stays: with another one the kernel would count by what it has not.
        """
        usual = usual_block(self.signature)
        for index, (text, node) in enumerate(self.block[: len(usual)]):
            if node is None and {*self.chain(text, self.launch.place)} & {*self.launch.arguments}:
                self.block[index] = (text, ast.Constant(usual[index]))
                self.passed_block |= {text}


def _made_of_others(made: Mapping[str, ast.expr], nodes: Iterable[ast.expr]) -> dict[str, ast.expr]:
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
