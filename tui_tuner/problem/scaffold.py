"""A first problem file for a kernel, guessed from its signature and commented for the user to correct."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_arguments import why_not_passable
from tui_tuner.problem.drafted_launch import DraftedLaunch, drafted_launch, local_headers
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature, find_kernel, find_kernels
from tui_tuner.problem.tunables import why_no_size

_CHECK = "  # a guess: check"


def scaffold(source_path: Path, kernel: str | None) -> str:
    """The text of a problem file for a kernel; it loads as it is.

    Args:
        source_path: the kernel's file.
        kernel: which kernel, where the file has several.

    Raises:
        ProblemError: the file cannot be read, holds no kernel that can be launched, or several and none is named.
    """
    language = LANGUAGES.get(source_path.suffix)
    if language is None:
        hint = f"known endings: {', '.join(LANGUAGES)}"
        raise ProblemError(f"the ending of {source_path} says no language", hint=hint)
    try:
        source = source_path.read_text("utf-8-sig")
    except OSError as error:
        raise ProblemError(f"{source_path} cannot be read: {error.strerror}", hint="give a kernel's file") from None
    except UnicodeDecodeError:
        raise ProblemError("this is not UTF-8 text", file=source_path) from None
    name = _chosen_name(source, language, kernel, source_path)
    try:
        signature = find_kernel(source, language, name)
    except ProblemError as error:
        raise ProblemError(error.message, hint=error.hint, file=source_path) from None
    _refuse_unusable(signature, source_path)
    launch = drafted_launch(source, signature, size_names(signature), source_path) if language == "cuda" else None
    if launch is not None and launch.template and kernel in (None, signature.name):
        name = signature.name + launch.template
    headers = local_headers(source, source_path) if language == "cuda" else []
    return "\n".join(_lines(signature, name, language, source_path, launch, headers)) + "\n"


def _chosen_name(source: str, language: Language, kernel: str | None, file: Path) -> str:
    """The kernel's name with arguments for its template parameters."""
    found = {signature.name: signature for signature in find_kernels(source, language)}
    if kernel is None and len(found) > 1:
        hint = f"choose one with --kernel NAME: {', '.join(found)}"
        raise ProblemError(f"there are {len(found)} kernels in this file", hint=hint, file=file)
    name = next(iter(found), "") if kernel is None else kernel
    return name + template_arguments(found[name]) if name in found else name


def _refuse_unusable(signature: KernelSignature, file: Path) -> None:
    for parameter in signature.parameters:
        if reason := why_not_passable(parameter):
            raise ProblemError(
                f"argument '{parameter.name}' of {signature.name}() {reason}",
                hint="write a kernel around it that takes arrays and scalars",
                file=file,
                line=signature.line,
            )
    if not outputs(signature):
        raise ProblemError(
            f"{signature.name}() has no array to write to, so nothing could be verified",
            hint="a pointer without const is an output",
            file=file,
            line=signature.line,
        )


def _lines(
    signature: KernelSignature,
    name: str,
    language: Language,
    file: Path,
    launch: DraftedLaunch | None,
    headers: Sequence[Path],
) -> Iterator[str]:
    yield f"# What tuner-tui needs to know about {signature.name}(), guessed from its text."
    yield "# Expressions stand in quotes and know + - * / // % **, comparisons, and, or, not, if,"
    yield "# min, max, abs, ceil and ceil_div."
    yield ""
    yield "[kernel]"
    yield f"source = {json.dumps(file.name, ensure_ascii=False)}"
    yield f"name = {json.dumps(name)}{_CHECK if signature.template else ''}"
    if headers:
        yield f"compiler_options = {json.dumps([f'-I{file.parent.resolve()}'])}  # for the headers beside the kernel"
    fixed = {} if launch is None else launch.sizes
    yield from _sizes(signature, fixed)
    yield from _launch(signature, language) if launch is None else _launch_as_given(signature, launch)
    yield from _arguments(signature, launch)
    if launch is not None and launch.tunables:
        yield from _macros(launch)
    elif launch is not None and "block_size" in launch.keys:
        yield "# The template's argument fixes the block, so nothing is left to tune but the kernel's own text."
    elif COMPILED_LANGUAGES[language].has_blocks and not _own_block_names(signature):
        yield from _tunables(signature)
    yield from _checks(signature, language, fixed)


