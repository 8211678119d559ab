"""What a trial that failed asks for: amendments of the draft, else what the user is to write, by lines that say why."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.problem.argument import POINTER
from tui_tuner.problem.c_types import dtype_of, type_aliases, type_words
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.constants import constants_of_host
from tui_tuner.problem.draft.kernel.guesses import aliases_of, is_written, times_written
from tui_tuner.problem.draft.kernel.understood import with_called
from tui_tuner.problem.draft.kernel.usual_numbers import FINER
from tui_tuner.problem.draft.text.draft import CHECK
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.inputs import fill_of, shape_of
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.signature import KernelSignature, find_kernel
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import code_only

_MOST_LINES = 3
MOST_HALVINGS = 8
_MOST_GROWN = 8
_LEAST_EXTENT = 8
"""A size below is none that arrays are made of, where the kernel's text does not multiply by it."""
_MOST_FACTORS = 5
"""Different sizes that an array is the product of at most; of fewer each may come more than once."""
_MANY_FOR_EACH = (16, 32)
"""Numbers for each place that all sizes count, as the directions of a lattice."""
_MOST_ELEMENTS_ALIKE = 2**24
"""Of arrays that all are larger than taken for: what still touches what is before them has an index that is wrong."""
_HALVINGS = {GivenFaultKind.TOO_LARGE: 1, GivenFaultKind.LATE: 2}
"""How often sizes are halved for a fault."""


def amended_for(made: Amendments, fault: GivenFault, problem: Problem) -> Amendments | None:
    """The amendments and what a fault adds to them; None where it says nothing that could be amended."""
    kind, name = fault.kind, fault.argument
    if kind is GivenFaultKind.BEHIND:
        grown = _grown(_argument(name, problem), fault.nbytes, problem)
        alike = {} if grown is None else dict.fromkeys([name, *_alike(name, problem)], grown)
        return replace(made, shapes={**made.shapes, **alike}) if alike else None
    if kind is GivenFaultKind.BEFORE:  # what is far behind the end of one array may be before another
        grown_all = _all_grown(made, _argument(name, problem), problem)
        if grown_all is None and not made.positive:  # it may make an index of a fraction
            return replace(made, positive=True, shapes={})
        return grown_all
    if kind in (GivenFaultKind.UNWRITTEN, GivenFaultKind.NOT_FINITE) and name not in made.filled:
        return replace(made, filled=made.filled | {name})
    if kind is GivenFaultKind.CONSTANT:
        return _without(name, made, problem)
    if kind in (GivenFaultKind.NOT_FINITE, GivenFaultKind.RACY) and not made.positive:
        return replace(made, positive=True)
    halvings = _HALVINGS.get(kind, 0)
    if halvings and problem.sizes and made.halvings < MOST_HALVINGS:
        return replace(made, halvings=made.halvings + halvings)
    return None


def _kernel_of(problem: Problem) -> KernelSignature:
    return find_kernel(problem.source_text, problem.language, problem.kernel.name)


def _argument(name: str, problem: Problem) -> Argument:
    return next(one for one in problem.arguments if one.name == name)


def _alike(name: str, problem: Problem) -> Iterator[str]:
    """The other arrays behind the same structure that are as large: mostly each has something of the same elements."""
    held = [[member.value for member in one.members or () if member.dtype == POINTER] for one in problem.arguments]
    own, beside = _argument(name, problem), next((names for names in held if name in names), [])
    for one in problem.arguments:
        if one.name in beside and one.name != name and (one.shape, one.dtype) == (own.shape, own.dtype):
            yield one.name


def _without(name: str, made: Amendments, problem: Problem) -> Amendments | None:
    """The amendments for an output that holds one value, or what it held before; None where that is no draft.

    Whole numbers that are made of a product may all be the largest there are, if its factors are not small, and those
    that are made by counting what is alike in an array may all be 0, if that holds more than a few different numbers.
    A status that is written where something went wrong is no output where nothing does, and stays as it was. One that
    is cleared is one still, and so is a flag of each element, as of those that a search has seen.
    """
    if name in made.filled and (_is_status(name, problem) or not _is_written(name, problem)):
        return replace(made, filled=made.filled - {name}, unwritten=made.unwritten | {name})
    if name not in made.filled and (_is_status(name, problem) or _is_flag(name, problem)):
        return replace(made, one_value=made.one_value | {name})
    is_whole = not is_floating(dtype_named(_argument(name, problem).dtype))
    has_factors = any(isinstance(one.value, float) for one in problem.arguments)
    if is_whole and has_factors and made.finer < len(FINER):
        return replace(made, finer=made.finer + 1)
    return replace(made, finer=0, few=True) if not made.few and any(map(_is_of_any_number, problem.arguments)) else None


