"""Copies between the host and a device, large ones by way of pinned memory.

The driver copies pages that are not pinned at a fraction of the bus's speed, and into pages that nothing was written to
at a fiftieth: one thread brings each of them in. Here all processors move a piece between the array and pinned memory
while the bus moves the piece before it. A kernel could read pinned memory if it knew where it lies, so what went
through it is wiped before one is launched.
"""

from __future__ import annotations

import numpy as np

from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.problem.blocks import in_blocks

PIECE = 2**24
"""Bytes that the bus moves at once."""
_SLICE = 2**21
"""Bytes that a thread moves at once."""


class Transfers:
    """Copies to and from the device of the current context; used from one thread."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._pinned: dict[int, np.ndarray] = {}
        self._halves: tuple[np.ndarray, ...] | None = None
        self._is_wiped = True

    def pin(self, array: np.ndarray) -> None:
        """Lock the pages of a contiguous array until the process ends, and keep it: no copy may begin in memory that is
        pinned and end beyond it, as one of another array could that came to lie there.

        Raises:
            CudaError: the system does not allow it.
        """
        self._driver.pin(array)
        self._pinned[array.ctypes.data] = array

    def upload(self, address: int, array: np.ndarray) -> None:
        """Copy a contiguous array to the device."""
        halves = self._halves_for(array)
        if not halves:
            self._driver.upload(address, array)
            return
        for number, piece in enumerate(_pieces(array)):
            half = halves[number % 2][: piece.size]
            _copy(half, piece)
            self._driver.synchronize()  # the piece before has arrived: its half is free for the next
            self._driver.upload_async(address + number * PIECE, half)
        self._driver.synchronize()

    def download(self, array: np.ndarray, address: int) -> None:
        """Fill a contiguous array from the device."""
        halves = self._halves_for(array)
        if not halves:
            self._driver.download(array, address)
            return
        pieces = _pieces(array)
        self._driver.download_async(halves[0][: pieces[0].size], address)
        for number, piece in enumerate(pieces):
            self._driver.synchronize()
            if number + 1 < len(pieces):
                following = halves[(number + 1) % 2][: pieces[number + 1].size]
                self._driver.download_async(following, address + (number + 1) * PIECE)
            _copy(piece, halves[number % 2][: piece.size])

    def wipe(self) -> None:
        """Leave nothing of what was copied where a kernel could find it; no copy is under way."""
        if not self._is_wiped:
            for half in self._halves or ():
                _copy(half, np.broadcast_to(np.uint8(0), half.shape))
        self._is_wiped = True

    def _halves_for(self, array: np.ndarray) -> tuple[np.ndarray, ...]:
        """The pinned halves that an array goes through; none where it is small or pinned itself, or nothing can be."""
        if array.nbytes < PIECE or self._pinned.get(array.ctypes.data) is array:
            return ()
        if self._halves is None:
            self._halves = self._pinned_halves()
        self._is_wiped = False
        return self._halves

    def _pinned_halves(self) -> tuple[np.ndarray, ...]:
        both = np.empty(2 * PIECE, np.uint8)
        try:
            self.pin(both)
        except CudaError:  # as where the system limits what a process may lock
            return ()
        return both[:PIECE], both[PIECE:]


def _pieces(array: np.ndarray) -> list[np.ndarray]:
    flat = array.reshape(-1).view(np.uint8)
    return [flat[start : start + PIECE] for start in range(0, flat.size, PIECE)]


def _copy(target: np.ndarray, source: np.ndarray) -> None:
    def copy(part: slice) -> None:
        target[part] = source[part]

    in_blocks(target.size, copy, _SLICE)
