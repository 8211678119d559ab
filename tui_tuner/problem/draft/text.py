"""The text of a first problem file: each line with how sure it is and where it comes from."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.problem.draft.device_words import header_directories
from tui_tuner.problem.draft.drafted import DraftedLaunch
from tui_tuner.problem.draft.guesses import (
    AXES,
    DraftedConstant,
    array_shape,
    arrays_of_offsets,
    as_factor,
    block_values,
    dimensions,
    divided_by,
    is_written,
    most_threads,
    outputs,
    size_names,
    usual_block,
)
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL, ProposedFacts, ProposedFill
from tui_tuner.problem.draft.sizes import Amendments, DraftedSizes
from tui_tuner.problem.languages import COMPILED_LANGUAGES, LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelParameter, KernelSignature

_CHECK = "  # a guess: check"
_OF_USUAL = "  # as the host makes it of usual sizes: check"
_USUAL_FRACTIONS = {
    r"(?i:eps(?:ilon)?|tol(?:erance)?)": "1e-5",
    r"(?i:min|low).*|.*(?:_min|Min|_low|Low)": "-2.0",
    r"(?i:max|high).*|.*(?:_max|Max|_high|High)": "2.0",
}
"""What is taken for a scalar of such a name; most of the numbers that arrays are filled with lie between the bounds."""


@dataclass(frozen=True)
class Draft:
    """What the text of a problem file is written from.

    Attributes:
        source: the file's text.
        read: what the host's code says of the launch.
        launch: the same, completed by what is proposed.
    """

    file: Path
    source: str
    language: Language
    signature: KernelSignature
    name: str
    read: DraftedLaunch | None
    launch: DraftedLaunch | None
    sizes: DraftedSizes
    amendments: Amendments
    facts: ProposedFacts
    constants: Sequence[DraftedConstant] = ()

    def mark(self, name: str, proposed: Container[str]) -> str:
        """How sure a line is that the host's code does not say."""
        return FROM_THE_MODEL if name in proposed else _CHECK


def lines_of(draft: Draft) -> Iterator[str]:
    """The lines, without their ends."""
    signature, launch, file = draft.signature, draft.launch, draft.file
    yield f"# What tuner-tui needs to know about {signature.name}(), guessed from its text."
    yield "# Expressions stand in quotes and know + - * / // % **, comparisons, and, or, not, if,"
    yield "# min, max, abs, ceil and ceil_div."
    yield ""
    yield "[kernel]"
    yield f"source = {json.dumps(file.name, ensure_ascii=False)}"
    yield f"name = {json.dumps(draft.name)}{_CHECK if signature.template else ''}"
    if file.suffix not in LANGUAGES:
        yield f'language = "{draft.language}"'
    if places := header_directories(draft.source, file):
        yield f"compiler_options = {json.dumps([f'-I{one}' for one in places])}  # for the headers of its project"
    yield ""
    yield "[sizes]  # names for the expressions below, with the values that are timed"
    for name, value in draft.sizes.timed.items():
        given = None if draft.read is None else draft.read.sizes.get(name, draft.read.values.get(name))
        proposed = [name] if draft.facts.sizes.get(name) == value else []
        yield f"{name} = {value}{'  # as the host has it' if given == value else draft.mark(name, proposed)}"
    yield from _launch(signature, draft.language) if launch is None else _launch_as_given(draft, launch)
    yield from _arguments(draft)
    yield from _constants(draft)
    if launch is not None and launch.tunables:
        yield from _macros(launch)
    elif launch is not None and "block_size" in launch.keys:
        yield "# The kernel's own text fixes the block, so nothing is left to tune but that text."
    elif COMPILED_LANGUAGES[draft.language].has_blocks and not _own_block_names(signature):
        yield from _tunables(signature, launch)
    yield from _checks(draft)


def _launch_as_given(draft: Draft, launch: DraftedLaunch) -> Iterator[str]:
    yield ""
    where = f"as the host launches it in line {launch.line}" if draft.read else "the file launches it nowhere"
    yield f"[launch]  # {where}"
    keys = {"problem_size": _elements(draft.signature), **launch.keys}
    read = {} if draft.read is None else draft.read.keys
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}{'' if key in read else draft.mark(key, draft.facts.keys)}"


