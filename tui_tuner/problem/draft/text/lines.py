"""The text of a first problem file: each line with how sure it is and where it comes from."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.draft.arithmetic.worked_out import value_in
from tui_tuner.problem.draft.drafted_launch import MOST_THREADS, DraftedLaunch, TunedSpace
from tui_tuner.problem.draft.host.build_options import CPP_20
from tui_tuner.problem.draft.kernel.device_words import header_directories
from tui_tuner.problem.draft.kernel.extents import elements_along
from tui_tuner.problem.draft.kernel.guesses import (
    AXES,
    as_factor,
    block_values,
    counted_axes,
    is_guarded,
    most_threads,
    usual_block,
)
from tui_tuner.problem.draft.kernel.shared_arrays import threads_held
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL
from tui_tuner.problem.draft.text.arguments import argument_lines
from tui_tuner.problem.draft.text.draft import CHECK, Draft
from tui_tuner.problem.draft.text.shapes import moved_once
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import DIRECTIVE, code_only
from tui_tuner.problem.tunables import why_no_tunable

_LEFT_TO_BUILDS = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[ \t]*\n[ \t]*#[ \t]*define[ \t]+\1[ \t]+\(?(\d{1,6})\)?[ \t]*$", re.MULTILINE
)
_ASKED = re.compile(r"^[ \t]*#[ \t]*(?:el)?if[ \t]+([^\n]*)", re.MULTILINE)
_FACTORS = (4, 2)
"""Values to try are the source's own number divided and multiplied by these."""


def lines_of(draft: Draft) -> Iterator[str]:
    """The lines, without their ends."""
    signature, launch, file = draft.signature, draft.launch, draft.file
    yield f"# What tuner-tui needs to know about {signature.name}(), guessed from its text."
    yield "# Expressions stand in quotes and know + - * / // % **, comparisons, and, or, not, if,"
    yield "# min, max, abs, ceil and ceil_div."
    yield ""
    yield "[kernel]"
    yield f"source = {json.dumps(file.name, ensure_ascii=False)}"
    yield f"name = {json.dumps(draft.name)}{CHECK if signature.template else ''}"
    if file.suffix not in LANGUAGES:
        yield f'language = "{draft.language}"'
    own = file.parent.resolve()
    places = [f"-I{os.path.relpath(one, own)}" for one in header_directories(draft.source, file)]
    if options := [*places, *draft.options]:
        yield f"compiler_options = {json.dumps(options)}{_said_of_options(draft)}"
    yield ""
    yield "[sizes]  # names for the expressions below, with the values that are timed"
    for name, value in draft.sizes.timed.items():
        yield f"{name} = {value}{_said_of_size(name, value, draft)}"
    yield from _launch_as_given(draft) if draft.is_launched else _launch(signature, draft.language)
    yield from argument_lines(draft)
    if launch.space is not None:
        yield from _space(launch.space, is_checked=not draft.parts)
    elif launch.tunables:
        yield from _macros(launch)
    elif "block_size" in launch.keys:
        yield "# The kernel's own text fixes the block, so nothing is left to tune but that text."
    elif COMPILED_LANGUAGES[draft.language].has_blocks and not _own_block_names(signature):
        yield from _tunables(draft)
    elif not COMPILED_LANGUAGES[draft.language].has_blocks:
        yield from _own_macros(draft)
    yield from _checks(draft)


def _said_of_options(draft: Draft) -> str:
    if draft.proposed_macros:
        return FROM_THE_MODEL
    if draft.supposed_macros:
        return f"  # {', '.join(sorted(draft.supposed_macros))}, without which it has no kernel: check"
    if draft.options and not {*draft.options} - {CPP_20}:
        return "  # which the kernel is written in"
    return f"  # {'as the host builds it' if draft.options else 'for the headers of its project'}"


def _said_of_size(name: str, value: int, draft: Draft) -> str:
    given = draft.read.sizes.get(name, draft.read.values.get(name))
    if given == value:
        return "  # as the host has it"
    if isinstance(given, int) and given < value:
        return f"  # a guess, for the host's {given} is too small to be timed: check"
    return draft.mark(name, [name] if draft.facts.sizes.get(name) == value else [])


