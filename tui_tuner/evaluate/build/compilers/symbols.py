"""Names of kernels inside artifacts, and what ptxas prints of what each one needs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.evaluate.build.compilers import BuildRefusal
from tui_tuner.evaluate.results import FailureKind, Resources

_MANGLED = "_Z"
_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '([^']+)' for '\w+'$", re.MULTILINE)
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def kernel_symbol(name: str, log: str) -> str:
    """The symbol of the kernel with this name.

    Raises:
        BuildRefusal: no kernel or several answer to it.
    """
    symbols = list(dict.fromkeys(_ENTRY.findall(log)))
    found = find_kernel(name, symbols)
    if len(found) == 1:
        return found[0]
    if found:
        message = f"several kernels answer to '{name}' ({', '.join(found)}): give each its own name"
    else:
        message = f"the source has no kernel '{name}'; it has {', '.join(symbols) or 'none at all'}"
    raise BuildRefusal(FailureKind.COMPILE, message)


def kernel_resources(log: str, symbol: str) -> Resources:
    """Registers, spills, static shared and local memory of the kernel with this symbol."""
    part = _part(log, symbol)
    stack, registers, shared = _STACK.search(part), _REGISTERS.search(part), _SHARED.search(part)
    if stack is None or registers is None:
        return Resources()
    return Resources(
        registers=int(registers[1]),
        spill_bytes=int(stack[2]) + int(stack[3]),
        shared_bytes=int(shared[1]) if shared else 0,
        local_bytes=int(stack[1]),
    )


def _part(log: str, symbol: str) -> str:
    """The lines about one kernel: from its announcement to the next one's."""
    _, *told = _ENTRY.split(log)
    return next((part for entry, part in zip(told[::2], told[1::2], strict=True) if entry == symbol), "")


UNKNOWN = "?"
"""A template argument that is not decoded; it may be anything."""

# fmt: off
_BUILTIN = {
    "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short",
    "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long",
    "f": "float", "d": "double",
}
_ALIASES = {
    "half": "__half", "half2": "__half2", "nv_bfloat16": "__nv_bfloat16",
    "nv_bfloat162": "__nv_bfloat162", "unsigned": "unsigned int",
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "size_t": "unsigned long", "true": "1", "false": "0",
}
# fmt: on
_LENGTH = re.compile(r"\d+")
_LITERAL = re.compile(r"L[a-z](n?)(\d+)E")
_NUMBER = re.compile(r"(-?(?:0[xX][0-9a-fA-F]+|\d+))[uUlL]*")
_SIMPLE_NAME = re.compile(r"(?:::)?(?P<path>\w+(?:\s*::\s*\w+)*)\s*(?:<(?P<arguments>.*)>)?", re.DOTALL)


@dataclass(frozen=True)
class KernelName:
    """A function's name.

    Attributes:
        path: namespaces and the name itself; anonymous namespaces are left out.
        arguments: template arguments in one spelling each, None where it is no template.
    """

    path: tuple[str, ...]
    arguments: tuple[str, ...] | None = None

    def ends_with(self, path: tuple[str, ...]) -> bool:
        """Whether this is the other name in some namespace."""
        return self.path[-len(path) :] == path

    def fits(self, wanted: tuple[str, ...] | None) -> bool:
        """Whether this may be the instance with these template arguments, trailing defaults aside."""
        if wanted is None or self.arguments is None:
            return wanted is self.arguments
        pairs = zip(self.arguments, wanted, strict=False)
        return all(UNKNOWN in pair or pair[0] == pair[1] for pair in pairs)


def written_name(text: str) -> KernelName | None:
    """A name as people write it, as in `ns::scale<float, 4>`; None if it is not a name."""
    found = _SIMPLE_NAME.fullmatch(text.strip())
    if found is None:
        return None
    path = tuple(part.strip() for part in found["path"].split("::"))
    inside = found["arguments"]
    return KernelName(path, None if inside is None else tuple(map(_one_spelling, _split(inside))))


