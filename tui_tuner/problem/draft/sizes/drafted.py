"""The sizes of a first problem file: the host's where it has numbers, smaller ones for tests and the emulator."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from tui_tuner.problem.draft.amendments import APART, Amendments, Tested
from tui_tuner.problem.draft.arithmetic.worked_out import words_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.extents import elements_along, scaled
from tui_tuner.problem.draft.kernel.guesses import AXES, SMALL, is_guarded, size_names
from tui_tuner.problem.draft.kernel.offsets import OF_EACH, arrays_of_offsets, divided_by
from tui_tuner.problem.draft.kernel.reach import rows_apart
from tui_tuner.problem.draft.sizes.alone import apart, sizes_alone, with_other_few
from tui_tuner.problem.draft.sizes.counts import (
    counted_in,
    degree,
    elements_of,
    extents_in,
    sizes_of_toys,
    threads_of,
)
from tui_tuner.problem.draft.sizes.feasible import keep_in_block, keep_in_grid, make_room, value_of
from tui_tuner.problem.draft.sizes.related import keep_rows_apart, keep_whole, with_divided_sizes
from tui_tuner.problem.draft.sizes.small import exponents_in, few_of, is_each_with_all
from tui_tuner.problem.signature import KernelSignature

_MOST_ELEMENTS, _MOST_GUESSED = 2**29, 2**24
_MOST_TESTED = 2**22
"""Elements at a test: many inputs are drawn there, of each texture some."""
_USUAL = {1: 2**20, 2: 1024}
"""Sizes that the host does not say, by how many there are."""
_EMULATED_THREADS, _EMULATED_ELEMENTS = 2**14, 2**20
_EACH_WITH_ALL, _EMULATED_WITH_ALL = 2**14, 2**11
"""Threads that each go through as many elements as there are threads."""
_WHOLE_BLOCKS = {1: 1024, 2: 128}
"""What the extents of blocks divide, by how many axes of threads there are."""
_MOST_SHARED = 48 * 2**10
"""Bytes that every device has for a block without being asked for more."""
_USUAL_ROW = 64
"""What is taken for the elements of a row, where the threads count the elements of all."""


@dataclass(frozen=True)
class DraftedSizes:
    """Values of all sizes: for timing and for a test, and the same two for the emulator."""

    timed: dict[str, int]
    tested: dict[str, int]
    emulated: dict[str, int]
    emulated_test: dict[str, int]


def drafted_sizes(
    launch: DraftedLaunch, signature: KernelSignature, amendments: Amendments, *, has_emulator: bool
) -> DraftedSizes:
    """The sizes of a kernel: of its launch, where the host's code says how many threads that has, else guesses.

    Without an emulator a kernel is run at the sizes that are timed, and these are halved where that takes long.
    """
    launch = with_divided_sizes(launch, signature)
    found = _drafted(launch, signature, amendments, has_emulator)
    rows = [*rows_apart(signature, launch)]
    for one in (found.tested, found.emulated, found.emulated_test):
        keep_rows_apart(one, found.timed, rows, launch.multiples)
    return found


def _drafted(
    launch: DraftedLaunch, signature: KernelSignature, amendments: Amendments, has_emulator: bool
) -> DraftedSizes:
    """The sizes, each by itself."""
    if "problem_size" in launch.keys:
        return _sizes_of_launch(launch, signature, amendments, has_emulator)
    arrays = [one for one in signature.parameters if one.pointer]
    is_scalar_given = any(one.dtype for one in signature.parameters if one not in arrays)
    if all("[" in one.type_text for one in arrays) and not is_scalar_given:
        return DraftedSizes({}, {}, {}, {})  # no array could be another size
    said = [*elements_along(signature), *launch.shapes.values()]
    if (
        all(one.name in launch.shapes for one in arrays)
        and all(text.isdecimal() for text in said)
        and not is_scalar_given
    ):
        return DraftedSizes({}, {}, {}, {})  # the file's own numbers say all of them
    return DraftedSizes(*sizes_alone(launch, signature, amendments, has_emulator=has_emulator))


def _sizes_of_launch(
    launch: DraftedLaunch, signature: KernelSignature, amendments: Amendments, has_emulator: bool
) -> DraftedSizes:
    """Sizes for a launch that was read from the host's code, with arrays as large as running it showed."""
    toys = set[str]() if amendments.as_host else sizes_of_toys(launch, signature)
    launch = replace(launch, shapes={**_of_fixed_grid(launch, signature), **launch.shapes, **amendments.shapes})
    if amendments.whole:
        axes = launch.problem_size
        by = str(_WHOLE_BLOCKS[min(len(axes), 2)])
        launch = replace(
            launch, multiples={**dict.fromkeys([one for one in axes if one in launch.sizes], by), **launch.multiples}
        )
    usual, guessed = _usual(launch, signature, toys)
    for _ in range(0 if has_emulator else amendments.halvings):
        _halved(launch, usual)
    scaled_too = guessed | (launch.proposed & extents_in(launch) if amendments.doublings < 0 else set())
    timed = {name: scaled(size, amendments.doublings) if name in scaled_too else size for name, size in usual.items()}
    of_emulator = _emulated(launch, signature, usual, guessed, amendments.halvings)
    emulated = {name: min(size, timed[name]) for name, size in of_emulator.items()}
    odd_or_half: Tested = "odd" if is_guarded(signature) else "half"
    is_apart = amendments.tested in APART
    how = odd_or_half if is_apart else amendments.tested or odd_or_half
    small = _tested(launch, emulated, how)
    is_scaled = has_emulator and how != "same"
    others = _enlarged(launch, small, emulated, timed) if is_scaled else _tested(launch, timed, how)
    if is_apart:
        few = {name for name, size in emulated.items() if size < SMALL}
        fixed = _bounds(launch) | launch.stated.keys() | launch.of_block | few
        small, others = (apart(one, fixed, one.keys() if how == "half" else launch.powers) for one in (small, others))
        if amendments.tested == "all":
            guesses = {name for name in few if launch.sizes.get(name) is None} - launch.of_block - launch.powers
            small, others = (with_other_few(one, guesses) for one in (small, others))
    found = [_whole(launch, one) for one in (timed, others, emulated, small)]
    for one, like in zip(found, (None, timed, timed, emulated), strict=True):
        make_room(launch, one, like)
    return DraftedSizes(*found)