def _macros(launch: DraftedLaunch) -> Iterator[str]:
    yield ""
    what = "number of the template" if "block_size_x" in launch.template else "macros of the source"
    yield f"[tunables]  # {what} that make{'s' if what[0] == 'n' else ''} its block; takes these values in its place"
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


def _arguments(draft: Draft) -> Iterator[str]:
    written = _written(draft)
    for position, parameter in enumerate(draft.signature.parameters, 1):
        yield ""
        yield f"[[arguments]]  # {parameter.type_text}"
        yield f'name = "{parameter.name or f"argument_{position}"}"'
        if parameter.members is not None:
            yield from _members(parameter, draft)
            continue
        yield f'dtype = "{parameter.dtype or "float32"}"{"" if parameter.dtype else _CHECK}'
        if not parameter.pointer:
            value, said = _valued(parameter.name, parameter.name, parameter.dtype, draft)
            yield f"value = {value}{said}"
            continue
        extents, said = _shape(parameter, draft)
        yield f"shape = {json.dumps(extents)}{said}"
        proposed = draft.facts.fills.get(parameter.name)
        if parameter.name in written and not parameter.const:
            certain = is_written(parameter.name, draft.signature)
            said = "  # the text writes it" if certain else draft.mark(parameter.name, draft.facts.outputs)
            yield f"output = true{said}"
            in_part = parameter.name in draft.amendments.filled
            why = "the kernel writes it in part" if in_part else "the kernel seems to read it too"
            if proposed is not None and (in_part or written[parameter.name]):
                yield from _proposed_fill(proposed)
            elif in_part or written[parameter.name]:
                yield f'fill = "{_fill(parameter, draft)}"  # {why}: its content before each launch'
        elif draft.launch is not None and parameter.name in draft.launch.drawn:
            low, high = draft.launch.drawn[parameter.name]
            yield f'fill = "integers"\nlow = {low}\nhigh = {json.dumps(high)}  # as the host fills it'
        elif proposed is not None:
            yield from _proposed_fill(proposed)
        elif parameter.name in arrays_of_offsets(draft.signature):
            yield from _offsets(parameter, draft)
        elif _fill(parameter, draft) == "uniform":
            yield 'fill = "uniform"  # between 0 and 1, since negative numbers gave what is no number'


