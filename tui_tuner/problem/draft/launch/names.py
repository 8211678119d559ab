"""What the names of the host's code stand for where it launches a kernel: sizes, the block, or what is made of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic
from tui_tuner.problem.draft.arithmetic.worked_out import (
    as_size,
    chosen,
    evaluated,
    finished,
    is_flag,
    names,
    no_size,
    readable,
)
from tui_tuner.problem.draft.host.answers import is_of_tensor, limit_of_devices
from tui_tuner.problem.draft.host.build_options import BuildMacro
from tui_tuner.problem.draft.host.dimensions import axes, counted, element, set_in_list
from tui_tuner.problem.draft.host.elements import in_elements
from tui_tuner.problem.draft.host.functions import leading_to
from tui_tuner.problem.draft.host.launches import HostLaunch
from tui_tuner.problem.draft.host.memory import HostMemory
from tui_tuner.problem.draft.host.objects import Taken
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import halved, is_read_or_counted
from tui_tuner.problem.draft.host.types import with_type_bytes
from tui_tuner.problem.draft.kernel.guesses import AXES, SMALL
from tui_tuner.problem.signature import KernelParameter, KernelSignature

_MOST_ASKED = 3000
_MOST_STEPS = 6
_OF_LIST = re.compile(r"(\w+(?:(?:\[\d+\])?(?:\.|->)\w+)*)\[([\w+-]+)\]")
_NAMED = re.compile(rf"{_OF_LIST.pattern}|\w+(?:(?:\[\d+\])?(?:(?:\.|->)\w+)+(?:\(\d*\))?|(?:::\w+)+)?")


@dataclass(frozen=True)
class HostedKernel:
    """A kernel and the host's code around it.

    Attributes:
        words: of the device's code: a macro or constant among them cannot be another number.
        options: macros that the host builds the kernel with, by name.
        stated: words of the device's code that are taken for sizes nevertheless.
    """

    signature: KernelSignature
    program: HostProgram
    words: frozenset[str]
    options: Mapping[str, BuildMacro]
    stated: frozenset[str] = frozenset()


class LaunchNames:
    """Works out text of the host over the sizes that a launch is made of.

    Attributes:
        arguments: what is passed for each parameter of the kernel.
        roots: names that are sizes, with the host's number; None where it comes from outside.
        block: the text of each axis of the block, and what it comes to.
        of_block: the host's names for the extents of the block, with the name that stands for each.
        passed_block: names that make the block and that the kernel is passed too.
        cases_of_block: sizes that make the block, and whose number chooses this launch among others.
    """

    def __init__(self, kernel: HostedKernel, launch: HostLaunch) -> None:
        signature, program, options = kernel.signature, kernel.program, kernel.options
        self.signature, self.program, self.options = signature, program, options
        self.words, self.stated = kernel.words, kernel.stated
        self.memory = HostMemory(program)
        self.launch = replace(launch, arguments=tuple(program.members.passed(launch.arguments, signature.parameters)))
        self.arguments = [*zip(self.launch.arguments, signature.parameters, strict=False)]
        self.roots: dict[str, int | None] = {}
        self.of_block: dict[str, str] = {}
        self._leading = leading_to(program.code, program.functions, launch.place)
        self._launched = {one for text in (launch.grid, launch.block) for one in self.chain(text, launch.place)}
        self._resolving: list[tuple[str, int]] = []
        self._indexed: dict[str, str] = {}
        self._made: dict[str, tuple[ast.expr, dict[str, int | None]]] = {}
        self._asked = self._stated_seen = 0
        self.passed_block = frozenset(self._constants_of_block())
        fixed = " ".join([launch.template, *(one.text for one in options.values())])
        chosen_by = (one for name, _ in launch.chosen for one in self.chain(name, launch.place))
        self._of_template = frozenset(re.findall(r"[A-Za-z_]\w*", fixed)) | self.passed_block | {*chosen_by}
        self._exponents: dict[str, str] = {}
        self._counted: dict[str, int] = {}
        self._cases: dict[str, int] = {}
        self._cases_asked = set[str]()
        self._know_cases()
        self._know_exponents()
        self._know_plain_scalars()
        self._cases_asked.clear()
        self.block = self._block_axes()
        self.cases_of_block = frozenset(self._cases_asked)

    def scalars(self) -> Iterator[tuple[str, str | None, str]]:
        """Name, dtype and text of each scalar that is passed, and of each member of a structure, as in "p.width".

        Also of each size that an array or constant memory holds, which is what the host copies there.
        """
        yield from self.program.members.scalars(self.launch.arguments, self.signature.parameters)
        for given, parameter in zip(self.launch.arguments, self.signature.parameters, strict=False):
            if parameter.holds:
                yield parameter.holds, parameter.dtype, self._copied_to(given) or parameter.holds
        for one in self.signature.constants:
            yield one.name, one.dtype, self._copied_to(one.name) or one.name

    def _copied_to(self, given: str) -> str:
        """The variable that the host copies to a place before the launch; empty where it copies none."""
        to = rf"(?:\([^()]*\)\s*)?{re.escape(given)}\s*"
        copies = rf"\b(?:cuda|hip)Memcpy(?:ToSymbol)?(?:Async)?\s*\(\s*{to},"
        copies += rf"|\bclEnqueueWriteBuffer\s*\([^,;]*,\s*{to},[^;&]*?,"
        found = re.findall(rf"(?:{copies})\s*&\s*(\w+)\s*,", self.program.code[: self.launch.place])
        return found[-1] if found else ""

    def chain(self, text: str, place: int) -> Iterator[str]:
        """A name and the names that it stands for, last a macro that the kernel is built with as this."""
        for _ in range(_MOST_STEPS):
            if macro := next((name for name, one in self.options.items() if one.stands_for(text)), None):
                yield from (macro,) if text.isdecimal() else (text, macro)
                return
            if not re.fullmatch(r"[A-Za-z_]\w*(?:\[\d+\])?", text):
                return
            if text.isidentifier():
                yield text
            meaning = self.program.meaning(text, place) or element(self.program, text, place)
            if meaning is None:
                return
            text, place = meaning

    def expression(self, text: str | ast.expr, place: int) -> ast.expr:
        """What text at a place comes to over the roots, as a problem file says it.

        Raises:
            NotArithmetic: it cannot be read, or said there.
        """
        return finished(self.node(text, place))

    def node(self, text: str | ast.expr, place: int) -> ast.expr:
        """What text at a place comes to over the roots, with the bytes of types by their names.

        Raises:
            NotArithmetic: it cannot be read.
        """
        return readable(with_type_bytes(self.program.resolved(text, place, self._known), self.program.code), self.roots)

    def elements(self, taken: Taken, parameter: KernelParameter) -> ast.expr:
        """Memory as elements of what a parameter points to.

        Raises:
            NotArithmetic: it cannot be read.
        """
        return in_elements(self.program, self._known, taken, parameter)

    def root(self, name: str, number: int | None) -> ast.expr:
        """A size of this name, of which the host's number is kept where it has one."""
        name = as_size(name)
        if name in self._cases:
            self._cases_asked.add(name)
            return ast.Constant(self._cases[name])
        if self.roots.get(name) is None:
            self.roots[name] = number
        return ast.Name(name)

    def _known(self, name: str, place: int) -> ast.expr | None:
        """What a name at a place stands for: a size, the block, or what is made of them."""
        self._asked += 1
        if self._asked > _MOST_ASKED:  # names that stand for names, each several times
            raise NotArithmetic(name)
        if name in self.of_block:
            return ast.Name(self.of_block[name])
        told = self._axis(name, place) or self._told(name)
        if told is not None or not _NAMED.fullmatch(name):
            return told
        elements = self.memory.elements(name, place)
        name, meaning = (name, elements) if elements is not None else self._set_to(name, place)
        if meaning is None or (name, place) in self._resolving:
            built_with = self.options.get(name) if meaning is None else None
            return (built_with and built_with.number) or self.root(name, None)
        before, stated = dict(self.roots), self._stated_seen
        self._resolving.append((name, place))
        try:
            value = self.expression(*meaning)
        except NotArithmetic:
            self.roots = before
            return self.root(name, None)
        finally:
            self._resolving.pop()
        is_passed = any(name in re.findall(r"\w+", given) for _, _, given in self.scalars())
        is_stated = self._stated_seen > stated and (isinstance(value, ast.Constant) or not is_passed)
        is_chosen = name in self.program.switched
        if (elements is not None and not name.isidentifier()) or is_stated or is_chosen or "::" in name:
            return value  # it is no name of a size, or made of what the kernel's text states, or chooses its template
        return self._kept(name, place, value, before)

    def _axis(self, name: str, place: int) -> ast.expr | None:
        """What an axis of a `dim3` is; None for any other name."""
        member = re.fullmatch(r"(\w+)(?:\.|->)([xyz])", name)
        written, there = axes(self.program, member[1], place) if member else ([], place)
        if member is None or written == [member[1]]:
            return None
        index = AXES.index(member[2])
        value = self.node(written[index], there) if index < len(written) else ast.Constant(1)
        match value:
            case ast.Constant(value=int(number)) if number >= SMALL and member[1] not in self._launched:
                return self.root(name, number)  # a size by itself, as of a volume
        return value

    def _told(self, name: str) -> ast.expr | None:
        """What devices say of themselves by a name, or a loop of the host of exponents."""
        if name in self._exponents:
            return ast.BinOp(ast.Constant(2), ast.Pow(), self.root(self._exponents[name], None))
        if name in self._exponents.values():
            return self.root(name, None)
        limit = self._counted.get(name, limit_of_devices(name))
        return None if limit is None else ast.Constant(limit)

    def _set_to(self, name: str, place: int) -> tuple[str, tuple[str, int] | None]:
        """What a name was set to; an element of a list goes by the list, where all are alike or it is the first."""
        meaning = self.program.meaning(name, place) or element(self.program, name, place)
        if (of_list := _OF_LIST.fullmatch(name)) is None:
            return name, meaning
        alike = None if meaning else set_in_list(self.program, of_list[1], place)  # as far as a loop says
        which = counted(self.program, name, place)
        is_first = not of_list[2].isdecimal() and self._indexed.setdefault(of_list[1], which) == which
        return of_list[1] if alike or is_first else name, meaning or alike

    def _kept(self, name: str, place: int, value: ast.expr, before: dict[str, int | None]) -> ast.expr:
        """What stands for a name of this value: itself, if nothing in the value is known yet."""
        inside = names(value)
        meaning = self.program.meaning(name, place)
        own, other = (self.program.function_at(at) for at in (place, meaning[1] if meaning else place))
        if inside and {own, other} - {None} - self._leading:  # no name of another function is one of a size here
            return value
        is_anew = name in inside and not isinstance(value, ast.Name)
        if is_anew and meaning and own == other is not None:  # of what it was
            self.roots = before
            return self.root(name, None)
        known = before.keys() | {*self.of_block.values()} | self.stated
        if inside & known or isinstance(value, ast.Name) or is_flag(value):
            return value
        number = evaluated(value, self.roots)
        if number == 0 and is_read_or_counted(self.program.code, name):
            return self.root(name, None)
        if isinstance(value, ast.Constant) and (
            not isinstance(value.value, int)
            or name in self._of_template
            or (name in self.words and not self.program.is_of_host(name, place))
        ):
            self._stated_seen += name in self.words
            return value
        if number == 0:  # no size is 0; what it is made of are
            return value
        parts, self.roots = self.roots, before
        size = self.root(name, number)
        self._made |= {one: (value, parts) for one in names(size) if inside - {one}}
        return size

    def _constants_of_block(self) -> Iterator[str]:
        """Constants that make the block and that the kernel is passed too; of a single block they are sizes."""
        if self.launch.grid == "1":
            return
        written, place = axes(self.program, self.launch.block, self.launch.place)
        for name in {one for text in written for one in self.chain(text, place)} & {*self.launch.arguments}:
            if re.search(rf"\bconst(?:expr)?\s+[\w\s]*\b{name}\s*=\s*\d+\s*[;,]", self.program.code):
                yield name

    def _know_cases(self) -> None:
        """Let sizes from outside that choose this launch among others be the number for which it is made."""
        for name, text in self.launch.chosen:
            number = self.program.number(text, self.launch.place)
            if number is None or self.program.number(name, self.launch.place) is not None:
                continue
            with suppress(NotArithmetic):
                match self.node(name, self.launch.place):
                    case ast.Name(id=size):
                        self._cases[size] = number
                    case ast.BinOp(left=ast.Name(id=size), op=ast.FloorDiv(), right=ast.Constant(value=int(by))):
                        self._cases[size] = number * by
        self.roots.clear()
        self._made.clear()

    def _know_exponents(self) -> None:
        """Let scalars that count how often a size can be halved be exponents: of one from outside, or as a number."""
        place = self.launch.place
        given = [text for _, _, text in self.scalars() if text.isidentifier()]
        for name in given if self.program.function_at(place) else ():
            counted = halved(self.program.code, self.program.meaning, name, self.program.begin_of(place), place)
            number = None if counted is None else self.program.number(*counted)
            if number is not None and number > 0:
                self._counted[name] = number.bit_length() - 1
            elif counted is not None:
                self._exponents |= dict.fromkeys([*self.chain(*counted)][-1:], name)

    def _know_plain_scalars(self) -> None:
        """Let scalars that are passed by a name which nothing else makes be known first: they name the sizes."""
        place = self.launch.place
        of_memory = self.memory.names_of([given for given, one in self.arguments if one.pointer], place)
        for name, dtype, given in self.scalars():
            if dtype is None or "int" not in dtype:
                continue
            is_member = "." in name or re.fullmatch(r"\w+(?:(?:\.|->)(?![xyz]$)\w+)+", given)
            chain = [given] if is_member else list(self.chain(given, place))
            meaning = self._last_meaning(chain)
            is_plain = meaning is None or self.program.is_plain(meaning[0]) or is_of_tensor(meaning[0])
            if chain and (is_plain or chain[-1] in of_memory):
                with suppress(NotArithmetic):
                    self.node(given, place)

    def _last_meaning(self, chain: list[str]) -> tuple[str, int] | None:
        """What the last of names that each stand for the next one at the launch was set to."""
        meaning, place = None, self.launch.place
        for name in chain:
            meaning = self.program.meaning(name, place)
            place = meaning[1] if meaning else place
        return meaning

    def _block_axes(self) -> list[tuple[str, ast.expr | None]]:
        """The text of each axis of the block, and what it comes to; its names stand for the block from then on."""
        written, place = axes(self.program, self.launch.block, self.launch.place)
        found: list[tuple[str, ast.expr | None]] = []
        of_block: dict[str, str] = {}
        for axis, text in zip(AXES, written, strict=False):
            before = dict(self.roots)
            node: ast.expr | None = None
            with suppress(NotArithmetic):
                node = no_size(chosen(self.expression(text, place), self.roots), self.roots, before)
            if node is None or not names(node) & before.keys():  # a number, or what is the block's alone
                number = None if node is None else evaluated(node, self.roots)
                self.roots = before
                node = None if number is None else ast.Constant(number)
                for name in [*self.chain(text, place), f"{self.launch.block}.{axis}", f"block_size_{axis}"]:
                    of_block.setdefault(name, f"block_size_{axis}")
            found.append((text, node))
        self.of_block = of_block
        return found
