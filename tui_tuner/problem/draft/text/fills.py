"""What arrays are filled with in a first problem file: as the host fills them, or as suits what the kernel does."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterator
from functools import partial

import numpy as np

from tui_tuner.problem.draft.arithmetic.folding import gathered
from tui_tuner.problem.draft.arithmetic.worked_out import value_in
from tui_tuner.problem.draft.constants import DraftedConstant
from tui_tuner.problem.draft.kernel.guesses import (
    as_factor,
    is_asked_alone,
    is_crossed,
    is_taken_by_digits,
    marks_of,
)
from tui_tuner.problem.draft.kernel.offsets import arrays_of_offsets, divided_by
from tui_tuner.problem.draft.kernel.order import said_where
from tui_tuner.problem.draft.kernel.said_places import places_said
from tui_tuner.problem.draft.kernel.shared_arrays import shared_elements
from tui_tuner.problem.draft.kernel.usual_numbers import (
    holds_squares,
)
from tui_tuner.problem.draft.kernel.whole_numbers import (
    has_bits_counted,
    is_counted_in,
    is_divided_by,
    searched_by_halves,
    sought_in,
)
from tui_tuner.problem.draft.text.draft import Draft
from tui_tuner.problem.draft.text.shapes import extents_said, passed
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.signature import KernelParameter

_FILLS = {"0": "zeros", "1": "ones"}
_MOST_OF = {"int8": 2**7, "uint8": 2**8, "int16": 2**15, "uint16": 2**16}
_SOUGHT = "  # a guess, for the kernel looks for it among so many: check"
_EITHER_SIGN = "  # a guess, for outputs held one value where none was negative: check"
_FEW = "  # a guess, for outputs held one value where numbers were larger: check"
_POSITIVE = "  # between 0 and 1, since negative numbers gave what is no number"


def fill_of_input(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """The fill of an input, where another than the usual one suits it."""
    if parameter.holds and (size := passed(draft, parameter.holds)) is not None:
        yield f'fill = "integers"\nlow = {json.dumps(size)}'
        yield f"high = {json.dumps(f'{size} + 1')}  # a guess, for the kernel takes it for a size: check"
    elif parameter.name in searched_by_halves(draft.signature):
        yield 'fill = "arange"  # a guess, for the kernel searches it by halves: check'
    elif parameter.name in draft.launch.drawn:
        yield 'fill = "integers"'
        yield _drawn(parameter, draft)
    elif (proposed := draft.facts.fills.get(parameter.name)) is not None:
        yield from proposed.lines()
    elif (searched := sought_in(draft.signature).get(parameter.name)) is not None:
        extents, _ = extents_said(next(one for one in draft.signature.parameters if one.name == searched), draft)
        yield f'fill = "{"integers" if usual_fill(parameter, draft) == "integers" else "uniform"}"'
        yield f"high = {json.dumps(' * '.join(as_factor(one, extents[1:]) for one in extents))}{_SOUGHT}"
    elif parameter.name in arrays_of_offsets(draft.signature):
        yield from _offsets(parameter, draft)
    elif parameter.name in said_where(draft.signature):
        yield 'fill = "shuffled"  # a guess, for the kernel writes where it says, and each place once: check'
    elif usual_fill(parameter, draft) == "integers":
        yield from _whole_numbers(parameter, draft)
    elif (bounds := _bounds_of_host(parameter, draft)) is not None:
        yield f'fill = "uniform"\n{_said_bounds(bounds)}'
    elif usual_fill(parameter, draft) == "uniform":
        yield f'fill = "uniform"{_POSITIVE}'


def _whole_numbers(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """The fill of whole numbers, by what the kernel does with them."""
    if (bound := _bound(parameter, draft)) is not None:
        yield f'fill = "integers"\nhigh = {bound}: check'
    elif is_divided_by(parameter.name, draft.signature):
        yield 'fill = "integers"\nlow = 1  # a guess, for the kernel divides by it: check'
    elif has_bits_counted(parameter.name, draft.signature):
        yield _of_all_bits(parameter.dtype or "int32")
    elif draft.amendments.few:
        yield f'fill = "integers"\nhigh = 2{_FEW}'
    elif draft.amendments.finer and parameter.dtype in ("int8", "int16"):
        yield f'fill = "integers"\nlow = -100{_EITHER_SIGN}'


def content_before(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """What an output holds before each launch that the kernel reads too."""
    if (proposed := draft.facts.fills.get(parameter.name)) is not None:
        yield from proposed.lines()
        return
    in_part = parameter.name in draft.amendments.filled
    why = "the kernel writes it in part" if in_part else "the kernel seems to read it too"
    held, usual = draft.launch.held.get(parameter.name, ""), usual_fill(parameter, draft, changed=True)
    fill, said = _content_and_why(held, parameter.name, draft.signature.body, usual)
    bounds = _bounds_of_host(parameter, draft) if fill in ("normal", "uniform") else None
    yield f'fill = "{"uniform" if bounds else fill}"  # {why}: its content before each launch{said}'
    if bounds:
        yield _said_bounds(bounds)
    elif fill == "integers" and parameter.name in draft.launch.drawn:
        yield _drawn(parameter, draft)
    else:
        yield from _marks(parameter, draft)


def fill_of_constant(constant: DraftedConstant, draft: Draft) -> Iterator[str]:
    """The fill of constant memory, where another than the usual one suits it."""
    if constant.drawn is not None:
        yield f'fill = "integers"\nlow = {constant.drawn[0]}\nhigh = {constant.drawn[1]}  # as the host fills it'
    elif (proposed := draft.facts.fills.get(constant.name)) is not None:
        yield from proposed.lines()
    elif draft.amendments.positive and is_floating(dtype_named(constant.dtype)):
        yield f'fill = "uniform"{_POSITIVE}'
    elif not is_floating(dtype_named(constant.dtype)) and has_bits_counted(constant.name, draft.signature):
        yield _of_all_bits(constant.dtype)


def _content_and_why(held: str, name: str, body: str, usual: str) -> tuple[str, str]:
    """The fill of an output that the kernel reads too, and what is said of the number that the host sets it to.

    The host's own fill only where threads add to a place by atomic functions, so that they are still seen to: with it
    no other kernel would be seen not to read what was there.
    """
    if not held:
        return usual, ""
    if held in _FILLS and re.search(rf"\batomic\w+\s*\(\s*(?:&\s*)?(?:\(\s*)?{re.escape(name)}\b", body):
        return _FILLS[held], ", as the host sets it"
    return usual, f"; the host sets it to {' '.join(held.split())}, by which no test would show that it is read"


def _drawn(parameter: KernelParameter, draft: Draft) -> str:
    """The host's numbers; up to where the kernel reads by them instead, where that is further than a toy's."""
    low, high = draft.launch.drawn[parameter.name]
    bound = (_bound(parameter, draft) or "") if high.isdecimal() else ""
    names = re.findall(r"[A-Za-z_]\w*", bound.partition("#")[0])
    is_outgrown = any(draft.sizes.timed[name] > (draft.read.sizes.get(name) or math.inf) for name in names)
    return f"low = {json.dumps(_low_enough(low, high, draft))}\nhigh = " + (
        f"{bound}: check" if is_outgrown else f"{json.dumps(high)}  # as the host fills it"
    )


def _low_enough(low: int | str, high: str, draft: Draft) -> int | str:
    """The least number of the host's, but below the first too large one where a smaller problem leaves none between."""
    sizes = (draft.sizes.timed, draft.sizes.tested, draft.sizes.emulated, draft.sizes.emulated_test)
    ends = [(value_in(low, one), value_in(high, one)) for one in sizes]
    known = [(float(least), float(above)) for least, above in ends if least is not None and above is not None]
    is_below = all(least < above for least, above in known)
    most = gathered(ast.parse(f"{high} - 1", mode="eval").body)
    return low if is_below else f"min({low}, {ast.unparse(most)})"


