"""Host code around kernels in one file: what of it is taken out before a build."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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
    r"|nvtx\w*/?.*|nvToolsExt\w*\.h|mpi\.h|nccl\.h|opencv.*|boost/.*|sys/.*|unistd\.h|pybind11/.*|Python\.h"
)
_KERNEL = re.compile(
    r"(?:template\s*<[^{}()<>]*>\s*)?(?:extern\s*\"[^\"]*\"\s*|static\s+)*__global__(?:\s+\w+(?:\s*\([^()]*\))?)*?"
    r"\s+(?P<name>\w+)\s*\([^(){};]*\)\s*\{"
)
_LIBRARIES = {
    r"cooperative_groups.*": r"\bcooperative_groups\b",
    r"cub/.*": r"\bcub\s*::",
    r"thrust/.*": r"\bthrust\s*::",
    r"(?:torch|ATen|c10)/.*": r"\b(?:torch|at|c10)\s*::|\bC10_|\bAT_",
}
"""Headers that host code includes as well as device code does, and what device code that needs them says."""
_LAUNCH = re.compile(r"<\s?<\s?<|\bcudaLaunch(?:Cooperative)?Kernel\b")
_MAIN = re.compile(r"\bmain\s*\(")


def has_host_code(code: str) -> bool:
    """Whether code without comments launches kernels, or has a `main`."""
    return bool(_LAUNCH.search(code) or _MAIN.search(code))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def device_code(source: str, directories: tuple[Path, ...] = (), kernel: str = "") -> str:
    """The source with what only the host runs blanked, line for line; a source without such code stays as it is.

    That is functions and prototypes without a word of the device, classes that launch kernels, headers of host
    libraries, and headers in quotes that stand in none of the directories.

    Args:
        kernel: the only one that is wanted; others that nothing on the device names are left out too, and headers that
            only they need.
    """
    code = code_only(source)
    if not has_host_code(code):
        return source
    source = _blanked(source, _host_parts(code))
    if kernel:
        source = _blanked(source, _other_kernels(code_only(source), kernel.partition("<")[0]))
        words = code_only(_INCLUDE.sub("", source))
        idle = "|".join(header for header, needed in _LIBRARIES.items() if not re.search(needed, words))
        source = _INCLUDE.sub(lambda found: _without(found, idle), source)
    return _INCLUDE.sub(lambda found: _kept(found, directories), source)


def _blanked(source: str, parts: Iterator[tuple[int, int]]) -> str:
    for first, after in parts:
        source = source[:first] + spaces(source[first:after]) + source[after:]
    return source


def _other_kernels(code: str, kernel: str) -> Iterator[tuple[int, int]]:
    """Where kernels begin and end that are not the one, and that nothing else names."""
    for found in _KERNEL.finditer(code):
        name = found["name"]
        if name != kernel and len(re.findall(rf"\b{name}\b", code)) == 1:
            yield found.start(), _closing_brace(code, found.end() - 1)


def _without(include: re.Match[str], idle: str) -> str:
    unused = re.fullmatch(idle, include["quoted"] or include["angled"]) if idle else None
    return spaces(include.group()) if unused else include.group()


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
            if _is_host_function(code[start:index]) or _is_class_of_host(code[start:index], code[index:end]):
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


def _is_class_of_host(head: str, body: str) -> bool:
    """Whether a class launches kernels, which no kernel could use."""
    is_class = re.match(r"(?:struct|class)\b", _TEMPLATE.sub("", head.strip()))
    return bool(is_class and _LAUNCH.search(body)) and re.search(r"\b__(?:global|device)__", body) is None


def _is_prototype(statement: str) -> bool:
    statement = _TEMPLATE.sub("", statement.strip())
    return not _OF_THE_DEVICE.search(statement) and bool(_PROTOTYPE.fullmatch(statement)) and "=" not in statement
