"""A launch as the host writes it, read for what it comes to over the sizes that it is made of."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from tui_tuner.problem.draft.build_options import BuildMacro
from tui_tuner.problem.draft.c_expressions import NotArithmetic
from tui_tuner.problem.draft.grid_reading import GridReading
from tui_tuner.problem.draft.guesses import AXES
from tui_tuner.problem.draft.host_answers import is_of_tensor, limit_of_devices
from tui_tuner.problem.draft.host_bytes import in_elements
from tui_tuner.problem.draft.host_dimensions import (
    axes,
    constants_of_block,
    counted,
    element,
    extent_in,
    place_of,
    set_in_list,
)
from tui_tuner.problem.draft.host_exponents import exponents
from tui_tuner.problem.draft.host_functions import leading_to
from tui_tuner.problem.draft.host_launches import HostLaunch
from tui_tuner.problem.draft.host_loops import is_of_some_steps
from tui_tuner.problem.draft.host_memory import HostMemory
from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.draft.host_types import with_type_bytes
from tui_tuner.problem.draft.root_sizes import counted_to, made_of_others
from tui_tuner.problem.draft.worked_out import (
    as_size,
    chosen,
    evaluated,
    finished,
    is_flag,
    names,
    no_size,
    readable,
    replaced,
)
from tui_tuner.problem.signature import KernelSignature

NO_OPTIONS: Mapping[str, BuildMacro] = MappingProxyType({})
_MOST_ASKED = 3000
_OF_LIST = re.compile(r"(\w+(?:(?:\[\d+\])?(?:\.|->)\w+)*)\[([\w+-]+)\]")


class LaunchReading:
    """Reads one launch of a kernel: what its grid, its block, its arrays and its scalars come to.

    Args:
        words: of the device's code: a macro or constant among them cannot be another number.
        stated: words of the device's code that are taken for sizes nevertheless.
        options: macros that the host builds the kernel with, by name.

    Attributes:
        roots: names that are sizes, with the host's number; None where it comes from outside.
        block: the text of each axis of the block, and what it comes to.
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
        self.program = program
        self.memory = HostMemory(program)
        self.words = words
        self.stated, self.options = stated, options
        self.signature = signature
        self.launch = replace(launch, arguments=tuple(program.members.passed(launch.arguments, signature.parameters)))
        self.roots: dict[str, int | None] = {}
        self._leading = leading_to(program.code, program.functions, launch.place)
        self._launched = {one for text in (launch.grid, launch.block) for one in self.chain(text, launch.place)}
        self._symbols: dict[str, str] = {}
        self._resolving: list[tuple[str, int]] = []
        self._indexed: dict[str, str] = {}
        self._made: dict[str, tuple[ast.expr, dict[str, int | None]]] = {}
        self._asked = 0
        self.passed_block = frozenset(constants_of_block(program, self.launch, self.chain))
        fixed = " ".join([launch.template, *(one.text for one in options.values())])
        chosen_by = (one for name, _ in launch.chosen for one in self.chain(name, launch.place))
        self._of_template = frozenset(re.findall(r"[A-Za-z_]\w*", fixed)) | self.passed_block | {*chosen_by}
        self._stated_seen = 0
        self._exponents, self._counted = exponents(program, self.scalars(), self.launch.place, self.chain)
        self._know_plain_scalars()
        self.block = self._block_axes()
        self.shapes = dict(self._extents())
        reading = GridReading(program, self.launch, signature.body, self.block, {*self._symbols}, self.node, self.chain)
        self.grid = reading.axes()
        self.passed = self._values()
        self._part_sizes()
        self.bounds = {name: self.roots[name] for name in counted_to(signature.body, self.passed, self.roots)}

    def node(self, text: str, place: int) -> ast.expr:
        """What text at a place comes to over the roots.

        Raises:
            NotArithmetic: it cannot be read.
        """
        return readable(with_type_bytes(self.program.resolved(text, place, self.known), self.program.code), self.roots)

    def known(self, name: str, place: int) -> ast.expr | None:
        """What a name at a place stands for: a size, the block, or what is made of them."""
        self._asked += 1
        if self._asked > _MOST_ASKED:  # names that stand for names, each several times
            raise NotArithmetic(name)
        if name in self._symbols:
            return ast.Name(self._symbols[name])
        member = re.fullmatch(r"(\w+)(?:\.|->)([xyz])", name)
        if member:
            written, there = axes(self.program, member[1], place)
            if written != [member[1]]:
                index = AXES.index(member[2])
                value = self.node(written[index], there) if index < len(written) else ast.Constant(1)
                number = None if member[1] in self._launched else extent_in(value)
                return value if number is None else self._root(name, number)
        if (told := self._told(name)) is not None:
            return told
        of_list = _OF_LIST.fullmatch(name)
        if not of_list and not re.fullmatch(r"\w+(?:(?:\[\d+\])?(?:(?:\.|->)\w+)+(?:\(\d*\))?|(?:::\w+)+)?", name):
            return None
        elements = self.memory.elements(name, place)
        meaning = elements or self.program.meaning(name, place) or element(self.program, name, place)
        if elements is None and of_list is not None:
            alike = None if meaning else set_in_list(self.program, of_list[1], place)  # as far as a loop says
            which = counted(self.program, name, place)
            is_first = not of_list[2].isdecimal() and self._indexed.setdefault(of_list[1], which) == which
            name, meaning = of_list[1] if alike or is_first else name, meaning or alike
        if meaning is None or (name, place) in self._resolving:
            built_with = self.options.get(name) if meaning is None else None
            return (built_with and built_with.number) or self._root(name, None)
        before, stated = dict(self.roots), self._stated_seen
        self._resolving.append((name, place))
        try:
            value = finished(self.node(*meaning))
        except NotArithmetic:
            self.roots = before
            return self._root(name, None)
        finally:
            self._resolving.pop()
        is_passed = any(name in re.findall(r"\w+", given) for _, _, given in self.scalars())
        is_stated = self._stated_seen > stated and (isinstance(value, ast.Constant) or not is_passed)
        if (elements is not None and not name.isidentifier()) or is_stated or "::" in name:
            return value  # it is no name of a size, or made of what the kernel's text states
        return self._kept(name, place, value, before)

    def _told(self, name: str) -> ast.expr | None:
        """What devices say of themselves by a name, or a loop of the host of exponents."""
        if name in self._exponents:
            return ast.BinOp(ast.Constant(2), ast.Pow(), self._root(self._exponents[name], None))
        limit = self._counted.get(name, limit_of_devices(name))
        is_exponent = name in self._exponents.values()
        return self._root(name, None) if is_exponent else None if limit is None else ast.Constant(limit)

    def _kept(self, name: str, place: int, value: ast.expr, before: dict[str, int | None]) -> ast.expr:
        """What stands for a name of this value: itself, if nothing in the value is known yet."""
        inside = names(value)
        meaning = self.program.meaning(name, place)
        within = {self.program.function_at(at) for at in (place, meaning[1] if meaning else place)} - {None}
        if inside and within - self._leading:  # no name of another function is one of a size here
            return value
        if name in inside and meaning and self.program.is_same_function(place, meaning[1]):  # made anew of what it was
            self.roots = before
            return self._root(name, None)
        known = before.keys() | set(self._symbols.values()) | set(self.stated)
        if inside & known or isinstance(value, ast.Name) or is_flag(value):
            return value
        number = evaluated(value, self.roots)
        if number == 0 and self.program.is_read_in(name):
            return self._root(name, None)
        if isinstance(value, ast.Constant) and (
            not isinstance(value.value, int)
            or name in self._of_template
            or (name in self.words and not self.program.is_of_host(name, place))
        ):
            self._stated_seen += name in self.words
            return value
        parts, self.roots = self.roots, before
        if number == 0:  # no size is 0
            return value
        size = self._root(name, number)
        self._made |= {one: (value, parts) for one in names(size) if inside - {one}}
        return size

    def _part_sizes(self) -> None:
        """Let a size be what it is made of, where a part of that stands by itself too."""
        of_grid = [one for axis in self.grid if axis is not None for one in axis if one is not None]
        made = {name: value for name, (value, _) in self._made.items()}
        others = made_of_others(made, [*self.shapes.values(), *self.passed.values(), *of_grid])
        for name, value in others.items():
            self.roots.pop(name, None)
            self.roots |= {one: self._made[name][1].get(one) for one in names(value) - self.roots.keys()}
        put = partial(replaced, others=others)
        self.shapes = {one: put(node) for one, node in self.shapes.items()}
        self.passed = {one: put(node) for one, node in self.passed.items()}
        self.grid = [axis and (put(axis[0]), axis[1] and put(axis[1])) for axis in self.grid]

    def _root(self, name: str, number: int | None) -> ast.expr:
        name = as_size(name)
        if self.roots.get(name) is None:
            self.roots[name] = number
        return ast.Name(name)

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
                node = finished(self.node(*(of_loop or (given, self.launch.place))))
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

    def scalars(self) -> Iterator[tuple[str, str | None, str]]:
        """Name, dtype and text of each scalar that is passed, and of each member of a structure, as in "p.width"."""
        return self.program.members.scalars(self.launch.arguments, self.signature.parameters)

    def _know_plain_scalars(self) -> None:
        """Let scalars that are passed by a name which nothing else makes be known first: they name the sizes."""
        arrays = zip(self.launch.arguments, self.signature.parameters, strict=False)
        of_memory = self.memory.names_of([given for given, one in arrays if one.pointer], self.launch.place)
        for name, dtype, given in self.scalars():
            if dtype is None or "int" not in dtype:
                continue
            is_member = "." in name or re.fullmatch(r"\w+(?:(?:\.|->)(?![xyz]$)\w+)+", given)
            chain = [given] if is_member else list(self.chain(given, self.launch.place))
            meaning = (
                self.program.meaning(chain[-1], place_of(self.program, chain, self.launch.place)) if chain else None
            )
            is_plain = meaning is None or self.program.is_plain(meaning[0]) or is_of_tensor(meaning[0])
            if chain and (is_plain or chain[-1] in of_memory):
                with suppress(NotArithmetic):
                    self.node(given, self.launch.place)

    def _block_axes(self) -> list[tuple[str, ast.expr | None]]:
        """The text of each axis of the block, and what it comes to; its names stand for the block from then on."""
        written, place = axes(self.program, self.launch.block, self.launch.place)
        found: list[tuple[str, ast.expr | None]] = []
        symbols: dict[str, str] = {}
        for axis, text in zip(AXES, written, strict=False):
            before = dict(self.roots)
            node: ast.expr | None = None
            with suppress(NotArithmetic):
                node = no_size(chosen(finished(self.node(text, place)), self.roots), self.roots, before)
            if node is None or not names(node) & before.keys():  # a number, or what is the block's alone
                number = None if node is None else evaluated(node, self.roots)
                self.roots = before
                node = None if number is None else ast.Constant(number)
                for name in [*self.chain(text, place), f"{self.launch.block}.{axis}", f"block_size_{axis}"]:
                    symbols.setdefault(name, f"block_size_{axis}")
            found.append((text, node))
        self._symbols = symbols
        return found

    def chain(self, text: str, place: int) -> Iterator[str]:
        """A name and the names that it stands for, last a macro that the kernel is built with as this."""
        for _ in range(6):
            if macro := next((name for name, one in self.options.items() if one.stands_for(text)), None):
                yield from (text, macro) if text.isidentifier() else (macro,)
                return
            if not re.fullmatch(r"[A-Za-z_]\w*", text):
                return
            yield text
            meaning = self.program.meaning(text, place)
            if meaning is None:
                return
            text, place = meaning

    def _extents(self) -> Iterator[tuple[str, ast.expr]]:
        """The elements of each array, where the memory that the host takes is so many of them."""
        for given, parameter in zip(self.launch.arguments, self.signature.parameters, strict=False):
            for name, taken, one in self.memory.arrays(given, self.launch.place, parameter):
                with suppress(NotArithmetic):
                    yield name, in_elements(self.program, self.known, taken, one)