def _sizes(signature: KernelSignature, fixed: Mapping[str, int]) -> Iterator[str]:
    yield ""
    yield "[sizes]  # names for the expressions below, with the values that are timed"
    extent = extents_of(signature).timed
    for name in size_names(signature):
        yield f"{name} = {fixed.get(name, extent)}{_CHECK}"


def _launch_as_given(signature: KernelSignature, launch: DraftedLaunch) -> Iterator[str]:
    yield ""
    yield f"[launch]  # as the host launches it in line {launch.line}"
    keys = {"problem_size": _elements(signature), **launch.keys}
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}{'' if key in launch.keys else _CHECK}"


def _macros(launch: DraftedLaunch) -> Iterator[str]:
    yield ""
    yield "[tunables]  # macros of the source that make its block; each takes these values in its place"
    yield from (f"{name} = {values}{_CHECK}" for name, values in launch.tunables.items())
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    yield from (f"{name} = {value}" for name, value in launch.defaults.items())
    yield ""
    yield "[search]  # what every configuration must satisfy"
    yield f'restrictions = ["{" * ".join(launch.keys["block_size"])} <= 1024"]'


def _elements(signature: KernelSignature) -> list[str]:
    names = size_names(signature)
    return [names[min(axis, len(names) - 1)] for axis in range(dimensions(signature))]


def _launch(signature: KernelSignature, language: Language) -> Iterator[str]:
    yield ""
    yield "[launch]  # elements along x, y, z; blocks cover them, by block size unless grid_div_x says"
    if not COMPILED_LANGUAGES[language].has_blocks:
        yield "problem_size = [1]"
        return
    yield f"problem_size = {json.dumps(_elements(signature))}{_CHECK}"
    if _own_block_names(signature):
        yield f"block_size = {json.dumps(usual_block(signature))}{_CHECK}"


def _own_block_names(signature: KernelSignature) -> bool:
    """Whether the kernel uses the names of the block's tunables for arguments of its own."""
    names = {parameter.name for parameter in signature.parameters}
    return any(f"block_size_{axis}" in names for axis in AXES)


def _arguments(signature: KernelSignature, launch: DraftedLaunch | None) -> Iterator[str]:
    shapes = {} if launch is None else launch.shapes
    written = outputs(signature)
    sizes = size_names(signature)
    for position, parameter in enumerate(signature.parameters, 1):
        yield ""
        yield f"[[arguments]]  # {parameter.type_text}"
        yield f'name = "{parameter.name or f"argument_{position}"}"'
        yield f'dtype = "{parameter.dtype or "float32"}"{"" if parameter.dtype else _CHECK}'
        if not parameter.pointer:
            yield f"value = {_scalar(parameter, sizes)}"
            continue
        if parameter.name in shapes:
            width = f"{parameter.width} * " if parameter.width > 1 else ""
            yield f"shape = {json.dumps([width + shapes[parameter.name]])}  # as the host allocates it"
        else:
            yield f"shape = {json.dumps(array_shape(signature, parameter))}{_CHECK}"
        if parameter.name in written and not parameter.const:
            yield f"output = true{_CHECK}"
            if written[parameter.name]:
                yield f'fill = "{_fill(parameter)}"  # the kernel seems to read it too: its content before each launch'


def _scalar(parameter: KernelParameter, sizes: list[str]) -> str:
    if parameter.name in sizes:
        return f'"{parameter.name}"'
    is_float = parameter.dtype is None or parameter.dtype.startswith("float")
    return f"{'1.5' if is_float else '1'}{_CHECK}"


