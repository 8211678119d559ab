"""What host and kernel keep to: the numbers of arrays, multiples and bounds of sizes, the memory of a block."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from contextlib import suppress

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic
from tui_tuner.problem.draft.arithmetic.folding import gathered, is_quotient, whole_number
from tui_tuner.problem.draft.arithmetic.worked_out import evaluated, finished, is_of_block, names
from tui_tuner.problem.draft.drafted_launch import MOST_THREADS
from tui_tuner.problem.draft.host.dimensions import axes
from tui_tuner.problem.draft.host.objects import Taken
from tui_tuner.problem.draft.host.opencl_launches import LOCAL
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.guesses import is_written
from tui_tuner.problem.draft.kernel.offsets import arrays_of_offsets
from tui_tuner.problem.draft.kernel.order import said_where
from tui_tuner.problem.draft.kernel.shared_arrays import shared_arrays, shared_elements
from tui_tuner.problem.draft.launch.reading import LaunchReading
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.signature import KernelParameter
from tui_tuner.problem.syntax import list_at

_ASSERTED = re.compile(
    r"\b(?:(?:static_)?assert|TORCH_CHECK|TORCH_INTERNAL_ASSERT|GGML_ASSERT|\w*CHECK\w*|\w*ASSERT\w*)\s*\(\s*\(?"
    r"(?P<size>[\w.]+(?:->\w+)?(?:\(\d*\))?)\s*%\s*(?P<by>\w+|\([^;%]*?\))\s*\)?\s*==\s*0"
)
_POWER = re.compile(
    r"(?:\([\w\s]+\)\s*)?\(?\s*(?:1[uUlL]*\s*<<|(?:std\s*::\s*)?(?:pow[fl]?\s*\(\s*2(?:\.0*)?f?\s*,|exp2[fl]?\s*\())[^*+/]*"
)
"""What makes a power of two and nothing else of it."""
_SHARED = re.compile(r"\b(?:__shared__|__local|local)\s+[\w\s:]+?\b\w+\s*((?:\[[^\]]+\]\s*)+);")
_SET_BY = {"zeros": "0", "ones": "1"}
_DECLARED = re.compile(r"(?:^|[;{}])\s*(?P<type>(?:[\w:<>]+\s+)+)(?P<names>[^;{}()]*\[[^;{}()]*)[;{]")
_ARRAY = re.compile(r"\b(\w+)\s*\[([^][]+)\]\s*(?=[,;={]|$)")
_DRAWN = re.compile(r"\(?\s*rand\s*\(\s*\)\s*%\s*(?P<count>\w+)\s*\)?\s*(?:\+\s*(?P<least>\d+)\s*)?")


def drawn_in(reading: LaunchReading) -> Iterator[tuple[str, tuple[int | str, str]]]:
    """Arrays of whole numbers that the host fills at random: the least number, and the first that is too large.

    None of them says where something begins and ends, which numbers of any order do not.
    """
    offsets = arrays_of_offsets(reading.signature)
    for given, parameter in reading.arguments:
        if parameter.pointer and "int" in (parameter.dtype or "") and parameter.name not in offsets:
            with suppress(NotArithmetic):
                if (bounds := _bounds_of_host(reading, given, parameter)) is not None:
                    low, high = bounds
                    number = whole_number(low)
                    yield parameter.name, (ast.unparse(low) if number is None else number, ast.unparse(high))


def _bounds_of_host(reading: LaunchReading, given: str, parameter: KernelParameter) -> tuple[ast.expr, ast.expr] | None:
    """What the host fills an array with: the least number, and the first that is too large.

    Raises:
        NotArithmetic: a problem file cannot say it.
    """
    place, is_written_too = reading.launch.place, is_written(parameter.name, reading.signature)
    found = reading.memory.drawn(given, place)
    if found is None and not is_written_too:
        found = reading.ranges.one_for_all(given, place)
    if found is not None:
        low = ast.Constant(found.low)
        return low, gathered(ast.BinOp(reading.expression(found.number, found.place), ast.Add(), low))
    if is_written_too:
        return None
    are_apart = parameter.name in said_where(reading.signature)
    return reading.ranges.whole_numbers(given, place, are_apart=are_apart)


def fractions_in(reading: LaunchReading) -> Iterator[tuple[str, tuple[float, float]]]:
    """Arrays of fractions of which the host says between which numbers their elements are."""
    for given, parameter in reading.arguments:
        if parameter.pointer and parameter.dtype and is_floating(dtype_named(parameter.dtype)):
            found = reading.ranges.range(given, reading.launch.place)
            if found is not None and found.is_finite and found.low < found.high:
                yield parameter.name, (_rounded(found.low), _rounded(found.high))


def _rounded(number: float) -> float:
    """What bounds of float32 are written as."""
    return float(f"{number:.6g}")


def held_before(reading: LaunchReading) -> Iterator[tuple[str, str]]:
    """Arrays that the host sets to one number before the launch, by name, with that number as it writes it."""
    for given, parameter in reading.arguments:
        if parameter.is_array and not parameter.const:
            names = reading.memory.followed(given, reading.launch.place)
            found = next((one for name, place in names if (one := _all_set_to(reading.program, name, place))), None)
            if found is not None:
                yield parameter.name, found


def _all_set_to(program: HostProgram, name: str, place: int) -> str | None:
    """What all elements of an array were last set to in the function of a place, before it."""
    start, plain = program.begin_of(place), re.escape(name)
    cast = r"(?:\([^()]*\)\s*)?"
    moved = re.compile(rf"\bcuda(?P<how>Memset|Memcpy)(?:Async)?\s*\(\s*{cast}{plain}\s*,\s*(?P<value>[^,;]+),")
    made = re.compile(rf"(?<![\w.>]){plain}\s*=\s*(?:torch|at)\s*::\s*(?P<how>zeros|ones|full)(?:_like)?\s*\(")
    found = [*moved.finditer(program.code, start, place), *made.finditer(program.code, start, place)]
    if not found:
        return None
    last = max(found, key=lambda one: one.start())
    if last["how"] in _SET_BY:
        return _SET_BY[last["how"]]
    if last["how"] == "full":
        given = list_at(program.code, last.end() - 1)
        return given[1] if len(given) > 1 else None
    return "0" if last["how"] == "Memset" and last["value"].strip() in ("0", "0x00", "0.0f") else None


def multiples_in(reading: LaunchReading) -> dict[str, ast.expr]:
    """Sizes that are whole multiples of something, by name: the host asserts it, or divides them without rounding up.

    A size that is divided by the block alone is none: the grid of another block is rounded up. Of a product that the
    threads count a part of (`rows * columns / 2`) it is what the kernel divides by the same number.
    """
    found: dict[str, ast.expr] = {}
    for size, by in _divisions(reading):
        is_size = isinstance(size, ast.Name) and size.id in reading.roots
        if is_size and not is_of_block(by) and (name := ast.unparse(size)) != ast.unparse(by):
            found.setdefault(name, by)
    return found


def _divisions(reading: LaunchReading) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What the host divides, or says to be divided, without a remainder, or the kernel parts, and by what."""
    written, place = axes(reading.program, reading.launch.grid, reading.launch.place)
    nodes = list(reading.passed.values())
    for text in written:
        with suppress(NotArithmetic):
            nodes.append(reading.expression(text, place))
    nodes += [node for shape in reading.shapes.values() for node in ast.walk(shape) if isinstance(node, ast.BinOp)]
    for node in nodes:
        if isinstance(node, ast.BinOp) and is_quotient(node):
            yield node.left, node.right
    for one in _ASSERTED.finditer(reading.program.code):
        with suppress(NotArithmetic):
            yield reading.expression(one["size"], one.start()), reading.expression(one["by"], one.start())
    yield from _parted(reading)


