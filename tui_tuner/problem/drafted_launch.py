"""The launch of a first problem file, as far as the host's own launch of the kernel says it."""

from __future__ import annotations

import ast
import copy
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.problem.c_expressions import SIZEOF, NotArithmetic, arithmetic, factors, folded, is_quotient, product
from tui_tuner.problem.expressions import ExpressionError, check, evaluate
from tui_tuner.problem.host_code import device_code
from tui_tuner.problem.host_program import HostLaunch, HostProgram, bytes_of
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.tunables import why_no_size

_LOCAL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_SHARED = re.compile(r"\b__shared__\s+[\w\s:]+?\b\w+\s*((?:\[[^\]]+\]\s*)+);")
_MOST_THREADS = 1024
UNKNOWN = 1024
"""What a size is taken for that the host does not say, where launches are compared."""
AXES = "xyz"


@dataclass(frozen=True)
class DraftedLaunch:
    """What stands in the tables around the launch, each only as far as the host's code says it.

    Attributes:
        line: where the host launches the kernel.
        template: arguments of the template, as in "<16>".
        keys: of [launch], as expressions.
        tunables: names and values of what makes the block, where macros do.
        defaults: the value of each tunable in the file.
        most_threads: of a block, where the kernel's shared arrays hold no more.
        sizes: names for the expressions, with the host's number; None where it comes from outside.
        shapes: elements of the arrays that the host takes memory for.
        values: of scalars, as expressions or numbers.
        are_fixed: whether the sizes cannot be others, since the block is made of them.
    """

    line: int
    template: str = ""
    keys: dict[str, list[str] | str] = field(default_factory=dict)
    tunables: dict[str, list[int]] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    most_threads: int = _MOST_THREADS
    sizes: dict[str, int | None] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)
    values: dict[str, str | float] = field(default_factory=dict)
    are_fixed: bool = False


def drafted_launch(
    source: str, signature: KernelSignature, file: Path, host: str = "", dimensions: int = 1
) -> DraftedLaunch | None:
    """What the host's launch of a kernel says; None where there is none.

    Of several launches it is the largest, and the first of these.

    Args:
        file: the kernel's; headers beside it are read for the numbers they define.
        host: the text of another file with host code, if there is one.
        dimensions: of blocks that the kernel asks for.
    """
    headers = [code_only(header.read_text("utf-8", "replace")) for header in local_headers(source, file)]
    code = code_only(source) + "\n" + code_only(host)
    program = HostProgram(code, headers)
    words = frozenset(re.findall(r"\w+", _without_names(device_code(code_only(source), (file.parent,)))))
    drafts = [_Drafting(program, words, signature, one, dimensions) for one in program.launches(signature.name)]
    if not drafts:
        return None
    return max(drafts, key=lambda draft: draft.threads()).drafted()


def local_headers(source: str, file: Path) -> list[Path]:
    """The headers beside a file that it includes."""
    text = device_code(source, (file.parent,))
    return [path for name in _LOCAL.findall(text) if (path := file.parent / name).is_file()]


def _without_names(code: str) -> str:
    """The device's code without what its definitions name."""
    code = re.sub(r"^[ \t]*#[ \t]*(?:define|ifn?def|undef)[ \t]+\w+", "", code, flags=re.MULTILINE)
    return re.sub(r"\b(?:const(?:expr)?|static)\b[\w\s]*?\b\w+\s*=", "", code)


