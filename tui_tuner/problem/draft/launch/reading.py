"""A launch as the host writes it, read for what it comes to over the sizes that it is made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.arithmetic.folding import folded, whole_number
from tui_tuner.problem.draft.arithmetic.worked_out import (
    evaluated,
    exponents_of,
    is_of_block,
    made_of_others,
    names,
    quotient,
    replaced,
    unrounded,
    without_factor,
    without_number,
)
from tui_tuner.problem.draft.drafted_launch import MOST_THREADS
from tui_tuner.problem.draft.host.dimensions import axes
from tui_tuner.problem.draft.host.launches import HostLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.ranges import HostRanges
from tui_tuner.problem.draft.host.statements import halfway, length_named, lists_grown
from tui_tuner.problem.draft.kernel.block_rows import rows_of_block
from tui_tuner.problem.draft.kernel.device_words import is_warp
from tui_tuner.problem.draft.kernel.guesses import AXES, is_counted_to, is_numbered_through, marks_of, usual_block
from tui_tuner.problem.draft.kernel.offsets import arrays_of_offsets, divided_by
from tui_tuner.problem.draft.kernel.usual_numbers import numbers_of_cases
from tui_tuner.problem.draft.launch.names import HostedKernel, LaunchNames

_COUNTS_GROUPS = re.compile(r"\bget_(?:group_id|num_groups|global_size)\b")
"""What an OpenCL kernel says that has to do with how many work-groups there are."""
_MOST_SHARE = 32
"""Elements a thread that a block may take."""
_FIRST_MARK = 1
"""Of marks that a loop counts up, as the levels of a graph, the one that elements are given some of."""
_MOST_BLOCKS = 65535
"""Blocks that a grid may have on every device: a number from here on is a limit, and says nothing of the data."""
_MOST_STEPS = 12
_MANY = 4096
"""What a kernel counts to that the emulator is better given less of."""


class LaunchReading(LaunchNames):
    """Reads one launch of a kernel: what its grid, its block, its arrays and its scalars come to.

    Attributes:
        shapes: elements of the arrays that the host takes memory for.
        grid: what is divided to give the blocks along each axis, and by what; None for an axis that cannot be read.
        shares: macros and constants of the file by which a block may take more than an element a thread.
        passed: what the scalars are, as far as that can be read.
        is_a_row: whether the case that chooses the launch is the block's extent and an array's, as the length of a row.
        of_cases: scalars from outside that are the number of a case that the kernel has.
        grown: arrays that are as long as a list of the host's that grows, of which nothing else says the length.
        bounds: roots that the kernel counts to, with the host's number where that is large; None from outside.
    """

    of_cases = frozenset[str]()
    _is_of_grid = False
    """Whether what is read is the grid."""

    def __init__(self, kernel: HostedKernel, launch: HostLaunch) -> None:
        super().__init__(kernel, launch)
        self.ranges = HostRanges(self.program, self.memory, self._size)
        self._cases_asked.clear()
        self.shapes = dict(self._extents())
        self.is_a_row = not self.cases_of_block.isdisjoint(self._cases_asked)
        self.shares = dict(self._shares_of_blocks())
        self._is_of_grid = True
        self.grid = self._axes_of_grid()
        self._is_of_grid = False
        self.passed = self._values()
        self._part_sizes()
        self._join_parts()
        self.bounds = {name: self.roots[name] for name in self._counted_to()}
        self._suppose_block()
        self._suppose_elements()

    def _size(self, name: str, place: int) -> ast.expr | None:
        """What a name comes to over sizes that are roots already; None for what is not made of them."""
        before = dict(self.roots)
        with suppress(NotArithmetic):
            node = self.expression(name, place)
            if {*names(node)} and names(node) <= before.keys():
                return node
        self.roots = before
        return None

    def _extents(self) -> Iterator[tuple[str, ast.expr]]:
        """The elements of each array, where the memory that the host takes is so many of them."""
        for given, parameter in self.arguments:
            for name, taken, one in self.memory.arrays(given, self.launch.place, parameter):
                with suppress(NotArithmetic):
                    yield name, self.elements(taken, one)

    def _known(self, name: str, place: int) -> ast.expr | None:
        """What a name at a place stands for; the grid has what a loop counts as the kernel is passed it."""
        if self._is_of_grid and name in self.shares:
            return ast.Name(name)
        of_loop = self._turn(name, place) if self._is_of_grid else None
        return super()._known(name, place) if of_loop is None else self.node(*of_loop)

    def _turn(self, name: str, place: int) -> tuple[str, int] | None:
        """The number halfway through the loop that counts with a name, where the kernel is passed it."""
        return _halfway_of(self.program, name, place) if any(given == name for _, _, given in self.scalars()) else None

    def _shares_of_blocks(self) -> Iterator[tuple[str, int]]:
        """Macros and constants that the kernel reads, and that neither the block nor an array is made of."""
        place = self.launch.place
        arrays = [given for given, one in self.arguments if one.pointer]
        taken = {*self.of_block, *self.passed_block, *self.memory.names_of(arrays, place)} | self.stated
        for name in sorted((self.program.own_numbers & self.words) - taken):
            text = (self.program.meaning(name, place) or ("", 0))[0].strip("() ")
            number = int(text) if text.isdecimal() else 0  # what is made of others, as of the block, goes with them
            if 1 < number < _MOST_SHARE and not is_warp(name, number, self.words):
                yield name, number

    def _axes_of_grid(self) -> list[tuple[ast.expr, ast.expr | None] | None]:
        """What is divided to give the blocks along each axis, and by what; None for an axis that cannot be read."""
        written, place = axes(self.program, self.launch.grid, self.launch.place)
        found: list[tuple[ast.expr, ast.expr | None] | None] = []
        for index, text in enumerate(written):
            try:
                above, below = self._divided(text, place, index)
            except NotArithmetic:
                found.append(None)
                continue
            of_block = inner if (inner := quotient(above)) is not None and is_of_block(inner[1]) else None
            if of_block is not None and below is not None:  # a grid that is folded, as it would be too long
                return [of_block]
            found.append(of_block or (self._in_threads(above, index) if below is None else (above, below)))
        return found

    def _in_threads(self, blocks: ast.expr, index: int) -> tuple[ast.expr, ast.expr | None]:
        """A count of blocks, as threads where the kernel numbers them through all blocks and asks for no count."""
        text, threads = self.block[index] if index < len(self.block) else ("", ast.Constant(1))
        axis = AXES[index]
        counts = "gridDim" in self.signature.body or any(map(is_of_block, map(ast.Name, names(blocks))))
        if counts or not isinstance(threads, ast.Constant) or not self._is_numbered(axis, text):
            return blocks, None
        return folded(ast.BinOp(blocks, ast.Mult(), threads)), ast.Name(f"block_size_{axis}")

    def _divided(self, text: str, place: int, index: int) -> tuple[ast.expr, ast.expr | None]:
        """Numerator and divisor of a count of blocks; a number that is the block's stands for the block."""
        for name in list(self.chain(text, place)):
            if self._turn(name, place) is not None:  # as many blocks as it counts, however that is made
                return self.expression(name, place), None
            meaning = self.program.meaning(name, place)
            if meaning is not None and name == text and name not in self.of_block:
                with suppress(NotArithmetic):
                    if quotient(arithmetic(self.program.expanded(meaning[0]))) is not None:
                        text, place = meaning
        below_limit = self._without_limit(arithmetic(self.program.expanded(text)), place)
        parts = quotient(below_limit)
        if parts is None:
            node = self.expression(below_limit, place)
            said = quotient(node)
            return (node, None) if said is None else (said[0], self._as_block(said[1], index))
        exponents = {name for part in parts for name in exponents_of(part)}
        if any(self.program.number(name, place) is None for name in exponents):  # as many threads as nobody knows
            raise NotArithmetic(text)
        power = self.program.number(parts[1], place) if exponents_of(parts[1]) else None
        above = self.expression(parts[0], place)
        below = self.expression(parts[1], place) if power is None else ast.Constant(power)
        if (blocks := without_factor(above, below)) is not None and _COUNTS_GROUPS.search(self.signature.body):
            return blocks, None
        return unrounded(above, below), self._as_block(below, index)

    def _without_limit(self, blocks: ast.expr, place: int) -> ast.expr:
        """A count of blocks without the limit of what a grid may have, where the kernel goes on by the grid's."""
        match blocks:
            case ast.Call(func=ast.Name(id="min"), args=[one, other]) if "gridDim" in self.signature.body:
                for limit, rest in ((one, other), (other, one)):
                    if (self.program.number(limit, place) or 0) >= _MOST_BLOCKS:
                        return rest
        return blocks

    def _as_block(self, divisor: ast.expr, index: int) -> ast.expr:
        """The block's extent for a divisor that is that."""
        if index >= len(self.block):
            return divisor
        text, own = self.block[index]
        if isinstance(own, ast.Constant) and ast.dump(own) == ast.dump(divisor) and own.value != 1:
            return ast.Name(f"block_size_{AXES[index]}")
        if isinstance(divisor, ast.Name) and is_of_block(divisor):
            other = self.block[AXES.index(divisor.id[-1])][0]
            is_own = other == text or not {*self._chain(other)}.isdisjoint(self._chain(text))
            return ast.Name(f"block_size_{AXES[index]}") if is_own else divisor
        extents = [None if one is None else whole_number(one) for _, one in self.block]
        number = whole_number(divisor)
        rows = rows_of_block(index, number, extents, self.signature.body) if number else None
        return divisor if rows is None else arithmetic(rows)

    def _chain(self, text: str) -> Iterator[str]:
        return self.chain(text, self.launch.place)

    def asks_device(self) -> bool:
        """Whether what CUDA tells of the device is among what the grid is made of."""
        waiting, seen = [(self.launch.grid, self.launch.place)], set[str]()
        while waiting:
            text, place = waiting.pop()
            new = {*re.findall(r"[A-Za-z_]\w*", text)} - seen
            seen |= new
            told = rf"\bcudaOccupancy\w+\s*\([^;]*&\s*(?:{'|'.join(new) or '(?!)'})\b"
            if re.search(r"[mM]ultiProcessorCount", text) or re.search(told, self.program.code):
                return True
            waiting += [meaning for name in new if (meaning := self.program.meaning(name, place))]
        return False

    def _values(self) -> dict[str, ast.expr]:
        """What the scalars are, as far as that can be read."""
        found: dict[str, ast.expr] = {}
        cases = numbers_of_cases(self.signature)
        marked = {mark for one in self.signature.parameters for mark in marks_of(one, self.signature) or ()}
        for name, dtype, given in self.scalars():
            if dtype == "bool" and self._is_of_some_steps(given):
                found[name] = ast.Constant(1)
                continue
            is_shift = re.search(rf"<<\s*{re.escape(name)}\b", self.signature.body)  # no more than its sizes allow
            of_loop = None if is_shift else _halfway_of(self.program, given, self.launch.place)
            if of_loop and name in marked:
                found[name] = ast.Constant(_FIRST_MARK)
                continue
            with suppress(NotArithmetic):
                node = self.expression(*(of_loop or (given, self.launch.place)))
                found[name] = self._same_in_extents(node, given) if of_loop else node
                if name in cases and isinstance(node, ast.Name):  # no size, whether or not the host has a number
                    known = self.roots.get(node.id)
                    found[name] = ast.Constant(cases[name] if known is None else known)
                    self.of_cases |= {name} if known is None else set()
        return found

    def _is_of_some_steps(self, given: str) -> bool:
        """Whether what is passed holds at some steps of a loop around it alone, as in `bool save = step % 100 == 0`."""
        text, place = self.program.followed(given, self.launch.place)
        asked = re.search(r"[<>%!]|==", text) is not None
        return asked and any(halfway(self.program.code, word, place) for word in re.findall(r"[A-Za-z_]\w*", text))

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
        others = made_of_others(made, [*self.shapes.values(), *self.passed.values(), *of_grid])
        numbers = {one: number for _, parts in self._made.values() for one, number in parts.items() if number}
        for name, value in others.items():
            self.roots.pop(name, None)
            self.roots |= {one: numbers.get(one) for one in names(value) - self.roots.keys()}
        put = partial(replaced, others=others)
        self.shapes = {one: put(node) for one, node in self.shapes.items()}
        self.passed = {one: put(node) for one, node in self.passed.items()}
        self.grid = [axis and (put(axis[0]), axis[1] and put(axis[1])) for axis in self.grid]

    def _join_parts(self) -> None:
        """Let arrays that the same offsets divide be as long as one of them, where the host's lists grow to be them."""
        self.grown = frozenset(one for one in self.shapes if self._is_grown(one))
        for name in arrays_of_offsets(self.signature):
            parts = [one for one in divided_by(name, self.signature) if one in self.shapes]
            first = next((one for one in parts if one not in self.grown), next(iter(parts), ""))
            if first in self.grown:
                self.shapes[first] = self._under_own_name(ast.unparse(self.shapes[first]))
            self.shapes |= {one: self.shapes[first] for one in parts if one in self.grown}
            if name in self.grown:
                del self.shapes[name]

    def _is_grown(self, array: str) -> bool:
        match self.shapes.get(array):
            case ast.Name(id=size) if self.roots.get(size) is None:
                is_passed = any(size in names(node) for node in self.passed.values())
                lists = lists_grown(self.program.code)
                return not is_passed and any(f"_{size}".endswith(f"_{one}_size") for one in lists)
        return False

    def _under_own_name(self, size: str) -> ast.expr:
        """The length of a list by the name that the host has for it, as far as no other size has that."""
        name = length_named(self.program.code, size)
        return self.root(size if name is None or name in self.roots else name, None)

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

        The block is that then, and stays: with another one the kernel would count by what it has not. It is where the
        kernel is passed what is made of them, too, as `tiles = (n + threads - 1) / threads`.
        """
        usual = usual_block(self.signature)
        made_of = {name for node in self.passed.values() for name in names(node)}
        for index, (text, node) in enumerate(self.block[: len(usual)]):
            is_passed = not {*self.chain(text, self.launch.place)}.isdisjoint(self.launch.arguments)
            if node is None and (is_passed or f"block_size_{AXES[index]}" in made_of):
                self.block[index] = (text, ast.Constant(usual[index]))
                self.passed_block |= {text} if is_passed else set()

    def _suppose_elements(self) -> None:
        """Let threads whose number is not known, or what remains, be as many as the host counts for a block.

        So they are where each has one: the kernel numbers its threads through all blocks.
        """
        for index, (axis, divided) in enumerate(zip(AXES, self.grid, strict=False)):
            text, node = self.block[index] if index < len(self.block) else ("", ast.Constant(1))
            by = whole_number(divided[1]) if divided and divided[1] else None
            is_unknown = node is None or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
            if is_unknown and divided and by and by <= MOST_THREADS and self._is_numbered(axis, text):
                self.block[index] = (text, ast.Constant(by))
                self.grid[index] = (divided[0], ast.Name(f"block_size_{axis}"))

    def _is_numbered(self, axis: str, extent: str) -> bool:
        return is_numbered_through(axis, [*self._chain(extent)], self.signature.body)


def _halfway_of(program: HostProgram, name: str, place: int) -> tuple[str, int] | None:
    """The number halfway through the loop that a name, or what it is set to or given for, goes through."""
    for _ in range(_MOST_STEPS):
        if (text := halfway(program.code, name, place)) is not None:
            return text, place
        function, meaning = program.function_at(place), program.meaning(name, place)
        if function is None or meaning is None or not (name in function.parameters or meaning[0].isidentifier()):
            break
        name, place = meaning
    return None
