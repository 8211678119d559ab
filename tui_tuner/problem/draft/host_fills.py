"""What the host sets arrays to before it launches a kernel, and whether a draft may do so too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.draft.host_program import HostProgram
from tui_tuner.problem.draft.launch_reading import LaunchReading
from tui_tuner.problem.syntax import list_at

_FILLS = {"0": "zeros", "1": "ones"}
_OF_TORCH = {"zeros": "0", "ones": "1"}


def held_before(reading: LaunchReading) -> Iterator[tuple[str, str]]:
    """Arrays that the host sets to one number before the launch, by name, with that number as it writes it."""
    for given, parameter in reading.arguments:
        if parameter.is_array and not parameter.const:
            names = reading.memory.followed(given, reading.launch.place)
            found = next((one for name, place in names if (one := _set_to(reading.program, name, place))), None)
            if found is not None:
                yield parameter.name, found


def _set_to(program: HostProgram, name: str, place: int) -> str | None:
    """What all elements of an array were last set to in the function of a place, before it."""
    start, plain = program.begin_of(place), re.escape(name)
    cast = r"(?:\([^()]*\)\s*)?"
    moved = re.compile(rf"\bcuda(?P<how>Memset|Memcpy)(?:Async)?\s*\(\s*{cast}{plain}\s*,\s*(?P<value>[^,;]+),")
    made = re.compile(rf"(?<![\w.>]){plain}\s*=\s*(?:torch|at)\s*::\s*(?P<how>zeros|ones|full)(?:_like)?\s*\(")
    found = [*moved.finditer(program.code, start, place), *made.finditer(program.code, start, place)]
    if not found:
        return None
    last = max(found, key=lambda one: one.start())
    if last["how"] in _OF_TORCH:
        return _OF_TORCH[last["how"]]
    if last["how"] == "full":
        given = list_at(program.code, last.end() - 1)
        return given[1] if len(given) > 1 else None
    return "0" if last["how"] == "Memset" and last["value"].strip() in ("0", "0x00", "0.0f") else None


def content_before(held: str, name: str, body: str, usual: str) -> tuple[str, str]:
    """The fill of an output that the kernel reads too, and what is said of the number that the host sets it to.

    The host's own fill only where threads add to a place by atomic functions, so that they are still seen to: with it
    no other kernel would be seen not to read what was there.
    """
    if not held:
        return usual, ""
    if held in _FILLS and re.search(rf"\batomic\w+\s*\(\s*(?:&\s*)?(?:\(\s*)?{re.escape(name)}\b", body):
        return _FILLS[held], ", as the host sets it"
    return usual, f"; the host sets it to {' '.join(held.split())}, by which no test would show that it is read"