def _emulated(
    launch: DraftedLaunch,
    signature: KernelSignature,
    usual: Mapping[str, int],
    guessed: Collection[str],
    halvings: int,
) -> dict[str, int]:
    """Sizes that the emulator can do in a while."""
    emulated, is_fixed = dict(usual), usual.keys().isdisjoint(counted_in(launch))
    while _is_large(launch, emulated, _EMULATED_THREADS, _EMULATED_ELEMENTS):
        fits = elements_of(launch, emulated) <= _EMULATED_ELEMENTS
        if fits and is_fixed and max(emulated.values(), default=0) <= _EMULATED_THREADS:
            break  # there are as many threads with fewer elements
        uncounted = emulated.keys() - counted_in(launch) if fits else set[str]()
        if not (_halved(launch, emulated, uncounted) or _halved(launch, emulated)):
            break
    for name in (one for one in guessed if is_each_with_all(one, launch, signature)):
        emulated[name] = min(emulated[name], _EMULATED_WITH_ALL)
    for _ in range(halvings):
        _halved(launch, emulated)
    for rows, elements in _divided(launch, guessed, signature).items():
        emulated[rows] = max(1, min(emulated[rows], emulated[elements] // OF_EACH))
        emulated[elements] = min(emulated[elements], OF_EACH * emulated[rows])
    return emulated | _among_known(launch, guessed, emulated, signature)


def _of_fixed_grid(launch: DraftedLaunch, signature: KernelSignature) -> dict[str, str]:
    """The arrays that threads whose number says nothing of them go through, as long as the only size that is passed."""
    passed = [str(launch.values.get(name, "")) for name in size_names(signature)]
    if counted_in(launch) or len(passed) != 1 or passed[0] not in launch.sizes:
        return {}
    return {one.name: passed[0] for one in signature.parameters if one.is_array}


def _whole(launch: DraftedLaunch, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes of which those that the host divides without a remainder have none: the nearest below, or the least.

    What is about as large as an extent, and no larger, stays within it, as rows without what they are padded by.
    """
    whole = dict(sizes)
    known = {name: number for name, number in launch.sizes.items() if number is not None}
    for bound in _bounds(launch):
        within = [one for one in extents_in(launch) & known.keys() if 0.5 < known[bound] / max(1, known[one]) <= 1]
        whole[bound] = min([whole[bound], *(whole[one] * known[bound] // known[one] for one in within)])
    keep_whole(whole, launch.multiples)
    return whole


def _usual(launch: DraftedLaunch, signature: KernelSignature, toys: Collection[str]) -> tuple[dict[str, int], set[str]]:
    """The host's sizes, or usual ones; and which of them are guesses at how large a problem is.

    Args:
        toys: the host's sizes that are too small to be timed.
    """
    extents = extents_in(launch)
    timed = {name: number or 1 for name, number in launch.sizes.items()}
    guessed = {name for name, number in launch.sizes.items() if number is None and name in extents} | {*toys}
    passed = {re.sub(r" (?:[-+]|//) \d+$", "", str(text)) for text in launch.values.values()}
    bounds = {name for name, number in launch.sizes.items() if number is None} & passed
    few = few_of(launch, signature, guessed | bounds | exponents_in(launch))
    few = {**dict.fromkeys(_rows_within(launch, guessed, signature), _USUAL_ROW), **few}
    guessed -= few.keys()
    timed |= dict.fromkeys(guessed, _USUAL.get(degree(launch, guessed, timed), 128))
    timed |= {name: min(timed[name], _EACH_WITH_ALL) for name in guessed if is_each_with_all(name, launch, signature)}
    timed |= few
    timed |= {rows: timed[one] // OF_EACH for rows, one in _divided(launch, guessed, signature).items()}
    timed |= dict.fromkeys(bounds - extents - few.keys(), _USUAL[2])
    timed |= {name: min(timed[name], threads) for name, threads in _each_of_fixed(launch, signature) if name in guessed}
    make_room(launch, timed)
    keep_in_grid(launch, timed)
    keep_in_block(launch, timed)
    shared = str(launch.keys.get("shared_memory", ""))
    others = timed.keys() - re.findall(r"\w+", shared)
    while shared and value_of(shared, timed | launch.defaults) > _MOST_SHARED and _halved(launch, timed, others):
        pass
    of_host = {name for name, number in launch.sizes.items() if number is not None} - set(toys)
    for most, kept in ((_MOST_GUESSED if guessed else _MOST_ELEMENTS, of_host), (_MOST_ELEMENTS, set[str]())):
        while (_is_large(launch, timed, math.inf, most) or _is_beyond(launch, timed, signature)) and _halved(
            launch, timed, kept | launch.stated.keys()
        ):
            pass
    return timed | _among_known(launch, guessed, timed, signature), guessed


def _each_of_fixed(launch: DraftedLaunch, signature: KernelSignature) -> Iterator[tuple[str, int]]:
    """The sizes of which each thread of the host's number does one at most, as its guard says, with this number."""
    if not launch.line or "gridDim" in signature.body or not is_guarded(signature):
        return
    for text, (by, extent), own in zip(
        launch.problem_size, _blocks(launch, {}), elements_along(signature), strict=False
    ):
        is_gone_through = re.search(rf"\bfor\s*\([^;]*;[^;]*<\s*{re.escape(own)}\b", signature.body)
        if text.isdecimal() and own in launch.values and not is_gone_through:
            yield str(launch.values[own]), int(int(text) / by * extent)


def _is_beyond(launch: DraftedLaunch, sizes: Mapping[str, int], signature: KernelSignature) -> bool:
    """Whether a scalar that is made of the sizes is larger than an int can be."""
    scalars = {one.name for one in signature.parameters if one.dtype == "int32" and not one.is_array}
    return any(value_of(str(launch.values.get(name, "1")), sizes) >= 2**31 for name in scalars)


def _rows_within(launch: DraftedLaunch, guessed: Collection[str], signature: KernelSignature) -> list[str]:
    """The sizes by which the kernel divides what counts all elements, as in `row = i / columns`, to tell rows apart."""
    counted = launch.problem_size
    if len(counted) != 1 or counted[0] not in guessed:
        return []
    divisors = re.findall(r"[/%]\s*([A-Za-z_]\w*)\b", signature.body)
    values = {name: text for name, text in launch.values.items() if text in guessed and text != counted[0]}
    return [str(text) for name, text in values.items() if name in divisors]


def _divided(launch: DraftedLaunch, guessed: Collection[str], signature: KernelSignature) -> dict[str, str]:
    """How many parts there are, and the elements that offsets or the host divide into them, where both are guesses."""
    found = {rows: one for rows, one in _among(launch, signature) if {rows, one} <= {*guessed} and rows != one}
    parts = (re.fullmatch(r"(\w+) // (\w+)", str(text)) for text in launch.values.values())
    return found | {one[2]: one[1] for one in parts if one and {*one.groups()} <= {*guessed}}


def _among_known(
    launch: DraftedLaunch, guessed: Collection[str], sizes: Mapping[str, int], signature: KernelSignature
) -> dict[str, int]:
    """Of the guesses those that offsets divide into so many parts as are known: some elements for each."""
    return {
        elements: OF_EACH * int(value_of(parts, sizes))
        for parts, elements in _among(launch, signature)
        if elements in guessed and words_in(parts) and words_in(parts) <= sizes.keys() - {*guessed}
    }


def _among(launch: DraftedLaunch, signature: KernelSignature) -> Iterator[tuple[str, str]]:
    """How many parts offsets make, else how many there are for the threads alone, and the elements they divide."""
    threads = launch.problem_size[0] if len(launch.problem_size) == 1 else ""
    for name in arrays_of_offsets(signature):
        parts = launch.shapes.get(name, threads).removesuffix(" + 1")
        yield from ((parts, launch.shapes.get(one, "")) for one in divided_by(name, signature))


def _tested(launch: DraftedLaunch, sizes: Mapping[str, int], how: Tested) -> dict[str, int]:
    if how == "same":
        return dict(sizes)

    def other(name: str, value: int) -> int:
        if value < SMALL or name in same:
            return value
        return value * 3 // 4 - 1 if how == "odd" and name not in launch.of_block | launch.powers else value // 2

    same = _bounds(launch) | launch.stated.keys()
    return {name: other(name, value) for name, value in sizes.items()}


def _bounds(launch: DraftedLaunch) -> set[str]:
    """The host's numbers that kernels count to and no array or thread is made of."""
    return {name for name, number in launch.sizes.items() if number is not None} - extents_in(launch)


def _enlarged(
    launch: DraftedLaunch, tested: Mapping[str, int], emulated: Mapping[str, int], timed: Mapping[str, int]
) -> dict[str, int]:
    """What the emulator is tested at, with what it has halved doubled again: what divides what does so here too."""
    halvings = {name: (timed[name] // emulated[name]).bit_length() - 1 for name in tested}
    stated = {name: timed[name] for name in launch.stated}
    found = {**tested, **stated}
    for most in range(1, max(halvings.values(), default=0) + 1):
        larger = {name: size << min(most, halvings[name]) for name, size in tested.items()} | stated
        if _is_large(launch, larger, math.inf, _MOST_TESTED):
            break
        found = larger
    return found


def _halved(launch: DraftedLaunch, sizes: dict[str, int], but: Collection[str] = ()) -> bool:
    """Halve the largest size; whether there is one that can be.

    One that blocks divide stays as long as two of them while others can be halved, and what a block has a row of
    however few there are: within one block others may be right that are not where there are several.
    """
    others = sizes.keys() - launch.of_block - set(but)
    along = zip(launch.problem_size, _blocks(launch, sizes), strict=False)
    taken = {name: by for name, (by, _) in along if name in others}
    divided = {name for name, by in taken.items() if sizes[name] < 4 * by and by > 1}
    rows = {name for name, by in taken.items() if by <= 1}
    for eligible, least in ((others - divided, 2 * SMALL), (rows, 4), (divided, 2 * SMALL)):
        largest = max(eligible, key=lambda name: (sizes[name], name), default=None)
        if largest is not None and sizes[largest] >= least:
            sizes[largest] //= 2
            return True
    return False


def _blocks(launch: DraftedLaunch, sizes: Mapping[str, int]) -> list[tuple[float, float]]:
    """What a block of the host takes along each axis, and its threads there."""
    known = {**sizes, **launch.defaults}
    usual = [float(launch.defaults.get(f"block_size_{axis}", 1)) for axis in AXES]
    threads = [value_of(text, known) for text in launch.keys.get("block_size", ())]
    found = []
    for axis, extent in zip(AXES, [*threads, *usual[len(threads) :]], strict=True):
        divisors = launch.keys.get(f"grid_div_{axis}")
        by = extent if divisors is None else math.prod(value_of(text, known) for text in divisors)
        found.append((max(1.0, by), extent))
    return found


def _started(launch: DraftedLaunch, sizes: Mapping[str, int]) -> float:
    """Threads of all blocks where there are many for each that is counted, as where a block has a row; else these."""
    counted = len(launch.problem_size)
    more = (extent / (by if place < counted else 1) for place, (by, extent) in enumerate(_blocks(launch, sizes)))
    return threads_of(launch, sizes) * max(1.0, math.prod(more))


def _is_large(launch: DraftedLaunch, sizes: Mapping[str, int], threads: float, elements: float) -> bool:
    return _started(launch, sizes) > threads or elements_of(launch, sizes) > elements