def _fill(parameter: KernelParameter) -> str:
    return "normal" if parameter.dtype is None or parameter.dtype.startswith("float") else "integers"


def _tunables(signature: KernelSignature) -> Iterator[str]:
    values = block_values(signature)
    names = [f"block_size_{axis}" for axis in AXES[: len(values)]]
    yield ""
    yield "[tunables]  # values to try; each becomes a macro of this name for the compiler"
    yield from (f"{name} = {choice}{_CHECK}" for name, choice in zip(names, values, strict=True))
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    start = usual_block(signature)
    yield from (f"{name} = {value}{_CHECK}" for name, value in zip(names, start, strict=True))
    if len(names) > 1:
        yield ""
        yield "[search]  # what every configuration must satisfy"
        yield f'restrictions = ["{" * ".join(names)} <= {most_threads(signature)}"]'


def _checks(signature: KernelSignature, language: Language, fixed: Mapping[str, int]) -> Iterator[str]:
    extents = extents_of(signature)
    names = size_names(signature)
    yield ""
    yield "[[tests]]  # other sizes at which results are checked; best are some that no block size divides"
    yield f"sizes = {_inline(names, extents.tested, fixed)}{_CHECK}"
    if COMPILED_LANGUAGES[language].has_emulator:
        yield ""
        yield "[emulator]  # smaller sizes for machines without a GPU"
        yield f"sizes = {_inline(names, extents.emulated, fixed)}"
        yield f"tests = [{{ sizes = {_inline(names, extents.emulated_test, fixed)} }}]"
    yield ""
    yield "# [work]  # of one launch, for the roofline"
    yield f'# flops = "2 * {names[0]}"'
    yield f'# bytes = "8 * {names[0]}"'
    yield ""
    yield "# [reference]  # a NumPy function that takes all arguments by name and returns the outputs;"
    yield f'# python = "reference.py:{signature.name}"  # without it the kernel as it is says what is right'


def _inline(names: list[str], extent: int, fixed: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {fixed.get(name, extent)}" for name in names) + " }"


AXES = "xyz"
_BLOCK_VALUES = {
    1: [[32, 64, 128, 256, 512, 1024]],
    2: [[16, 32, 64, 128], [1, 2, 4, 8, 16]],
    3: [[8, 16, 32, 64], [1, 2, 4, 8], [1, 2, 4]],
}
_USUAL_BLOCK = {1: [256], 2: [16, 16], 3: [8, 8, 4]}
_EXTENT = {1: 2**20, 2: 1024, 3: 128}
_ODD_EXTENT = {1: 2**20 - 7, 2: 1000, 3: 100}
_EMULATED_EXTENT = {1: 2**14, 2: 128, 3: 24}
_TEMPLATE_ARGUMENTS = {"typename": "float", "class": "float", "bool": "true"}


def dimensions(signature: KernelSignature) -> int:
    """How many dimensions of threads or blocks the kernel asks for, 1 to 3."""
    calls = re.findall(r"\bget_(?:global_id|local_id|group_id|num_groups|\w+_size)\s*\(\s*([012])\s*\)", signature.body)
    members = re.findall(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])\b", signature.body)
    return 1 + max([int(axis) for axis in calls] + [AXES.index(axis) for axis in members], default=0)


def size_names(signature: KernelSignature) -> list[str]:
    """The integer scalars that may be sizes; `n` where there is none."""
    names = [
        p.name
        for p in signature.parameters
        if not p.pointer and p.dtype is not None and p.dtype.strip("u") in ("int32", "int64")
    ]
    return [name for name in names if name and why_no_size(name) is None] or ["n"]


def array_shape(signature: KernelSignature, parameter: KernelParameter) -> list[str]:
    """An array over the sizes, with one extent for each dimension or size, three at most."""
    names = size_names(signature)
    axes = _array_axes(signature)
    shape = [names[min(axis, len(names) - 1)] for axis in range(axes)]
    if parameter.width > 1:
        shape[-1] = f"{parameter.width} * {shape[-1]}"
    return shape


