"""A first problem file for a kernel, guessed from its signature and commented for the user to correct."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem import guesses
from tui_tuner.problem.check_arguments import why_not_passable
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature, find_kernel, find_kernels

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
        source = source_path.read_text("utf-8")
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
    return "\n".join(_lines(signature, name, language, source_path)) + "\n"


def _chosen_name(source: str, language: Language, kernel: str | None, file: Path) -> str:
    """The kernel's name with arguments for its template parameters."""
    found = {signature.name: signature for signature in find_kernels(source, language)}
    if kernel is None and len(found) > 1:
        hint = f"choose one with --kernel NAME: {', '.join(found)}"
        raise ProblemError(f"there are {len(found)} kernels in this file", hint=hint, file=file)
    name = next(iter(found), "") if kernel is None else kernel
    return name + guesses.template_arguments(found[name]) if name in found else name


def _refuse_unusable(signature: KernelSignature, file: Path) -> None:
    for parameter in signature.parameters:
        if reason := why_not_passable(parameter):
            raise ProblemError(
                f"argument '{parameter.name}' of {signature.name}() {reason}",
                hint="write a kernel around it that takes arrays and scalars",
                file=file,
                line=signature.line,
            )
    if not guesses.outputs(signature):
        raise ProblemError(
            f"{signature.name}() has no array to write to, so nothing could be verified",
            hint="a pointer without const is an output",
            file=file,
            line=signature.line,
        )


def _lines(signature: KernelSignature, name: str, language: Language, file: Path) -> Iterator[str]:
    yield f"# What tuner-tui needs to know about {signature.name}(), guessed from its text."
    yield "# Expressions stand in quotes and know + - * / // % **, comparisons, and, or, not, if,"
    yield "# min, max, abs, ceil and ceil_div."
    yield ""
    yield "[kernel]"
    yield f"source = {json.dumps(file.name, ensure_ascii=False)}"
    yield f"name = {json.dumps(name)}{_CHECK if signature.template else ''}"
    yield from _sizes(signature)
    yield from _launch(signature, language)
    yield from _arguments(signature)
    if COMPILED_LANGUAGES[language].has_blocks and not _own_block_names(signature):
        yield from _tunables(signature)
    yield from _checks(signature, language)


def _sizes(signature: KernelSignature) -> Iterator[str]:
    yield ""
    yield "[sizes]  # names for the expressions below, with the values that are timed"
    extent = guesses.extents(signature).timed
    yield from (f"{name} = {extent}{_CHECK}" for name in guesses.size_names(signature))


def _launch(signature: KernelSignature, language: Language) -> Iterator[str]:
    yield ""
    yield "[launch]  # elements along x, y, z; blocks cover them, by block size unless grid_div_x says"
    if not COMPILED_LANGUAGES[language].has_blocks:
        yield "problem_size = [1]"
        return
    names = guesses.size_names(signature)
    elements = [names[min(axis, len(names) - 1)] for axis in range(guesses.dimensions(signature))]
    yield f"problem_size = {json.dumps(elements)}{_CHECK}"
    if _own_block_names(signature):
        yield f"block_size = {json.dumps(guesses.usual_block(signature))}{_CHECK}"


def _own_block_names(signature: KernelSignature) -> bool:
    """Whether the kernel uses the names of the block's tunables for arguments of its own."""
    names = {parameter.name for parameter in signature.parameters}
    return any(f"block_size_{axis}" in names for axis in guesses.AXES)


def _arguments(signature: KernelSignature) -> Iterator[str]:
    written = guesses.outputs(signature)
    sizes = guesses.size_names(signature)
    for position, parameter in enumerate(signature.parameters, 1):
        yield ""
        yield f"[[arguments]]  # {parameter.type_text}"
        yield f'name = "{parameter.name or f"argument_{position}"}"'
        yield f'dtype = "{parameter.dtype or "float32"}"{"" if parameter.dtype else _CHECK}'
        if not parameter.pointer:
            yield f"value = {_scalar(parameter, sizes)}"
            continue
        yield f"shape = {json.dumps(guesses.array_shape(signature, parameter))}{_CHECK}"
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
    values = guesses.block_values(signature)
    names = [f"block_size_{axis}" for axis in guesses.AXES[: len(values)]]
    yield ""
    yield "[tunables]  # values to try; each becomes a macro of this name for the compiler"
    yield from (f"{name} = {choice}{_CHECK}" for name, choice in zip(names, values, strict=True))
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    start = guesses.usual_block(signature)
    yield from (f"{name} = {value}{_CHECK}" for name, value in zip(names, start, strict=True))
    if len(names) > 1:
        yield ""
        yield "[search]  # what every configuration must satisfy"
        yield f'restrictions = ["{" * ".join(names)} <= {guesses.most_threads(signature)}"]'


def _checks(signature: KernelSignature, language: Language) -> Iterator[str]:
    extents = guesses.extents(signature)
    names = guesses.size_names(signature)
    yield ""
    yield "[[tests]]  # other sizes at which results are checked; best are some that no block size divides"
    yield f"sizes = {_inline(names, extents.tested)}{_CHECK}"
    if COMPILED_LANGUAGES[language].has_emulator:
        yield ""
        yield "[emulator]  # smaller sizes for machines without a GPU"
        yield f"sizes = {_inline(names, extents.emulated)}"
        yield f"tests = [{{ sizes = {_inline(names, extents.emulated_test)} }}]"
    yield ""
    yield "# [work]  # of one launch, for the roofline"
    yield f'# flops = "2 * {names[0]}"'
    yield f'# bytes = "8 * {names[0]}"'
    yield ""
    yield "# [reference]  # a NumPy function that takes all arguments by name and returns the outputs;"
    yield f'# python = "reference.py:{signature.name}"  # without it the kernel as it is says what is right'


def _inline(names: list[str], extent: int) -> str:
    return "{ " + ", ".join(f"{name} = {extent}" for name in names) + " }"
