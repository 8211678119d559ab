"""Host code around kernels in one file: what of it is taken out before a build."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from tui_tuner.problem.headers import without_climbing
from tui_tuner.problem.needed_headers import MACRO, with_headers_that_are_there, with_needed_headers
from tui_tuner.problem.syntax import DIRECTIVE, closing, code_only, name_in, spaces

_CONTAINER = re.compile(r"(?:inline\s+)?namespace\b[^()=]*|extern\s*\"[^\"]*\"\s*")
_TYPE = re.compile(
    r"(?:typedef\s+)?(?:struct|class|union|enum)\b[^()]*(?:(?:__align\w*|alignas)\s*\((?:[^()]|\([^()]*\))*\)[^()]*)?"
)
_TEMPLATE = re.compile(r"template\s*<[^{}()]*>\s*(?=[\w:])")
_OF_THE_DEVICE = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|constexpr|typedef|using|static_assert)\b"
)
_PROTOTYPE = re.compile(r"(?:extern\s*\"[^\"]*\"\s*)?(?:[\w:<>,\[\]]+[\s*&]+)+[\w:]+\s*\([^{}]*\)\s*(?:const\s*)?")
KERNEL = re.compile(
    r"(?:template\s*<[^{}()<>]*>\s*)?(?:extern\s*\"[^\"]*\"\s*|static\s+)*__global__(?:\s+\w+(?:\s*\([^()]*\))?)*?"
    r"\s+(?P<name>\w+)\s*\([^(){};]*\)\s*\{"
)
"""The head of a kernel of CUDA."""
_WORD, _ENDS = re.compile(r"\w+"), re.compile(r"\s*;")
_CLASS = re.compile(r"(?:template\s*<[^{}()<>]*>\s*)?\b(?:struct|class)\s+(?P<name>\w+)[^;{}()=]*\{")
_NAME_OF_PYTORCH = re.compile(r"\s*using\s+(?:namespace\s+)?(?:\w+\s*=\s*)?(?:torch|at|c10)\b")
"""What gives a name for something of PyTorch's, or for all of it."""
_INSTANCE = re.compile(r"\s*template\s+(?!<)(?!(?:class|struct|__global__)\b)[^;{}=]*\(")
"""What has a function of a template built for some types, as the host's callers need it."""
_FUNCTION_OF_MACRO = re.compile(r"\s*(?!else\b|do\b)(?:[\w:<>]+[\s*&]+)+[\w#]+\s*\([^{}]*\)\s*(?=\{)")
"""The head of a function that a macro writes, as `void scale_##kind(int n)`."""
_LAUNCH = re.compile(r"<\s?<\s?<|\b(?:cuda|hip)Launch(?:Cooperative)?Kernel(?:GGL)?\b")
_RUNTIME = re.compile(r"\b(?:cuda|hip)(?:Event|Malloc|Free|Memcpy|Memset|Stream|Device|Create|Destroy|Get|Set)\w*\s*\(")
_OF_LIBRARIES = re.compile(r"\b(?:torch|at)\s*::\s*Tensor\b|\bcu(?:blas|dnn|fft|solver|sparse)\w*Handle_t\b")
_DATA = re.compile(
    r"\s*(?:(?:static|const|inline|extern)\s+)*std\s*::\s*(?:string|vector|deque|list|\w*map|\w*set)\b[^(){}]*"
)
"""Of the host, as no kernel can use it."""
_MARK = re.compile(r"[{};]")
_MAIN = re.compile(r"\bmain\s*\(")