def _members(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    yield 'dtype = "struct"'
    if not parameter.members:
        yield "members = []  # by value; it has functions alone"
        return
    yield "members = [  # by value, in the order of its declaration"
    for member in parameter.members:
        names = [f"{member.name}[{index}]" for index in range(member.count)] if member.count else [member.name]
        said = [_valued(f"{parameter.name}.{name}", name, member.dtype, draft) for name in names]
        values = ", ".join(value for value, _ in said)
        keys = f'name = "{member.name}", dtype = "{member.dtype}", value = {f"[{values}]" if member.count else values}'
        more = f", alignment = {member.alignment}" if member.alignment else ""
        yield f"    {{ {keys}{more} }},{max((mark for _, mark in said), key=len)}"
    yield "]"


def _constants(draft: Draft) -> Iterator[str]:
    for one in draft.constants:
        yield ""
        yield "[[arguments]]  # constant memory that the host fills"
        yield f'name = "{one.name}"'
        yield f'dtype = "{one.dtype}"'
        yield f"shape = [{one.elements}]  # as it is declared"
        yield "constant = true"


def _proposed_fill(proposed: ProposedFill) -> Iterator[str]:
    yield f'fill = "{proposed.fill}"{FROM_THE_MODEL}'
    if proposed.low is not None:
        yield f"low = {json.dumps(proposed.low)}"
    if proposed.high is not None:
        yield f"high = {json.dumps(proposed.high)}"


def _written(draft: Draft) -> dict[str, bool]:
    """The arrays that are outputs, and whether the kernel seems to read them too.

    What the text writes is one for certain; where it writes none itself, what is proposed is.
    """
    read = outputs(draft.signature)
    writable = {one.name for one in draft.signature.parameters if one.pointer and not one.const}
    proposed = {name: name in draft.facts.fills for name in sorted(draft.facts.outputs & writable)}
    certain = {name: reads for name, reads in read.items() if is_written(name, draft.signature)}
    return {**proposed, **certain} or read


def _offsets(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """The fill of where something begins and ends: of parts of an array, where the kernel goes through these."""
    mark = "  # a guess, for the kernel reads where something begins and ends: check"
    divided = divided_by(parameter.name, draft.signature)
    among = next((one for one in draft.signature.parameters if one.name in divided), None)
    if among is None:
        yield f'fill = "arange"{mark}'
        return
    extents, _ = _shape(among, draft)
    yield 'fill = "offsets"'
    yield f"high = {json.dumps(' * '.join(as_factor(one, extents[1:]) for one in extents))}{mark}"


def _shape(parameter: KernelParameter, draft: Draft) -> tuple[list[str], str]:
    """The extents of an array, and what is said behind them."""
    launch, found, read = draft.launch, draft.amendments.shapes.get(parameter.name), draft.read
    width = f"{parameter.width} * " if parameter.width > 1 else ""
    if found is not None:
        return [found], "  # what the kernel as given touches, where it was run: check"
    if launch is not None and parameter.name in launch.shapes:
        known = read is not None and parameter.name in read.shapes
        said = "  # as the host allocates it" if known else FROM_THE_MODEL
        return [width + as_factor(launch.shapes[parameter.name], width)], said
    elements = ""
    if launch is not None and "problem_size" in launch.keys:
        elements = " * ".join(as_factor(_in_elements(one, launch), "*") for one in launch.keys["problem_size"])
    return array_shape(draft.signature, parameter, elements), _CHECK


def _in_elements(threads: str, launch: DraftedLaunch) -> str:
    """A count of threads as one of elements: for the host's own block, and without a thread more than there are."""
    for name, number in launch.defaults.items():
        threads = re.sub(rf"\b{name}\b", str(number), threads)
    more = re.fullmatch(r"(\w+) \+ 1", threads)
    return more[1] if more and more[1] in launch.sizes else threads


def _valued(key: str, name: str, dtype: str | None, draft: Draft) -> tuple[str, str]:
    """The value of a scalar or a member of a structure, and how sure that is."""
    value = None if draft.launch is None else draft.launch.values.get(key)
    if draft.launch is not None and value is not None:
        known = draft.read is not None and key in draft.read.values
        if known and key in draft.launch.usual:
            return json.dumps(value), _OF_USUAL if isinstance(value, float) else _CHECK
        return json.dumps(value), "  # as the host passes it" if known else FROM_THE_MODEL
    if name in draft.sizes.timed:
        return f'"{name}"', ""
    is_float = dtype is None or dtype.startswith("float")
    usual = next((number for words, number in _USUAL_FRACTIONS.items() if re.fullmatch(words, name)), "1.5")
    return usual if is_float else "1", _CHECK


def _fill(parameter: KernelParameter, draft: Draft) -> str:
    if parameter.dtype is not None and not parameter.dtype.startswith("float"):
        return "integers"
    return "uniform" if draft.amendments.positive else "normal"


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


def _checks(draft: Draft) -> Iterator[str]:
    sizes = draft.sizes
    yield ""
    yield "[[tests]]  # other sizes at which results are checked; best are some that no block size divides"
    yield f"sizes = {_inline(sizes.tested)}{_CHECK}"
    for test in draft.facts.tests:
        yield "[[tests]]"
        yield f"sizes = {_inline(test)}  # the model's, run on the emulator"
    if COMPILED_LANGUAGES[draft.language].has_emulator:
        yield ""
        yield "[emulator]  # smaller sizes for machines without a GPU"
        yield f"sizes = {_inline(sizes.emulated)}"
        if draft.launch is not None and draft.launch.stated:
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
    first = next(iter(draft.sizes.timed), "1")
    said = {"flops": draft.facts.flops, "bytes": draft.facts.bytes}
    hidden = "" if any(said.values()) else "# "
    yield f"{hidden}[work]  # of one launch, for the roofline"
    for (key, text), usual in zip(said.items(), (f"2 * {first}", f"8 * {first}"), strict=True):
        yield f"{key} = {json.dumps(text)}{FROM_THE_MODEL}" if text else f'# {key} = "{usual}"'


def _inline(sizes: Mapping[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + " }"