class _Drafting:
    """Reads one launch.

    Args:
        words: of the device's code: a macro or constant among them cannot be another number.
    """

    def __init__(
        self,
        program: HostProgram,
        words: frozenset[str],
        signature: KernelSignature,
        launch: HostLaunch,
        dimensions: int,
    ) -> None:
        self._program = program
        self._words = words
        self._signature = signature
        self._launch = launch
        self._dimensions = dimensions
        self._roots: dict[str, int | None] = {}
        self._symbols: dict[str, str] = {}
        self._resolving: list[tuple[str, int]] = []
        self._know_plain_scalars()
        self._block = self._block_axes()
        self._shapes = dict(self._extents())
        self._grid = self._grid_axes()
        self._passed = self._values()

    def threads(self) -> int:
        """About how many threads it launches."""
        names = {name: number or UNKNOWN for name, number in self._roots.items()}
        names |= {f"block_size_{axis}": 32 for axis in AXES} | self._defaults()
        axes = [node for axis in self._grid if axis is not None for node in (axis[0],)]
        return math.prod(max(1, _evaluated(node, names) or 1) for node in axes)

    def drafted(self) -> DraftedLaunch:
        template = self._template()
        block, keys = self._block_keys(template)
        keys |= self._grid_keys(bool(block)) | self._shared()
        shapes = {name: self._in_numbers(node) for name, node in self._shapes.items()}
        values, renamed = self._scalars(keys, shapes)
        given = _used(self._roots, [*_texts(keys), *shapes.values(), *map(str, values.values())])
        sizes = {renamed.get(name, name): number for name, number in given.items()}
        keys = {key: _renamed(value, renamed) for key, value in keys.items()}
        return DraftedLaunch(
            self._launch.line,
            template,
            keys,
            {name: _around(number) for name, number in block.items() if name in self._macros()},
            self._defaults(),
            self._most_threads(),
            sizes,
            {name: str(_renamed(text, renamed)) for name, text in shapes.items()},
            {name: str(_renamed(text, renamed)) if isinstance(text, str) else text for name, text in values.items()},
            bool(sizes.keys() & re.findall(r"\w+", " ".join(keys.get("block_size", ())))),
        )

    # what names stand for

    def _node(self, text: str, place: int) -> ast.expr:
        return self._program.resolved(text, place, self._known)

    def _known(self, name: str, place: int) -> ast.expr | None:
        if name in self._symbols:
            return ast.Name(self._symbols[name])
        member = re.fullmatch(r"(\w+)\.([xyz])", name)
        if member:
            axes, there = self._program.axes(member[1], place)
            index = AXES.index(member[2])
            return self._node(axes[index], there) if index < len(axes) else ast.Constant(1)
        if not re.fullmatch(r"\w+", name):
            return None
        meaning = self._program.meaning(name, place)
        if meaning is None or (name, place) in self._resolving:
            return self._root(name, None)
        before = dict(self._roots)
        self._resolving.append((name, place))
        try:
            value = finished(self._node(*meaning))
        except NotArithmetic:
            self._roots = before
            return self._root(name, None)
        finally:
            self._resolving.pop()
        return self._kept(name, place, value, before)

    def _kept(self, name: str, place: int, value: ast.expr, before: dict[str, int | None]) -> ast.expr:
        """What stands for a name of this value: itself, if nothing in the value is known yet."""
        names = _names(value)
        if names & (before.keys() | set(self._symbols.values())) or isinstance(value, ast.Name):
            return value
        number = _evaluated(value, self._roots)
        if isinstance(value, ast.Constant) and (
            not isinstance(value.value, int) or (name in self._words and not self._program.is_local(name, place))
        ):
            return value
        self._roots = before
        return self._root(name, number)

    def _root(self, name: str, number: int | None) -> ast.expr:
        if self._roots.get(name) is None:
            self._roots[name] = number
        return ast.Name(name)

    # the launch

    def _values(self) -> dict[str, ast.expr]:
        """What the scalars are, as far as that can be read."""
        found: dict[str, ast.expr] = {}
        for parameter, given in zip(self._signature.parameters, self._launch.arguments, strict=False):
            if not parameter.pointer:
                with suppress(NotArithmetic):
                    found[parameter.name] = finished(self._node(given, self._launch.place))
        return found

    def _know_plain_scalars(self) -> None:
        """Let scalars that are passed by a name which nothing else makes be known first: they name the sizes."""
        for parameter, given in zip(self._signature.parameters, self._launch.arguments, strict=False):
            if parameter.pointer or parameter.dtype is None or "int" not in parameter.dtype:
                continue
            chain = list(self._chain(given, self._launch.place))
            meaning = self._program.meaning(chain[-1], self._place_of(chain)) if chain else None
            if chain and (meaning is None or self._is_plain(meaning[0])):
                with suppress(NotArithmetic):
                    self._node(given, self._launch.place)

    def _is_plain(self, text: str) -> bool:
        """Whether it is a number, or nothing that can be read."""
        try:
            return not _names(arithmetic(self._program.expanded(text)))
        except NotArithmetic:
            return True

    def _place_of(self, chain: Sequence[str]) -> int:
        """Where the last name of a chain stands."""
        place = self._launch.place
        for name in chain[:-1]:
            meaning = self._program.meaning(name, place)
            place = place if meaning is None else meaning[1]
        return place

    def _block_axes(self) -> list[tuple[str, ast.expr | None]]:
        """The text of each axis of the block, and what it comes to; its names stand for the block from then on."""
        axes, place = self._program.axes(self._launch.block, self._launch.place)
        found: list[tuple[str, ast.expr | None]] = []
        symbols: dict[str, str] = {}
        for axis, text in zip(AXES, axes, strict=False):
            before = dict(self._roots)
            node: ast.expr | None = None
            with suppress(NotArithmetic):
                node = finished(self._node(text, place))
            if node is None or not _names(node) & before.keys():  # a number, or what is the block's alone
                number = None if node is None else _evaluated(node, self._roots)
                self._roots = before
                node = None if number is None else ast.Constant(number)
                for name in self._chain(text, place):
                    symbols.setdefault(name, f"block_size_{axis}")
            found.append((text, node))
        self._symbols = symbols
        return found

    def _chain(self, text: str, place: int) -> Iterator[str]:
        """A name and the names that it stands for."""
        for _ in range(6):
            if not re.fullmatch(r"[A-Za-z_]\w*", text):
                return
            yield text
            meaning = self._program.meaning(text, place)
            if meaning is None:
                return
            text, place = meaning

    def _grid_axes(self) -> list[tuple[ast.expr, ast.expr | None] | None]:
        """What is divided to give the blocks along each axis, and by what; None for an axis that cannot be read."""
        axes, place = self._program.axes(self._launch.grid, self._launch.place)
        found: list[tuple[ast.expr, ast.expr | None] | None] = []
        for index, text in enumerate(axes):
            try:
                above, below = self._divided(text, place, index)
            except NotArithmetic:
                found.append(None)
                continue
            inner = _quotient(above)
            if inner is not None and _is_block(inner[1]):  # a grid that is folded, as it would be too long
                return [inner]
            found.append((above, below))
        return found

    def _divided(self, text: str, place: int, index: int) -> tuple[ast.expr, ast.expr | None]:
        """Numerator and divisor of a count of blocks; a number that is the block's stands for the block."""
        for name in list(self._chain(text, place)):
            meaning = self._program.meaning(name, place)
            if meaning is not None and name == text and name not in self._symbols:
                with suppress(NotArithmetic):
                    if _quotient(arithmetic(self._program.expanded(meaning[0]))) is not None:
                        text, place = meaning
        parts = _quotient(arithmetic(self._program.expanded(text)))
        if parts is None:
            node = finished(self._node(text, place))
            return _quotient(node) or (node, None)
        above, below = (finished(self._node(ast.unparse(part).replace("//", "/"), place)) for part in parts)
        return above, self._as_block(below, index)

    def _as_block(self, divisor: ast.expr, index: int) -> ast.expr:
        if index >= len(self._block):
            return divisor
        text, own = self._block[index]
        if own is not None and isinstance(own, ast.Constant) and ast.dump(own) == ast.dump(divisor) and own.value != 1:
            return ast.Name(f"block_size_{AXES[index]}")
        if isinstance(divisor, ast.Name) and _is_block(divisor):
            return ast.Name(f"block_size_{AXES[index]}") if self._block[AXES.index(divisor.id[-1])][0] == text else divisor
        return divisor

    def _macros(self) -> list[str]:
        """The macros of the file that make the block and that the kernel reads: each becomes a tunable."""
        chains = [list(self._chain(text, self._launch.place)) for text, _ in self._block]
        last = [chain[-1] for chain in chains if chain]
        return [name for name in last if name in self._program.own_macros and name in self._words]

    def _block_keys(self, template: str) -> tuple[dict[str, int], dict[str, list[str] | str]]:
        """What fixes the block, by name, and the key for it; nothing where it can be tuned as it is."""
        macros = self._macros()
        numbers = [_evaluated(node, {}) if node is not None else None for _, node in self._block]
        if macros:
            block, made = [], {}
            for (text, _), number in zip(self._block, numbers, strict=True):
                name = next((one for one in self._chain(text, self._launch.place) if one in macros), None)
                block.append(name or str(number or 1))
                made |= {name: number or 1} if name else {}
            return made, {"block_size": block}
        literal = re.findall(r"\d+", template)
        sized = [node for _, node in self._block if isinstance(node, ast.Name)]
        fixed = self._block_is_read()
        if literal:
            return {literal[0]: int(literal[0])}, {
                "block_size": [literal[0] if number is None else str(number) for number in numbers]
            }
        if sized or fixed:
            texts = [ast.unparse(node) if node is not None else "" for _, node in self._block]
            return ({"": 1}, {"block_size": texts}) if all(texts) else ({}, {})
        return {}, {}

    def _block_is_read(self) -> bool:
        """Whether the kernel has no threads to tell apart, or reads a constant that makes the block."""
        if "threadIdx" not in self._signature.body:
            return True
        names = [name for text, _ in self._block for name in self._chain(text, self._launch.place)]
        return any(n in self._words and not self._program.is_local(n, self._launch.place) for n in names)

    def _defaults(self) -> dict[str, int]:
        """The host's own block, where it is tunable."""
        macros = self._macros()
        found: dict[str, int] = {}
        for axis, (text, node) in zip(AXES, self._block, strict=False):
            number = None if node is None else _evaluated(node, {})
            name = next((one for one in self._chain(text, self._launch.place) if one in macros), f"block_size_{axis}")
            if number is not None and 1 <= number <= _MOST_THREADS and (macros or AXES.index(axis) < self._dimensions):
                found[name] = number
        return {name: number for name, number in found.items() if not macros or name in macros}

    def _most_threads(self) -> int:
        """What the shared arrays of the kernel hold that hold at least an element for each thread."""
        threads = math.prod(number or 1 for _, node in self._block if node and (number := _evaluated(node, {})))
        held = []
        for extents in _SHARED.findall(self._signature.body):
            with suppress(NotArithmetic):
                parts = [finished(self._node(one, self._launch.place)) for one in re.findall(r"\[([^\]]+)\]", extents)]
                held.append(math.prod(_evaluated(part, {}) or 0 for part in parts))
        return min([_MOST_THREADS, *(count for count in held if count >= threads > 1)])

    def _template(self) -> str:
        inner = self._launch.template.strip("<>").split(",")
        plain = all(re.fullmatch(r"\d+|true|false|float|double|int|half|unsignedint", one) for one in inner)
        return self._launch.template.replace("unsignedint", "unsigned int") if plain else ""

    def _grid_keys(self, is_fixed: bool) -> dict[str, list[str] | str]:
        elements: list[str] = []
        divisors: dict[str, list[str] | str] = {}
        for index, (axis, parts) in enumerate(zip(AXES, self._grid, strict=False)):
            if parts is None:
                if index == 0:
                    return {}
                break
            size, divisor = parts
            elements.append(self._in_block_names(size if divisor is not None else self._counted(size)))
            is_block = isinstance(divisor, ast.Name) and divisor.id == f"block_size_{axis}"
            if (not is_block or is_fixed) and not (divisor is None and _is_one(size) and index and not is_fixed):
                divisors[f"grid_div_{axis}"] = ["1" if divisor is None else self._in_block_names(divisor)]
        while len(elements) > max(1, self._dimensions) and elements[-1] == "1":
            divisors.pop(f"grid_div_{AXES[len(elements) - 1]}", None)
            elements.pop()
        return {"problem_size": elements, **divisors}

    def _counted(self, blocks: ast.expr) -> ast.expr:
        """A count of blocks as a number, where no array has to do with it."""
        in_shapes = {name for node in self._shapes.values() for name in _names(node)}
        number = None if _names(blocks) & in_shapes else _evaluated(blocks, self._roots)
        return blocks if number is None else ast.Constant(number)

    def _in_block_names(self, node: ast.expr) -> str:
        """An expression, with the block's extents as the draft has them."""
        text = ast.unparse(node)
        macros = self._macros()
        fixed = bool(self._block_keys(self._template())[1])
        for axis, (given, number) in zip(AXES, self._block, strict=False):
            name = next((one for one in self._chain(given, self._launch.place) if one in macros), None)
            if name is None and fixed and number is not None:
                name = ast.unparse(number)
            if name is not None:
                text = re.sub(rf"\bblock_size_{axis}\b", name, text)
        return _said_again(text)

    def _in_numbers(self, node: ast.expr) -> str:
        """An expression with the block's extents as the host has them."""
        text = ast.unparse(node)
        for axis, (_, number) in zip(AXES, self._block, strict=False):
            text = re.sub(rf"\bblock_size_{axis}\b", "1" if number is None else ast.unparse(number), text)
        return _said_again(text)

    def _shared(self) -> dict[str, list[str] | str]:
        if "extern" not in self._signature.body or self._launch.shared in ("", "0"):
            return {}
        try:
            node = finished(self._node(self._launch.shared, self._launch.place))
        except NotArithmetic:
            return {}
        return {"shared_memory": self._in_block_names(node)}

    def _extents(self) -> Iterator[tuple[str, ast.expr]]:
        """The elements of each array, where the memory that the host takes is so many of them."""
        for given, parameter in zip(self._launch.arguments, self._signature.parameters, strict=False):
            taken = self._program.allocated(given, self._launch.place) if parameter.pointer else None
            if taken is not None:
                with suppress(NotArithmetic):
                    yield parameter.name, self._elements(*taken, parameter)

    def _elements(self, text: str, place: int, parameter: KernelParameter) -> ast.expr:
        """Bytes as elements: without the factor that is one element's."""
        program, known = self._program, self._known
        for _ in range(4):  # a name for bytes is what was said of it
            meaning = program.meaning(text, place) if re.fullmatch(r"[A-Za-z_]\w*", text) else None
            if meaning is None or "sizeof" not in meaning[0]:
                break
            text, place = meaning
        parts = factors(program.resolved(text, place, known))
        sized = [one for one in parts if isinstance(one, ast.Name) and one.id.startswith(SIZEOF)]
        if sized:
            parts.remove(sized[0])
            return finished(product(parts))
        width = parameter.width * _bytes(parameter.dtype or "float32")
        whole = finished(product(parts))
        return whole if width == 1 else folded(ast.BinOp(whole, ast.FloorDiv(), ast.Constant(width)))

    def _scalars(
        self, keys: Mapping[str, list[str] | str], shapes: Mapping[str, str]
    ) -> tuple[dict[str, str | float], dict[str, str]]:
        """The value of each scalar, and the names of sizes that scalars give them."""
        used = _used(self._roots, [*_texts(keys), *shapes.values()])
        renamed: dict[str, str] = {}
        values: dict[str, str | float] = {}
        others = {name: 1 if number is None else number for name, number in self._roots.items() if name not in used}
        for name, node in self._passed.items():
            parameter = next(one for one in self._signature.parameters if one.name == name)
            whole = parameter.dtype is not None and "int" in parameter.dtype
            if isinstance(node, ast.Name) and node.id in used and whole and why_no_size(name) is None:
                renamed.setdefault(node.id, name)
            value = _with_numbers(node, others)
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                if whole or isinstance(node, ast.Constant):
                    values[name] = value.value if whole else float(value.value)
            elif whole and _names(value) <= used.keys():
                values[name] = ast.unparse(value)
        taken = [one for one in renamed.values() if one in self._roots and one not in renamed]
        return values, {old: new for old, new in renamed.items() if new not in taken}


