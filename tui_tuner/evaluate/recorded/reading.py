"""Reading a recording: a cache file of kernel_tuner, checked, as plain data."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.recorded.cache_file import check_file, parse, read_bytes, stem_of
from tui_tuner.evaluate.recorded.entries import entry_of
from tui_tuner.evaluate.recorded.recording import Recording
from tui_tuner.problem.model import Value
from tui_tuner.problem.value_order import exact
from tui_tuner.text import clean

LOWER_IS_BETTER = frozenset({"time", "energy", "cost", "loss"})
"""Objectives that kernel_tuner minimises unless it is told otherwise (its `objective_default_map`)."""
_ONE_KIND = "every entry needs a value for each tunable of the header: records of several kernels cannot be mixed"


def read_recording(file: Path) -> Recording:
    """The recording in a file; read once as long as the file does not change.

    Raises:
        DeviceError: there is none, or it cannot be used; with place and way out.
    """
    check_file(file)
    state = file.stat()
    return _read(file, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _read(file: Path, _changed: int, _size: int) -> Recording:
    content = read_bytes(file)
    raw = parse(content, file)
    objective = _objective(raw, file)
    names = _names(raw, file)
    cache: dict[str, Any] = raw["cache"]
    for key, entry in cache.items():
        _check_entry(key, entry, names, file)
    recording = Recording(
        file=file,
        digest=hashlib.sha256(content).hexdigest()[:12],
        device=_word(raw.get("device_name")),
        kernel=_word(raw.get("kernel_name")) or stem_of(file),
        problem_size=_problem_size(raw.get("problem_size")),
        objective=objective,
        offered=_offered(raw, names, file),
        entries=[entry_of(entry, names, objective) for entry in cache.values()],
    )
    if not any(True for _ in recording.timed()):
        hint = "let kernel_tuner measure a configuration first"
        raise DeviceError(f"no configuration in it has a {objective}", hint=hint, file=file)
    return recording


def _objective(raw: Mapping[str, Any], file: Path) -> str:
    """The one objective of a file, of which less is better."""
    given = raw.get("objective") or "time"
    objectives = given if isinstance(given, list) else [given]
    hint = 'write "objective": "time" into its header to search for the least time'
    if len(objectives) != 1 or not isinstance(objectives[0], str):
        said = clean(", ".join(map(str, objectives)))
        raise DeviceError(f"it has several objectives or none with a name: {said}", hint=hint, file=file)
    objective = objectives[0]
    higher = raw.get("objective_higher_is_better", None if objective not in LOWER_IS_BETTER else False)
    higher = higher[0] if isinstance(higher, list) and higher else higher
    if higher is not False:
        why = "more of it is better" if higher else "it is not known whether less of it is better"
        raise DeviceError(f"its objective '{clean(objective)}' cannot be searched for: {why}", hint=hint, file=file)
    return objective


def _names(raw: Mapping[str, Any], file: Path) -> list[str]:
    given = raw.get("tune_params_keys", raw.get("tune_params"))
    names = list(given) if isinstance(given, list | dict) else []
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        message = "its header names no tunables, or such as are no names"
        raise DeviceError(message, hint="tune_params_keys lists them", file=file)
    return names


def _check_entry(key: str, entry: object, names: Sequence[str], file: Path) -> None:
    if not isinstance(entry, dict):
        raise DeviceError(f"the entry '{clean(key)}' is no object", hint=_ONE_KIND, file=file)
    for name in names:
        if name not in entry:
            raise DeviceError(f"the entry '{clean(key)}' has no value for '{name}'", hint=_ONE_KIND, file=file)
        if not _is_value(entry[name]):
            message = f"the entry '{clean(key)}' has a value of '{name}' that is no number, truth value or text"
            raise DeviceError(message, hint="such a tunable cannot be searched", file=file)


def _offered(raw: Mapping[str, Any], names: Sequence[str], file: Path) -> dict[str, tuple[Value, ...]]:
    """The header's values, and behind them those that occur without standing there."""
    header = raw.get("tune_params")
    offered: dict[str, tuple[Value, ...]] = {}
    for name in names:
        listed = header.get(name, []) if isinstance(header, dict) else []
        if not isinstance(listed, list):
            raise DeviceError(f"the header's values of '{name}' are no list", hint=_ONE_KIND, file=file)
        known = [value for value in listed if _is_value(value)]
        values = {exact(value): value for value in [*known, *(entry[name] for entry in raw["cache"].values())]}
        offered[name] = tuple(values.values())
    return offered


def _problem_size(given: object) -> tuple[int, ...]:
    extents = given if isinstance(given, list) else [given]
    numbers = [extent for extent in extents if isinstance(extent, int | float) and not isinstance(extent, bool)]
    return tuple(int(number) for number in numbers) if len(numbers) == len(extents) <= 3 else ()


def _is_value(given: object) -> bool:
    return isinstance(given, int | str) or (isinstance(given, float) and math.isfinite(given))


def _word(given: object) -> str:
    return " ".join(clean(given).split()) if isinstance(given, str) else ""
