"""One entry of a cache file: values, time or failure, and what it took.

kernel_tuner 1.x writes the name of a failure into `__error__`; older versions wrote it into the objective, and the
oldest a time of 1e20. All its times are in ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from tui_tuner.evaluate.recorded.recording import RecordingEntry
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.model import Configuration
from tui_tuner.text import clean

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