def stated_scalars(reading: LaunchReading) -> Iterator[str]:
    """The scalars that are passed a number which the kernel's own text has by the same name: they can be no other."""
    place = reading.launch.place
    for name, _, given in reading.scalars():
        if isinstance(reading.passed.get(name), ast.Constant):
            said = reading.words.intersection(reading.chain(given, place))
            if any(not reading.program.is_of_host(one, place) for one in said):
                yield name


def _parted(reading: LaunchReading) -> Iterator[tuple[ast.Name, ast.Constant]]:
    """Sizes of which the threads count a part, with the number that host and kernel divide by."""
    for node in (one for axis in reading.grid if axis is not None for one in ast.walk(axis[0])):
        match node:
            case ast.BinOp(left=counted, op=ast.FloorDiv(), right=ast.Constant(value=int(number)) as by):
                divided = re.findall(rf"\b(\w+)\s*/\s*{number}\b", reading.signature.body)
                sizes = (reading.passed.get(name) for name in divided)
                yield from ((one, by) for one in sizes if isinstance(one, ast.Name) and one.id in names(counted))


def is_power(reading: LaunchReading, name: str) -> bool:
    """Whether the host makes a size by a shift, or `pow(2, n)`, or asserts that it is a power of two."""
    meaning, plain = reading.program.meaning(name, reading.launch.place), re.escape(name)
    asserted = rf"\b{plain}\s*&\s*\(\s*{plain}\s*-\s*1\s*\)"
    made = meaning is not None and _POWER.fullmatch(meaning[0]) is not None
    return made or re.search(asserted, reading.program.code) is not None


