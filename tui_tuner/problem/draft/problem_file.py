"""A first problem file for a kernel, guessed from its signature and commented for the user to correct."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Unknown, fields_of
from tui_tuner.problem.c_types import type_words
from tui_tuner.problem.check_arguments import why_not_passable
from tui_tuner.problem.conditionals import active_source
from tui_tuner.problem.draft.build_options import build_options, options_of_scripts
from tui_tuner.problem.draft.constants import DraftedConstant, drafted_constants
from tui_tuner.problem.draft.device_words import header_directories, local_headers, text_of_headers
from tui_tuner.problem.draft.draft import Draft
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.guesses import (
    extents_of,
    is_guarded,
    loops_of,
    outputs,
    size_names,
    template_arguments,
    work_of,
)
from tui_tuner.problem.draft.host_script import host_in_c
from tui_tuner.problem.draft.launch import drafted_launch
from tui_tuner.problem.draft.order import in_any_order
from tui_tuner.problem.draft.proposed_facts import ProposedFacts, completed
from tui_tuner.problem.draft.reach import reached_by
from tui_tuner.problem.draft.sizes import Amendments, DraftedSizes, apart, drafted_sizes
from tui_tuner.problem.draft.small_sizes import named_few
from tui_tuner.problem.draft.text import lines_of
from tui_tuner.problem.draft.tuned_space import with_space
from tui_tuner.problem.draft.understood import understood
from tui_tuner.problem.draft.unfillable import NO_NUMBERS, OF_THE_DEVICE, why_unfillable
from tui_tuner.problem.host_code import device_code, refuse_text
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature, find_kernel, find_kernels
from tui_tuner.problem.syntax import MOST_BYTES, code_only, name_in

NO_AMENDMENTS = Amendments()
_MOST_LINES = 3
_HEADERS = (".cuh", ".h", ".hpp", ".inl")


def scaffold(
    source_path: Path,
    kernel: str | None,
    amendments: Amendments = NO_AMENDMENTS,
    host: Path | None = None,
    facts: ProposedFacts | None = None,
) -> str:
    """The text of a problem file for a kernel; it loads as it is.

    Args:
        source_path: the kernel's file.
        kernel: which kernel, where the file has several.
        amendments: what running an earlier draft said.
        host: another file with the host's code, where it does not stand in the kernel's.
        facts: what a model proposes where the rules are not certain.

    Raises:
        ProblemError: the file cannot be read, holds no kernel that can be launched, or several and none is named.
    """
    language = known_language(source_path)
    source = _source_of(source_path)
    hosts = text_of(host, "name the file that launches the kernel") if host else ""
    hosts, spaces = host_in_c(hosts, language, source) if host and host.suffix == ".py" else (hosts, {})
    options = list(dict.fromkeys(option for space in spaces.values() for option in space.options))
    built = build_options(source, hosts) if language == "opencl" else options_of_scripts(options)
    source = active_source(source, built.macros)
    name = _chosen_name(source, language, kernel, source_path)
    try:
        signature = find_kernel(source, language, name)
    except ProblemError as error:
        raise ProblemError(error.message, hint=error.hint, file=source_path) from None
    code = f"{code_only(source)}\n{text_of_headers(source, source_path, built.macros)}"
    signature = understood(signature, source, code, language, name.removeprefix(signature.name))
    read = None
    if COMPILED_LANGUAGES[language].has_blocks:
        read = drafted_launch(source, signature, source_path, language, hosts, stated_too=amendments.stated_too)
    if read is not None and read.template and kernel in (None, signature.name):
        name = signature.name + read.template
        typed = find_kernel(source, language, name)
        if typed.parameters != signature.parameters:  # types that the template leaves open are the host's
            signature = understood(typed, source, code, language, read.template)
            read = drafted_launch(source, signature, source_path, language, hosts, stated_too=amendments.stated_too)
    read = with_space(read, spaces.get(signature.name), source, language)
    _refuse_unusable(signature, source_path, code, language)
    launch = completed(read, facts)
    reached = reached_by(signature, launch)
    if launch is not None:
        said = {name: text for name, text in launch.shapes.items() if name not in launch.supposed & reached.keys()}
        launch = replace(launch, shapes=said)
    spread = launch and replace(launch, shapes={**reached, **launch.shapes})
    sizes = _sizes_of(signature, spread, amendments, language)
    constants = _constants(source + "\n" + hosts, source_path, name, language)
    given = built.without({} if launch is None else launch.tunables)
    known = (source_path, source, language, signature, name, read, launch, sizes, amendments)
    draft = Draft(*known, facts or ProposedFacts(), constants, given, reached)
    return "\n".join(lines_of(draft)) + "\n"


def _constants(code: str, file: Path, kernel: str, language: Language) -> list[DraftedConstant]:
    """The constant memory that a host fills and that this kernel, or a function that it calls, reads."""
    if language != "cuda":
        return []
    headers = [text_of(header) for header in local_headers(code, file)]
    words = re.findall(r"\w+", code_only(device_code(code, tuple(header_directories(code, file)), kernel)))
    return [one for one in drafted_constants(code, headers) if words.count(one.name) > 1]


def ranked_kernels(source_path: Path) -> list[str]:
    """The kernels of a file, those first that seem to do the most work; those launched in a single block come last."""
    language = language_of(source_path)
    if language is None:
        return []
    source = _source_of(source_path)
    code = code_only(source)

    def is_small(name: str) -> bool:
        grids = re.findall(rf"\b{re.escape(name)}\s*(?:<[^<>]*>)?\s*<<<\s*(?:dim3\s*\(\s*)?(\w+)", code)
        return bool(grids) and set(grids) == {"1"}

    found = sorted(find_kernels(source, language), key=lambda one: (is_small(one.name), -work_of(one)))
    return [one.name for one in found]


def language_of(file: Path) -> Language | None:
    """The language that a file's ending says; CUDA for a header too."""
    return "cuda" if file.suffix in _HEADERS else LANGUAGES.get(file.suffix)


