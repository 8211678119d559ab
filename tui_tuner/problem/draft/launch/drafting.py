"""The launch of a first problem file, as far as the host's own launch of the kernel says it."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic
from tui_tuner.problem.draft.arithmetic.worked_out import (
    evaluated,
    fraction,
    names,
    said_again,
    size_shared,
    used_in,
    with_numbers,
)
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch, Keys
from tui_tuner.problem.draft.host.build_options import BuildMacro, build_macros
from tui_tuner.problem.draft.host.launches import HostLaunch, is_chosen, launches
from tui_tuner.problem.draft.host.objects import Asked, Supposed, Taken
from tui_tuner.problem.draft.host.opencl_launches import opencl_launches
from tui_tuner.problem.draft.host.types import deduced, open_type
from tui_tuner.problem.draft.host.written_out import written_out
from tui_tuner.problem.draft.kernel.device_words import reached_headers, words_of_device
from tui_tuner.problem.draft.kernel.guesses import AXES, dimensions, is_flag_alone, size_names
from tui_tuner.problem.draft.launch.block import DraftedBlock
from tui_tuner.problem.draft.launch.names import HostedKernel, LaunchNames
from tui_tuner.problem.draft.launch.promises import (
    drawn_in,
    fractions_in,
    held_before,
    is_power,
    local_memory,
    most_threads,
    multiples_in,
    stated_bounds,
    stated_scalars,
)
from tui_tuner.problem.draft.launch.reading import LaunchReading
from tui_tuner.problem.draft.launch.same_numbers import SameNumbers
from tui_tuner.problem.draft.sizes.small import BETWEEN_ROWS, usual_number
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only, split_list
from tui_tuner.problem.tunables import why_no_size

_LARGE = 64
"""What the source states from here on may be an extent of arrays."""
_FEWEST_THREADS = 32
"""A number below is none of a block's threads for certain."""
_MOST_LAUNCHES = 24
"""Macros within macros write hundreds, which differ in a number of their template."""
_USUAL_SIZE = 1024
"""What a size is taken for that the host does not say, where launches are compared."""


def drafted_launch(
    source: str,
    signature: KernelSignature,
    file: Path,
    language: Language,
    host: str = "",
    *,
    stated_too: bool = False,
    included_with: Mapping[str, BuildMacro] | None = None,
) -> DraftedLaunch | None:
    """What the host's launch of a kernel says; None where there is none.

    Of several it is one that the host's own numbers choose, the largest, whose block its template is made for.

    Args:
        file: the kernel's; headers beside it are read for the numbers they define.
        host: the text of another file with host code, if there is one.
        stated_too: whether large numbers that the kernel's own text states are sizes as well.
        included_with: what the host states before it includes the kernel's file, or somebody says of the build.
    """
    included = reached_headers(source + "\n" + host, file)
    headers = [code_only(header.read_text("utf-8", "replace")) for header in included]
    source, program = written_out(source, host, headers, signature.name)
    of_opencl = language == "opencl"
    options = {**(included_with or {}), **(build_macros(program, source) if of_opencl else {})}
    hosted = HostedKernel(signature, program, words_of_device(source, file, signature), options)
    found = opencl_launches(program, signature) if of_opencl else launches(program, signature.name)
    likely = sorted(found, key=lambda one: not is_chosen(one, program))[:_MOST_LAUNCHES]
    drafts = [_Drafting(_read(hosted, one, stated_too)) for one in likely]
    if not drafts:
        return None
    drafted = max(drafts, key=lambda draft: (is_chosen(draft.launch, program), draft.threads(), draft.fits())).drafted()
    of_kernel = source.count("\n") + 1
    is_of_host = drafted.line > of_kernel
    return replace(drafted, line=drafted.line - of_kernel, is_of_host=True) if is_of_host else drafted


def _read(kernel: HostedKernel, launch: HostLaunch, stated_too: bool) -> LaunchReading:
    if not stated_too:
        return LaunchReading(kernel, launch)
    known, program = LaunchNames(kernel, launch), kernel.program
    of_block = {name for text, _ in known.block for name in known.chain(text, launch.place)}
    own = (program.own_numbers & kernel.words) - of_block
    large = frozenset(name for name in own if (program.number(name, launch.place) or 0) >= _LARGE)
    return LaunchReading(replace(kernel, words=kernel.words - large, stated=large, options={}), launch)


