"""A first problem file for a kernel, guessed from its signature and commented for the user to correct."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_arguments import why_not_passable
from tui_tuner.problem.drafted_launch import DraftedLaunch, drafted_launch, local_headers
from tui_tuner.problem.drafted_sizes import Amendments, DraftedSizes, drafted_sizes
from tui_tuner.problem.guesses import (
    AXES,
    array_shape,
    block_values,
    dimensions,
    extents_of,
    most_threads,
    outputs,
    size_names,
    template_arguments,
    usual_block,
    work_of,
)
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature, find_kernel, find_kernels, type_words

_CHECK = "  # a guess: check"
NO_AMENDMENTS = Amendments()


@dataclass(frozen=True)
class _Draft:
    """What the text of a problem file is written from."""

    file: Path
    language: Language
    signature: KernelSignature
    name: str
    launch: DraftedLaunch | None
    sizes: DraftedSizes
    amendments: Amendments


def scaffold(
    source_path: Path, kernel: str | None, amendments: Amendments = NO_AMENDMENTS, host: Path | None = None
) -> str:
    """The text of a problem file for a kernel; it loads as it is.

    Args:
        source_path: the kernel's file.
        kernel: which kernel, where the file has several.
        amendments: what running an earlier draft said.
        host: another file with the host's code, where it does not stand in the kernel's.

    Raises:
        ProblemError: the file cannot be read, holds no kernel that can be launched, or several and none is named.
    """
    language = LANGUAGES.get(source_path.suffix)
    if language is None:
        hint = f"known endings: {', '.join(LANGUAGES)}"
        raise ProblemError(f"the ending of {source_path} says no language", hint=hint)
    source = _text_of(source_path)
    name = _chosen_name(source, language, kernel, source_path)
    try:
        signature = find_kernel(source, language, name)
    except ProblemError as error:
        raise ProblemError(error.message, hint=error.hint, file=source_path) from None
    _refuse_unusable(signature, source_path, source)
    launch = None
    if language == "cuda":
        launch = drafted_launch(source, signature, source_path, _text_of(host) if host else "", dimensions(signature))
    if launch is not None and launch.template and kernel in (None, signature.name):
        name = signature.name + launch.template
    sizes = _sizes_of(signature, launch, amendments)
    return "\n".join(_lines(_Draft(source_path, language, signature, name, launch, sizes, amendments))) + "\n"


def ranked_kernels(source_path: Path) -> list[str]:
    """The kernels of a file, those first that seem to do the most work."""
    language = LANGUAGES.get(source_path.suffix)
    if language is None:
        return []
    found = find_kernels(_text_of(source_path), language)
    return [one.name for one in sorted(found, key=lambda one: -work_of(one))]


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise ProblemError(f"{file} cannot be read: {error.strerror}", hint="give a kernel's file") from None
    except UnicodeDecodeError:
        hint = f"save it as UTF-8, as by: iconv -f latin1 -t utf-8 {file.name}"
        raise ProblemError("this is not UTF-8 text", hint=hint, file=file) from None


def _sizes_of(signature: KernelSignature, launch: DraftedLaunch | None, amendments: Amendments) -> DraftedSizes:
    if launch is not None and "problem_size" in launch.keys:
        return drafted_sizes(launch, signature, amendments)
    extents = extents_of(signature)
    names = [*size_names(signature), *(() if launch is None else launch.sizes)]
    given = {} if launch is None else {name: number for name, number in launch.sizes.items() if number is not None}
    emulated = max(16, extents.emulated >> amendments.halvings)
    values = (extents.timed, extents.tested, emulated, max(15, extents.emulated_test >> amendments.halvings))
    return DraftedSizes(*({name: min(value, given.get(name, value)) for name in names} for value in values))


def _chosen_name(source: str, language: Language, kernel: str | None, file: Path) -> str:
    """The kernel's name with arguments for its template parameters."""
    found = {signature.name: signature for signature in find_kernels(source, language)}
    if kernel is None and len(found) > 1:
        hint = f"choose one with --kernel NAME: {', '.join(found)}"
        raise ProblemError(f"there are {len(found)} kernels in this file", hint=hint, file=file)
    name = next(iter(found), "") if kernel is None else kernel
    return name + template_arguments(found[name]) if name in found else name


