"""Turns the end of a run into words: why there are no results."""

from __future__ import annotations

import re

from tui_tuner.tensile.outcome import FailureKind, RunFailure
from tui_tuner.tensile.running.ended import Ended

_NO_PROGRAM = re.compile(r"`([^`]+)` either not found or not executable|Failed to locate (\S+)")
_NO_GPU = re.compile(
    r"Failed to detect curr\w+ ISA|Did not detect SupportedISA|no ROCm-capable device is detected"
    r"|hipErrorNoDevice|No HIP GPUs are available"
)
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): (.+)")


def explain(ended: Ended) -> RunFailure | None:
    """Why a run gave no complete results; None where it gave them.

    Failed validations are no failure of the run: Tensile ends with status 1 then, its results complete.
    """
    kind, message = _reason(ended)
    return None if kind is None else RunFailure(kind=kind, message=message, detail=ended.said.tail)


def _reason(ended: Ended) -> tuple[FailureKind | None, str]:
    if ended.not_started:
        return FailureKind.REFUSED, f"Tensile cannot be started: {ended.not_started}"
    if ended.timed_out:
        return FailureKind.TIMEOUT, f"Tensile was ended after {ended.seconds:.0f} s, {_where(ended)}"
    if ended.signal is not None:
        return FailureKind.CRASH, f"Tensile was ended by {ended.signal}, {_where(ended)}"
    if ended.said.client_signal is not None:
        return FailureKind.CRASH, f"the benchmark client was ended by {ended.said.client_signal}"
    if ended.has_results:
        return None, ""
    return _words(ended)


def _words(ended: Ended) -> tuple[FailureKind, str]:
    """Of a run that ended by itself with an error."""
    said = ended.said
    last_words = f"{said.fatal}\n{said.exception}"
    if "resulted in 0 valid solutions" in said.fatal or "0 valid soultion" in said.fatal:
        return FailureKind.NOTHING_VALID, f"Tensile rejected every permutation{_commonest(ended)}"
    if match := _NO_PROGRAM.search(last_words):
        return FailureKind.REFUSED, f"Tensile does not find {match[1] or match[2]}; is ROCm installed, ROCM_PATH set?"
    if match := _NO_MODULE.search(said.exception):
        return FailureKind.REFUSED, f"Tensile's Python lacks something: {match[1]}"
    if _NO_GPU.search(last_words) or (not said.fatal and _NO_GPU.search(said.tail)):
        return FailureKind.REFUSED, "Tensile finds no AMD GPU that it supports"
    if said.fatal:
        return FailureKind.REFUSED, said.fatal.splitlines()[0]
    if said.exception:
        return FailureKind.CRASH, f"Tensile ended by a Python exception: {said.exception}"
    if said.client_code is not None:
        return FailureKind.CRASH, f"the benchmark client ended with status {said.client_code}"
    return FailureKind.CRASH, f"Tensile ended with status {ended.returncode}, {_where(ended)}"


def _where(ended: Ended) -> str:
    doing = {
        "preparing": "before it made solutions",
        "solutions": "while it made solutions",
        "kernels": "while it wrote and assembled kernels",
        "client": "while the kernels ran",
        "library": "after the kernels had run",
    }
    return doing[ended.said.phase]


def _commonest(ended: Ended) -> str:
    reasons = [(count, reason) for group in ended.said.groups for reason, count in group.rejected.items()]
    if not reasons:
        return ""
    count, reason = max(reasons)
    return f"; the commonest reason, {count} times: {reason}"