def _bounds_of_host(parameter: KernelParameter, draft: Draft) -> tuple[float, float] | None:
    """Between which numbers the host fills an array of fractions, where that says more than that none is negative.

    What begins at 0 is often no more than what random numbers come as, and sums of them show fewer faults.
    """
    bounds = draft.launch.fractions.get(parameter.name)
    return bounds if bounds and (bounds[0] != 0 or draft.amendments.positive) else None


def _said_bounds(bounds: tuple[float, float]) -> str:
    return f"low = {bounds[0]}\nhigh = {bounds[1]}  # as the host fills it"


def _of_all_bits(dtype: str) -> str:
    """A fill whose numbers have any bits that the type has, or that a problem file can say."""
    bounds = np.iinfo(dtype_named(dtype))
    high = min(int(bounds.max), 2**63 - 1)
    return f'fill = "integers"\nlow = {bounds.min}\nhigh = {high}  # a guess, for the kernel counts bits: check'


def _offsets(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """The fill of where something begins and ends: of parts of an array, where the kernel goes through these."""
    mark = "  # a guess, for the kernel reads where something begins and ends: check"
    divided = divided_by(parameter.name, draft.signature)
    among = next((one for one in draft.signature.parameters if one.name in divided), None)
    if among is None:
        yield f'fill = "arange"{mark}'
        return
    extents, _ = extents_said(among, draft)
    yield 'fill = "offsets"'
    yield f"high = {json.dumps(' * '.join(as_factor(one, extents[1:]) for one in extents))}{mark}"


def _marks(parameter: KernelParameter, draft: Draft) -> Iterator[str]:
    """The range of numbers of which the kernel asks which are below 0, and which are those that it is passed."""
    marks = marks_of(parameter, draft.signature)
    if marks is not None:
        numbers = [int(value) for one in marks if (value := passed(draft, one) or "").isdecimal()]
        yield f"low = -1\nhigh = {max(numbers, default=1) + 2}  # a guess, for the kernel asks which are below 0: check"


def _bound(parameter: KernelParameter, draft: Draft) -> str | None:
    """What whole numbers that the kernel reads are below, and why; None where nothing says so."""
    if is_asked_alone(parameter.name, draft.signature):
        return "2  # a guess, for the kernel only asks whether it is zero"
    if is_taken_by_digits(parameter, draft.signature):
        return f"{2**31 - 1}  # a guess, for the kernel takes digits of it"
    if is_counted_in(parameter.name, draft.signature):
        return "2  # a guess, for the kernel asks how many of them there are"

    dynamic = str(draft.launch.keys.get("shared_memory", ""))

    def extents(array: KernelParameter) -> list[str]:
        if shared := shared_elements(array.name, draft.signature.body, dynamic):
            return [said for one in shared if (said := passed(draft, one)) is not None][:1]
        if array.width > 1 or array.name in draft.amendments.shapes:
            return []
        begun = array.name in arrays_of_offsets(draft.signature)  # the last one begins nothing
        return [one.removesuffix(" + 1") if begun else one for one in extents_said(array, draft)[0]]

    places = places_said(parameter.name, draft.signature, extents, partial(passed, draft))
    return places and f"{json.dumps(_held_by(places, parameter.dtype))}  # a guess, for it says where the kernel reads"


def _held_by(bound: str, dtype: str | None) -> str:
    """A bound of whole numbers, but no more than those of a byte or two are below."""
    most = _MOST_OF.get(dtype or "")
    return bound if most is None or (bound.isdecimal() and int(bound) <= most) else f"min({bound}, {most})"


def usual_fill(parameter: KernelParameter, draft: Draft, *, changed: bool = False) -> str:
    """The fill of an array of which nobody says more: of whole numbers, of either sign, or of none below 0."""
    if parameter.dtype is not None and not is_floating(dtype_named(parameter.dtype)):
        return "integers"
    crossed = changed and is_crossed(parameter.name, draft.signature)  # lengths of ways are never negative
    is_positive = draft.amendments.positive or (changed and holds_squares(parameter.name, draft.signature))
    return "uniform" if crossed or is_positive else "normal"
