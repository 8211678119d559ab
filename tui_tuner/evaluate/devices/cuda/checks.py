"""Checks on the GPU itself after a launch has ended: outputs, inputs and guards. Only a few numbers come back.

What is expected is uploaded for each check and wiped after it, so that no launch ever finds it in device memory.
"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Sequence
from importlib.resources import files

import numpy as np

from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.devices.cuda.timing import BATCH
from tui_tuner.evaluate.devices.guarded_memory import PATTERN, Overwritten
from tui_tuner.evaluate.tolerance import Bound, Tally, Wrong
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch

SOURCE = files("tui_tuner.evaluate.devices.cuda").joinpath("checks.cu").read_text()
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8

_NOWHERE = 2**64 - 1
_NEXT_KEY = 0x9E3779B97F4A7C15
BEGIN = [0, 0, _NOWHERE, 0, _NOWHERE, 0, _NOWHERE]
"""The numbers of a comparison before it: the worst share, then of each kind of wrong elements count and first."""


def kernel_for(got: np.dtype, expected: np.dtype) -> str | None:
    """The kernel that compares an output of one type with what is expected in another; None where there is none."""
    if got.kind == "f":
        if expected == got:
            return f"tally_{got}"
        return f"tally_{got}_in_double" if expected == np.float64 else None
    if expected != got:
        return None
    return "differences_bool" if got.kind == "b" else f"differences_{got.itemsize}"


def tally_of(numbers: Sequence[int]) -> Tally:
    """What the numbers of a comparison say."""
    off, not_a_number, infinite = (Wrong(numbers[i], numbers[i + 1] * bool(numbers[i])) for i in (1, 3, 5))
    return Tally(float(np.array(numbers[0], np.uint64).view(np.float64)), off, not_a_number, infinite)


def checks_candidate() -> Candidate:
    """What to build: one kernel is named, and all of them are in the artifact."""
    return Candidate(source=SOURCE, kernel="digest", launch=Launch(grid=[1], block_size=[THREADS]), title="checks")


class Checks:
    """The built kernels, loaded in the current context.

    Args:
        image: the cubin.
        multiprocessors: of the device.

    Raises:
        CudaError: it cannot be loaded.
    """

    def __init__(self, driver: Driver, image: bytes, multiprocessors: int) -> None:
        self._driver = driver
        self._blocks = BLOCKS_PER_MULTIPROCESSOR * multiprocessors
        self._module = driver.load_module(image)
        self._functions: dict[str, int] = {}
        self._key = secrets.randbits(64)
        self._numbers = driver.allocate(8 * max(len(BEGIN), BATCH))
        self._scratch = 0
        self._scratch_bytes = 0

    def tally(self, address: int, kernel: str, expected: np.ndarray, allowed: Bound) -> Tally:
        """Compare an array in device memory with what is expected of it.

        Args:
            kernel: `kernel_for` both.
        """
        host = np.ascontiguousarray(expected)
        scratch = self._room(host.nbytes)
        self._driver.upload(scratch, host)
        try:
            numbers = self._run(
                kernel,
                BEGIN,
                host.size,
                *(ctypes.c_uint64(address), ctypes.c_uint64(scratch), ctypes.c_uint64(host.size)),
                *(ctypes.c_double(allowed.absolute), ctypes.c_double(allowed.relative)),
            )
        finally:
            self._driver.fill8(scratch, 0, host.nbytes)
        return tally_of(numbers)

    def digest(self, address: int, nbytes: int) -> int:
        """A number that changes when any of so many bytes do; 0 of none."""
        if not nbytes:
            return 0
        arguments = (ctypes.c_uint64(address), ctypes.c_uint64(nbytes), ctypes.c_uint64(self._key))
        return self._run("digest", [0], -(-nbytes // 8), *arguments)[0]

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
            self._driver.launch(self._function("digest"), self._blocks_for(-(-nbytes // 8)), THREADS, arguments, stream)

    def digests(self, count: int) -> list[int]:
        """The digests of a batch, once all of it has ended."""
        numbers = np.zeros(count, np.uint64)
        self._driver.download(numbers, self._numbers)
        return [int(number) for number in numbers]

    def damage(self, address: int, nbytes: int, start: int) -> Overwritten:
        """Where so many bytes are not the pattern of guards, which begins there at an even or odd offset."""
        if not nbytes:
            return None
        begins = PATTERN if start % 2 == 0 else PATTERN >> 8 | (PATTERN & 0xFF) << 8
        arguments = (ctypes.c_uint64(address), ctypes.c_uint64(nbytes), ctypes.c_uint(begins))
        first, behind = self._run("damage", [_NOWHERE, 0], nbytes, *arguments)
        return (first, behind - 1) if behind else None

    def _run(self, name: str, begin: Sequence[int], elements: int, *arguments: ctypes._SimpleCData) -> list[int]:  # type: ignore[type-arg]
        """Launch one of the kernels and wait for its numbers, which begin with these."""
        numbers = np.array(begin, np.uint64)
        self._driver.upload(self._numbers, numbers)
        all_arguments = (*arguments, ctypes.c_uint64(self._numbers))
        self._driver.launch(self._function(name), self._blocks_for(elements), THREADS, all_arguments)
        self._driver.synchronize()
        self._driver.download(numbers, self._numbers)
        return [int(number) for number in numbers]

    def _blocks_for(self, elements: int) -> int:
        return max(1, min(self._blocks, -(-elements // THREADS)))

    def _function(self, name: str) -> int:
        if name not in self._functions:
            self._functions[name] = self._driver.function(self._module, name)
        return self._functions[name]

    def _room(self, nbytes: int) -> int:
        """Scratch memory that is empty between checks."""
        if nbytes > self._scratch_bytes:
            if self._scratch:
                self._driver.free(self._scratch)
            self._scratch_bytes, self._scratch = 0, 0
            self._scratch = self._driver.allocate(nbytes)
            self._scratch_bytes = nbytes
        return self._scratch