def known_language(file: Path) -> Language:
    """The language that a file's ending says.

    Raises:
        ProblemError: it says none, or another than the file is in; with what to do.
    """
    refuse_text(file)
    if (language := language_of(file)) is not None:
        return language
    if file.suffix == ".py":
        raise ProblemError(f"{file} needs no problem file", hint=f"kernels in Python are tuned by: tuner-tui {file}")
    raise ProblemError(f"the ending of {file} says no language", hint=f"known endings: {', '.join(LANGUAGES)}")


def file_of_kernels(file: Path) -> Path:
    """The file, or the first header beside it that it includes and that has kernels, where it has none itself."""
    if language_of(file) != "cuda" or not file.is_file() or ranked_kernels(file):
        return file
    headers = [one for one in local_headers(text_of(file), file) if one.suffix in _HEADERS]
    return next((one for one in headers if ranked_kernels(one)), file)


def _source_of(file: Path) -> str:
    source = text_of(file)
    if len(source.encode()) > MOST_BYTES:
        message = f"the source is longer than {MOST_BYTES // 1024} KiB, which is not built"
        raise ProblemError(message, hint="take out of it what this kernel does not need", file=file)
    return source


def text_of(file: Path, instead: str = "give a kernel's file") -> str:
    """The text of a source file.

    Raises:
        ProblemError: it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise ProblemError(f"{file} cannot be read: {error.strerror}", hint=instead) from None
    except UnicodeDecodeError:
        if b"\0" in file.read_bytes():
            raise ProblemError("this is no text, but a binary file", hint=instead, file=file) from None
        hint = f"save it as UTF-8, as by: iconv -f latin1 -t utf-8 {file.name}"
        raise ProblemError("this is not UTF-8 text", hint=hint, file=file) from None


def _sizes_of(
    signature: KernelSignature, launch: DraftedLaunch | None, amendments: Amendments, language: Language
) -> DraftedSizes:
    if launch is not None and "problem_size" in launch.keys:
        return drafted_sizes(launch, signature, amendments, has_emulator=COMPILED_LANGUAGES[language].has_emulator)
    arrays = [one for one in signature.parameters if one.pointer]
    if all("[" in one.type_text for one in arrays) and not any(
        one.dtype for one in signature.parameters if one not in arrays
    ):
        return DraftedSizes({}, {}, {}, {})  # no array could be another size
    extents = extents_of(signature, amendments.doublings)
    fixed = () if launch is None else [name for name, value in launch.values.items() if not isinstance(value, str)]
    names = [name for name in size_names(signature) if name not in fixed] or ["n"]
    names += () if launch is None else launch.sizes
    given = {name: few for name in names for few in named_few(name)}
    given |= {} if launch is None else {name: number for name, number in launch.sizes.items() if number is not None}
    timed, tested = extents.timed, extents.tested
    emulated = max(16, extents.emulated >> amendments.halvings)
    if not COMPILED_LANGUAGES[language].has_emulator:  # what takes long does so at the sizes that are timed
        halvings = amendments.halvings + max(0, loops_of(signature) - 2)
        timed = max(16, timed >> halvings)
        tested = timed if amendments.tested == "same" else max(15, tested >> halvings)
    values = (timed, tested, emulated, max(15, extents.emulated_test >> amendments.halvings))
    found = [{name: min(value, given.get(name, value)) for name in names} for value in values]
    if amendments.tested == "apart":
        halved = () if is_guarded(signature) else names
        found[1::2] = (apart(one, given, halved) for one in found[1::2])
    return DraftedSizes(*found)


def _chosen_name(source: str, language: Language, kernel: str | None, file: Path) -> str:
    """The kernel's name with arguments for its template parameters."""
    found = {signature.name: signature for signature in find_kernels(source, language)}
    if kernel is None and len(found) > 1:
        hint = f"choose one with --kernel NAME: {', '.join(found)}"
        raise ProblemError(f"there are {len(found)} kernels in this file", hint=hint, file=file)
    name = next(iter(found), "") if kernel is None else kernel
    return name + template_arguments(found[name], source) if name in found else name


