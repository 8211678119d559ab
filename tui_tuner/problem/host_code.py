"""Host code around kernels in one file: what of it is taken out before a build."""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import ProblemError
from tui_tuner.problem.headers import INCLUDE, is_header, is_missing, is_of_host_library, without_climbing
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.structures import enumerators
from tui_tuner.problem.syntax import code_only, spaces
from tui_tuner.problem.toml_file import read_text

DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
"""A line of the preprocessor's, with those that continue it."""
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?:\\\r?\n|[^\n])*", re.MULTILINE)
_CONTAINER = re.compile(r"(?:inline\s+)?namespace\b[^()=]*|extern\s*\"[^\"]*\"\s*")
_TYPE = re.compile(
    r"(?:typedef\s+)?(?:struct|class|union|enum)\b[^()]*(?:(?:__align\w*|alignas)\s*\((?:[^()]|\([^()]*\))*\)[^()]*)?"
)
_TEMPLATE = re.compile(r"template\s*<[^{}()]*>\s*(?=[\w:])")
_OF_THE_DEVICE = re.compile(
    r"\b(?:__global__|__device__|__constant__|__shared__|__managed__|constexpr|typedef|using|static_assert)\b"
)
_PROTOTYPE = re.compile(r"(?:extern\s*\"[^\"]*\"\s*)?(?:[\w:<>,\[\]]+[\s*&]+)+[\w:]+\s*\([^{}]*\)\s*(?:const\s*)?")
_KERNEL = re.compile(
    r"(?:template\s*<[^{}()<>]*>\s*)?(?:extern\s*\"[^\"]*\"\s*|static\s+)*__global__(?:\s+\w+(?:\s*\([^()]*\))?)*?"
    r"\s+(?P<name>\w+)\s*\([^(){};]*\)\s*\{"
)
_WORD, _ENDS = re.compile(r"\w+"), re.compile(r"\s*;")
_CLASS = re.compile(r"(?:template\s*<[^{}()<>]*>\s*)?\b(?:struct|class)\s+(?P<name>\w+)[^;{}()=]*\{")
_OF_OPENCV = "typedef unsigned char uchar; namespace cv {}"
"""What kernels beside OpenCV's headers use of them."""
_LIBRARIES = {
    r"cooperative_groups.*": r"\bcooperative_groups\b",
    r"cub/.*": r"\bcub\s*::",
    r"thrust/.*": r"\bthrust\s*::",
    r"(?:torch|ATen|c10)/.*": r"\b(?:torch|at|c10)\s*::|\bC10_|\bAT_",
}
"""Headers that host code includes as well as device code does, and what device code that needs them says."""
_DECLARED = re.compile(
    r"#[ \t]*define[ \t]+(\w+)|\b(\w+)\s*\(|\b(?:struct|class|enum|union)\s+(\w+)\b(?!\s*[,>])|\busing\s+(\w+)"
    r"|\b(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=[^;{}]*)?;"
)
"""What gives a name in a header: a macro, a function, a type, a variable."""
_LAUNCH = re.compile(r"<\s?<\s?<|\b(?:cuda|hip)Launch(?:Cooperative)?Kernel(?:GGL)?\b")
_RUNTIME = re.compile(r"\b(?:cuda|hip)(?:Event|Malloc|Free|Memcpy|Memset|Stream|Device|Create|Destroy|Get|Set)\w*\s*\(")
_IN_PYTHON = re.compile(
    r"\b__global__\s[^;{}()]*?\b(?P<name>\w+)\s*\("
    r"|\b(?:__)?kernel\s[^;{}]{0,300}?\bvoid\s+(?P<opencl>\w+)\s*\("
)
_NUMBA = re.compile(
    r"^[ \t]*@(?:numba\.)?cuda\.jit\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*def\s+(?P<name>\w+)", re.MULTILINE
)
_NAMED_FILE = re.compile(r"""["'](?P<file>[\w./-]+\.(?:cu|cl|c|cc|cpp))["']""")
_OF_PYTHON = re.compile(r"^\s*(?:import|from)\s+(?:triton|helion)\b", re.MULTILINE)
_SAYS_LAUNCH = re.compile(r"\btune_kernel\(|\bpyopencl\b")
_HIP = re.compile(r"#[ \t]*include[ \t]*[<\"]hip/|\bhip[A-Z]\w+\s*\(")
_MARK = re.compile(r"[{};]")
_MAIN = re.compile(r"\bmain\s*\(")