def _launch_as_given(draft: Draft) -> Iterator[str]:
    launch = draft.launch
    yield ""
    where = f"as the host launches it in line {launch.line}" if launch.line else "the file launches it nowhere"
    where = f"as a comment launches it in line {launch.comment_line}" if launch.comment_line else where
    if launch.line and not draft.read.keys:
        where = f"the host's launch in line {launch.line} is too small to be timed"
    usual = "; the device says how many blocks, here a usual number is taken: check" if launch.of_device else ""
    yield f"[launch]  # {where}{usual}"
    keys = {"problem_size": elements_along(draft.signature), **launch.keys}
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}{'' if key in draft.read.keys else draft.mark(key, draft.facts.keys)}"


def _macros(launch: DraftedLaunch) -> Iterator[str]:
    yield ""
    of_template = "numbers" if "block_size_y" in launch.template else "number"
    what = f"{of_template} of the template" if "block_size_x" in launch.template else "macros of the source"
    made = "its block" if launch.tunables.keys() <= set(launch.keys["block_size"]) else "its block and what that takes"
    makes = "makes" if what.startswith("number ") else "make"
    yield f"[tunables]  # {what} that {makes} {made}; takes these values in its place"
    yield from (f"{name} = {values}{CHECK}" for name, values in launch.tunables.items())
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    yield from (f"{name} = {value}" for name, value in launch.defaults.items())
    yield ""
    yield "[search]  # what every configuration must satisfy"
    yield f'restrictions = ["{" * ".join(launch.keys["block_size"])} <= 1024"]'


def _own_macros(draft: Draft) -> Iterator[str]:
    """Of a function without blocks the macros that it has for builds to set."""
    found = _macros_for_builds(draft.source, draft.signature, draft.language)
    yield ""
    if found:
        yield "[tunables]  # macros that the source leaves to a build (#ifndef); its own value is the first"
    else:
        yield "# Nothing is there to tune: put numbers that may change into macros, with #ifndef around each #define,"
        yield "# and name them with values: [tunables], TILE = [16, 32, 64]. A model can rewrite the function as it is."
    yield from (f"{name} = {values}{CHECK}" for name, values in found.items())


def _macros_for_builds(source: str, signature: KernelSignature, language: Language) -> dict[str, list[int]]:
    """Macros that the code uses, each with values to try around the source's own, which is the first of them.

    One that says how long an array is that the kernel is given is none.
    """
    code = code_only(source)
    used = {*re.findall(r"\w+", " ".join([DIRECTIVE.sub("", code), *_ASKED.findall(code)]))}
    taken = {signature.name, *(one.name for one in signature.parameters)}
    taken |= {word for one in signature.parameters for word in re.findall(r"\w+", one.type_text)}
    found = {name: int(number) for name, number in _LEFT_TO_BUILDS.findall(code) if name in used - taken}
    return {name: _values_around(own) for name, own in found.items() if why_no_tunable(name, language) is None}


