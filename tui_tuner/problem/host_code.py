"""Host code around kernels in one file: taken out before a build, and read for how it launches them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tui_tuner.problem.syntax import code_only, spaces

_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>)[^\n]*', re.MULTILINE)
_CONTAINER = re.compile(r"(?:inline\s+)?namespace\b[^()=]*|extern\s*\"[^\"]*\"\s*")
_TYPE = re.compile(r"(?:typedef\s+)?(?:struct|class|union|enum)\b[^()]*(?:__align\w*\s*\([^()]*\)[^()]*)?")
_TEMPLATE = re.compile(r"template\s*<[^{}()]*>\s*(?=[\w:])")
_OF_THE_DEVICE = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|constexpr|typedef|using|static_assert)\b"
)
_PROTOTYPE = re.compile(r"(?:extern\s*\"[^\"]*\"\s*)?(?:[\w:<>,\[\]]+[\s*&]+)+[\w:]+\s*\([^{}]*\)\s*(?:const\s*)?")
_HOST_ONLY = re.compile(
    r"helper_\w+\.h|cu(?:blas|dnn|fft|solver|sparse|pti)\w*(?:\.h)?|cuda_profiler_api\.h|\w*_gl_interop\.h|GL/.*"
    r"|nvtx\w*/?.*|nvToolsExt\w*\.h|mpi\.h|nccl\.h|opencv.*|boost/.*|sys/.*|unistd\.h"
)
_LAUNCH = re.compile(r"<\s?<\s?<")
_MAIN = re.compile(r"\bmain\s*\(")


def has_host_code(code: str) -> bool:
    """Whether code without comments launches kernels, or has a `main`."""
    return bool(_LAUNCH.search(code) or _MAIN.search(code))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def device_code(source: str, directories: tuple[Path, ...] = ()) -> str:
    """The source with what only the host runs blanked, line for line; a source without such code stays as it is.

    That is functions and prototypes without a word of the device, headers of host libraries, and headers in quotes
    that stand in none of the directories.
    """
    code = code_only(source)
    if not has_host_code(code):
        return source
    for first, after in _host_parts(code):
        source = source[:first] + spaces(source[first:after]) + source[after:]
    return _INCLUDE.sub(lambda found: _kept(found, directories), source)


def _kept(include: re.Match[str], directories: Sequence[Path]) -> str:
    quoted, angled = include["quoted"], include["angled"]
    host_only = _HOST_ONLY.fullmatch(quoted or angled)
    missing = quoted is not None and not any(_is_file(one / quoted) for one in directories)
    known = quoted is not None and re.fullmatch(r"(?:cuda|device_|math_|vector_)\w*\.h", quoted)
    return spaces(include.group()) if host_only or (missing and not known) else include.group()


def _is_file(path: Path) -> bool:
    return ".." not in path.parts and path.is_file()


def _host_parts(code: str) -> Iterator[tuple[int, int]]:
    """Where the host's functions and prototypes begin and end."""
    code = _DIRECTIVE.sub(lambda line: spaces(line.group()), code)
    start = index = 0
    while index < len(code):
        letter = code[index]
        if letter == "}":
            start = index + 1
        elif letter == ";":
            if _is_prototype(code[start:index]):
                yield _begin(code, start), index + 1
            start = index + 1
        elif letter == "{" and _CONTAINER.fullmatch(code[start:index].strip()):
            start = index + 1
        elif letter == "{":
            end = _closing_brace(code, index)
            if _is_host_function(code[start:index]):
                yield _begin(code, start), end
                start = end
            elif _is_function(code[start:index]):
                start = end
            index = end - 1
        index += 1


def _begin(code: str, start: int) -> int:
    return start + len(code[start:]) - len(code[start:].lstrip())


def _closing_brace(code: str, opening: int) -> int:
    depth = 0
    for brace in re.compile(r"[{}]").finditer(code, opening):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return brace.end()
    return len(code)


