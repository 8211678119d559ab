"""The block of a draft: what of it a macro or a number of the template makes, what is fixed, what can be tuned."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence

from tui_tuner.problem.draft.arithmetic.folding import factors, folded
from tui_tuner.problem.draft.arithmetic.worked_out import evaluated, names, with_numbers
from tui_tuner.problem.draft.drafted_launch import MOST_THREADS
from tui_tuner.problem.draft.kernel.device_words import is_warp
from tui_tuner.problem.draft.kernel.guesses import (
    AXES,
    TOLD_APART,
    block_values,
    dimensions,
    extents_around,
    is_written,
    shares_around,
)
from tui_tuner.problem.draft.kernel.parts import has_one_a_block, parts_of
from tui_tuner.problem.draft.launch.reading import LaunchReading
from tui_tuner.problem.syntax import name_in

_ASKS = re.compile(
    r"\bblockDim\b|\bthis_grid\b|\bblock_?(?:size|dim)\w*|\b(?:num_threads|size|dim_threads|group_dim|num_tiles)\s*\("
)
"""What a kernel that may have other blocks says: their extent, or that of a group of CUDA's."""
_NAME = re.compile(r"[A-Za-z_]\w*")
_OWN_SHARED = re.compile(r"(?<!\bextern )__shared__")
"""Shared memory of a size that the kernel's text gives, as one made for its block."""
TILE = "block_size_x"
"""Takes the place of a number in the template's arguments that makes the block."""


