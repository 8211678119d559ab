"""The tunables of a problem file against those of the recording that it is given with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tui_tuner.evaluate.recorded.recording import Recording
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.value_order import exact


def check_tunables(given: Mapping[str, Any], recording: Recording, place: KeyLocations) -> None:
    """Refuse tunables that are not those of the recording.

    Raises:
        ProblemError: for the first difference.
    """
    hint = "they must be those of the recording; without [tunables] they are taken from it"
    for difference, path in _differences(given, recording):
        raise place.error(f"{difference} in {recording.file.name}", "tunables", *path, hint=hint)


def _differences(given: Mapping[str, Any], recording: Recording) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in given:
        if name not in recording.offered:
            yield f"there is no tunable '{name}'", (name,)
    for name, occurring in recording.tunables.items():
        if name not in given:
            yield f"[tunables] lacks '{name}', which is a tunable", ()
            continue
        listed = given[name] if isinstance(given[name], list) else []
        known, offered = {exact(value) for value in listed}, {exact(value) for value in recording.offered[name]}
        for value in listed:
            if exact(value) not in offered:
                yield f"{name} is never {value!r}", (name,)
        for value in occurring:
            if exact(value) not in known:
                yield f"{name} lacks the value {value!r}, which occurs", (name,)