def _is_of_any_number(argument: Argument) -> bool:
    """Whether it is an input of whole numbers of which nothing says how large they are."""
    is_array = argument.shape is not None and argument.members is None and not argument.output
    is_bounded = argument.high is not None or argument.function is not None or argument.dtype == "bool"
    return is_array and not is_bounded and fill_of(argument) == "integers"


def _is_flag(name: str, problem: Problem) -> bool:
    """Whether an output of whole numbers is only set to numbers that the text names, and there is another output."""
    others = [one for one in problem.arguments if one.output and not one.one_value and one.name != name]
    own = _argument(name, problem)
    kernel = _kernel_of(problem)
    times = len(_set_to_numbers(name, kernel))
    return bool(others) and 0 < times == times_written(name, kernel) and not is_floating(dtype_named(own.dtype))


def _is_status(name: str, problem: Problem) -> bool:
    """Whether an output is of whole numbers, and of fewer than another one that is no status."""
    elements = {
        one.name: math.prod(shape_of(one, problem.sizes))
        for one in problem.arguments
        if one.output and not one.one_value
    }
    own = _argument(name, problem)
    return not is_floating(dtype_named(own.dtype)) and elements[name] < max(elements.values())


def _is_written(name: str, problem: Problem) -> bool:
    """Whether the kernel's text writes an output, or there is no other."""
    kernel = _kernel_of(problem)
    return is_written(name, kernel) or sum(argument.output for argument in problem.arguments) == 1


def _all_grown(made: Amendments, argument: Argument, problem: Problem) -> Amendments | None:
    """The amendments with twice as many elements at least for all arrays that were taken for as large as this one."""
    alike = [one for one in problem.arguments if one.shape is not None and one.shape == argument.shape]
    elements = math.prod(shape_of(argument, problem.sizes)) if argument.shape is not None else 0
    if elements >= _MOST_ELEMENTS_ALIKE:
        return None
    grown = {one.name: _grown(one, elements * _width(one), problem) for one in alike}
    if not grown or None in grown.values():
        return None
    return replace(made, shapes={**made.shapes, **{name: text for name, text in grown.items() if text}})


class _Product(NamedTuple):
    """A product of sizes, times a number."""

    times: int
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        numbers = [str(self.times)] if self.times > 1 or not self.names else []
        return " * ".join([*numbers, *self.names])

    @property
    def repeats(self) -> bool:
        """Whether a size is in it more than once, or none."""
        sizes = re.findall(r"[A-Za-z_]\w*", self.text)
        return len({*sizes}) < len(sizes) or not sizes

    def is_of(self, lengths: set[str]) -> bool:
        """Whether it is so many rows, or layers of rows, of these lengths."""
        is_plain = self.times == 1 and not self.repeats and lengths <= {*self.names}
        return is_plain and 2 <= len(self.names) <= len(lengths) + 1


def _grown(argument: Argument, beyond: int, problem: Problem) -> str | None:
    """The least product of sizes, times a small number, that holds what was touched behind an array.

    Before all others are so many rows of the length that the kernel's text says. Of an array behind a list of addresses
    nothing is known: what is beside one part may be another.
    """
    if argument.addresses:
        return None
    sizes = problem.sizes
    elements = math.prod(shape_of(argument, sizes))
    needed = elements + beyond // _width(argument) + 1
    lengths, across = _stated_of(argument, problem)
    named = {one: _elements(one, sizes) or 0 for one in [*sizes, *sorted(lengths)]}
    extents = [one for one, value in named.items() if value >= (2 if one in lengths else _LEAST_EXTENT)]
    several = [names for degree in (1, 2, 3, 4) for names in combinations_with_replacement(extents, degree)]
    products = [_Product(times, names) for names in several for times in (1, 2, 3, 4, 8)]
    products += [_Product(times, (*extents,)) for times in _MANY_FOR_EACH if extents]
    products += [_Product(1, names) for names in combinations(extents, _MOST_FACTORS)]
    products += [_Product(times * elements, ()) for times in (2, 3, 4, 8)]
    values = {one: value for one in products if (value := _elements(one.text, sizes)) is not None}
    lengths &= {*extents}
    of_rows = {one for one in values if lengths and one.is_of(lengths)}
    most = {one: _MOST_ELEMENTS_ALIKE if one in of_rows else _MOST_GROWN * needed for one in values}

    def order(one: _Product) -> tuple[bool, bool, int, int, int, int]:
        uncovered = len(across - {*one.names}) if one in of_rows else 0
        return one not in of_rows, one.repeats, values[one], uncovered, one.times, len(one.text)

    enough = [one for one, value in values.items() if needed <= value <= most[one]]
    return min(enough, key=order).text if enough else None