def symbol_name(symbol: str) -> KernelName:
    """The name that a symbol stands for; a symbol that is not mangled stands for itself."""
    if not symbol.startswith(_MANGLED):
        return KernelName((symbol,))
    reader = _Reader(symbol)
    try:
        return reader.name()
    except (IndexError, ValueError):
        return KernelName((symbol,))


def find_kernel(name: str, symbols: Sequence[str]) -> list[str]:
    """The symbols that answer to a name; of several by its namespaces, its template arguments, the classes in them."""
    wanted = written_name(name)
    if wanted is None:
        return []
    found = {symbol: known for symbol in symbols if (known := symbol_name(symbol)).ends_with(wanted.path)}
    for narrower in (
        {symbol: known for symbol, known in found.items() if known.path == wanted.path},
        {symbol: known for symbol, known in found.items() if known.fits(wanted.arguments)},
        {symbol: known for symbol, known in found.items() if all(one in symbol for one in _classes(name))},
    ):
        if len(found) > 1:
            found = {symbol: known for symbol, known in found.items() if symbol in narrower} or found
    return list(found)


def _classes(name: str) -> list[str]:
    """The classes among the template arguments of a name, as symbols have them: `7Squares` of `f<ns::Squares<int>>`."""
    found = re.findall(r"\b[A-Za-z_]\w*\b(?!\s*::)", name.partition("<")[2])
    known = {*_ALIASES, *(word for builtin in _BUILTIN.values() for word in builtin.split())}
    return [f"{len(one)}{one}" for one in found if one not in known and not one.isupper()]


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<([{") - (character in ">)]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _one_spelling(argument: str) -> str:
    words = " ".join(argument.split()).removeprefix("::").removeprefix("std::")
    number = _NUMBER.fullmatch(words)
    if number is not None:
        return str(int(number[1], 0))
    if words in _ALIASES:
        return _ALIASES[words]
    return words if re.fullmatch(r"[\w ]+", words) and not words.isupper() else UNKNOWN


class _Reader:
    """Reads a mangled name from left to right.

    Raises:
        IndexError, ValueError: it is beyond what is read here.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(_MANGLED)

    def name(self) -> KernelName:
        """The function's name: `<length><name>` or `N<names>E`, with template arguments `I<arguments>E`."""
        nested = self._accept("N")
        path = [self._identifier()]
        arguments = self._arguments()
        while nested and self._at < len(self._text) and not self._accept("E"):
            path.append(self._identifier())
            arguments = self._arguments()
        return KernelName(tuple(part for part in path if not part.startswith("_GLOBAL__N_")), arguments)

    def _accept(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _identifier(self) -> str:
        self._accept("L")  # internal linkage
        digits = _LENGTH.match(self._text, self._at)
        if digits is None:
            raise ValueError(self._text)
        end = digits.end() + int(digits[0])
        if end > len(self._text):
            raise ValueError(self._text)
        self._at = end
        return self._text[digits.end() : end]

    def _arguments(self) -> tuple[str, ...] | None:
        if not self._accept("I"):
            return None
        arguments: list[str] = []
        try:
            while not self._accept("E"):
                arguments.append(self._argument())
        except (IndexError, ValueError):
            self._at = len(self._text)
            return (*arguments, UNKNOWN)
        return tuple(arguments)

    def _argument(self) -> str:
        literal = _LITERAL.match(self._text, self._at)
        if literal is not None:
            self._at = literal.end()
            return ("-" if literal[1] else "") + literal[2]
        code = self._text[self._at]
        if code.isdigit():
            name = self._identifier()
            return name if self._arguments() is None else UNKNOWN
        if code == "N":
            path = self.name().path
            return path[-1] if len(path) == 1 else UNKNOWN
        self._at += 1
        if code in "PKR":
            self._argument()
            return UNKNOWN
        if code not in _BUILTIN:
            raise ValueError(self._text)
        return _BUILTIN[code]