def _is_function(parameter: KernelParameter, signature: KernelSignature) -> bool:
    """Whether the kernel calls a parameter whose type is its template's."""
    types = [name_in(text) for text in signature.template]
    called = re.search(rf"\b{re.escape(parameter.name or '?')}\s*\(", signature.body)
    return called is not None and not parameter.pointer and type_words(parameter.type_text) in [[one] for one in types]


_RETURNED = "; what a function returns is not compared: let it write that to one"


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
    if parameter.pointer and parameter.members is None and isinstance(found, tuple):
        pointer = next((one.name for one in found if one.pointee), "")
        found = Unknown(pointer, "is a pointer", holds_pointer=True) if pointer else None
    if not isinstance(found, Unknown):
        return None
    used = list(
        dict.fromkeys(re.findall(rf"\b{re.escape(name)}\s*(?:\[[^\]]*\]\s*)?(?:\.|->)\s*(\w+)", signature.body))
    )
    members = ", ".join(used) or "its members"
    there = f"take {members} as scalars and arrays in its place"
    if found.holds_pointer and "list of pointers" in found.reason:
        there = f"have fewer of them in it, or its extent as a number; else {there}"
        return f"is of type {parameter.type_text}, passed by value: {found.words()}", there
    if found.holds_pointer:
        reason = f"holds the device pointer '{found.member}', which only a host can set"
        where = f"in place of '{name}' and read them there" if parameter.pointer else f"in place of '{name}'"
        return reason, f"take {members} as arrays and scalars of the kernel's own {where}"
    if parameter.pointer:
        return None
    for kinds, (reason, instead) in OF_THE_DEVICE.items():
        if re.fullmatch(rf"is of type (?:{kinds})", found.reason):
            there = f"leave '{name}' out, and {instead}"
            return f"is of type {parameter.type_text}, passed by value: {found.words()}, {reason}", there
    return f"is of type {parameter.type_text}, passed by value: {found.words()}", there


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
    if (found := in_any_order(signature)) is not None:
        named = len("".join(code.splitlines(keepends=True)[: signature.line - 1]))
        begins = code.count("\n", 0, code.index("{", named)) + 1
        raise ProblemError(
            f"'{found.array}' of {signature.name}() {found.how}, so that no two launches need agree in it",
            hint="tune a kernel that gives each thread elements of its own, and leave what gathers them to another; or "
            "one that reads what this one makes",
            file=file,
            line=begins + signature.body.count("\n", 0, found.place),
        )


def _refuse_unusable(signature: KernelSignature, file: Path, code: str, language: Language) -> None:
    def refused(parameter: KernelParameter, reason: str, hint: str) -> ProblemError:
        message = f"argument '{parameter.name}' of {signature.name}() {reason}"
        return ProblemError(message, hint=hint, file=file, line=signature.line)

    for parameter in signature.parameters:
        written = (type_words(parameter.type_text) or [""])[0]
        if (unfillable := why_unfillable(parameter.type_text)) is not None:
            used = _lines_with(parameter.name, signature, code)
            raise refused(parameter, f"is of type {parameter.type_text}, {unfillable[0]}", f"{unfillable[1]}{used}")
        if why := _why_no_structure(parameter, signature, code):
            raise refused(parameter, *why)
        if parameter.members is not None:
            continue
        if parameter.pointer and parameter.dtype is None and written in NO_NUMBERS:
            hint = "make the kernel a template of this type, so that it can be tuned for half or float"
            raise refused(parameter, f"is of {written}, a type of numbers that no problem file has", hint)
        if fault := why_not_passable(parameter):
            raise refused(parameter, fault, "write a kernel around it that takes arrays and scalars")
    _refuse_barriers_of_the_grid(signature, file)
    _refuse_any_order(signature, file, code)
    if not outputs(signature):
        message = f"{signature.name}() has no array to write to, so nothing could be verified"
        hint = "a pointer without const is an output" + _RETURNED * (language == "c")
        raise ProblemError(message, hint=hint, file=file, line=signature.line)