def _is_function(head: str) -> bool:
    head = _TEMPLATE.sub("", head.strip())
    return "(" in head and not _TYPE.fullmatch(head) and "=" not in re.sub(r"\([^{}]*\)", "", head)


def _is_host_function(head: str) -> bool:
    return _is_function(head) and not _OF_THE_DEVICE.search(head) and not re.search(r"[A-Z_]*(?:KERNEL|DEVICE)\b", head)


def _is_prototype(statement: str) -> bool:
    statement = _TEMPLATE.sub("", statement.strip())
    return not _OF_THE_DEVICE.search(statement) and bool(_PROTOTYPE.fullmatch(statement)) and "=" not in statement


@dataclass(frozen=True)
class HostLaunch:
    """One launch of a kernel, as the host writes it, with what its names stand for put in.

    Attributes:
        line: where it stands, counted from 1.
        template: the template arguments, as in "<16>"; empty where there are none.
        grid: blocks along each axis.
        block: threads along each axis.
        shared: dynamic shared memory, bytes; "0" where none is asked for.
        arguments: what is passed.
        allocated: bytes that `cudaMalloc` gives to what is passed, where the file says so.
    """

    line: int
    template: str
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    arguments: tuple[str, ...]
    allocated: Mapping[str, str] = field(default_factory=dict)


def launch_of(source: str, kernel: str) -> HostLaunch | None:
    """The last launch of a kernel in the source; None where there is none.

    Names are replaced by what they were last set to before the launch, in its function or at the top of the file; those
    that are passed to the kernel, and macros, stay.
    """
    code = code_only(source)
    launch = re.compile(rf"\b{re.escape(kernel)}\s*(<[^<>]*>)?\s*<\s?<\s?<(.*?)>\s?>\s?>\s*\(", re.DOTALL)
    found = next(reversed(list(launch.finditer(code))), None)
    if found is None:
        return None
    given = split_list(found[2])
    arguments = split_list(code[found.end() : _closing_parenthesis(code, found.end() - 1) - 1])
    passed = frozenset(arguments) | frozenset(without_casts(one) for one in arguments)
    before = code[: found.start()]
    scope = _Scope(before[max(before.rfind("\n}"), 0) :], passed)
    return HostLaunch(
        code.count("\n", 0, found.start()) + 1,
        (found[1] or "").replace(" ", ""),
        scope.axes(given[0] if given else ""),
        scope.axes(given[1] if len(given) > 1 else ""),
        scope.resolved(given[2]) if len(given) > 2 else "0",
        tuple(without_casts(one) for one in arguments),
        {name: scope.resolved(size) for one in arguments for name, size in _allocations(before, without_casts(one))},
    )


def _allocations(code: str, name: str) -> Iterator[tuple[str, str]]:
    """The last size in bytes that memory of this name is taken with, if there is one."""
    if not re.fullmatch(r"\w+", name):
        return
    taken = list(re.finditer(rf"\bcudaMalloc(?:Managed)?\s*\((?=[^;]*&\s*{name}\b)", code))
    if taken:
        given = split_list(code[taken[-1].end() : _closing_parenthesis(code, taken[-1].end() - 1) - 1])
        if len(given) > 1:
            yield name, given[1]


def _closing_parenthesis(code: str, opening: int) -> int:
    depth = 0
    for mark in re.compile(r"[()]").finditer(code, opening):
        depth += 1 if mark.group() == "(" else -1
        if depth == 0:
            return mark.end()
    return len(code)


