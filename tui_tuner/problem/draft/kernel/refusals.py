"""Kernels that no problem file can be written for, and what to write instead."""

from __future__ import annotations

import re
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Unknown, fields_of
from tui_tuner.problem.c_types import meant, type_words
from tui_tuner.problem.check_arguments import why_not_passable
from tui_tuner.problem.draft.kernel.guesses import outputs
from tui_tuner.problem.draft.kernel.order import appended, in_any_order
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.syntax import name_in

_MOST_LINES = 3
_RETURNED = "; what a function returns is not compared: let it write that to one"
_NO_NUMBERS = ("__nv_fp8_e8m0", "__nv_fp6_e2m3", "__nv_fp6_e3m2", "__nv_fp4_e2m1")
"""Types of numbers that no problem file has."""
_OF_THE_DEVICE = {
    r"cudaTextureObject_t|cudaSurfaceObject_t|texture|CUtexObject|CUsurfObject": (
        "which only a host can make",
        "read from an array instead, as in: const float *image, int width, with image[y * width + x] for tex2D() "
        "and image[i] for tex1Dfetch()",
    ),
    r"curandState\w*|curandGenerator_t": (
        "whose states only cuRAND makes",
        "make the state inside the kernel, by curand_init(), or pass an array of numbers that the host has drawn",
    ),
    r"image\w+_t|sampler_t": ("which only a host can make", "use an array instead, as in: image[y * width + x]"),
    r"(?:Generic)?PackedTensorAccessor\w*|TensorAccessor\w*|TensorInfo": (
        "which only PyTorch makes of a tensor",
        "pass x.data_ptr<T>() of that tensor as an array, and its extents as numbers, as in: const float *x, int rows, "
        "int columns, with x[i * columns + j] for x[i][j], rows for x.size(0), and x for x.data; or name the file with "
        "the launch that makes it: --host FILE",
    ),
    r"CUtensorMap": ("which only a host can make", "take the array itself, and make the map in the kernel"),
}
"""Types that no problem file can fill: why not, and what to write instead."""
_BOUND_BY_HOST = re.compile(
    r"^[ \t]*(?:static[ \t]+)?(?:texture|surface)[ \t]*<[^;{}]*>[ \t]*(?P<name>\w+)[ \t]*;", re.M
)
"""A texture that is no argument: the host binds it to an array by its name."""


def refuse_unusable(signature: KernelSignature, file: Path, code: str, language: Language, *, launched: bool) -> None:
    """Refuse a kernel that no launch of this program could be given its arguments, or be verified.

    Args:
        code: that of the source and of its headers, without comments.
        launched: whether a host's launch of it was read.

    Raises:
        ProblemError: with what to write instead.
    """
    for parameter in signature.parameters:
        if (why := _why_no_argument(parameter, signature, code, launched=launched)) is not None:
            message = f"argument '{parameter.name}' of {signature.name}() {why[0]}"
            raise ProblemError(message, hint=why[1], file=file, line=signature.line)
    _refuse_bound_textures(signature, file, code)
    _refuse_barriers_of_the_grid(signature, file)
    _refuse_any_order(signature, file, code)
    if not outputs(signature):
        message = f"{signature.name}() has no array to write to, so nothing could be verified"
        hint = "a pointer without const is an output" + _RETURNED * (language == "c")
        raise ProblemError(message, hint=hint, file=file, line=signature.line)


def _why_no_argument(
    parameter: KernelParameter, signature: KernelSignature, code: str, *, launched: bool
) -> tuple[str, str] | None:
    """Why no argument can be given for a parameter, and what to write instead; None where one can."""
    is_read = launched and parameter.members is not None  # as a view of PyTorch's, which only a launch tells of
    if not is_read and (unfillable := _why_unfillable(meant(parameter.type_text, code))) is not None:
        used = _lines_with(parameter.name, signature, code)
        return f"is of type {parameter.type_text}, {unfillable[0]}", f"{unfillable[1]}{used}"
    if (why := _why_no_structure(parameter, signature, code)) is not None or parameter.members is not None:
        return why
    written = (type_words(parameter.type_text) or [""])[0]
    if parameter.pointer and parameter.dtype is None and written in _NO_NUMBERS:
        hint = "make the kernel a template of this type, so that it can be tuned for half or float"
        return f"is of {written}, a type of numbers that no problem file has", hint
    fault = why_not_passable(parameter)
    return (fault, "write a kernel around it that takes arrays and scalars") if fault else None


def _why_unfillable(type_text: str) -> tuple[str, str] | None:
    """Why an argument of a type, whatever its namespace and template arguments, cannot be filled, and what to write."""
    words = [*(type_words(type_text) or [""])[:1], *re.findall(r"\w+", type_text.partition("<")[0])[-1:]]
    return next(
        (said for kinds, said in _OF_THE_DEVICE.items() if any(re.fullmatch(kinds, one) for one in words)), None
    )


def _is_function(parameter: KernelParameter, signature: KernelSignature) -> bool:
    """Whether the kernel calls a parameter whose type is its template's."""
    types = [name_in(text) for text in signature.template]
    called = re.search(rf"\b{re.escape(parameter.name or '?')}\s*\(", signature.body)
    return called is not None and not parameter.pointer and type_words(parameter.type_text) in [[one] for one in types]