def _is_structure(parameter: KernelParameter, source: str) -> bool:
    """Whether a type that is no number is declared in the source as one of several members."""
    words = "|".join(map(re.escape, type_words(parameter.type_text))) or "struct"
    return re.search(rf"\b(?:struct|class|union)\s+(?:{words})\b|\}}\s*(?:{words})\s*;", source) is not None


def _refuse_unusable(signature: KernelSignature, file: Path, source: str) -> None:
    for parameter in signature.parameters:
        if reason := why_not_passable(parameter):
            raise ProblemError(
                f"argument '{parameter.name}' of {signature.name}() {reason}",
                hint="write a kernel around it that takes arrays and scalars",
                file=file,
                line=signature.line,
            )
        if not parameter.pointer and parameter.dtype is None and _is_structure(parameter, source):
            raise ProblemError(
                f"argument '{parameter.name}' of {signature.name}() is of type {parameter.type_text}, passed by value",
                hint="write a kernel around it that takes the members as scalars and arrays",
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


def _lines(draft: _Draft) -> Iterator[str]:
    signature, launch, file = draft.signature, draft.launch, draft.file
    yield f"# What tuner-tui needs to know about {signature.name}(), guessed from its text."
    yield "# Expressions stand in quotes and know + - * / // % **, comparisons, and, or, not, if,"
    yield "# min, max, abs, ceil and ceil_div."
    yield ""
    yield "[kernel]"
    yield f"source = {json.dumps(file.name, ensure_ascii=False)}"
    yield f"name = {json.dumps(draft.name)}{_CHECK if signature.template else ''}"
    if draft.language == "cuda" and local_headers(file.read_text("utf-8-sig"), file):
        yield f"compiler_options = {json.dumps([f'-I{file.parent.resolve()}'])}  # for the headers beside the kernel"
    yield ""
    yield "[sizes]  # names for the expressions below, with the values that are timed"
    for name, value in draft.sizes.timed.items():
        given = None if launch is None else launch.sizes.get(name)
        yield f"{name} = {value}{'  # as the host has it' if given == value else _CHECK}"
    yield from _launch(signature, draft.language) if launch is None else _launch_as_given(signature, launch)
    yield from _arguments(draft)
    if launch is not None and launch.tunables:
        yield from _macros(launch)
    elif launch is not None and "block_size" in launch.keys:
        yield "# The kernel's own text fixes the block, so nothing is left to tune but that text."
    elif COMPILED_LANGUAGES[draft.language].has_blocks and not _own_block_names(signature):
        yield from _tunables(signature, launch)
    yield from _checks(draft)


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


def _arguments(draft: _Draft) -> Iterator[str]:
    written = outputs(draft.signature)
    for position, parameter in enumerate(draft.signature.parameters, 1):
        yield ""
        yield f"[[arguments]]  # {parameter.type_text}"
        yield f'name = "{parameter.name or f"argument_{position}"}"'
        yield f'dtype = "{parameter.dtype or "float32"}"{"" if parameter.dtype else _CHECK}'
        if not parameter.pointer:
            yield f"value = {_scalar(parameter, draft)}"
            continue
        yield _shape(parameter, draft)
        if draft.launch is not None and parameter.name in draft.launch.drawn and parameter.name not in written:
            low, high = draft.launch.drawn[parameter.name]
            yield f'fill = "integers"\nlow = {low}\nhigh = {json.dumps(high)}  # as the host fills it'
        if parameter.name in written and not parameter.const:
            yield f"output = true{_CHECK}"
            if parameter.name in draft.amendments.filled:
                yield f'fill = "{_fill(parameter)}"  # the kernel writes it in part: its content before each launch'
            elif written[parameter.name]:
                yield f'fill = "{_fill(parameter)}"  # the kernel seems to read it too: its content before each launch'


def _shape(parameter: KernelParameter, draft: _Draft) -> str:
    launch, found = draft.launch, draft.amendments.shapes.get(parameter.name)
    width = f"{parameter.width} * " if parameter.width > 1 else ""
    if found is not None:
        return f"shape = {json.dumps([found])}  # what the kernel as given touches, where it was run: check"
    if launch is not None and parameter.name in launch.shapes:
        return (
            f"shape = {json.dumps([width + _factor(launch.shapes[parameter.name], width)])}  # as the host allocates it"
        )
    if launch is not None and "problem_size" in launch.keys:
        elements = " * ".join(_factor(one, "*") for one in launch.keys["problem_size"])
        return f"shape = {json.dumps([width + _factor(elements, width)])}{_CHECK}"
    return f"shape = {json.dumps(array_shape(draft.signature, parameter))}{_CHECK}"


def _factor(text: str, behind: str) -> str:
    """An expression as a factor of another."""
    return f"({text})" if behind and re.search(r"[-+]|//| if ", text) else text


def _scalar(parameter: KernelParameter, draft: _Draft) -> str:
    value = None if draft.launch is None else draft.launch.values.get(parameter.name)
    if value is not None:
        return f"{json.dumps(value)}  # as the host passes it"
    if parameter.name in draft.sizes.timed:
        return f'"{parameter.name}"'
    is_float = parameter.dtype is None or parameter.dtype.startswith("float")
    return f"{'1.5' if is_float else '1'}{_CHECK}"


def _fill(parameter: KernelParameter) -> str:
    return "normal" if parameter.dtype is None or parameter.dtype.startswith("float") else "integers"


def _tunables(signature: KernelSignature, launch: DraftedLaunch | None) -> Iterator[str]:
    given = {} if launch is None else launch.defaults
    most = most_threads(signature) if launch is None else min(most_threads(signature), launch.most_threads)
    values = block_values(signature)
    names = [f"block_size_{axis}" for axis in AXES[: len(values)]]
    start = usual_block(signature) if not given else [given.get(name, 1) for name in names]
    choices = [[one for one in choice if one <= most] for choice in values]
    yield ""
    yield "[tunables]  # values to try; each becomes a macro of this name for the compiler"
    for name, choice, own in zip(names, choices, start, strict=True):
        yield f"{name} = {sorted({*choice, own})}{_CHECK}"
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    said = "" if given else _CHECK
    yield from (f"{name} = {value}{said}" for name, value in zip(names, start, strict=True))
    if len(names) > 1:
        yield ""
        yield "[search]  # what every configuration must satisfy"
        yield f'restrictions = ["{" * ".join(names)} <= {most}"]'


def _checks(draft: _Draft) -> Iterator[str]:
    sizes = draft.sizes
    yield ""
    yield "[[tests]]  # other sizes at which results are checked; best are some that no block size divides"
    yield f"sizes = {_inline(sizes.tested)}{_CHECK}"
    if COMPILED_LANGUAGES[draft.language].has_emulator:
        yield ""
        yield "[emulator]  # smaller sizes for machines without a GPU"
        yield f"sizes = {_inline(sizes.emulated)}"
        if sizes.emulated_test:
            yield f"tests = [{{ sizes = {_inline(sizes.emulated_test)} }}]"
        else:
            yield "tests = []  # the size that is timed is the only one, and checked too"
    first = next(iter(sizes.timed), "1")
    yield ""
    yield "# [work]  # of one launch, for the roofline"
    yield f'# flops = "2 * {first}"'
    yield f'# bytes = "8 * {first}"'
    yield ""
    yield "# [reference]  # a NumPy function that takes all arguments by name and returns the outputs;"
    yield f'# python = "reference.py:{draft.signature.name}"  # without it the kernel as it is says what is right'


def _inline(sizes: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + " }"