def has_host_code(code: str) -> bool:
    """Whether code without comments launches kernels, or has a `main`."""
    return bool(_LAUNCH.search(code) or _MAIN.search(code))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def device_code(source: str, directories: tuple[Path, ...] = (), kernel: str = "") -> str:
    """The source with what only the host runs blanked, line for line; a source without such code stays as it is.

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
        return source
    source = _blanked(source, _host_parts(code))
    source = _blanked(source, _unnamed_classes(code_only(source)))
    left = code_only(source)
    source = _blanked(source, _aliases_of(_classes_of(code) - _classes_of(left), left))
    if kernel:
        source = _blanked(source, _other_kernels(code_only(source), kernel.partition("<")[0]))
        words = _without_idle_macros(code_only(INCLUDE.sub("", source)))
        idle = "|".join(header for header, needed in _LIBRARIES.items() if not re.search(needed, words))
        source = INCLUDE.sub(lambda found: _without(found, idle), source)
        source = INCLUDE.sub(lambda found: _of_host(found, directories, words), source)
    return INCLUDE.sub(lambda found: _kept(found, directories), source)


def _blanked(source: str, parts: Iterator[tuple[int, int]]) -> str:
    for first, after in parts:
        source = source[:first] + spaces(source[first:after]) + source[after:]
    return source


def _unnamed_classes(code: str) -> Iterator[tuple[int, int]]:
    """Where classes with functions of the host begin and end that nothing else names, as one of a program's options."""
    words = Counter(_WORD.findall(code))
    for found in _CLASS.finditer(code):
        end = _closing_brace(code, found.end() - 1)
        own = code[found.start() : end]
        if "(" not in own or _OF_THE_DEVICE.search(own) or not _ENDS.match(code, end):
            continue
        if words[found["name"]] == _WORD.findall(own).count(found["name"]):
            yield found.start(), end


def _classes_of(code: str) -> set[str]:
    """The names of the classes that code defines."""
    return {one["name"] for one in _CLASS.finditer(code)}


def _aliases_of(left_out: Collection[str], code: str) -> Iterator[tuple[int, int]]:
    """Where names begin and end that stand for classes that are left out, as of `unique_ptr<T, Deleter<T>>`."""
    named = "|".join(map(re.escape, left_out)) or "(?!)"
    head = r"(?:template\s*<[^{}()<>]*>\s*)?\b(?:using\s+\w+\s*=|typedef\b)"
    for one in re.finditer(rf"{head}[^;{{}}]*\b(?:{named})\b[^;{{}}]*;", code):
        yield one.span()


def _other_kernels(code: str, kernel: str) -> Iterator[tuple[int, int]]:
    """Where kernels begin and end that are not the one, and that nothing else names."""
    for found in _KERNEL.finditer(code):
        name = found["name"]
        if name != kernel and len(re.findall(rf"\b{name}\b", code)) == 1:
            yield found.start(), _closing_brace(code, found.end() - 1)


def _without_idle_macros(code: str) -> str:
    """Code with the text of those macros alone that it uses, also by others: those of a host may say `at::`."""
    parts = [DIRECTIVE.sub("", code)]
    macros = {found[1]: found[0] for found in _MACRO.finditer(code)}
    while used := macros.keys() & set(_WORD.findall(parts[-1])):
        parts.append("\n".join(macros.pop(name) for name in used))
    return "\n".join(parts)


def _without(include: re.Match[str], idle: str) -> str:
    unused = re.fullmatch(idle, include["quoted"] or include["angled"]) if idle else None
    return spaces(include.group()) if unused else include.group()


def _of_host(include: re.Match[str], directories: Sequence[Path], words: str) -> str:
    """The directive, but blank for a header of the project that needs a host library and names nothing of the rest."""
    place = next((one for one in directories if include["quoted"] and is_header(one / include["quoted"])), None)
    text = "" if place is None else (place / include["quoted"]).read_text("utf-8", "replace")
    needed = [one["quoted"] or one["angled"] for one in INCLUDE.finditer(text)]
    code = code_only(text)
    named = {word for groups in _DECLARED.findall(_without_bodies(code)) for word in groups}
    named.update(*enumerators(code).values())
    is_idle = any(map(is_of_host_library, needed)) and named.isdisjoint(_WORD.findall(words))
    return spaces(include.group()) if is_idle else include.group()


def _without_bodies(code: str) -> str:
    """Code without what stands in braces."""
    while (shorter := re.sub(r"\{[^{}]*\}", " ", code)) != code:
        code = shorter
    return code


def _kept(include: re.Match[str], directories: Sequence[Path]) -> str:
    name = include["quoted"] or include["angled"]
    if name.startswith("opencv"):
        return _OF_OPENCV
    host_only = is_of_host_library(name)
    return spaces(include.group()) if host_only or is_missing(include, directories) else include.group()


def _host_parts(code: str) -> Iterator[tuple[int, int]]:
    """Where the host's functions and prototypes begin and end."""
    code = DIRECTIVE.sub(lambda line: spaces(line.group()), code)
    start = index = 0
    while (mark := _MARK.search(code, index)) is not None:
        index = mark.start()
        if mark.group() == ";" and _is_prototype(code[start:index]):
            yield _begin(code, start), index + 1
        if mark.group() != "{" or _CONTAINER.fullmatch(code[start:index].strip()):
            start = index = mark.end()
            continue
        end = _closing_brace(code, index)
        if _is_host_function(code[start:index]) or _is_class_of_host(code[start:index], code[index:end]):
            yield _begin(code, start), end
            start = end
        elif _is_function(code[start:index]):
            start = end
        index = end


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
    """Whether a class launches kernels or asks the runtime, which no kernel could use."""
    is_class = re.match(r"(?:struct|class)\b", _TEMPLATE.sub("", head.strip()))
    return (
        bool(is_class and (_LAUNCH.search(body) or _RUNTIME.search(body)))
        and re.search(r"\b__(?:global|device)__", body) is None
    )