def _why_no_structure(parameter: KernelParameter, signature: KernelSignature, code: str) -> tuple[str, str] | None:
    """Why a structure cannot be passed, and what to write instead; None for what is none, or can be."""
    name = parameter.name
    if parameter.members is None and _is_function(parameter, signature):
        there = (
            f"leave '{name}' out and begin the body with: TYPE {name};, with its type as the host has it for TYPE; "
            f"of a lambda, write the body in place of {name}(...) and take what it captures as arguments"
        )
        return f"is of type {parameter.type_text}, passed by value", there
    found = fields_of(parameter.type_text, code, "cuda")
    used = _members_used(name, signature)
    members = ", ".join(used) or "its members"
    there = f"take {members} as scalars and arrays in its place"
    if found is None and used and parameter.members is None and parameter.dtype is None and not parameter.pointer:
        reason = f"is of type {parameter.type_text}, passed by value, whose members no file here declares"
        return reason, f"{there}; or put the header that declares it beside the kernel"
    if parameter.pointer and parameter.members is None and isinstance(found, tuple):
        pointer = next((one.name for one in found if one.pointee), "")
        found = Unknown(pointer, "is a pointer", holds_pointer=True) if pointer else None
    if not isinstance(found, Unknown):
        return None
    if found.holds_pointer and "list of pointers" in found.reason:
        there = f"have fewer of them in it, or its extent as a number; else {there}"
        return f"is of type {parameter.type_text}, passed by value: {found.words()}", there
    if found.holds_pointer:
        reason = f"holds the device pointer '{found.member}', which only a host can set"
        where = f"in place of '{name}' and read them there" if parameter.pointer else f"in place of '{name}'"
        return reason, f"take {members} as arrays and scalars of the kernel's own {where}"
    if parameter.pointer:
        return None
    for kinds, (reason, instead) in _OF_THE_DEVICE.items():
        if re.fullmatch(rf"is of type (?:{kinds})", found.reason):
            there = f"leave '{name}' out, and {instead}"
            return f"is of type {parameter.type_text}, passed by value: {found.words()}, {reason}", there
    return f"is of type {parameter.type_text}, passed by value: {found.words()}", there


def _members_used(name: str, signature: KernelSignature) -> list[str]:
    """The members of a structure that the kernel's text names, each once."""
    found = re.findall(rf"\b{re.escape(name or '?')}\s*(?:\[[^\]]*\]\s*)?(?:\.|->)\s*(\w+)", signature.body)
    return list(dict.fromkeys(found))


def _lines_with(name: str, signature: KernelSignature, code: str) -> str:
    """Where the kernel uses an argument, as words to be added."""
    first, lines = signature.line, code.split("\n")
    last = first + signature.body.count("\n")
    found = [
        f"line {number}: {' '.join(line.split())}"
        for number, line in enumerate(lines[first:last], first + 1)
        if re.search(rf"\b{re.escape(name)}\b", line) and line in signature.body
    ]
    return f" ({'; '.join(found[:_MOST_LINES])})" if found else ""


def _refuse_bound_textures(signature: KernelSignature, file: Path, code: str) -> None:
    for found in _BOUND_BY_HOST.finditer(code):
        if re.search(rf"\b{found['name']}\b", signature.body):
            reason, instead = next(iter(_OF_THE_DEVICE.values()))
            message = f"{signature.name}() reads the texture '{found['name']}', {reason}, and CUDA 12 no longer has"
            raise ProblemError(message, hint=instead, file=file, line=code.count("\n", 0, found.start("name")) + 1)


def _refuse_barriers_of_the_grid(signature: KernelSignature, file: Path) -> None:
    body = signature.body
    grids = re.findall(r"\b(\w+)\s*(?:=|\()\s*(?:\w+\s*::\s*)*this_grid\s*\(", body)
    grid = "|".join((*map(re.escape, grids), r"this_grid\s*\(\s*\)"))
    if re.search(rf"\b(?:{grid})\s*\.\s*sync\s*\(|\bsync\s*\(\s*(?:\w+\s*::\s*)*(?:{grid})\s*\)", body):
        raise ProblemError(
            f"{signature.name}() waits for the whole grid, which only a cooperative launch lets it: none is made here",
            hint="make a kernel of what stands between two such barriers, and tune the one that takes longest",
            file=file,
            line=signature.line,
        )


def _refuse_any_order(signature: KernelSignature, file: Path, code: str) -> None:
    if (found := in_any_order(signature)) is not None and appended(signature) is None:
        named = len("".join(code.splitlines(keepends=True)[: signature.line - 1]))
        begins = code.count("\n", 0, code.index("{", named)) + 1
        raise ProblemError(
            f"'{found.array}' of {signature.name}() {found.how}, so that no two launches need agree in it",
            hint="tune a kernel that gives each thread elements of its own, and leave what gathers them to another; or "
            "one that reads what this one makes",
            file=file,
            line=begins + signature.body.count("\n", 0, found.place),
        )