def _stated_of(argument: Argument, problem: Problem) -> tuple[set[str], set[str]]:
    """The sizes by which the kernel multiplies where it says what it touches of an array, and those its blocks cover.

    As N is in `b[row * N + column]`, in `b[at + i]` of a name that is set to such a product, in `own = b + row * N` and
    in `b += steps * N`, which is how long a row is, also where it is a share of a size, in parentheses then; and M,
    which the grid divides along y, in `a += blockIdx.y * 16 * K`.
    """
    kernel = _kernel_of(problem)
    own = "|".join(map(re.escape, [argument.name, *aliases_of(argument.name, kernel.body)]))
    said = " ".join(re.findall(rf"\b(?:{own})\s*(?:\[[^][]*\]|\+=[^,;]*[,;)])", kernel.body))
    indices = "|".join({*re.findall(r"[A-Za-z_]\w*", " ".join(re.findall(r"\[([^][]*)\]", said)))}) or "(?!)"
    begun = re.findall(rf"\*\s*\w+\s*=\s*(?:{own})\s*\+([^;,]*)[;,]", kernel.body)
    said = " ".join([said, *begun, *re.findall(rf"\b(?:{indices})\s*=(?!=)\s*([^;,]*)", kernel.body)])
    blocks = dict(re.findall(r"\b(\w+)\s*=\s*blockIdx\s*\.\s*([xyz])\s*;", kernel.body))
    axes = {*re.findall(r"\bblockIdx\s*\.\s*([xyz])", said), *(blocks[one] for one in blocks if _names(one, said))}
    across = {text for axis, text in zip("xyz", problem.launch.problem_size, strict=False) if axis in axes}
    meant = {one.name: one.value for one in problem.arguments if isinstance(one.value, str)}
    factors = [*re.findall(r"\*\s*([A-Za-z_]\w*)\b", said), *re.findall(r"\b([A-Za-z_]\w*)\s*\*", said)]
    said_of = {meant[one] for one in factors if one in meant}
    lengths = {one if one.isidentifier() else f"({one})" for one in said_of}
    return lengths, {name for name in problem.sizes if name in across}


