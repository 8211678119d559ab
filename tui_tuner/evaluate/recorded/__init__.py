"""A recording of kernel_tuner in the place of a device: what was measured once answers for the GPU.

Here: the configurations that were measured of one kernel on one device, and what came of each.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path

from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.tunables import exact, exact_key


def packed(members: Iterable[Configuration], tunables: Mapping[str, Sequence[Value]]) -> str:
    """Configurations as text; each has one of the values of every tunable.

    Raises:
        KeyError: one has not.
    """
    places = {name: {exact(value): place for place, value in enumerate(values)} for name, values in tunables.items()}
    numbers = sorted({_number(member, places) for member in members})
    steps = [later - earlier for earlier, later in pairwise([0, *numbers])]
    return base64.b64encode(zlib.compress(",".join(map(str, steps)).encode(), 9)).decode()


def unpacked(text: str, tunables: Mapping[str, Sequence[Value]]) -> list[Configuration]:
    """The configurations that were packed with the same tunables, in the order of their values.

    Raises:
        ValueError: the text is none that was packed.
    """
    try:
        steps = zlib.decompress(base64.b64decode(text, validate=True)).decode()
    except zlib.error as error:
        raise ValueError(f"members cannot be unpacked: {error}") from None
    numbers = accumulate(int(step) for step in steps.split(",") if step)
    return [_configuration(number, tunables) for number in numbers]


def _number(member: Configuration, places: Mapping[str, Mapping[object, int]]) -> int:
    number = 0
    for name, place in places.items():
        number = number * len(place) + place[exact(member[name])]
    return number


def _configuration(number: int, tunables: Mapping[str, Sequence[Value]]) -> Configuration:
    values: list[tuple[str, Value]] = []
    for name in reversed([*tunables]):
        number, place = divmod(number, len(tunables[name]))
        values.append((name, tunables[name][place]))
    return dict(reversed(values))


@dataclass(frozen=True)
class RecordingEntry:
    """What is on record of one configuration; either a time or a failure.

    Attributes:
        time: its value of the objective, ms where the objective is the time.
        samples: the single launches behind it, ms; empty where they are not on record.
        registers: of a thread, None where that is not on record.
        build_ms: how long its compiler ran, and so on for its check and its measurement.
    """

    configuration: Configuration
    time: float | None = None
    failure: Failure | None = None
    samples: tuple[float, ...] = ()
    registers: int | None = None
    build_ms: float = 0.0
    verify_ms: float = 0.0
    measure_ms: float = 0.0

    @property
    def is_valid(self) -> bool:
        """Whether a configuration belongs to the search space: what failed does, what was ruled out before does not."""
        return self.failure is None or self.failure.kind is not FailureKind.INVALID


@dataclass(frozen=True)
class Recording:
    """The content of one file.

    Attributes:
        digest: hash of the file's content.
        device: name of the device, empty where it is not on record.
        kernel: name of the kernel function.
        problem_size: elements along x, y, z, as far as they are numbers.
        objective: what its times are; "time" means ms.
        offered: the values that each tunable was given, whether they occur or not.
        entries: one for each configuration.
    """

    file: Path
    digest: str
    device: str
    kernel: str
    problem_size: tuple[int, ...]
    objective: str
    offered: Mapping[str, tuple[Value, ...]]
    entries: Sequence[RecordingEntry] = field(repr=False)

    @cached_property
    def tunables(self) -> dict[str, list[Value]]:
        """The values of each tunable that occur among the members, in the order of its header."""
        occurring = {name: {exact(member[name]) for member in self.members} for name in self.offered}
        return {
            name: [value for value in values if exact(value) in occurring[name]]
            for name, values in self.offered.items()
        }

    @cached_property
    def members(self) -> list[Configuration]:
        """The configurations that make the search space."""
        return [entry.configuration for entry in self.entries if entry.is_valid]

    def timed(self) -> Iterator[RecordingEntry]:
        """The configurations that have a time, in the order of the file."""
        return (entry for entry in self.entries if entry.time is not None)

    def entry(self, configuration: Mapping[str, Value]) -> RecordingEntry | None:
        """What is on record of a configuration, None if it was never measured."""
        return self._by_key.get(exact_key(configuration))

    @cached_property
    def _by_key(self) -> dict[object, RecordingEntry]:
        return {exact_key(entry.configuration): entry for entry in self.entries}