class _Drafting:
    """Makes of a launch that was read what a problem file says."""

    def __init__(self, reading: LaunchReading) -> None:
        self._reading = reading
        self._program = reading.program
        self._signature = reading.signature
        self.launch = reading.launch
        self._block = reading.block
        same = SameNumbers(reading)
        self._shapes = {name: same.in_shape(node) for name, node in reading.shapes.items()}
        self._passed = {name: same.in_scalar(node, self._shapes.values()) for name, node in reading.passed.items()}
        self._template = self._arguments_of_template()
        self._drafted_block = DraftedBlock(reading, self._template)
        self._grid = self._drafted_block.grid

    def _arguments_of_template(self) -> str:
        place = self.launch.place
        given = [open_type(self._program, one, place) or one for one in split_list(self.launch.template[1:-1])]
        given += deduced(self._program, self._signature, self.launch, len(given))
        said = [self._program.templates.argument(one, place) for one in given]
        return f"<{','.join(said)}>" if said and all(said) else ""

    def _named_template(self) -> str:
        """The template's arguments, with names for those numbers that are tunable."""
        tiles = iter(name for name in self._drafted_block.tiles if name in self._drafted_block.made)
        return re.sub(r"\b\d+\b", lambda number: next(tiles, number[0]), self._template)

    def threads(self) -> int:
        """About how many threads it launches."""
        known = {f"block_size_{axis}": 32 for axis in AXES} | self._drafted_block.defaults
        known |= self._usual | self._reading.shares
        return math.prod(max(1, evaluated(axis[0], known) or 1) for axis in self._grid if axis is not None)

    @property
    def _roots(self) -> dict[str, int | None]:
        return self._reading.roots

    @property
    def _usual(self) -> dict[str, int]:
        """The host's numbers, and a usual one for each size that comes from outside."""
        return {name: _USUAL_SIZE if number is None else number for name, number in self._roots.items()}

    def _fraction(self, node: ast.expr) -> float | None:
        code, is_plain = self._program.code, isinstance(node, ast.Name)
        of_fractions = {one for one in names(node) if re.search(rf"\b(?:float|double)\s+(?:const\s+)?{one}\b", code)}
        no_sizes = {one for one in of_fractions if self._roots.get(one) is None}
        usual = {name: number for name, number in self._usual.items() if name not in no_sizes}
        return fraction(node, self._roots if is_plain else usual)

    def fits(self) -> bool:
        """Whether the template's arguments can be told, and a number among them is an extent of the block."""
        if self.launch.template and not self._template:
            return False
        given = re.findall(r"\b\d+\b", self._template)
        return not given or bool({str(evaluated(node, self._roots)) for _, node in self._block if node} & set(given))

    def drafted(self) -> DraftedLaunch:
        """What the launch says, with the kernel's names for its sizes."""
        reading, made = self._reading, self._drafted_block.made
        keys: Keys = {"block_size": self._drafted_block.extents} if made else {}
        keys = {**keys, **self._grid_keys(), **self._shared()}
        parts = {} if "" in made else self._drafted_block.parts
        in_numbers = {name: self._in_least if name in parts else self._in_numbers for name in self._shapes}
        shapes = {name: in_numbers[name](node) for name, node in self._shapes.items()}
        used = self._used(keys, shapes)
        values = dict(self._values(used))
        local = {name: self._in_block_names(node) for name, node in local_memory(reading)}
        drawn = dict(drawn_in(reading))
        multiples = {name: self._in_numbers(node) for name, node in multiples_in(reading).items()}
        texts = [*_texts(keys), *shapes.values(), *map(str, values.values()), *local.values()]
        sizes = used_in(self._roots, [*texts, *(str(end) for ends in drawn.values() for end in ends)])
        return DraftedLaunch(
            line=self.launch.line,
            template=self._named_template(),
            keys=keys,
            tunables=self._drafted_block.tunables,
            defaults=self._drafted_block.defaults | self._drafted_block.shares,
            most_threads=most_threads(reading),
            sizes=sizes,
            shapes=shapes,
            values=values,
            of_block=frozenset(sizes.keys() & re.findall(r"\w+", " ".join(keys.get("block_size", ())))),
            drawn=drawn,
            fractions=dict(fractions_in(reading)),
            stated={name: name for name in sizes if name in reading.stated},
            usual=frozenset(self._made_of_usual_sizes(values)) | reading.of_cases,
            multiples={name: by for name, by in multiples.items() if name in sizes},
            local=local,
            powers=frozenset(name for name in sizes if is_power(reading, name)),
            supposed=frozenset(self._arrays_taken(Supposed, self._reading.grown)),
            asked=frozenset(self._arrays_taken(Asked)),
            of_device=not re.search(r"[A-Za-z_]", " ".join(keys.get("problem_size", "n"))) and reading.asks_device(),
            most={str(values.get(name, name)): most for name, most in stated_bounds(reading).items()},
            held=dict(held_before(reading)),
            fixed=frozenset(stated_scalars(reading)),
        ).renamed(self._names_of_kernel(used))

    def _made_of_usual_sizes(self, values: Mapping[str, str | float]) -> Iterator[str]:
        """The scalars that are numbers only since sizes from outside are taken for usual ones."""
        for name, node in self._passed.items():
            if isinstance(values.get(name), int | float) and fraction(node, self._roots) is None:
                yield name

    def _arrays_taken(self, way: type[Taken], others: Collection[str] = ()) -> Iterator[str]:
        """The arrays of which the host says in such a way how large they are, and those of other parameters."""
        for given, parameter in self._reading.arguments:
            for name, taken, _ in self._reading.memory.arrays(given, self.launch.place, parameter):
                if parameter.name in others or isinstance(taken, way):
                    yield name

    def _grid_keys(self) -> Keys:
        is_fixed = bool(self._drafted_block.made)
        elements, divisors = list[str](), dict[str, list[str]]()
        for index, (axis, parts) in enumerate(zip(AXES, self._grid, strict=False)):
            if parts is None:
                if index == 0:
                    return {}
                break
            size, divisor = parts
            is_block = isinstance(divisor, ast.Name) and divisor.id == f"block_size_{axis}"
            in_numbers = self._drafted_block.tiles or (is_block and not self._drafted_block.macros)
            said = self._in_numbers if in_numbers else self._in_block_names
            elements.append(said(size if divisor is not None else self._counted(size)))
            is_one = divisor is None and ast.unparse(size) == "1"
            if is_fixed or not (is_block or (is_one and index)):
                divisors[f"grid_div_{axis}"] = ["1" if divisor is None else self._in_block_names(divisor)]
        while len(elements) > dimensions(self._signature) and elements[-1] == "1":
            divisors.pop(f"grid_div_{AXES[len(elements) - 1]}", None)
            elements.pop()
        return {"problem_size": elements, **divisors}

    def _counted(self, blocks: ast.expr) -> ast.expr:
        """A count of blocks as a number, where no array has to do with it."""
        in_shapes = {name for node in self._shapes.values() for name in names(node)}
        number = None if names(blocks) & in_shapes else evaluated(blocks, self._roots)
        return blocks if number is None else ast.Constant(number)

    def _in_block_names(self, node: ast.expr) -> str:
        """An expression, with the block's extents as the draft has them."""
        text = ast.unparse(node)
        made = self._drafted_block.extents
        for axis, (given, number), own in zip_longest(AXES, self._block, made, fillvalue=("", ast.Constant(1))):
            name = self._drafted_block.macro_of(given)
            if name is None and made and number is not None:
                name = own if own in self._drafted_block.tiles else ast.unparse(number)
            if name is not None:
                text = re.sub(rf"\bblock_size_{axis}\b", name, text)
        return said_again(text)

    def _in_numbers(self, node: ast.expr) -> str:
        """An expression with the block's extents as the host has them."""
        text = ast.unparse(node)
        for axis, (_, number) in zip(AXES, self._block, strict=False):
            text = re.sub(rf"\bblock_size_{axis}\b", "1" if number is None else ast.unparse(number), text)
        return said_again(text)

    def _in_least(self, node: ast.expr) -> str:
        """An expression with the smallest extents of the block that are tried: as many blocks as there may be."""
        text = ast.unparse(node)
        for name, number in self._drafted_block.least().items():
            text = re.sub(rf"\b{name}\b", str(number), text)
        return said_again(text)

    def _shared(self) -> Keys:
        if "extern" not in self._reading.words or self.launch.shared in ("", "0"):
            return {}
        try:
            node = self._reading.expression(*self._shared_text())
        except NotArithmetic:
            return {}
        return {"shared_memory": self._in_block_names(node)}

    def _shared_text(self) -> tuple[str, int]:
        """What the host says of the bytes that a block shares, and where; a number of its threads grows with them."""
        text, place = self._program.followed(self.launch.shared, self.launch.place)
        extents = [text for text, _ in self._block if text.isdecimal()]
        threads = math.prod(map(int, extents))
        if self._drafted_block.made or len(extents) < len(self._block) or threads < _FEWEST_THREADS:
            return text, place
        block = " * ".join(f"block_size_{axis}" for axis in AXES[: len(extents)])
        return re.sub(rf"(?<![\w.]){threads}(?![\w.])", f"max({threads}, {block})", text), place

    def _used(self, keys: Keys, shapes: Mapping[str, str]) -> dict[str, int | None]:
        """The sizes that threads and arrays are made of, or the kernel counts to."""
        used = used_in(self._roots, [*_texts(keys), *shapes.values()]) | self._reading.bounds
        if any(one.is_array and one.name not in shapes for one in self._signature.parameters):
            guessed = self._passed.keys() & {*self._sizes_of_guesses(keys)}
            used |= used_in(self._roots, [size_shared(self._passed[one], self._program.code) or "" for one in guessed])
        return used

    @cached_property
    def _scalars(self) -> list[tuple[str, ast.expr, bool]]:
        """Name of each scalar that can be read, what it is, and whether that is whole; last what names no size."""
        dtypes = {name: dtype or "" for name, dtype, _ in self._reading.scalars()}
        ordered = sorted(self._passed.items(), key=lambda one: bool(BETWEEN_ROWS.search(one[0])))
        return [(name, node, "int" in dtypes[name]) for name, node in ordered]

    def _values(self, used: Mapping[str, int | None]) -> Iterator[tuple[str, str | float]]:
        """The value of each scalar, as a number or over the sizes that are used."""
        others = {name: usual_number(name) if n is None else n for name, n in self._roots.items() if name not in used}
        for name, node, whole in self._scalars:
            value = with_numbers(ast.parse(self._in_numbers(node), mode="eval").body, others)
            if whole and isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                is_divided = any(isinstance(one, ast.FloorDiv) for one in ast.walk(node))
                is_part = is_divided and None in map(self._roots.get, names(node))
                if value.value or not is_part:  # half of the 1 that is taken for what nobody says
                    yield name, value.value
            elif whole and names(value) <= used.keys():
                yield name, ast.unparse(value)
            elif not whole and isinstance(node, ast.Name) and node.id in used and self._fraction(node) is not None:
                yield name, node.id
            elif not whole and (number := self._fraction(node)) is not None and math.isfinite(number):
                yield name, float(number)

    def _names_of_kernel(self, used: Mapping[str, int | None]) -> dict[str, str]:
        """The kernel's names for sizes, by the host's: those of scalars that are passed as them."""
        renamed: dict[str, str] = {}
        for name, node, whole in self._scalars:
            own = name.rpartition(".")[2]
            is_size = whole and why_no_size(own) is None and (own == name or own.isidentifier())
            if is_size and isinstance(node, ast.Name) and node.id in used:
                renamed.setdefault(node.id, own)
        for name in used:
            if name not in renamed and why_no_size(name) is not None:
                renamed[name] = f"{name}_of_host"
        taken = [one for one in renamed.values() if one in self._roots and one not in renamed]
        return {old: new for old, new in renamed.items() if new not in taken}

    def _sizes_of_guesses(self, keys: Keys) -> list[str]:
        """The scalars that extents may be guessed of: where the launch says the threads, those that it counts by."""
        found = size_names(self._signature)
        if "problem_size" not in keys or any(one.is_list for one in self._signature.parameters):
            return found
        named = [name for name in found if re.search(rf"\b{name}\b", self._signature.body)]
        return [name for name in named if not is_flag_alone(name, self._signature)]


def _texts(keys: Keys) -> list[str]:
    return [text for value in keys.values() for text in ([value] if isinstance(value, str) else value)]