def local_memory(reading: LaunchReading) -> Iterator[tuple[str, ast.expr]]:
    """The elements of each `__local` argument of OpenCL, where the host says its bytes."""
    place = reading.launch.place
    for given, parameter in reading.arguments:
        meaning = reading.program.meaning(given, place) if given.isidentifier() else None
        asked = re.fullmatch(LOCAL, meaning[0] if meaning else given, re.DOTALL) if parameter.local else None
        if asked is not None:
            with suppress(NotArithmetic):
                taken = Taken(asked[1], meaning[1] if meaning else place)
                yield parameter.name, finished(reading.elements(taken, parameter))


def most_threads(reading: LaunchReading) -> int:
    """What those arrays of a block hold that hold at least an element for each thread of the host's."""
    threads = math.prod(number or 1 for _, node in reading.block if node and (number := evaluated(node, {})))
    return min([MOST_THREADS, *(count for count in _held(reading) if count >= threads > 1)])


def _held(reading: LaunchReading) -> Iterator[int]:
    """The elements of each array of a block, as far as that is a number."""
    for extents in _SHARED.findall(reading.signature.body):
        with suppress(NotArithmetic):
            parts = re.findall(r"\[([^\]]+)\]", extents)
            nodes = [reading.expression(one, reading.launch.place) for one in parts]
            yield math.prod(evaluated(node, {}) or 0 for node in nodes)
    yield from (evaluated(node, {}) or 0 for _, node in local_memory(reading))


def stated_bounds(reading: LaunchReading) -> dict[str, int]:
    """The most that scalars may be, by the name of the scalar: the least that is said of each."""
    found: dict[str, int] = {}
    said = [*_bounds_of_arrays(reading), *_bounds_of_shared(reading), *_bounds_of_random_numbers(reading)]
    for name, most in [*said, *_required(reading)]:
        found[name] = min(most, found.get(name, most))
    return found


def _required(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """The only number that the host takes for a scalar, as of `if (d != 2) throw` and `assert(d == 2)`."""
    for name, node in reading.passed.items():
        if not isinstance(node, ast.Name):
            continue
        code, plain = reading.program.code, re.escape(node.id)
        left = rf"\bif\s*\(\s*{plain}\s*!=\s*(\d+)\s*\)\s*(?:\{{[^{{}}]*?)?\b(?:throw|exit|abort|return)\b"
        asserted = rf"\b(?:assert|\w*CHECK\w*|\w*ASSERT\w*)\s*\(\s*{plain}\s*==\s*(\d+)\b"
        yield from ((name, int(number)) for number in re.findall(left, code) + re.findall(asserted, code))


def _bounds_of_arrays(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """What a loop over an array of a thread's own goes to, and how far a window reaches whose elements one holds."""
    body, held = reading.signature.body, dict(_own_arrays(reading))
    for name, dtype, _ in reading.scalars():
        if dtype is None or "int" not in dtype or not name.isidentifier():
            continue
        limits = re.findall(rf"\bfor\s*\([^;]*;([^;]*?\b(\w+)\s*<\s*{name}\s*(?:&[^;]*)?);", body)
        counters = [one for limit, one in limits if len(re.findall(rf"\b{one}\s*<", limit)) == 1]
        yield from ((name, most) for array, most in held.items() for one in counters if _is_at(array, one, body))
        if re.search(rf"-\s*{name}\b", body) and re.search(rf"\+\s*{name}\b", body):
            places = (most for array, most in held.items() if _is_at(array, r"[A-Za-z_]\w*(?:\+\+)?", body))
            yield from ((name, (most - 1) // 2) for most in places if most > 2)


def _bounds_of_shared(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """Up to where the kernel sets a shared array to a number, as the bins of a histogram that has room for more."""
    body = reading.signature.body
    for one in shared_arrays(body):
        *ends, extent = shared_elements(one.name, body, "")
        most = reading.program.number(extent, reading.launch.place) if ends else None
        yield from ((end, most) for end in ends if most)


def _own_arrays(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """The arrays that each thread has of its own, with the elements of each, as far as that is a number."""
    for found in _DECLARED.finditer(reading.signature.body):
        if re.search(r"\b(?:__shared__|__local|local|extern|return)\b", found["type"]):
            continue
        for name, text in _ARRAY.findall(found["names"]):
            number = reading.program.number(text, reading.launch.place)
            if number is not None and number > 0:
                yield name, number


def _is_at(array: str, index: str, body: str) -> bool:
    return re.search(rf"\b{array}\s*\[\s*{index}\s*\]", body) is not None


def _bounds_of_random_numbers(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """What the host draws at random, as by `rand() % 10`."""
    for name, _, given in reading.scalars():
        text, place = reading.program.followed(given, reading.launch.place)
        drawn = _DRAWN.fullmatch(text.strip())
        count = None if drawn is None else reading.program.number(drawn["count"], place)
        if drawn is not None and count is not None:
            yield name, max(1, count - 1 + int(drawn["least"] or 0))