def _names(name: str, text: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _elements(text: str, sizes: Mapping[str, int]) -> int | None:
    """The value of a product; None for one of more than 63 bits."""
    try:
        return int(evaluate(text, sizes))
    except ExpressionError:
        return None


def _width(argument: Argument) -> int:
    return 1 if argument.dtype == "struct" else dtype_named(argument.dtype).itemsize


def needed(fault: GivenFault, problem: Problem) -> str:
    """What is to be corrected, in words.

    Args:
        fault: why the kernel as given did not hold.
        problem: the first draft.
    """
    if fault.kind is GivenFaultKind.CONSTANT:
        return _of_constant(fault.argument, problem)
    if fault.kind is GivenFaultKind.RACY:
        return (
            "two runs of it differ: its threads race, as where threads of a warp read what others of it write with no "
            "__syncwarp() between, it reads shared memory that nobody wrote, or the sizes are none that it can do"
        )
    if fault.kind is GivenFaultKind.NOT_FINITE:
        return (
            "it makes of its inputs what is no number: by a root or logarithm of what is negative, a division by zero, "
            "as scalars may lead to, or shared memory or a lane of a warp that nobody wrote"
        )
    if fault.kind.is_outside:
        mixed = next(_of_several_types(problem), None)
        if mixed is not None:
            return mixed
        whole = [one.name for one in problem.arguments if _may_say_where(one)]
        named = ", ".join(map(repr, whole))
        made = f', as in {named}, or function = "make_{whole[0]}" makes it' if whole else ""
        host = ", --host FILE names the code that allocates it" if problem.language == "opencl" else ""
        return f"shape says how large an array is{host}, low and high what numbers are in it{made}"
    return "[launch] says how many threads run, [[arguments]] what they are given"


def guessed_scalars(draft: str) -> str:
    """What is to be said behind that of the scalars that a draft guesses; nothing where it guesses none."""
    guessed = re.findall(rf'^name = "(\w+)"\ndtype = "\w+"\nvalue = (\S+){CHECK}$', draft, re.MULTILINE)
    said = (f"; that {name} is {value} is a guess: give it the value that the host passes" for name, value in guessed)
    return "".join(list(said)[:_MOST_LINES])


def _may_say_where(one: Argument) -> bool:
    """Whether an argument is an array of whole numbers at random."""
    is_random = one.fill in (None, "integers") and one.members is None
    return one.shape is not None and not one.output and "int" in one.dtype and is_random


def _of_constant(name: str, problem: Problem) -> str:
    """Of an output that holds one value once the kernel has run, as a flag does that it always clears."""
    lines = _lines_that_set(name, problem)
    kernel = _kernel_of(problem)
    is_named = _names(name, with_called(kernel, problem.source_text).body)
    if any(one.name == name for one in kernel.parameters) and not is_named:
        return f"its text does not name '{name}' between its braces, so what it computes is written nowhere"
    if len(_set_to_numbers(name, kernel)) < max(1, times_written(name, kernel)):
        return f"fill, low and high say what inputs hold: with these '{name}' holds one value, or what it held before"
    return (
        f"'{name}' is a flag ({', '.join(lines)}) that holds one value once the kernel has run, whatever it computes: "
        "set it in a kernel of its own, and take it as const here"
    )


def _lines_that_set(name: str, problem: Problem) -> list[str]:
    """The first lines that set an element of an output to a number that stands there, and to which, in words."""
    code = code_only(problem.source_text)
    kernel = _kernel_of(problem)
    begins = max(0, code.find(kernel.body))
    return [
        f"line {code.count(chr(10), 0, begins + one.start()) + 1} sets it to {one[1]}"
        for one in _set_to_numbers(name, kernel)[:_MOST_LINES]
    ]


def _set_to_numbers(name: str, kernel: KernelSignature) -> list[re.Match[str]]:
    """Where the kernel's text sets an element of an array to a number that stands there."""
    element = rf"(?:\*\s*{name}|\b{name}\s*\[(?:[^][;=]|\[[^][;=]*\])*\])"
    return list(re.finditer(rf"{element}\s*=(?!=)\s*(true|false|[-\d.]+f?)\s*;", kernel.body))


def assigned(problem: Problem) -> set[str]:
    """The arguments that the kernel's text writes."""
    kernel = _kernel_of(problem)
    return {one.name for one in kernel.parameters if is_written(one.name, kernel)}


def unfilled(problem: Problem) -> list[str]:
    """Constant memory that the host fills and a launch here does not."""
    filled = {argument.name for argument in problem.arguments if argument.constant}
    return [name for name in constants_of_host(problem.source_text, problem.kernel.name) if name not in filled]


def _of_several_types(problem: Problem) -> Iterator[str]:
    """Of arrays of structures whose members no fill can make, as an offset beside a weight."""
    code = code_only(problem.source_text)
    known, aliases = structures(code), type_aliases(code)
    for parameter in _kernel_of(problem).parameters:
        kind = (type_words(parameter.type_text) or [""])[-1]
        members = known.get(kind)
        is_mixed = members is None or not _are_alike([one.type_text for one in members], aliases)
        if not (parameter.pointer and kind in known and is_mixed):
            continue
        held = f" ({', '.join(f'{one.type_text} {one.name}' for one in members)})" if members else ""
        yield (
            f"'{parameter.name}' is an array of {kind}{held}: fill, low and high of its members say what these hold, "
            f'as high = "n" of an offset; or name a function that makes it, as in function = "make_{parameter.name}" '
            "without members"
        )


def _are_alike(types: list[str], aliases: dict[str, str]) -> bool:
    return len({dtype_of(one, "cuda", aliases)[0] for one in types}) == 1
