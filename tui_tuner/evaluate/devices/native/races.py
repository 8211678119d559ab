"""Updates that would be lost between blocks: what two of them do alone, each from the same memory.

Blocks of the emulator run one after the other, so a sum that is read, added to and written back without an atomic
function comes out right. Run from the same memory, both write that element, and each what the other does not.
That is right where each waits for its turn, as by a ticket: then neither ends where others have begun and not ended.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.native.code import NativeArguments
from tui_tuner.evaluate.devices.native.memory import SharedArray
from tui_tuner.evaluate.devices.native.protocol import AtomicsNote
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Geometry

RestoredArrays = Sequence[tuple[SharedArray, np.ndarray]]
"""Shared arrays with their untouched copies."""


def pairs_of_blocks(geometry: Geometry) -> list[tuple[int, int]]:
    """Neighbours along each axis of a launch, and strangers, counted from 1; none where there is but one block."""
    count, pairs, step = math.prod(geometry.grid), [], 1
    for extent in geometry.grid:
        if extent > 1:
            before, along, behind = (secrets.randbelow(most) for most in (step, extent - 1, count // step // extent))
            first = 1 + before + step * (along + extent * behind)
            pairs.append((first, first + step))
        step *= extent
    return [*pairs, (1, count)] if pairs else []


@dataclass(frozen=True)
class BlockTrace:
    """What one block alone left.

    Attributes:
        arrays: bytes of the restored arrays.
        atomics: where in the memory atomic functions worked; None where blocks may wait for each other.
    """

    arrays: list[np.ndarray]
    atomics: frozenset[int] | None

    @classmethod
    def taken(cls, restored: RestoredArrays, note: AtomicsNote, base: int) -> BlockTrace:
        """What there is now, where the memory begins at this address."""
        offsets = None if note.count < 0 else frozenset(at - base for at in note.addresses[: note.count])
        return cls([array.bytes_view().copy() for array, _ in restored], offsets)


RunAlone = Callable[[tuple[int, int], bool], Sequence["BlockTrace"]]
"""Runs two blocks alone, one after the other from the same memory; if asked, as if others had begun and not ended.
Raises `DeviceFault`."""


def lost_between(
    pairs: Iterable[tuple[int, int]],
    run: RunAlone,
    arguments: NativeArguments,
    restored: RestoredArrays,
    unordered: Collection[int],
) -> str | None:
    """Which update of a pair of blocks is lost, in words; None where none is, or blocks wait for each other.

    Args:
        unordered: arrays in which blocks that are alone find the same place, as where they append.
    """
    for pair in pairs:
        try:
            traces = run(pair, False)
        except DeviceFault:
            return None
        if lost := lost_update(arguments, restored, traces, unordered):
            blocks = " and ".join(str(block - 1) for block in pair)
            return None if _waits_behind_others(run, pair) else f"blocks {blocks} {lost}"
    return None


def _waits_behind_others(run: RunAlone, pair: tuple[int, int]) -> bool:
    try:
        run(pair, True)
    except DeviceFault as fault:
        return fault.kind is FailureKind.TIMEOUT
    return False


def lost_update(
    arguments: NativeArguments, restored: RestoredArrays, traces: Sequence[BlockTrace], unordered: Collection[int]
) -> str | None:
    """Which element two blocks wrote without an atomic function, each something else; in words, None where none."""
    one, other = traces
    if one.atomics is None or other.atomics is None:
        return None
    for index, (array, pristine) in enumerate(restored):
        position = next(i for i, argument in enumerate(arguments) if argument is array)
        if position in unordered:
            continue
        kind = np.dtype(f"V{pristine.itemsize}")
        before = np.ascontiguousarray(pristine).reshape(-1).view(kind)
        first, second = (trace.arrays[index].view(kind) for trace in (one, other))
        for element in np.flatnonzero((first != before) & (second != before) & (first != second)):
            if array.place.start + int(element) * pristine.itemsize not in one.atomics | other.atomics:
                return f"both write element {element} of argument {position + 1}, and one update is lost"
    return None
