"""Reading a recording: a cache file of kernel_tuner, packed or not, closed or still being written, checked.

kernel_tuner 1.x writes the name of a failure into `__error__`; older versions wrote it into the objective, and the
oldest a time of 1e20. All its times are in ms.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.recorded import Recording, RecordingEntry
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.tunables import exact
from tui_tuner.resources import is_packed
from tui_tuner.text import clean, flattened

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
    raw = parse_cache(content, file)
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
    return flattened(given) if isinstance(given, str) else ""


ENDINGS = (".json", ".json.gz")
"""How the names of cache files end."""
_NO_CACHE = "give a cache file of kernel_tuner, as tune_kernel(..., cache=FILE) writes it; it may be packed with gzip"


def is_cache_name(file: Path) -> bool:
    """Whether a file is called like a cache file, and like no kernel."""
    return file.name.lower().endswith(ENDINGS)


def stem_of(file: Path) -> str:
    """The name of a cache file without its endings, as in "conv" of conv.json.gz."""
    name = file.name.removesuffix(".gz")
    return name.removesuffix(".json") or name


def check_file(file: Path) -> None:
    """Whether there is a file; what is in it is another matter.

    Raises:
        DeviceError: there is none.
    """
    if not file.is_file():
        what = "is a directory" if file.is_dir() else "there is no such recording"
        raise DeviceError(what, hint=_NO_CACHE, file=file)


def read_bytes(file: Path) -> bytes:
    """The content of a file, unpacked.

    Raises:
        DeviceError: it cannot be read.
    """
    check_file(file)
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if is_packed(content) else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        hint = "the file is cut or damaged: fetch or pack it again"
        raise DeviceError(f"it cannot be unpacked: {error}", hint=hint, file=file) from None
    except OSError as error:
        raise DeviceError(f"it cannot be read: {error.strerror}", file=file) from None


def parse_cache(content: bytes, file: Path) -> dict[str, Any]:
    """The object in a file, the brackets that kernel_tuner adds at the end of a run supplied.

    Args:
        file: the name that errors give.

    Raises:
        DeviceError: it is no JSON object with a `cache`.
    """
    try:
        text = content.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise DeviceError("this is not UTF-8 text", hint=_NO_CACHE, file=file) from None
    found = _loaded(text, file)
    if not isinstance(found, dict) or not isinstance(found.get("cache"), dict):
        raise DeviceError("this is no cache file of kernel_tuner: it has no 'cache'", hint=_NO_CACHE, file=file)
    return found


def _loaded(text: str, file: Path) -> object:
    """The first reading of the text that is JSON; the error is that of the text as it is."""
    fault: json.JSONDecodeError | None = None
    for reading in _readings(text):
        try:
            return json.loads(reading)
        except json.JSONDecodeError as error:
            fault = fault or error
        except RecursionError:
            break
    message, line = ("its brackets are nested too deeply", None) if fault is None else (fault.msg.lower(), fault.lineno)
    raise DeviceError(f"this is not JSON: {message}", hint=_NO_CACHE, file=file, line=line)


def _readings(text: str) -> Iterator[str]:
    """The text as it is; closed; and closed behind the last whole line, where a killed run cut the one after it."""
    yield text
    yield text.rstrip(",") + "}}"
    yield text[: text.rfind("\n") + 1].rstrip().rstrip(",") + "}}"


FAILURES: dict[str, tuple[FailureKind, str]] = {
    "InvalidConfig": (FailureKind.INVALID, "it was ruled out before it was built"),
    "CompilationFailedConfig": (FailureKind.COMPILE, "it did not compile, or needs more memory than a block may have"),
    "RuntimeFailedConfig": (FailureKind.LAUNCH, "it could not be launched, mostly for want of registers or memory"),
    "timeout": (FailureKind.TIMEOUT, "it took too long"),
    "correctness": (FailureKind.WRONG_RESULT, "its result was wrong"),
}
"""What kernel_tuner's names for failures mean; what the compiler or the device said is not on record."""
_NEVER = 1e19
"""The oldest files write 1e20 for a failure."""


def entry_of(raw: Mapping[str, Any], names: Sequence[str], objective: str) -> RecordingEntry:
    """An entry with a value for each of the names."""
    configuration: Configuration = {name: raw[name] for name in names}
    failure = _failure(raw, objective)
    return RecordingEntry(
        configuration=configuration,
        time=None if failure is not None else float(raw[objective]),
        failure=failure,
        samples=_samples(raw) if failure is None and objective == "time" else (),
        registers=_registers(raw.get("num_regs")),
        build_ms=_milliseconds(raw.get("compile_time")),
        verify_ms=_milliseconds(raw.get("verification_time")),
        measure_ms=_milliseconds(raw.get("benchmark_time")),
    )


def _failure(raw: Mapping[str, Any], objective: str) -> Failure | None:
    value = raw.get(objective)
    said = raw.get("__error__", value)
    if isinstance(said, str):
        unknown = (FailureKind.CRASH, "it failed")
        kind, message = FAILURES.get(said, unknown)
        return Failure(kind=kind, message=f"{message} (recorded as {clean(said)[:80] or 'an error'})")
    if not _is_measured(value):
        return Failure(kind=FailureKind.CRASH, message=f"no {objective} is on record")
    return None


def _samples(raw: Mapping[str, Any]) -> tuple[float, ...]:
    samples = raw.get("times")
    if not isinstance(samples, list):
        return ()
    return tuple(float(sample) for sample in samples if _is_measured(sample))


def _milliseconds(value: object) -> float:
    return float(value) if _is_measured(value) else 0.0


def _registers(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_measured(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _NEVER
