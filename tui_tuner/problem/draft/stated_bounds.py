"""What a size is no larger than, as the kernel's own arrays or the host's random numbers say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.draft.launch_reading import LaunchReading

_DECLARED = re.compile(r"(?:^|[;{}])\s*(?P<type>(?:[\w:<>]+\s+)+)(?P<names>[^;{}()]*\[[^;{}()]*)[;{]")
_ARRAY = re.compile(r"\b(\w+)\s*\[([^][]+)\]\s*(?=[,;={]|$)")
_DRAWN = re.compile(r"\(?\s*rand\s*\(\s*\)\s*%\s*(?P<count>\w+)\s*\)?\s*(?:\+\s*(?P<least>\d+)\s*)?")


def stated_bounds(reading: LaunchReading) -> dict[str, int]:
    """The most that scalars may be, by the name of the scalar: the least that is said of each."""
    found: dict[str, int] = {}
    for name, most in [*_of_arrays(reading), *_of_random_numbers(reading)]:
        found[name] = min(most, found.get(name, most))
    return found


def _of_arrays(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """What a loop over an array of a thread's own goes to, and how far a window reaches whose elements one holds."""
    body, held = reading.signature.body, dict(_own_arrays(reading))
    for name, dtype, _ in reading.scalars():
        if dtype is None or "int" not in dtype or not name.isidentifier():
            continue
        counters = re.findall(rf"\bfor\s*\([^;]*;[^;]*?\b(\w+)\s*<\s*{name}\s*[;&]", body)
        yield from ((name, most) for array, most in held.items() for one in counters if _is_at(array, one, body))
        if re.search(rf"-\s*{name}\b", body) and re.search(rf"\+\s*{name}\b", body):
            places = (most for array, most in held.items() if _is_at(array, r"[A-Za-z_]\w*(?:\+\+)?", body))
            yield from ((name, (most - 1) // 2) for most in places if most > 2)


def _own_arrays(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """The arrays that each thread has of its own, with the elements of each, as far as that is a number."""
    for found in _DECLARED.finditer(reading.signature.body):
        if re.search(r"\b(?:__shared__|__local|local|extern|return)\b", found["type"]):
            continue
        for name, text in _ARRAY.findall(found["names"]):
            number = reading.program.number(text, reading.launch.place)
            if number is not None and number > 0:
                yield name, number


def _is_at(array: str, index: str, body: str) -> bool:
    return re.search(rf"\b{array}\s*\[\s*{index}\s*\]", body) is not None


def _of_random_numbers(reading: LaunchReading) -> Iterator[tuple[str, int]]:
    """What the host draws at random, as by `rand() % 10`."""
    for name, _, given in reading.scalars():
        text, place = reading.program.followed(given, reading.launch.place)
        drawn = _DRAWN.fullmatch(text.strip())
        count = None if drawn is None else reading.program.number(drawn["count"], place)
        if drawn is not None and count is not None:
            yield name, max(1, count - 1 + int(drawn["least"] or 0))