def _values_around(own: int) -> list[int]:
    """A number of the source, and others: a switch is on or off, anything else is halved and doubled."""
    if own == 0:
        return [0, 1]
    return list(
        dict.fromkeys([own, *(own // by for by in _FACTORS if own >= by), *(own * by for by in _FACTORS[::-1])])
    )


def _space(space: TunedSpace, *, is_checked: bool) -> Iterator[str]:
    """What a script varies.

    Args:
        is_checked: whether outputs are checked element by element; else what it verifies is what parts come to.
    """
    left = [one for one in space.left if is_checked or not one.startswith("verify = ")]
    yield ""
    is_varied = any(len(values) > 1 for values in space.tunables.values())
    how = "has kernel_tuner vary them" if is_varied else "has kernel_tuner run it, with no other value,"
    yield f"[tunables]  # as the host's script {how} in line {space.line}"
    yield from (f"{name} = {json.dumps(list(values))}" for name, values in space.tunables.items())
    yield from (f"# not taken over: {' '.join(one.split())}" for one in left)
    if space.defaults:
        yield ""
        yield "[defaults]  # the source's own numbers, else the first that the restrictions allow"
        yield from (f"{name} = {json.dumps(value)}" for name, value in space.defaults.items())
    if space.restrictions:
        yield ""
        yield "[search]  # what every configuration must satisfy, as the script says it"
        yield f"restrictions = {json.dumps(list(space.restrictions))}"


def _launch(signature: KernelSignature, language: Language) -> Iterator[str]:
    yield ""
    yield "[launch]  # elements along x, y, z; blocks cover them, by block size unless grid_div_x says"
    if not COMPILED_LANGUAGES[language].has_blocks:
        yield "problem_size = [1]"
        return
    yield f"problem_size = {json.dumps(elements_along(signature))}{CHECK}"
    if (shared := _shared_of_threads(signature)) is not None:
        yield f"shared_memory = {json.dumps(shared)}{CHECK}"
    if _own_block_names(signature):
        yield f"block_size = {json.dumps(usual_block(signature))}{CHECK}"


def _shared_of_threads(signature: KernelSignature) -> str | None:
    """The bytes of dynamic shared memory, of which nobody says how many: an element for each thread of a block."""
    declared = re.search(r"\bextern\s+__shared__\s+(?:__align__\s*\(\d+\)\s*)?([\w ]+?)\s*\w+\s*\[", signature.body)
    if declared is None:
        return None
    dtype, width = dtype_of(declared[1], "cuda", {})
    nbytes = width * dtype_named(dtype or "float32").itemsize
    axes = AXES[: len(block_values(signature))]
    return " * ".join([str(nbytes), *(f"block_size_{axis}" for axis in axes)])


def _own_block_names(signature: KernelSignature) -> bool:
    """Whether the kernel uses the names of the block's tunables for arguments of its own."""
    names = {parameter.name for parameter in signature.parameters}
    return any(f"block_size_{axis}" in names for axis in AXES)


def _tunables(draft: Draft) -> Iterator[str]:
    signature, launch = draft.signature, draft.launch
    given, most = launch.defaults, min(most_threads(signature), launch.most_threads)
    values = block_values(signature) if given else _within_arrays(draft, block_values(signature))
    names = [f"block_size_{axis}" for axis in AXES[: len(values)]]
    unasked = [name for axis in AXES[len(values) :] if given.get(name := f"block_size_{axis}", 1) > 1]
    start = _start(draft) if not given else [given.get(name, 1) for name in names + unasked]
    choices = [[one for one in choice if one <= most] for choice in [*values, *([1] for _ in unasked)]]
    names += unasked
    whole = _divided_without_rest(draft)
    choices = [_dividing(choice, whole.get(axis, ())) for axis, choice in enumerate(choices)]
    start = [
        max(one for one in choice if one <= own)
        if whole.get(axis) and not all(n % own == 0 for n in whole[axis])
        else own
        for axis, (choice, own) in enumerate(zip(choices, start, strict=True))
    ]
    yield ""
    divide = "; those that divide the work-items" if any(whole.values()) else ""
    yield f"[tunables]  # values to try{divide}; each becomes a macro of this name for the compiler"
    for name, choice, own in zip(names, choices, start, strict=True):
        said = ", for the kernel tells no threads apart by it" if name in unasked else ""
        yield f"{name} = {sorted({*choice, own})}{CHECK}{said}"
    yield ""
    yield "[defaults]  # the configuration of the kernel as it is"
    said = "" if given else CHECK
    yield from (f"{name} = {value}{said}" for name, value in zip(names, start, strict=True))
    if len(names) > 1:
        yield ""
        yield "[search]  # what every configuration must satisfy"
        yield f'restrictions = ["{" * ".join(names)} <= {most}"]'


def _within_arrays(draft: Draft, values: Sequence[Sequence[int]]) -> list[list[int]]:
    """The extents of a block of which no thread is beyond an array that has an element for each."""
    held = _threads_held(draft)
    most = [held.get(axis, MOST_THREADS) for axis in AXES[: len(values)]]
    return [[one for one in choice if one <= end] or [end] for choice, end in zip(values, most, strict=True)]


def _start(draft: Draft) -> list[int]:
    """The block to start from: the usual one, or as many threads as the block's arrays have elements for."""
    held, usual = _threads_held(draft), usual_block(draft.signature)
    found = [held.get(axis, own) for axis, own in zip(AXES, usual, strict=False)]
    return found if math.prod(found) <= most_threads(draft.signature) else usual


def _threads_held(draft: Draft) -> dict[str, int]:
    """How many threads along an axis have an element in the block's arrays; a power of two, as rows may be padded."""
    held = threads_held(draft.signature.body, draft.number)
    return {axis: 2 ** (count.bit_length() - 1) for axis, count in held.items()}


def _divided_without_rest(draft: Draft) -> dict[int, list[int]]:
    """The work-items along axes of OpenCL at which no more may run, at the sizes that are timed and tested.

    So it is where a kernel counts them, and along all axes where nothing in it asks whether there is work for one.
    """
    counted = counted_axes(draft.signature)
    if draft.language != "opencl" or is_guarded(draft.signature):
        return {}
    texts = draft.launch.problem_size or elements_along(draft.signature)
    beyond = range(len(texts), len(AXES)) if draft.launch.problem_size else ()
    found = {axis: [1] for axis in beyond}
    for axis, text in enumerate(texts):
        items = [value_in(text, sizes) for sizes in (draft.sizes.timed, draft.sizes.tested)]
        is_divided = f"grid_div_{AXES[axis]}" not in draft.launch.keys and (not counted or axis in counted)
        if is_divided and all(isinstance(one, int | float) and one == int(one) > 0 for one in items):
            found[axis] = [int(one) for one in items if isinstance(one, int | float)]
    return found


def _dividing(choice: Sequence[int], items: Sequence[int]) -> list[int]:
    """The extents of a block that divide all these counts of work-items; smaller ones where a draft has too few."""
    if not items:
        return [*choice]
    found = [one for one in choice if all(count % one == 0 for count in items)]
    return found if len(found) > 1 else [one for one in (1, 2, 4, 8, *found) if all(n % one == 0 for n in items)]


def _checks(draft: Draft) -> Iterator[str]:
    sizes = draft.sizes
    yield ""
    yield "[[tests]]  # other sizes at which results are checked; best are some that no block size divides"
    yield f"sizes = {_inline(sizes.tested)}{CHECK}"
    for test in draft.facts.tests:
        yield ""
        yield "[[tests]]"
        yield f"sizes = {_inline(test)}  # the model's, run on the emulator"
    if COMPILED_LANGUAGES[draft.language].has_emulator:
        if sizes.emulated_test != sizes.tested and not draft.launch.stated:
            yield ""
            yield "[[tests]]"
            yield f"sizes = {_inline(sizes.emulated_test)}  # the emulator's"
        yield ""
        yield "[emulator]  # smaller sizes for machines without a GPU"
        yield f"sizes = {_inline(sizes.emulated)}"
        if draft.launch.stated:
            macros = {name: sizes.emulated[size] for size, name in draft.launch.stated.items()}
            yield f"macros = {_inline(macros)}  # what the source states as larger numbers"
        if sizes.emulated_test:
            tests = [sizes.emulated_test, *draft.facts.tests]
            yield f"tests = [{', '.join(f'{{ sizes = {_inline(one)} }}' for one in tests)}]"
        else:
            yield "tests = []  # the size that is timed is the only one, and checked too"
    yield ""
    yield from _work(draft)
    yield ""
    yield "# [reference]  # a NumPy function that takes all arguments by name and returns the outputs;"
    yield f'# python = "reference.py:{draft.signature.name}"  # without it the kernel as it is says what is right'


def _work(draft: Draft) -> Iterator[str]:
    axes = draft.launch.problem_size
    threads = " * ".join(as_factor(one, axes[1:]) for one in axes) or next(iter(draft.sizes.timed), "1")
    said = {"flops": draft.facts.flops, "bytes": draft.facts.bytes}
    hidden = "" if any(said.values()) else "# "
    yield f"{hidden}[work]  # of one launch, for the roofline"
    usual = {"flops": f"2 * {as_factor(threads, '*')}", "bytes": moved_once(draft)}
    meant = {"flops": "two for each thread: how many are they really?", "bytes": "each array once, or read and written"}
    for key, text in said.items():
        own = f"{key} = {json.dumps(text)}{FROM_THE_MODEL}"
        yield own if text else f'# {key} = "{usual[key]}"  # {meant[key]}'


def _inline(sizes: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + " }"
