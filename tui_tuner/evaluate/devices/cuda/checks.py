"""Checks on the GPU itself after a launch has ended: outputs, inputs and guards. Only a few numbers come back.

What is expected is uploaded for each check and wiped after it, so that no launch ever finds it in device memory.
"""

from __future__ import annotations

import ctypes
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.devices.cuda.timing import BATCH
from tui_tuner.evaluate.devices.cuda.transfers import Transfers
from tui_tuner.evaluate.devices.guard_bands import PATTERN, Band, Overwritten
from tui_tuner.evaluate.tolerance import Bound, Tally, Wrong
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.model import Launch

SOURCE = files("tui_tuner.evaluate.devices.cuda").joinpath("checks.cu").read_text()
_TALLIES = re.compile(r"^TALLIES\((\w+)\)\n", re.MULTILINE)
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8
_LOOKS = 64
"""So many looks at the most are waited for together."""

_NOWHERE = 2**64 - 1
_NEXT_KEY = 0x9E3779B97F4A7C15
BEGIN = [0, 0, _NOWHERE, 0, _NOWHERE, 0, _NOWHERE]
"""The numbers of a comparison before it: the worst share, then of each kind of wrong elements count and first."""


def kernel_for(got: np.dtype, expected: np.dtype, allowed: Bound) -> str | None:
    """The kernel that compares an output of one type with what is expected in another; None where there is none."""
    if is_floating(got):
        if expected == got:
            return f"tally_{got}"
        return f"tally_{got}_in_double" if expected == np.float64 else None
    if expected != got or allowed.absolute:
        return None
    return "differences_bool" if got.kind == "b" else f"differences_{got.itemsize}"


def tally_of(numbers: Sequence[int]) -> Tally:
    """What the numbers of a comparison say."""
    off, not_a_number, infinite = (Wrong(numbers[i], numbers[i + 1] * bool(numbers[i])) for i in (1, 3, 5))
    return Tally(float(np.array(numbers[0], np.uint64).view(np.float64)), off, not_a_number, infinite)


def checks_candidate(outputs: Collection[str]) -> Candidate:
    """What to build: one kernel is named, and in the artifact are all that outputs of these types need.

    A first start waits for their build, which takes half as long again where all types are in it.
    """
    source = _TALLIES.sub(lambda found: found[0] if found[1] in outputs else "", SOURCE)
    return Candidate(source=source, kernel="digest", launch=Launch(grid=[1], block_size=[THREADS]), title="checks")


@dataclass(frozen=True)
class _Look:
    """One launch of one of the kernels.

    Attributes:
        begin: the numbers that it is given, in whose place it leaves what it found.
        elements: how many it looks at.
        arguments: those before the numbers.
    """

    kernel: str
    begin: Sequence[int]
    elements: int
    arguments: Sequence[Any]


