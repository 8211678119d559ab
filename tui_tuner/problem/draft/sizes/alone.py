"""The sizes of a kernel that nobody launches: usual ones, by how its arrays and its threads grow with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tui_tuner.problem.draft.amendments import APART, Amendments
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.extents import elements_along, extents_of, usual_axes
from tui_tuner.problem.draft.kernel.guesses import is_guarded, size_names
from tui_tuner.problem.draft.kernel.work import loops_of
from tui_tuner.problem.draft.sizes.counts import degree, extents_in
from tui_tuner.problem.draft.sizes.related import keep_whole
from tui_tuner.problem.draft.sizes.small import BETWEEN_ROWS, few_alone
from tui_tuner.problem.signature import KernelSignature

_OTHER_FEW = {1: 2, 2: 3, 3: 4}
_FEWEST = 8
"""A size that is set apart from another is no smaller than about that."""


def sizes_alone(
    launch: DraftedLaunch, signature: KernelSignature, amendments: Amendments, *, has_emulator: bool
) -> list[dict[str, int]]:
    """Values for all sizes: for timing and for a test, and the same two for the emulator.

    All alike, but for those that the host has a number for, whose name says that they are few, or that no array and
    no thread is counted by.
    """
    fixed = [name for name, value in launch.values.items() if not isinstance(value, str)]
    names = [*([name for name in size_names(signature) if name not in fixed] or ["n"]), *launch.sizes]
    given = {name: few for name in names for few in few_alone(name, signature)}
    given |= {name: number for name, number in launch.sizes.items() if number is not None}
    known = _with_shapes(launch, signature, amendments)
    usual = usual_axes(signature)
    is_known = all(one.name in known.shapes for one in signature.parameters if one.is_array)
    counted = extents_in(known) & {*names} if is_known else frozenset(names)
    axes = degree(known, counted - given.keys(), given) if is_known else usual
    by_axes = zip(*(_values(signature, amendments, one, has_emulator) for one in (axes, usual)), strict=True)
    found = [
        {name: min(extent if name in counted else other, given.get(name, extent)) for name in names}
        for extent, other in by_axes
    ]
    if amendments.tested in APART:
        halved = () if is_guarded(signature) else names
        found[1::2] = (apart(one, given, halved) for one in found[1::2])
    if amendments.tested == "all":
        few = [name for name in given if launch.sizes.get(name) is None]
        found[1::2] = (with_other_few(one, few) for one in found[1::2])
    for one in found:
        keep_whole(one, launch.multiples)
    return found


def _with_shapes(launch: DraftedLaunch, signature: KernelSignature, amendments: Amendments) -> DraftedLaunch:
    """The launch with the threads that the kernel asks for and the arrays as large as running it showed."""
    shapes = {**launch.shapes, **amendments.shapes}
    return replace(launch, shapes=shapes, keys={**launch.keys, "problem_size": elements_along(signature)})


def _values(signature: KernelSignature, amendments: Amendments, axes: int, has_emulator: bool) -> tuple[int, ...]:
    """One value for timing and one for a test, and the same two for the emulator.

    Without an emulator what takes long does so at the sizes that are timed, and these are halved.
    """
    extents = extents_of(signature, axes, amendments.doublings)
    halvings = 0 if has_emulator else amendments.halvings + max(0, loops_of(signature) - 2)
    timed, emulated = max(16, extents.timed >> halvings), max(16, extents.emulated >> amendments.halvings)
    tested, emulated_test = extents.tested >> halvings, extents.emulated_test >> amendments.halvings
    if amendments.tested in ("half", "same"):
        halved = amendments.tested == "half"
        tested, emulated_test = timed >> halved, emulated >> halved
    return timed, max(15, tested), emulated, max(15, emulated_test)


def with_other_few(sizes: Mapping[str, int], names: Collection[str]) -> dict[str, int]:
    """Sizes of which small ones that are guesses are others: a stride of 2 for one of 1, 5 for the 8 largest."""
    return {name: _OTHER_FEW.get(size, size * 2 // 3 | 1) if name in names else size for name, size in sizes.items()}


def apart(sizes: Mapping[str, int], fixed: Collection[str], halved: Collection[str]) -> dict[str, int]:
    """Sizes of which no two are alike, as far as those allow that stay as they are, as do distances of rows.

    Args:
        halved: sizes that only their half can stand for.
    """
    found: dict[str, int] = {}
    fixed = {*fixed, *filter(BETWEEN_ROWS.search, sizes)}  # rows that are longer than that lie upon each other
    for name, size in sorted(sizes.items(), key=lambda one: one[0] not in fixed):
        smaller = size
        while smaller in found.values() and smaller > _FEWEST and name not in fixed:
            smaller = smaller // 2 if name in halved else smaller * 3 // 4
        found[name] = smaller
    return {name: found[name] for name in sizes}
