"""Large arrays in blocks, several at once: on one processor they would take longer than all launches of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np

from tui_tuner.processes.limits import usable_cores

BLOCK = 2**19
"""Elements that one generator draws; several are at work at once, and how many changes nothing."""
MOST_THREADS = 16
_kept: list[ThreadPoolExecutor] = []


def keep_threads() -> None:
    """Let threads stay from now on, in a process that never forks: to start them takes as long as what they do."""
    if not _kept:
        _kept.append(ThreadPoolExecutor(min(usable_cores(), MOST_THREADS)))


def in_threads(work: Callable[[int], object], count: int) -> None:
    """Do pieces of work that release the interpreter's lock, 0 to count - 1, on all processors.

    No thread stays, unless `keep_threads` said so. The work does not call this itself.
    """
    threads = min(count, usable_cores(), MOST_THREADS)
    if threads <= 1:
        for number in range(count):
            work(number)
        return
    with nullcontext(_kept[0]) if _kept else ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(work, range(count)):
            pass


def in_blocks(size: int, work: Callable[[slice], object], block: int = BLOCK) -> None:
    """Do work on each block of so many elements of a flat array."""
    in_threads(lambda number: work(slice(number * block, (number + 1) * block)), -(-size // block))


def filled(shape: tuple[int, ...], value: float, dtype: np.dtype) -> np.ndarray:
    """An array of one value."""
    values = np.empty(shape, dtype)
    flat = values.reshape(-1)

    def fill(part: slice) -> None:
        flat[part] = value

    in_blocks(flat.size, fill)
    return values


def copied(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A copy in another type, row by row."""
    values = np.empty(array.shape, dtype)
    flat, given = values.reshape(-1), np.ascontiguousarray(array).reshape(-1)

    def copy(part: slice) -> None:
        flat[part] = given[part]

    in_blocks(flat.size, copy)
    return values