def split_list(text: str) -> list[str]:
    """What commas outside of parentheses and angle brackets part."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


_CAST = re.compile(r"\(\s*(?:const\s+)?(?:unsigned\s+)?(?:int|float|double|long|size_t|uint|unsigned)\s*\)")
_POINTER_CAST = re.compile(r"^\(\s*[\w\s:]+\*+\s*\)\s*")
_SIZES = {"float": 4, "int": 4, "unsigned int": 4, "uint": 4, "double": 8, "char": 1, "short": 2, "float4": 16}


def without_casts(text: str) -> str:
    """An expression without the casts that stand before its operands; `sizeof` of a plain type is its bytes."""
    text = re.sub(r"sizeof\s*\(\s*([\w ]+?)\s*\)", lambda of: str(_SIZES.get(of[1], of[0])), text)
    return _CAST.sub("", _POINTER_CAST.sub("", text)).strip()


class _Scope:
    """What the names of a function stand for.

    Args:
        text: the function up to the launch.
        kept: names that are not replaced.
    """

    def __init__(self, text: str, kept: frozenset[str]) -> None:
        self._text = text
        self._kept = kept

    def axes(self, text: str) -> tuple[str, ...]:
        """What a `dim3` or a number says of each axis."""
        text = without_casts(text)
        shape = self._shape(text)
        return tuple(self.resolved(part) for part in (split_list(shape) if shape is not None else [text]) if part)

    def _shape(self, text: str) -> str | None:
        """What stands in the parentheses of a `dim3`, which a name may stand for."""
        direct = re.fullmatch(r"dim3\s*[({](.*)[)}]", text)
        if direct:
            return direct[1]
        if not re.fullmatch(r"\w+", text):
            return None
        made = re.compile(rf"\b{text}\s*(?:=\s*(?:dim3)?\s*)?[({{]")
        found = [m for m in made.finditer(self._text) if re.search(r"\bdim3\b[^;]*$", self._text[: m.end()])]
        if not found:
            return None
        opening = found[-1].end() - 1
        return self._text[opening + 1 : _closing_parenthesis(self._text, opening) - 1]

    def resolved(self, text: str, depth: int = 6) -> str:
        """The expression with its names replaced."""
        text = re.sub(r"\b(\w+)\s*\.\s*([xyz])\b", self._member, without_casts(text))
        if depth == 0:
            return text
        return re.sub(r"(?<![\w.])[A-Za-z_]\w*(?!\s*\()", lambda name: self._meaning(name[0], depth), text)

    def _member(self, found: re.Match[str]) -> str:
        shape = self._shape(found[1])
        parts = [] if shape is None else split_list(shape)
        position = "xyz".index(found[2])
        return found[0] if shape is None else parts[position] if position < len(parts) else "1"

    def _meaning(self, name: str, depth: int) -> str:
        if name in self._kept:
            return name
        value = re.findall(rf"\b{name}\s*=(?!=)\s*([^;,{{}}]+(?:\([^;{{}}]*\))?[^;,{{}}]*);", self._text)
        if not value:
            return name
        meaning = self.resolved(value[-1], depth - 1)
        return meaning if re.fullmatch(r"\w+", meaning) else f"({meaning})"


_QUOTIENT = (
    re.compile(r"\(*\s*(?P<n>.+?)\s*\+\s*\(?(?P<d>\w+)\)?\s*-\s*1\s*\)*\s*/\s*\(?(?P=d)\)?\)*"),
    re.compile(r"\(*\w*(?:ceil|div|Div|DIV)\w*\s*\(\s*(?P<n>[^,]+?)\s*,\s*(?P<d>[^,]+?)\s*\)\)*"),
    re.compile(r"\(*\s*ceil[fl]?\s*\(\s*\(*(?P<n>[\w.* ]+?)\)*\s*/\s*\(*(?P<d>[\w.* ]+?)\)*\s*\)\)*"),
    re.compile(r"\(*\s*\(*(?P<n>[\w.* ()]+?)\)*\s*/\s*\(*(?P<d>[\w.* ]+?)\)*\s*(?:\+.*)?"),
)


def quotient(expression: str) -> tuple[str, str] | None:
    """Numerator and denominator of a division rounded up, as hosts write it; None where it is none."""
    for pattern in _QUOTIENT:
        found = pattern.fullmatch(expression.strip())
        if found:
            return found["n"].strip(" ()"), found["d"].strip(" ()")
    return None
