"""What the host makes of a launch before a device sees it: inputs, and what the reference computes of them.

Both take longer than the launch. So on a GPU a thread makes them, ahead of when they are asked for: while kernels are
built, and between two comparisons. While something is timed it rests, as it would hold the interpreter's lock between
an event and the launch behind it. Elsewhere they are made when they are asked for: kernels run on the same processors.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TypeVar

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import array_bytes, call_reference, fill_of, make_arguments
from tui_tuner.problem.model import Problem, Test
from tui_tuner.problem.textures import ALL_BUT_NOISE, MOVED, STRUCTURED, Texture, occurring, textured
from tui_tuner.processes.limits import usable_memory

QUICK_REFERENCE_S, PATIENT_REFERENCE_S = 1.0, 60.0
"""A reference that would take longer at the timed size is not called there; and where there is a doubt."""

MOST_BYTES = 8 * 2**30
"""Of the arrays at the timed size that are kept, on the host and on the device."""
AHEAD_BYTES = min(MOST_BYTES // 2, usable_memory() // 16)
"""Of the arrays at a size that are made ahead of when they are asked for."""
_REST = tuple(texture for texture in ALL_BUT_NOISE if texture not in STRUCTURED)

Made = TypeVar("Made")


class DraftThread:
    """A thread that makes drafts, one for a whole process: the user's functions need not bear several."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._working = threading.Lock()
        self.may_work = threading.Event()
        self.may_work.set()

    def soon(self, make: Callable[[], Made]) -> Callable[[], Made]:
        """Make something in its turn; what is returned waits for it."""
        self._pool = self._pool or ThreadPoolExecutor(1, "drafts")
        return self._pool.submit(self._made, make).result

    def _made(self, make: Callable[[], Made]) -> Made:
        self.may_work.wait()
        with self._working:
            return make()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Wait for what is being made, and begin nothing more meanwhile; nothing must be waited for in there."""
        self.may_work.clear()
        try:
            with self._working:
                yield
        finally:
            self.may_work.set()


BESIDE = DraftThread()


@dataclass(frozen=True)
class Draft:
    """Inputs of a launch that no kernel has seen; both wait until they are made.

    Attributes:
        arguments: of the launch, outputs poisoned; None where the texture changes none. Raises `ProblemError` where
            they cannot be made.
        expected: outputs by argument name; None where the reference is not asked. Raises `ProblemError` where it fails.
    """

    texture: Texture
    arguments: Callable[[], list[KernelArgument] | None]
    expected: Callable[[], Mapping[str, np.ndarray] | None]


@dataclass
class Drafts:
    """Makes drafts, always on fresh secret seeds.

    Args:
        problem: whose tests and timed size they are for.
        beside: whether a thread makes them.

    Attributes:
        in_doubt: whether the reference is asked at the timed size even if it takes long.
    """

    problem: Problem
    beside: bool = False
    in_doubt: bool = False
    _largest_call: tuple[float, float] = (0.0, 0.0)
    """How much work the largest launch was that the reference computed, and how many seconds it took."""
    _announced: dict[int, tuple[Draft, ...]] = field(default_factory=dict)

    def at(self, index: int) -> Problem:
        """The problem at a test, or at the timed size."""
        return self.problem.at(self.test(index))

    def test(self, index: int) -> Test:
        """A test; behind the last one that of the timed size, which changes nothing."""
        tests = self.problem.tests
        return tests[index] if index < len(tests) else Test(sizes={})

    def textures(self, index: int) -> Sequence[Texture]:
        """Those that are checked beside noise at a test, or at the timed size; as far as there is room."""
        return self._wanted(index)[: self._room(index)]

    def rest(self, checked: Collection[Texture]) -> Sequence[Texture]:
        """Those that the timed size has for what is about to be accepted only: of those checked, and a long part."""
        has_parts = any(fill_of(one) == "offsets" for one in self.problem.arguments if one.members is None)
        also = [Texture.LONE] if has_parts else []  # at tests a part that has half of all is not as long
        rest = [*also, *(texture for texture in _REST if texture in checked)]
        return rest[: self._room(len(self.problem.tests))]

    def _room(self, index: int) -> int:
        return max(0, MOST_BYTES // (len(self.problem.tests) + 1) // max(1, self._bytes(index)) - 1)

    def without_room(self) -> list[str]:
        """A line for each test, and for the timed size, at which textures are left out for want of room."""
        missing = {i: self._wanted(i)[len(self.textures(i)) :] for i in range(len(self.problem.tests) + 1)}
        return [
            f"inputs with {' and '.join(some)}: no room for more arrays of {self._bytes(index) / 2**30:.1f} GiB"
            for index, some in missing.items()
            if some
        ]

    def _wanted(self, index: int) -> Sequence[Texture]:
        """All at tests, and where there are none; those with structure at the timed size."""
        tests = self.problem.tests
        return occurring(self.at(index)) if index < len(tests) or not tests else STRUCTURED

    def _bytes(self, index: int) -> int:
        return array_bytes(self.problem, self.at(index).sizes)

    def announce(self, index: int, textures: Sequence[Texture]) -> Sequence[Texture]:
        """Begin what `take` will want next at an index, unless it is large or something is begun already.

        Returns:
            The textures to take: those of what is begun, else those given.
        """
        if index in self._announced:
            return [draft.texture for draft in self._announced[index][1:]]
        if self.beside and self._bytes(index) * (1 + len(textures)) <= AHEAD_BYTES:
            self._announced[index] = tuple(self._begin(index, textures))
        return textures

    def announce_pair(self, index: int, checked: Sequence[Texture]) -> Sequence[Texture]:
        """Begin what a comparison needs: of the textures that are checked one at random, and those for acceptance."""
        others = [texture for texture in checked if texture is not Texture.NOISE]
        also = [Texture.CHANGED]
        if index < len(self.problem.tests):
            also = [Texture.MOSTLY_EQUAL, Texture.LONE, Texture.ORDERED, Texture.SCALARS, *MOVED, Texture.BITS]
            also += [Texture.NEXT] if self._orders else []
        return self.announce(index, [secrets.choice(others), *also] if others else [])

    @property
    def _orders(self) -> bool:
        """Whether the kernel may order numbers: it computes whole ones, as places are, and a reference says which."""
        outputs = (argument for argument in self.problem.arguments if argument.output)
        whole = any(not is_floating(dtype_named(one.dtype)) for one in outputs)
        return self.problem.reference is not None and whole

    def announce_checks(self) -> None:
        """Begin all that every candidate is checked with."""
        for index in range(len(self.problem.tests) + 1):
            self.announce(index, self.textures(index))

    def take(self, index: int, textures: Sequence[Texture]) -> tuple[Draft, ...]:
        """Noise for a test, or for the timed size at the last index, and one draft for each texture."""
        begun = self._announced.pop(index, ())
        if tuple(draft.texture for draft in begun) == (Texture.NOISE, *textures):
            return begun
        return tuple(self._begin(index, textures))

    def again(
        self, noise: Sequence[KernelArgument], index: int, texture: Texture, *, first_only: bool = False
    ) -> Draft:
        """Another draft of the same noise with a texture; at will, which only the first array has that can."""
        return self._textured(index, texture, lambda: list(noise), first_only=first_only)

    def doubt(self) -> None:
        """Ask the reference at the timed size of what is drafted from now on."""
        self.in_doubt = True
        self._announced.clear()

    def _asks_reference(self, index: int, texture: Texture, in_doubt: bool) -> bool:
        """At every test; at the timed size if there is none, in doubt, and of what noise hides where it is quick.

        Also in doubt a slow one is not asked of what the timed size has for acceptance only: most agree there.
        """
        if self.problem.reference is None:
            return False
        if index < len(self.problem.tests) or not self.problem.tests:
            return True
        is_quick = self._timed_reference_s < QUICK_REFERENCE_S
        return (in_doubt and texture not in _REST) or (texture in (*STRUCTURED, *_REST, Texture.LONE) and is_quick)

    def asked(self, index: int, arguments: Sequence[KernelArgument]) -> Mapping[str, np.ndarray] | None:
        """What the reference says of a launch; None where it would take far too long."""
        if self.problem.reference is None or self._timed_reference_s >= PATIENT_REFERENCE_S:
            return None
        return self._called(index, arguments)

    def _begin(self, index: int, textures: Sequence[Texture]) -> Iterator[Draft]:
        at = self.at(index)
        noise = self._soon(partial(make_arguments, at, {}, secrets.randbits(63)))
        yield Draft(
            Texture.NOISE, noise, self._soon(partial(self._expected, index, Texture.NOISE, self.in_doubt, noise))
        )
        for texture in textures:
            yield self._textured(index, texture, noise)

    def _textured(
        self, index: int, texture: Texture, noise: Callable[[], list[KernelArgument]], *, first_only: bool = False
    ) -> Draft:
        at, seed = self.at(index), secrets.randbits(63)
        arguments = self._soon(lambda: textured(at, noise(), texture, seed, first_only=first_only))
        return Draft(texture, arguments, self._soon(partial(self._expected, index, texture, self.in_doubt, arguments)))

    def _expected(
        self, index: int, texture: Texture, in_doubt: bool, arguments: Callable[[], list[KernelArgument] | None]
    ) -> Mapping[str, np.ndarray] | None:
        values = arguments()
        if values is None or not self._asks_reference(index, texture, in_doubt):
            return None
        return self._called(index, values)

    def _called(self, index: int, values: Sequence[KernelArgument]) -> Mapping[str, np.ndarray]:
        began = time.perf_counter()
        outputs = call_reference(self.problem, list(values))
        # A view, as of a transpose, would be gone through against the grain at every check.
        outputs = {name: np.ascontiguousarray(output) for name, output in outputs.items()}
        work = self._work(self.at(index).sizes)
        self._largest_call = max(self._largest_call, (work, time.perf_counter() - began))
        return outputs

    @property
    def _timed_reference_s(self) -> float:
        """What a call of the reference takes at the timed size at most, as far as is known."""
        work, spent_s = self._largest_call
        return spent_s * self._work(self.problem.sizes) / work if work else 0.0

    def _work(self, sizes: Mapping[str, int]) -> float:
        """The work of a launch, in operations where the problem says how many, else in bytes."""
        work = self.problem.work
        flops = 0.0 if work is None else float(evaluate(work.flops, sizes))
        return max(flops or float(array_bytes(self.problem, sizes)), 1.0)

    def _soon(self, make: Callable[[], Made]) -> Callable[[], Made]:
        return BESIDE.soon(make) if self.beside else cache(make)
