"""The launch of a first problem file, as far as the host's own launch of the kernel says it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tui_tuner.problem.expressions import ExpressionError, check
from tui_tuner.problem.host_code import HostLaunch, device_code, launch_of, quotient
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_LOCAL = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_NUMBER = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(\w+)\)?[ \t]*$", re.MULTILINE)
_MOST_THREADS = 1024


@dataclass(frozen=True)
class DraftedLaunch:
    """What stands in the tables around the launch, each only as far as the host's code says it.

    Attributes:
        line: where the host launches the kernel.
        template: arguments of the template, as in "<16>".
        keys: of [launch], as expressions.
        tunables: names and values of what makes the block, where macros do.
        defaults: the value of each of these in the file.
        sizes: what the kernel's own macros fix, and 1 for scalars that decide no extent.
        shapes: elements of the arrays that the host takes memory for.
    """

    line: int
    template: str = ""
    keys: dict[str, list[str] | str] = field(default_factory=dict)
    tunables: dict[str, list[int]] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)


def drafted_launch(source: str, signature: KernelSignature, sizes: Sequence[str], file: Path) -> DraftedLaunch | None:
    """What the host's launch of a kernel says; None where there is none in the file.

    Args:
        sizes: the kernel's parameters that are sizes.
        file: the kernel's; headers beside it are read for the numbers they define.
    """
    launch = launch_of(source, signature.name)
    return None if launch is None else _Drafting(source, signature, sizes, file, launch).drafted()


def local_headers(source: str, file: Path) -> list[Path]:
    """The headers beside a file that it includes."""
    text = device_code(source, (file.parent,))
    return [path for name in _LOCAL.findall(text) if (path := file.parent / name).is_file()]


class _Drafting:
    def __init__(
        self, source: str, signature: KernelSignature, sizes: Sequence[str], file: Path, launch: HostLaunch
    ) -> None:
        self._signature = signature
        self._launch = launch
        self._sizes = sizes
        texts = [code_only(header.read_text("utf-8", "replace")) for header in local_headers(source, file)]
        self._code = code_only(source)
        self._device = device_code(self._code, (file.parent,))
        self._numbers = _numbers([*texts, self._code])
        pairs = zip(launch.arguments, (p.name for p in signature.parameters), strict=False)
        self._own = _numbers([self._code])
        self._names = {given: name for given, name in pairs if name in sizes}

    def drafted(self) -> DraftedLaunch:
        template = self._template()
        block, tunables, keys = self._block(template)
        keys |= self._grid(block) | self._shared(block)
        defaults = {name: self._own[name] for name in tunables}
        shapes = self._shapes()
        sizes = self._without_extent(keys, shapes) | self._fixed()
        return DraftedLaunch(self._launch.line, template, keys, tunables, defaults, sizes, shapes)

    def _without_extent(self, keys: Mapping[str, list[str] | str], shapes: Mapping[str, str]) -> dict[str, int]:
        """Scalars that decide neither grid nor extents, where all of these are known: 1 each."""
        arrays = [p.name for p in self._signature.parameters if p.pointer]
        if "problem_size" not in keys or shapes.keys() != set(arrays):
            return {}
        words = frozenset(_WORD.findall(" ".join([*keys["problem_size"], *shapes.values()])))
        return {name: 1 for name in self._sizes if name not in words and words & set(self._sizes)}

    def _template(self) -> str:
        inner = self._launch.template.strip("<>").split(",")
        plain = all(re.fullmatch(r"\d+|true|false|float|double|int|half|unsignedint", one) for one in inner)
        return self._launch.template.replace("unsignedint", "unsigned int") if plain else ""

    def _block(self, template: str) -> tuple[list[str], dict[str, list[int]], dict[str, list[str] | str]]:
        """The block's extents as expressions, the macros among them with values to try, and the key for them."""
        given = [axis for axis in self._launch.block if axis]
        used = frozenset(_WORD.findall(self._used_by_the_kernel()))
        macros = [axis for axis in given if axis in self._own and axis in used and axis not in self._sizes]
        if macros:
            values = {name: _around(self._numbers[name]) for name in macros}
            block = [axis if axis in macros else str(self._number(axis) or 1) for axis in given]
            return block, values, {"block_size": block}
        literal = re.findall(r"\d+", template)
        if literal and given:
            block = [literal[0] if self._number(axis) is None else str(self._number(axis)) for axis in given]
            return block, {}, {"block_size": block}
        return [], {}, {}

    def _used_by_the_kernel(self) -> str:
        """The device's code, without the definitions themselves."""
        return re.sub(r"^[ \t]*#[ \t]*(?:define|ifn?def|undef)[ \t]+\w+", "", self._device, flags=re.MULTILINE)

    def _number(self, text: str) -> int | None:
        text = text.strip(" ()")
        return int(text) if text.isdecimal() else self._numbers.get(text)

    def _grid(self, block: Sequence[str]) -> dict[str, list[str] | str]:
        elements: list[str] = []
        divisors: dict[str, list[str] | str] = {}
        for axis, blocks in zip("xyz", self._launch.grid, strict=False):
            parts = quotient(blocks)
            size = self._expression(blocks if parts is None else parts[0], block)
            if size is None:
                return {}
            elements.append(size)
            own = parts is None or not self._is_block(parts[1], "xyz".index(axis))
            divisor = "1" if parts is None else self._expression(parts[1], block)
            if (own or block) and not (size == "1" and parts is None and not block and axis != "x"):
                if divisor is None:
                    return {}
                divisors[f"grid_div_{axis}"] = [divisor]
        return {"problem_size": elements, **divisors} if elements else {}

    def _is_block(self, text: str, axis: int) -> bool:
        given = self._launch.block
        return axis < len(given) and given[axis].strip(" ()") == text.strip(" ()")

    def _expression(self, text: str, block: Sequence[str]) -> str | None:
        """The host's expression as one of ours, over sizes, macros that are tunables, and numbers."""
        for given, name in sorted(self._names.items(), key=lambda pair: -len(pair[0])):
            text = re.sub(rf"(?<![\w.]){re.escape(given)}(?![\w.])", name, text)
        for axis, given in zip("xyz", self._launch.block, strict=False):
            index = "xyz".index(axis)
            if re.fullmatch(r"[A-Za-z_]\w*", given) and given not in self._numbers:
                text = re.sub(rf"\b{given}\b", block[index] if block else f"block_size_{axis}", text)
        text = _WORD.sub(lambda word: word[0] if word[0] in block else str(self._numbers.get(word[0], word[0])), text)
        text = text.replace("/", "//").strip()
        try:
            check(text, {*self._sizes, *block, *(f"block_size_{axis}" for axis in "xyz")})
        except ExpressionError:
            return None
        return text

    def _shared(self, block: Sequence[str]) -> dict[str, list[str] | str]:
        if "extern" not in self._signature.body or self._launch.shared in ("", "0"):
            return {}
        size = self._expression(self._launch.shared, block)
        return {} if size is None else {"shared_memory": size}

    def _shapes(self) -> dict[str, str]:
        """The elements of each array, where the memory that the host takes is so many of them."""
        found: dict[str, str] = {}
        for given, parameter in zip(self._launch.arguments, self._signature.parameters, strict=False):
            taken = self._launch.allocated.get(given)
            if taken is None or not parameter.pointer:
                continue
            width = rf"(?:{_bytes(parameter.dtype or 'float32')}|sizeof\s*\([^()]*\))"
            parts = re.fullmatch(rf"\(?(?:{width}\s*\*(?P<a>.+?)|(?P<b>.+?)\*\s*{width})\)?", taken)
            size = None if parts is None else self._expression((parts["a"] or parts["b"]).strip(), [])
            if size is not None:
                found[parameter.name] = size
        return found

    def _fixed(self) -> dict[str, int]:
        """Sizes that the host takes from macros which the kernel reads too, so that they cannot be others."""
        found: dict[str, int] = {}
        for given, name in self._names.items():
            set_to = re.findall(rf"\b{re.escape(given)}\s*=\s*(\w+)\s*;", self._code)
            if set_to and set_to[-1] in self._numbers:
                found[name] = self._numbers[set_to[-1]]
        return found


def _bytes(dtype: str) -> int:
    return 1 if dtype == "bool" else int(re.sub(r"\D", "", dtype)) // 8


def _numbers(texts: Sequence[str]) -> dict[str, int]:
    """The macros that stand for whole numbers, also by way of another."""
    meanings: dict[str, str] = {}
    for text in texts:
        meanings |= dict(_NUMBER.findall(text))
    return {name: number for name in meanings if (number := _followed(name, meanings)) is not None}


def _followed(name: str, meanings: Mapping[str, str]) -> int | None:
    for _ in range(len(meanings) + 1):
        if name.isdecimal():
            return int(name)
        if name not in meanings:
            return None
        name = meanings[name]
    return None


def _around(value: int) -> list[int]:
    """The value, with halves and doubles of it that can be a block's extent."""
    near = {value // 4, value // 2, value, value * 2}
    return sorted(extent for extent in near if 1 <= extent <= _MOST_THREADS)