class Checks:
    """The built kernels, loaded in the current context.

    Args:
        image: the cubin.
        multiprocessors: of the device.

    Raises:
        CudaError: it cannot be loaded.
    """

    def __init__(self, driver: Driver, transfers: Transfers, image: bytes, multiprocessors: int) -> None:
        self._driver = driver
        self._transfers = transfers
        self._blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
        self._module = driver.load_module(image)
        self._functions: dict[str, int] = {}
        self._key = secrets.randbits(64)
        self._numbers = driver.allocate(8 * max(_LOOKS * len(BEGIN), BATCH))
        self._scratch = 0
        self._scratch_bytes = 0

    def tally(self, address: int, kernel: str, expected: np.ndarray, allowed: Bound) -> Tally:
        """Compare an array in device memory with what is expected of it.

        Args:
            kernel: `kernel_for` both.
        """
        host = np.ascontiguousarray(expected)
        scratch = self._room(host.nbytes)
        self._transfers.upload(scratch, host)
        try:
            places = ctypes.c_uint64(address), ctypes.c_uint64(scratch), ctypes.c_uint64(host.size)
            bounds = ctypes.c_double(allowed.absolute), ctypes.c_double(allowed.relative)
            (numbers,) = self._seen([_Look(kernel, BEGIN, host.size, (*places, *bounds))])
        finally:
            self._driver.fill(scratch, 0, host.nbytes)
        return tally_of(numbers)

    def digest_each(self, arrays: Sequence[tuple[int, int]]) -> list[int]:
        """For each array, an address and its bytes, a number that changes when any of them do; 0 of none."""
        key = ctypes.c_uint64(self._key)
        looks = [
            _Look("digest", [0], -(-nbytes // 8), (ctypes.c_uint64(address), ctypes.c_uint64(nbytes), key))
            for address, nbytes in arrays
        ]
        return [digest for (digest,) in self._seen(looks)]

    def begin_digests(self) -> None:
        """Make room for the digests of a batch of launches, the first of which is queued next."""
        self._driver.upload(self._numbers, np.zeros(BATCH, np.uint64))
        self._driver.synchronize()  # digests are queued on another stream

    def queue_digest(self, place: int, arrays: Sequence[tuple[int, int]], stream: int) -> None:
        """Queue one digest of several arrays, each an address and its bytes, for a place in the batch."""
        number = ctypes.c_uint64(self._numbers + 8 * place)
        for index, (address, nbytes) in enumerate(arrays):
            key = ctypes.c_uint64((self._key + (index + 1) * _NEXT_KEY) % 2**64)
            arguments = (ctypes.c_uint64(address), ctypes.c_uint64(nbytes), key, number)
            self._launch("digest", -(-nbytes // 8), arguments, stream)

    def digests(self, count: int) -> list[int]:
        """The digests of a batch, once all of it has ended."""
        numbers = np.zeros(count, np.uint64)
        self._driver.download(numbers, self._numbers)
        return [int(number) for number in numbers]

    def damage(self, bands: Sequence[Band]) -> list[Overwritten]:
        """Where each band is not the pattern of guards."""
        swapped = PATTERN >> 8 | (PATTERN & 0xFF) << 8
        looks = [
            _Look(
                "damage",
                [_NOWHERE, 0],
                band.nbytes,
                (
                    ctypes.c_uint64(band.address),
                    ctypes.c_uint64(band.nbytes),
                    ctypes.c_uint(swapped if band.start % 2 else PATTERN),
                ),
            )
            for band in bands
        ]
        return [(first, behind - 1) if behind else None for first, behind in self._seen(looks)]

    def _seen(self, looks: Sequence[_Look]) -> list[list[int]]:
        """What each look, all of one kind, leaves of its numbers; the copy of many waits for them all."""
        seen = [list(look.begin) for look in looks]
        there = [place for place, look in enumerate(looks) if look.elements]
        for begin in range(0, len(there), _LOOKS):
            places = there[begin : begin + _LOOKS]
            numbers = np.array([seen[place] for place in places], np.uint64)
            self._driver.upload(self._numbers, numbers)
            for row, place in enumerate(places):
                look, result = looks[place], ctypes.c_uint64(self._numbers + row * numbers.strides[0])
                self._launch(look.kernel, look.elements, (*look.arguments, result))
            self._driver.download(numbers, self._numbers)
            for place, found in zip(places, numbers.tolist(), strict=True):
                seen[place] = found
        return seen

    def _launch(self, kernel: str, elements: int, arguments: Sequence[Any], stream: int | None = None) -> None:
        if kernel not in self._functions:
            self._functions[kernel] = self._driver.function(self._module, kernel)
        blocks = max(1, min(self._blocks, -(-elements // THREADS)))
        self._driver.launch(self._functions[kernel], (blocks, 1, 1, THREADS, 1, 1, 0), arguments, stream)

    def _room(self, nbytes: int) -> int:
        """Scratch memory that is empty between checks."""
        if nbytes > self._scratch_bytes:
            if self._scratch:
                self._driver.free(self._scratch)
            self._scratch_bytes, self._scratch = 0, 0
            self._scratch = self._driver.allocate(nbytes)
            self._scratch_bytes = nbytes
        return self._scratch
