"""The arguments in the text of a first problem file: shapes and values, each with how sure it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from tui_tuner.problem.by_value import Field, structure_bytes
from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.arithmetic.worked_out import extents_of, fraction
from tui_tuner.problem.draft.host.members import declared_default
from tui_tuner.problem.draft.kernel.guesses import (
    AXES,
    as_factor,
    counts_blocks,
    dimensions,
    is_written,
)
from tui_tuner.problem.draft.kernel.usual_numbers import (
    usual_fraction,
    usual_plain_number,
)
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL
from tui_tuner.problem.draft.sizes.small import BETWEEN_ROWS
from tui_tuner.problem.draft.text.draft import CHECK, Draft
from tui_tuner.problem.draft.text.fills import content_before, fill_of_constant, fill_of_input, usual_fill
from tui_tuner.problem.draft.text.shapes import extents_said, parts_of_list, passed
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.signature import KernelParameter
from tui_tuner.problem.syntax import code_only

_OF_USUAL = "  # as the host makes it of usual sizes: check"
_WIDTH = re.compile(r"(?i)w|width|cols|columns?|nx|size_?x")
_OF_BYTES = re.compile(
    r"[<(]\s*(?:const\s+)?(?:unsigned\s+)?(?:char|uint8_t|std::byte|uchar)\s*(?:const\s*)?\*\s*(?:const\s*)?>?\s*[)(]"
)
"""A pointer taken for one to bytes."""


def argument_lines(draft: Draft) -> Iterator[str]:
    """The tables of the arguments, without the ends of lines."""
    yield from _arguments(draft)
    yield from _constants(draft)


def _arguments(draft: Draft) -> Iterator[str]:
    for position, parameter in enumerate(draft.signature.parameters, 1):
        yield ""
        behind = f", which {parameter.behind} points to" if parameter.behind else ""
        yield f"[[arguments]]  # {parameter.type_text}{behind}"
        yield f'name = "{parameter.name or f"argument_{position}"}"'
        if parameter.members is None:
            yield f'dtype = "{parameter.dtype or "float32"}"{"" if parameter.dtype else CHECK}'
        if parameter.members is not None and parameter.pointer:
            yield from _structures(parameter, parameter.members, draft)
        elif parameter.members is not None:
            yield from _members(parameter, draft)
        elif parameter.local:
            yield from _local(parameter, draft)
        elif parameter.pointer:
            yield from _array(parameter, draft)
        else:
            value, said = _valued(parameter.name, parameter.name, parameter.dtype, draft)
            yield f"value = {value}{said}"


def _array(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    extents, said = extents_said(parameter, draft)
    extents = extents_of(extents[0]) if said == FROM_THE_MODEL else extents
    counted = [parts_of_list(parameter, draft)] if parameter.is_list else []
    yield f"shape = {json.dumps([*counted, *extents])}{said}"
    yield from ["addresses = true  # a list of the addresses of so many arrays"] * len(counted)
    if counts_blocks(parameter.name, draft.signature):
        yield 'fill = "zeros"  # blocks count in it, and the last one sets it back: no output'
    elif parameter.name in draft.outputs and not parameter.const:
        yield from _output(parameter, draft)
    else:
        yield from fill_of_input(parameter, draft)


def _output(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """An output, with what it holds before each launch where that counts."""
    yield _said_of_output(parameter, draft)
    if (how := draft.parts.get(parameter.name)) is not None:
        yield f'compare = "{how}"  # of the parts that blocks leave, which something combines: a guess: check'
        return
    if draft.appended is not None and parameter.name == draft.appended.array:
        yield 'compare = "sorted"  # threads append to it in the order in which they come'
        return
    if draft.appended is not None and parameter.name == draft.appended.counter:
        yield 'fill = "zeros"  # it counts what threads append'
        return
    if parameter.name in draft.amendments.one_value:
        yield "one_value = true  # at these inputs, as a status does: check"
    if draft.outputs[parameter.name]:
        yield from content_before(parameter, draft)


def _said_of_output(parameter: KernelParameter, draft: Draft) -> str:
    certain = is_written(parameter.name, draft.signature)
    return f"output = true{'  # the text writes it' if certain else draft.mark(parameter.name, draft.facts.outputs)}"


def _local(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """Local memory that a launch gives: as the host has it, else two elements for each thread of a block."""
    elements = draft.launch.local.get(parameter.name)
    said = "  # elements of a work-group, as the host has it" if parameter.name in draft.read.local else FROM_THE_MODEL
    if elements is None:
        axes = AXES[: dimensions(draft.signature)]
        elements, said = " * ".join(["2", *(f"block_size_{axis}" for axis in axes)]), CHECK
    width = f"{parameter.width} * " if parameter.width > 1 else ""
    yield f"local = {json.dumps(width + as_factor(elements, width))}{said}"


def _members(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    yield 'dtype = "struct"'
    if not parameter.members:
        yield "members = []  # by value; it has functions alone"
        return
    yield "members = [  # by value, in the order of its declaration"
    for member in parameter.members:
        if member.pointee:
            behind = f"{parameter.name}.{member.name}"
            array = next(one.name for one in draft.signature.parameters if one.behind == behind)
            yield f'    {{ name = "{member.name}", dtype = "{member.dtype}", value = "{array}" }},'
            continue
        names = [f"{member.name}[{index}]" for index in range(member.count)] if member.count else [member.name]
        said = [_valued(f"{parameter.name}.{name}", name, member.dtype, draft) for name in names]
        is_guess, is_size = said[0][1] == CHECK, said[0] == (f'"{member.name}"', "")
        if is_guess and (number := _declared_number(member, parameter, draft)) is not None:
            said = [(str(number), "  # as it is declared")]
        elif (is_guess or is_size) and (apart := _between_rows(member, parameter, draft)):
            said = [(f'"{apart}"', CHECK)]
        values = ", ".join(value for value, _ in said)
        keys = f'name = "{member.name}", dtype = "{member.dtype}", value = {f"[{values}]" if member.count else values}'
        more = f", alignment = {member.alignment}" if member.alignment else ""
        yield f"    {{ {keys}{more} }},{max((mark for _, mark in said), key=len)}"
    yield "]"


def _declared_number(member: Field, parameter: KernelParameter, draft: Draft) -> float | None:
    """The number that a structure's declaration sets a member to; None where it sets it to none."""
    words = re.findall(r"\w+", parameter.type_text.partition("<")[0])
    text = None if member.count else declared_default(words[-1], member.name, code_only(draft.source))
    number: float | None = None
    with suppress(NotArithmetic):
        number = None if text is None else fraction(arithmetic(text), {})
    is_float = member.dtype is None or is_floating(dtype_named(member.dtype))
    return number if number is None or is_float == isinstance(number, float) else float(number) if is_float else None