def _array_axes(signature: KernelSignature) -> int:
    return min(3, max(dimensions(signature), min(2, len(size_names(signature)))))


class Extents(NamedTuple):
    """A value for every size: for timing and for a test, and the same two for the emulator."""

    timed: int
    tested: int
    emulated: int
    emulated_test: int


def extents_of(signature: KernelSignature) -> Extents:
    """Values for the sizes; no block size divides those of tests, if the kernel looks as if it could do with that."""
    axes = _array_axes(signature)
    timed, emulated = _EXTENT[axes], _EMULATED_EXTENT[axes]
    guarded = re.search(r"\bif\b", signature.body) is not None
    if not guarded:
        return Extents(timed, timed // 2, emulated, emulated // 2)
    return Extents(timed, _ODD_EXTENT[axes], emulated, emulated * 3 // 4 - 1)


def outputs(signature: KernelSignature) -> dict[str, bool]:
    """The arrays that the kernel seems to write, and whether it seems to read them too."""
    writable = [p.name for p in signature.parameters if p.pointer and not p.const]
    counted = {name: _writes(name, signature.body) for name in writable}
    written = [name for name in writable if sum(counted[name])] or writable
    mentions = {name: len(re.findall(rf"\b{re.escape(name)}\b", signature.body)) for name in written}
    return {name: bool(sum(counted[name])) and mentions[name] > counted[name][0] for name in written}


def _writes(name: str, body: str) -> tuple[int, int]:
    """How often an array is assigned to, and how often changed in place or passed by address."""
    if not name:
        return 0, 0
    aliases = re.findall(rf"\*\s*(?:const\s+|__restrict__\s+)*(\w+)\s*=\s*&?\s*{re.escape(name)}\b", body)
    body = re.sub(rf"\*[^*;=]*=\s*&?\s*{re.escape(name)}\b(?!\s*\[)", "", body)  # where the aliases are declared
    own = "|".join(map(re.escape, [name, *aliases]))
    element = rf"(?:\b(?:{own})\s*\[[^;=]*\]|\*\s*(?:{own})\b|\*\s*\(\s*(?:{own})\b[^;=]*\))(?:\s*(?:\.|->)\s*\w+)?\s*"
    atomic = rf"\batom(?:ic)?\w*\s*\(\s*(?:{own})\b"
    changed = rf"{element}(?:[-+*/%&|^]=|<<=|>>=|\+\+|--)|&\s*{re.escape(name)}\b|{atomic}"
    return len(re.findall(rf"{element}=(?!=)", body)), len(re.findall(changed, body))


def block_values(signature: KernelSignature) -> list[list[int]]:
    """Values of the block size along each axis that `__launch_bounds__` allows."""
    most = most_threads(signature)
    return [[v for v in values if v <= most] or [1] for values in _BLOCK_VALUES[dimensions(signature)]]


def usual_block(signature: KernelSignature) -> list[int]:
    """The block to start from."""
    usual, values = _USUAL_BLOCK[dimensions(signature)], block_values(signature)
    allowed = all(start in choice for start, choice in zip(usual, values, strict=True))
    if not allowed or math.prod(usual) > most_threads(signature):
        return [choice[0] for choice in values]
    return usual


def most_threads(signature: KernelSignature) -> int:
    """Threads of a block at most."""
    first = (signature.launch_bounds or "").split(",")[0].strip()
    return min(1024, int(first)) if first.isdecimal() and int(first) else 1024


def template_arguments(signature: KernelSignature) -> str:
    """Arguments for the template parameters that have no default, as in "<float, 16>"."""
    needed = [text for text in signature.template if "=" not in text]
    arguments = [_TEMPLATE_ARGUMENTS.get(text.split()[0], "16") for text in needed]
    return f"<{', '.join(arguments)}>" if signature.template else ""