def finished(node: ast.expr) -> ast.expr:
    """The same with the bytes of types as numbers.

    Raises:
        NotArithmetic: a problem file cannot say it.
    """

    class Bytes(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802 - the library's name
            size = bytes_of(node.id.removeprefix(SIZEOF))
            return ast.Constant(size) if node.id.startswith(SIZEOF) else node

    node = folded(Bytes().visit(node))
    try:
        check(ast.unparse(node), _names(node))
    except ExpressionError as error:
        raise NotArithmetic(str(error)) from None
    return node


def _quotient(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Numerator and denominator of a division, rounded up or not."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ceil_div":
        return node.args[0], node.args[1]
    return (node.left, node.right) if isinstance(node, ast.BinOp) and is_quotient(node) else None


def _is_block(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id.startswith("block_size_")


def _with_numbers(node: ast.expr, numbers: Mapping[str, int]) -> ast.expr:
    class Numbers(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802 - the library's name
            return ast.Constant(numbers[node.id]) if node.id in numbers else node

    return folded(Numbers().visit(copy.deepcopy(node)))


def _said_again(text: str) -> str:
    """An expression of ours with its numbers worked out."""
    return ast.unparse(folded(ast.parse(text, mode="eval").body))


def _names(node: ast.expr) -> set[str]:
    called = {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - called


def _evaluated(node: ast.expr, numbers: Mapping[str, int | None]) -> int | None:
    try:
        value = evaluate(ast.unparse(node), {name: number for name, number in numbers.items() if number is not None})
    except ExpressionError:
        return None
    return int(value) if float(value).is_integer() else None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _texts(keys: Mapping[str, list[str] | str]) -> list[str]:
    return [text for value in keys.values() for text in ([value] if isinstance(value, str) else value)]


def _used(roots: Mapping[str, int | None], texts: Sequence[str]) -> dict[str, int | None]:
    words = frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
    return {name: number for name, number in roots.items() if name in words}


def _renamed(value: list[str] | str, names: Mapping[str, str]) -> list[str] | str:
    def text(old: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), old)

    return text(value) if isinstance(value, str) else [text(one) for one in value]


def _bytes(dtype: str) -> int:
    return 1 if dtype == "bool" else int(re.sub(r"\D", "", dtype)) // 8


def _around(value: int) -> list[int]:
    """The value, with halves and doubles of it that can be a block's extent."""
    near = {value // 4, value // 2, value, value * 2}
    return sorted(extent for extent in near if 1 <= extent <= _MOST_THREADS)