def has_host_code(code: str) -> bool:
    """Whether code without comments launches kernels, calls CUDA's runtime, or has a `main`."""
    return any(said.search(code) for said in (_LAUNCH, _RUNTIME, _MAIN))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def device_code(source: str, directories: tuple[Path, ...] = (), kernel: str = "") -> str:
    """The source with what only the host runs blanked, line for line; of one without such code only headers are.

    That is functions and prototypes without a word of the device, classes of the host and others that nothing names,
    headers of host libraries, and headers that stand in none of the directories, nor where compilers or the system
    have theirs.

    Args:
        kernel: the only one that is wanted; others that nothing on the device names are left out too, and headers that
            only they need.
    """
    source = without_climbing(source, directories)
    code = code_only(source)
    if not has_host_code(code):
        return with_headers_that_are_there(source, directories, plain_alone=True)
    source = _blanked(source, _instances_by_macros(code))
    source = _blanked(source, _host_parts(code_only(source)))
    source = _blanked(source, _unnamed_classes(code_only(source)))
    source = _without_users(source, _classes_of(code) - _classes_of(code_only(source)))
    if kernel:
        name = kernel.partition("<")[0]
        source = _blanked(source, _other_kernels(code_only(source), name))
        source = _blanked(source, _later_overloads(code_only(source), name))
        source = with_needed_headers(source, directories)
    return with_headers_that_are_there(source, directories)


def without_host_parts(source: str) -> str:
    """A source without functions, prototypes and classes of the host, nor names for what is PyTorch's."""
    return _blanked(source, _host_parts(code_only(source)))


def _blanked(source: str, parts: Iterator[tuple[int, int]]) -> str:
    for first, after in parts:
        source = source[:first] + spaces(source[first:after]) + source[after:]
    return source


def _unnamed_classes(code: str) -> Iterator[tuple[int, int]]:
    """Where classes with functions of the host begin and end that nothing else names, as one of a program's options."""
    words = Counter(_WORD.findall(code))
    for found in _CLASS.finditer(code):
        end = closing(code, found.end() - 1)
        own = code[found.start() : end]
        if "(" not in own or _OF_THE_DEVICE.search(own) or not _ENDS.match(code, end):
            continue
        if words[found["name"]] == _WORD.findall(own).count(found["name"]):
            yield found.start(), end


def _classes_of(code: str) -> set[str]:
    """The names of the classes that code defines."""
    return {one["name"] for one in _CLASS.finditer(code)}


def _without_users(source: str, left_out: Collection[str]) -> str:
    """A source without what needs classes that are left out: names for them, and classes that are made of either."""
    gone = {*left_out}
    while gone:
        code = code_only(source)
        aliases, classes = list(_aliases_of(gone, code)), list(_classes_with(gone, code))
        gone = {name for name, _, _ in (*aliases, *classes)}
        source = _blanked(source, ((start, end) for _, start, end in (*aliases, *classes)))
    return source


def _aliases_of(left_out: Collection[str], code: str) -> Iterator[tuple[str, int, int]]:
    """Names that stand for classes that are left out, as `unique_ptr<T, Deleter<T>>`; where each begins and ends."""
    named = "|".join(map(re.escape, left_out)) or "(?!)"
    head = r"(?:template\s*<[^{}()<>]*>\s*)?\b(?:using\s+(?P<name>\w+)\s*=|typedef\b)"
    for one in re.finditer(rf"{head}[^;{{}}]*\b(?:{named})\b[^;{{}}]*;", code):
        yield one["name"] or name_in(one[0].rstrip("; \n")), *one.span()


def _classes_with(left_out: Collection[str], code: str) -> Iterator[tuple[str, int, int]]:
    """Classes without a word of the device that have members of a type that is left out."""
    named = re.compile(rf"\b(?:{'|'.join(map(re.escape, left_out)) or '(?!)'})\b")
    for one in _CLASS.finditer(code):
        end = closing(code, one.end() - 1)
        if named.search(code, one.end(), end) and not _OF_THE_DEVICE.search(code[one.start() : end]):
            yield one["name"], one.start(), end


def _instances_by_macros(code: str) -> Iterator[tuple[int, int]]:
    """Where lines begin and end whose macro has a function of a template built, or writes one of the host."""
    bodies = {one[1]: one[0].replace("\\", " ").partition(")")[2] for one in MACRO.finditer(code)}
    heads = {name: _FUNCTION_OF_MACRO.match(body) for name, body in bodies.items()}
    writing = {name for name, head in heads.items() if head and _is_host_function(head.group())}
    names = "|".join(name for name, body in bodies.items() if name in writing or _INSTANCE.match(body)) or "(?!)"
    line = re.compile(rf"^[ \t]*(?:{names})[ \t]*\([^;{{}}]*?\)[ \t]*;?[ \t]*$", re.MULTILINE)
    for one in line.finditer(DIRECTIVE.sub(lambda directive: spaces(directive.group()), code)):
        yield one.span()