def _is_prototype(statement: str) -> bool:
    statement = _TEMPLATE.sub("", statement.strip())
    return not _OF_THE_DEVICE.search(statement) and bool(_PROTOTYPE.fullmatch(statement)) and "=" not in statement


def refuse_text(file: Path) -> None:
    """Refuse a file whose kernel is in another language than its ending says.

    That is CUDA's or OpenCL's text in Python, as for `cupy.RawKernel`, PyOpenCL or kernel_tuner, a script that names
    the kernel's file, Numba, CUDA in a file of C++, and HIP.

    Raises:
        ProblemError: it is such a file; with what to do.
    """
    if file.suffix == ".py":
        _refuse_script(file, read_text(file))
        return
    is_other = LANGUAGES.get(file.suffix) == "c" or file.suffix == ".hip"
    if not is_other or file.with_suffix(".toml").exists():
        return
    text, own = read_text(file), file.with_suffix(".cu")
    kernel = _KERNEL.search(code_only(text))
    if kernel is None or _OF_PYTHON.search(text):
        return
    name, run = kernel["name"], f"and run: tuner-tui {own}"
    if _HIP.search(text):
        message = f"{name}() is HIP, which no device here runs"
        hint = f"write it as CUDA into {own.name}, with threadIdx.x, cudaMalloc() and <<<grid, block>>>, {run}"
    else:
        message, hint = f"{name}() is CUDA in a file of C or C++", f"name it {own.name}, {run}"
    raise _refused(message, hint, file, text, text.rfind("__global__", 0, kernel.start("name")))


class KernelInScript(NamedTuple):
    """The text of a Python script that holds kernels of a GPU.

    Attributes:
        ending: that a file of it has.
        says_launch: whether the script says how they are launched, in words that are read.
    """

    text: str
    ending: str
    says_launch: bool


def parsed_script(text: str) -> ast.Module:
    """A script's tree, empty where it is none; what Python would warn of is nothing to whoever tunes a kernel."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def kernel_in_script(script: str) -> KernelInScript | None:
    """The only text of a script with kernels; None where there is none, or more than one, or it is put together."""
    nodes = [] if _OF_PYTHON.search(script) else [*ast.walk(parsed_script(script))]
    parts = {
        id(part)
        for one in nodes
        if isinstance(one, ast.JoinedStr | ast.BinOp | ast.Attribute)
        for part in ast.walk(one)
    }
    texts = [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    found = {one: kernel for one in texts if (kernel := _IN_PYTHON.search(one)) is not None}
    whole = {one.value for one in nodes if isinstance(one, ast.Constant) and id(one) not in parts}
    if len(found) != 1 or not found.keys() <= whole:
        return None
    [(text, kernel)] = found.items()
    return KernelInScript(text, ".cu" if kernel["name"] else ".cl", _SAYS_LAUNCH.search(script) is not None)


def _refuse_script(file: Path, text: str) -> None:
    if _OF_PYTHON.search(text):
        return
    if (kernel := _IN_PYTHON.search(text)) is not None:
        title, ending = ("CUDA", ".cu") if kernel["name"] else ("OpenCL", ".cl")
        own = file.with_suffix(ending)
        host = f" --host {file}" if _SAYS_LAUNCH.search(text) else ""
        hint = f"write that text into {own.name}, and run: tuner-tui {own}{host}"
        if kernel_in_script(text) is not None:
            hint = f"tuner-tui init {file} writes it into {own.name}, and its problem file; then: tuner-tui {own}"
        raise _refused(
            f"{kernel['name'] or kernel['opencl']}() is {title} in a text of Python", hint, file, text, kernel.start()
        )
    if (kernel := _NUMBA.search(text)) is not None:
        hint = f"write it as CUDA into {file.with_suffix('.cu').name}"
        raise _refused(
            f"{kernel['name']}() is Numba, which nothing here builds", hint, file, text, kernel.start("name")
        )
    for named in _NAMED_FILE.finditer(text):
        if (kernel_file := file.parent / named["file"]).is_file():
            hint = f"tuner-tui {kernel_file} --host {file}"
            raise _refused(f"the kernel of this script is in {named['file']}", hint, file, text, named.start())


def _refused(message: str, hint: str, file: Path, text: str, place: int) -> ProblemError:
    return ProblemError(message, hint=hint, file=file, line=text.count("\n", 0, place) + 1)
