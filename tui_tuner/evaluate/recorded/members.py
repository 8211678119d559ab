"""The configurations of a recording in a few kilobytes, so that the journal of a run holds its whole search space.

Each is a number in the mixed radix of its tunables' values; sorted, their differences are small and pack well.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.value_order import exact


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