def _other_kernels(code: str, kernel: str) -> Iterator[tuple[int, int]]:
    """Where kernels begin and end that are not the one, and that nothing else names."""
    for found in KERNEL.finditer(code):
        name = found["name"]
        if name != kernel and len(re.findall(rf"\b{name}\b", code)) == 1:
            yield found.start(), closing(code, found.end() - 1)


def _later_overloads(code: str, kernel: str) -> Iterator[tuple[int, int]]:
    """Where kernels begin and end that have the name of the one, which is the first of it, and other arguments."""
    found = [one for one in KERNEL.finditer(code) if one["name"] == kernel]
    if any(_is_conditional(code, one.start()) for one in found):
        return
    for one in found[1:]:
        yield one.start(), closing(code, one.end() - 1)


def _is_conditional(code: str, place: int) -> bool:
    """Whether what stands there is between an `#if` and its `#endif`."""
    directives = re.findall(r"^[ \t]*#[ \t]*(if|endif)", code[:place], re.MULTILINE)
    return directives.count("if") > directives.count("endif")


def _host_parts(code: str) -> Iterator[tuple[int, int]]:
    """Where the host's functions and prototypes begin and end."""
    code = DIRECTIVE.sub(lambda line: spaces(line.group()), code)
    start = index = 0
    while (mark := _MARK.search(code, index)) is not None:
        index = mark.start()
        if mark.group() == ";" and _is_statement_of_host(code[start:index]):
            yield _begin(code, start), index + 1
        if mark.group() != "{" or _CONTAINER.fullmatch(code[start:index].strip()):
            start = index = mark.end()
            continue
        end = closing(code, index)
        head = code[start:index]
        if _is_host_function(head) or _is_class_of_host(head, code[index:end]) or _DATA.fullmatch(head):
            yield _begin(code, start), end
            start = end
        elif _is_function(code[start:index]):
            start = end
        index = end


def _begin(code: str, start: int) -> int:
    return start + len(code[start:]) - len(code[start:].lstrip())


def _is_function(head: str) -> bool:
    head = _TEMPLATE.sub("", head.strip())
    return "(" in head and not _TYPE.fullmatch(head) and "=" not in _without_calls(head)


def _without_calls(head: str) -> str:
    """A declaration without what stands between parentheses, as what arguments are by default."""
    return re.sub(r"\([^{}]*\)", "", head)


def _is_host_function(head: str) -> bool:
    return _is_function(head) and not _OF_THE_DEVICE.search(head) and not re.search(r"[A-Z_]*(?:KERNEL|DEVICE)\b", head)


def _is_class_of_host(head: str, body: str) -> bool:
    """Whether a class launches kernels, asks the runtime or has handles of libraries, which no kernel could use."""
    is_class = re.match(r"(?:struct|class)\b", _TEMPLATE.sub("", head.strip()))
    is_of_host = any(said.search(body) for said in (_LAUNCH, _RUNTIME, _OF_LIBRARIES))
    return bool(is_class) and is_of_host and re.search(r"\b__(?:global|device)__", body) is None


def _is_statement_of_host(statement: str) -> bool:
    """Whether it is a prototype, an instance of a template, data in containers or a name for what is PyTorch's."""
    others = (_NAME_OF_PYTORCH, _INSTANCE, _DATA)
    return _is_prototype(statement) or any(one.match(statement) for one in others)


def _is_prototype(statement: str) -> bool:
    statement = _TEMPLATE.sub("", statement.strip())
    return (
        not _OF_THE_DEVICE.search(statement)
        and bool(_PROTOTYPE.fullmatch(statement))
        and "=" not in _without_calls(statement)
    )