def _between_rows(member: Field, parameter: KernelParameter, draft: Draft) -> str:
    """How far rows lie apart of which a structure has the length, in bytes where the source counts in them.

    Empty for any other member than such a distance, and where the structure has more arrays than one.
    """
    others = [
        one.name for one in parameter.members or () if _WIDTH.fullmatch(one.name) and one.name in draft.sizes.timed
    ]
    arrays = [one for one in draft.signature.parameters if one.behind.partition(".")[0] == parameter.name]
    is_float = member.dtype is None or is_floating(dtype_named(member.dtype))
    if is_float or member.count or not BETWEEN_ROWS.search(member.name) or len(arrays) != 1:
        return ""
    in_bytes = _OF_BYTES.search(draft.source) is not None
    elements = member.name if member.name in draft.sizes.timed else next(iter(others), "")
    width = dtype_named(arrays[0].dtype or "float32").itemsize * max(1, arrays[0].width)
    return f"{width} * {elements}" if in_bytes and elements else elements


def _structures(parameter: KernelParameter, members: Sequence[Field], draft: Draft) -> Iterator[str]:
    """An array of structures of several types, as bytes: each member with the fill that an array of it would have."""
    extents, said = extents_said(parameter, draft)
    is_known = parameter.name in draft.amendments.shapes
    yield 'dtype = "uint8"  # the bytes of structures'
    yield f"shape = {json.dumps(extents if is_known else [*extents, structure_bytes(members)])}{said}"
    if parameter.name in draft.outputs and not parameter.const:
        yield _said_of_output(parameter, draft)
    yield "members = [  # of each, in the order of its declaration"
    for one in members:
        keys = f'name = "{one.name}", dtype = "{one.dtype}"'
        keys += f", count = {one.count}" if one.count else ""
        keys += f", alignment = {one.alignment}" if one.alignment else ""
        fill = usual_fill(replace(parameter, dtype=one.dtype), draft)
        yield f'    {{ {keys}, fill = "{fill}" }},{CHECK}'
    yield "]"


def _constants(draft: Draft) -> Iterator[str]:
    sizes = {one.name for one in draft.signature.constants}
    for one in draft.constants:
        yield ""
        who = "the host" if one.is_of_host else "a host elsewhere"
        yield f"[[arguments]]  # constant memory that {who} fills"
        yield f'name = "{one.name}"'
        yield f'dtype = "{one.dtype}"'
        if one.name in sizes and (size := passed(draft, one.name)) is not None:
            yield f"value = {json.dumps(size)}  # the kernel takes it for a size: check\nconstant = true"
            continue
        if one.value is not None:
            yield f"value = {json.dumps(one.value)}  # as the host copies it there\nconstant = true"
            continue
        yield f"shape = [{one.elements}]  # as it is declared"
        yield "constant = true"
        yield from fill_of_constant(one, draft)


def _valued(key: str, name: str, dtype: str | None, draft: Draft) -> tuple[str, str]:
    """The value of a scalar or a member of a structure, and how sure that is."""
    value = draft.launch.values.get(key)
    if value is not None:
        known = key in draft.read.values
        if known and key in draft.launch.usual:
            return json.dumps(value), _OF_USUAL if isinstance(value, float) else CHECK
        said = FROM_THE_MODEL if key in draft.facts.values else ""
        return json.dumps(value), "  # as the host passes it" if known else said
    is_float = dtype is None or is_floating(dtype_named(dtype))
    is_of_vector = "." in key and name in ("x", "y", "z", "w")  # the w of a colour is no width
    if name in draft.sizes.timed and not (is_float and is_of_vector):
        return f'"{name}"', ""
    if is_float:
        return usual_fraction(name, draft.signature, draft.amendments.finer), CHECK
    return str(usual_plain_number(name, draft.signature.body)), CHECK