class DraftedBlock:
    """The block of a launch that was read, of a kernel with these template arguments.

    Attributes:
        macros: those of the file that make the block and that the kernel reads: each becomes a tunable.
        tiles: the numbers among the template's arguments, in their order, where the block is made of these, by tunable.
        made: what fixes the block, by name; nothing where it can be tuned as it is.
        extents: the text of each axis then.
        defaults: the host's own block, where it is tunable.
        shares: macros of the file by which a block takes more than an element a thread: each becomes a tunable too.
        grid: that of the reading, with these by their names.
        parts: outputs in which each block leaves a part of the result, and by what these make it.
    """

    def __init__(self, reading: LaunchReading, template: str) -> None:
        self._reading = reading
        self._program, self._signature = reading.program, reading.signature
        self._block, self._words = reading.block, reading.words
        self._place = reading.launch.place
        self._body = reading.program.without_macros(self._signature.body)
        self.parts = parts_of(self._signature, reading.program.code)
        is_fixed = (self._is_counted_by() and not self.parts) or reading.is_a_row
        self.macros = [] if is_fixed else self._tunable_macros()
        self.tiles = {} if is_fixed else self._numbers_of(template)
        self.made, self.extents = self._fixed(template, is_fixed)
        self.defaults = self._own_extents()
        divisors = {name for axis in reading.grid if axis and axis[1] for name in names(axis[1])}
        self.shares = {one: by for one, by in reading.shares.items() if self.macros and one in divisors}
        fixed = {name: by for name, by in reading.shares.items() if name not in self.shares}
        self.grid = [axis and (_with(axis[0], fixed), axis[1] and _with(axis[1], fixed)) for axis in reading.grid]

    @property
    def tunables(self) -> dict[str, list[int]]:
        """What makes the block, where it is tunable by that, and how much it takes, with values to try."""
        found = {name: extents_around(by) for name, by in self.made.items() if name in (*self.macros, *self.tiles)}
        return found | {name: shares_around(by) for name, by in self.shares.items()}

    def _is_counted_by(self) -> bool:
        """Whether an output has elements for each block, of a share of the data that is as long as the block.

        With other blocks it is another output. The share is where the host counts the elements by the block, and where
        what a block looks at begins at its number times its extent.
        """
        return any(
            is_written(one.name, self._signature)
            for one in self._signature.parameters
            if self._is_counted_in_blocks(one.name)
            or (has_one_a_block(one.name, self._signature.body) and self._begins_at_its_extent())
        )

    def _is_counted_in_blocks(self, name: str) -> bool:
        """Whether the host takes memory for so many blocks, and not for whole blocks of elements."""
        node = self._reading.shapes.get(name)
        if node is None or not re.search(r"\bblockIdx\b|\bget_group_id\b", self._signature.body):
            return False
        whole = {one.id for one in factors(node) if isinstance(one, ast.Name)}
        return any(one.startswith("block_size_") and one not in whole for one in names(node))

    def _begins_at_its_extent(self) -> bool:
        own = [one for text, _ in self._block for one in self._reading.chain(text, self._place)]
        extent = rf"\b(?:{'|'.join(['blockDim', *map(re.escape, own)])})\b"
        place, between = r"\bblockIdx\b", r"[^;,{}]*\*[^;,{}]*"
        is_share = "get_global_id" in self._signature.body and "get_global_size" not in self._signature.body
        return (
            is_share
            or re.search(rf"{place}{between}{extent}|{extent}{between}{place}", self._signature.body) is not None
        )

    def least(self) -> dict[str, int]:
        """The smallest extent that a draft tries along each axis, by the name of the block's tunable there."""
        given = self.defaults
        tried = [min(one) for one in block_values(self._signature)]
        found = {f"block_size_{axis}": number for axis, number in zip(AXES, tried, strict=False)}
        for axis, (text, _) in zip(AXES, self._block, strict=False):
            name = self.macro_of(text) or (name_of if (name_of := f"block_size_{axis}") in self.tiles else "")
            if name in given:
                found[f"block_size_{axis}"] = min(extents_around(given[name]))
        return found

    def macro_of(self, text: str) -> str | None:
        """The macro that an extent of the block is."""
        return next((one for one in self._reading.chain(text, self._place) if one in self.macros), None)

    def _tunable_macros(self) -> list[str]:
        last = [chain[-1] for text, _ in self._block if (chain := [*self._reading.chain(text, self._place)])]
        known = (self._program.own_numbers | self._reading.options.keys()) & self._words & {*last}
        fixed = {one for one in known if is_warp(one, self._program.number(one, self._place), self._words)}
        fixed |= self._extents_of_arrays() & known
        return [name for name in last if name in known - fixed]

    def _extents_of_arrays(self) -> frozenset[str]:
        """The names that the host takes memory by: an array, but for one of parts, has as many with any other block."""
        arrays = [given for given, one in self._reading.arguments if one.pointer and one.name not in self.parts]
        return self._reading.memory.names_of(arrays, self._place)

    def _numbers_of(self, template: str) -> dict[str, int]:
        """The numbers of the template's arguments, where one is the block's, or two are its extents in either order."""
        given = [int(one) for one in re.findall(r"\b\d+\b", template)]
        extents = [evaluated(node, {}) for _, node in self._block if node is not None]
        along = [TILE, "block_size_y"]
        if not self._words.isdisjoint(along[: len(given)]):
            return {}
        if len(given) == 1:
            return {TILE: given[0]} if given[0] in extents else {}
        if len(given) != len(along) or sorted(given) != sorted(one or 0 for one in extents[: len(along)]):
            return {}
        if not {name_in(one) for one in self._signature.template} <= {*_NAME.findall(self._body)}:
            return {}
        is_turned = given != extents[: len(along)] or _begins_with_rows(self._signature.template)
        return dict(zip(reversed(along) if is_turned else along, given, strict=True))

    def _fixed(self, template: str, is_fixed: bool) -> tuple[dict[str, int], list[str]]:
        numbers = [evaluated(node, {}) if node is not None else None for _, node in self._block]
        if self.macros:
            named = [(self.macro_of(text), number or 1) for (text, _), number in zip(self._block, numbers, strict=True)]
            return {name: number for name, number in named if name}, [name or str(number) for name, number in named]
        if self.tiles:
            return self.tiles, self._extents_by_tiles(numbers)
        literal = re.findall(r"\b\d+\b", template)
        of_sizes = {axis for axis, (_, node) in zip(AXES, self._block, strict=False) if node and names(node)}
        asked = re.findall(r"\bblockDim\s*\.\s*([xyz])", self._signature.body)
        sized = [node for _, node in self._block if isinstance(node, ast.Name)] or of_sizes.difference(asked)
        if literal and not is_fixed and self._template_makes_block(literal):
            extents = [literal[0] if number is None else str(number) for number in numbers]
            return {literal[0]: int(literal[0])}, extents
        if is_fixed or sized or self._is_read() or self._signature.work_group is not None:
            texts = [ast.unparse(node) if node is not None else "" for _, node in self._block]
            return ({"": 1}, texts) if all(texts) else ({}, [])
        return {}, []

    def _extents_by_tiles(self, numbers: Sequence[int | None]) -> list[str]:
        if len(self.tiles) == 1:
            return [TILE if number == self.tiles[TILE] else str(number or 1) for number in numbers]
        along = (f"block_size_{axis}" for axis in AXES)
        return [name if name in self.tiles else str(number or 1) for name, number in zip(along, numbers, strict=False)]

    def _template_makes_block(self, literal: Sequence[str]) -> bool:
        """Whether the block may have to do with the numbers of the template: not where the kernel asks for its own."""
        body = self._signature.body
        own = {name_in(one) for one in self._signature.template}
        if not own & {*_NAME.findall(body)} and "threadIdx" in body:
            return False
        extents = [evaluated(node, {}) or 1 for _, node in self._block if node is not None]
        made = {str(number) for number in (*extents, math.prod(extents))} & {*literal}
        given = {*_NAME.findall(self._reading.launch.template)}
        named = given & {*_NAME.findall(" ".join(text for text, _ in self._block))}
        told, asked = ({*re.findall(rf"\b{name}\s*\.\s*([xyz])\b", body)} for name in ("threadIdx", "blockDim"))
        return bool(made or named or _OWN_SHARED.search(body)) or not told <= asked

    def _is_read(self) -> bool:
        """Whether the kernel has no threads to tell apart, or reads, or is passed, a constant that makes the block."""
        if not TOLD_APART.search(self._body) or self._reading.passed_block or self._is_written_out():
            return True
        along = zip(AXES, self._block, strict=False)
        if any(self._asks_for_last(axis, extent) or self._goes_on_by_its_own(axis, extent) for axis, extent in along):
            return True
        words = re.findall(r"(?<![\w.>])[A-Za-z_]\w*\b(?!\s*::)", " ".join(text for text, _ in self._block))
        known = [name for word in words for name in self._reading.chain(word, self._place)]
        return any(n in self._words and not self._program.is_of_host(n, self._place) for n in known)

    def _is_written_out(self) -> bool:
        """Whether the kernel tells the threads of a block apart and nowhere asks how many there are."""
        called = (one for one in self._program.functions if re.search(rf"\b{one.name}\s*\(", self._signature.body))
        texts = [self._body, *(self._program.code[one.start : one.end] for one in called)]
        tells = re.search(r"\bthreadIdx\b|\bthread_(?:rank|index)\b", texts[0]) is not None
        return tells and not any(_ASKS.search(self._program.without_macros(text)) for text in texts)

    def _asks_for_last(self, axis: str, extent: tuple[str, ast.expr | None]) -> bool:
        """Whether the kernel asks for the last thread of the host's block by its number, as in `threadIdx.x == 15`."""
        number = None if extent[1] is None else evaluated(extent[1], {})
        asked = rf"(?:{self._thread_along(axis)})\s*==\s*{(number or 0) - 1}\b"
        return (number or 0) > 1 and re.search(asked, self._body) is not None

    def _goes_on_by_its_own(self, axis: str, extent: tuple[str, ast.expr | None]) -> bool:
        """Whether the kernel goes on by a number of the file that is the block: `i * BLOCK + threadIdx.x`."""
        number = None if extent[1] is None else evaluated(extent[1], {})
        known = [one for one in self._program.own_numbers & self._words if not is_warp(one, number, self._words)]
        own = "|".join(one for one in known if self._program.number(one, self._place) == number) or "(?!)"
        by = rf"(?:\*\s*(?:{own})|\b(?:{own})\s*\*\s*[\w.]+)\s*\+\s*(?:{self._thread_along(axis)})"
        return (number or 0) > 1 and re.search(by, self._signature.body) is not None

    def _thread_along(self, axis: str) -> str:
        """The pattern of a thread's number along an axis, also by a name."""
        place = rf"\bthreadIdx\s*\.\s*{axis}\b"
        names = re.findall(rf"\b(\w+)\s*=\s*{place}\s*[;,]", self._body)
        return "|".join((place, *(rf"(?<![\w.>]){name}\b" for name in names)))

    def _own_extents(self) -> dict[str, int]:
        """The host's own block, where it is tunable, along the axes that the kernel asks for, or more."""
        found: dict[str, int] = {}
        if not self.macros and self.tiles:
            return self.tiles
        for axis, (text, node) in zip(AXES, self._block, strict=False):
            number = None if node is None else evaluated(node, {})
            name = self.macro_of(text) or f"block_size_{axis}"
            is_counted = self.macros or AXES.index(axis) < dimensions(self._signature) or number != 1
            if number is not None and 1 <= number <= MOST_THREADS and is_counted:
                found[name] = number
        return {name: number for name, number in found.items() if not self.macros or name in self.macros}


def _begins_with_rows(template: Sequence[str]) -> bool:
    """Whether the first parameter of a template is called after y or rows."""
    return bool(template) and re.search(r"(?:[yY]|_?[rR]ows?|ROWS?)\d*$|^[yY]", name_in(template[0])) is not None


def _with(node: ast.expr, numbers: Mapping[str, int]) -> ast.expr:
    return folded(with_numbers(node, numbers)) if names(node) & numbers.keys() else node
