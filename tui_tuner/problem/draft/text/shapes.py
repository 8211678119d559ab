"""The extents of arrays in the text of a first problem file, with how sure each is, and the bytes of all together."""

from __future__ import annotations

import re

from tui_tuner.problem.by_value import structure_bytes
from tui_tuner.problem.draft.host.memory import LIST
from tui_tuner.problem.draft.kernel.extents import array_shape
from tui_tuner.problem.draft.kernel.guesses import as_factor, size_names
from tui_tuner.problem.draft.kernel.offsets import extent_of_parts
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL
from tui_tuner.problem.draft.text.draft import CHECK, Draft
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.signature import KernelParameter


def passed(draft: Draft, name: str) -> str | None:
    """What a number, a constant or a scalar of the kernel is, as an expression over the sizes."""
    value = draft.launch.values.get(name, name if name in draft.sizes.timed else draft.number(name))
    return str(value) if isinstance(value, int | str) else None


def extents_said(parameter: KernelParameter, draft: Draft) -> tuple[list[str], str]:
    """The extents of an array, and what is said behind them."""
    launch, found = draft.launch, draft.amendments.shapes.get(parameter.name)
    if parameter.holds:
        return ["1"], "  # the kernel reads no more"
    width = f"{parameter.width} * " if parameter.width > 1 else ""
    is_as_host = found is None and parameter.name in launch.shapes and not draft.says_blocks
    if parameter.name in draft.parts and not is_as_host:
        return [width + as_factor(draft.most_blocks(), width)], "  # as many as there are blocks at most: check"
    if found is not None:
        return [found], "  # what the kernel as given touches, where it was run: check"
    if parameter.name in launch.shapes:
        known = parameter.name in draft.read.shapes
        said = "  # as the host allocates it" if known else FROM_THE_MODEL
        said = CHECK if known and parameter.name in launch.supposed else said
        return [width + as_factor(launch.shapes[parameter.name], width)], said
    if declared := _declared(parameter, draft):
        return declared, "  # as it is declared"
    if parameter.name in draft.reached:
        reached = width + as_factor(draft.reached[parameter.name], width)
        return [reached], "  # as far as the kernel's loops and guards go: check"
    elements = ""
    of_sizes = all(name in draft.sizes.timed for name in size_names(draft.signature))
    in_rows = (launch.keys.get("grid_div_x") == ["1"] or launch.comment_line) and of_sizes
    if "problem_size" in launch.keys and not in_rows:
        elements = " * ".join(as_factor(launch.in_elements(one), "*") for one in launch.problem_size)
    *before, last = array_shape(draft.signature, parameter, elements)
    return [*before, extent_of_parts(last, parameter, draft.signature)], CHECK


def parts_of_list(parameter: KernelParameter, draft: Draft) -> str:
    """How many addresses a list holds: as the host has it, else as many as there are blocks in the last axis."""
    known = {**draft.launch.shapes, **draft.amendments.shapes}
    axes = draft.launch.problem_size
    names = [name for name in size_names(draft.signature) if re.search(r"(?i)batch|count|num|lists", name)]
    return known.get(LIST.format(parameter.name)) or next(iter([*names, *axes[::-1], *size_names(draft.signature)]))


def _declared(parameter: KernelParameter, draft: Draft) -> list[str]:
    """The extents that a parameter is declared with, as in `double a[N][N]`; nothing where one is not known."""
    found = list[str]()
    for text in re.findall(r"\[([^\]]*)\]", parameter.type_text):
        number = draft.number(text) if text.strip() else None
        names = {*re.findall(r"[A-Za-z_]\w*", text)}
        if number is None and not (names and names <= draft.sizes.timed.keys()):
            return []
        found.append(" ".join(text.split()) if number is None else str(number))
    return found


def moved_once(draft: Draft) -> str:
    """The bytes of all arrays together as an expression, twice those of what is written over what was read."""
    found = dict[str, int]()
    for one in draft.signature.parameters:
        if not one.is_array:
            continue
        extents = [*([parts_of_list(one, draft)] if one.is_list else []), *extents_said(one, draft)[0]]
        in_bytes = one.members is not None and one.name in draft.amendments.shapes
        of_structures = 1 if in_bytes else structure_bytes(one.members or ())
        each = of_structures if one.members else dtype_named(one.dtype or "float32").itemsize
        elements = " * ".join(as_factor(extent, "*") for extent in extents)
        times = 2 if draft.outputs.get(one.name) else 1
        found[elements] = found.get(elements, 0) + each * times
    return " + ".join(re.sub(r" \* 1$", "", f"{number} * {one}") for one, number in found.items()) or "1"
