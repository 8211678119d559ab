"""How a run of Tensile ended, and why it gave no results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.processes import signal_name
from tui_tuner.tensile.outcome import RunFailure, RunFailureKind
from tui_tuner.tensile.run_log import LogSummary

_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): (.+)")
_NO_PROGRAM = re.compile(r"`([^`]+)` either not found or not executable|Failed to locate (\S+)")
_NO_GPU = re.compile(
    r"Failed to detect curr\w+ ISA|Did not detect SupportedISA|no ROCm-capable device is detected"
    r"|hipErrorNoDevice|No HIP GPUs are available"
)


@dataclass(frozen=True)
class RunEnd:
    """One run of Tensile, over.

    Attributes:
        seconds: that it took.
        returncode: exit status; negative for the signal that ended it; None where it could not be started.
        timed_out: whether it was ended because its time was up.
        log: the file with all that it printed.
        not_started: why it could not be started; empty where it could.
    """

    seconds: float
    returncode: int | None
    timed_out: bool
    log: Path
    said: LogSummary
    not_started: str = ""

    @property
    def signal(self) -> str | None:
        """The signal that ended it, as `SIGSEGV`."""
        if self.returncode is None or self.returncode >= 0:
            return None
        return signal_name(-self.returncode)

    @property
    def has_results(self) -> bool:
        """Whether its tables are complete: failed validations alone make Tensile end with status 1, and what goes
        wrong behind them, in the library logic, takes nothing away, be it a signal or the end of its time.
        """
        if self.said.client_signal is not None:
            return False
        if self.said.analysed is not None:
            return True
        if self.timed_out:
            return False
        return self.returncode == 0 or (self.returncode is not None and self.returncode > 0 and self.said.collected)

    @property
    def broken_logic(self) -> str:
        """Why there is no library logic though there are results; empty where nothing went wrong."""
        if not self.has_results or not self.returncode or self.said.client_code is not None or self.said.analysed:
            return ""
        if self.timed_out:
            return f"its time was up after {self.seconds:.0f} s"
        if self.signal is not None:
            return f"it was ended by {self.signal}"
        words = self.said.exception or self.said.fatal or self.said.last_words
        return words.splitlines()[0] if words and self.said.phase == "library" else ""


def run_failure(ended: RunEnd) -> RunFailure | None:
    """Why a run gave no complete results; None where it gave them.

    Failed validations are no failure of the run: Tensile ends with status 1 then, its results complete.
    """
    kind, message = _reason(ended)
    return None if kind is None else RunFailure(kind=kind, message=message, detail=ended.said.tail)


def _reason(ended: RunEnd) -> tuple[RunFailureKind | None, str]:
    if ended.not_started:
        return RunFailureKind.REFUSED, f"Tensile cannot be started: {ended.not_started}"
    if ended.has_results:
        return None, ""
    if ended.timed_out:
        return RunFailureKind.TIMEOUT, f"Tensile was ended after {ended.seconds:.0f} s, {_where(ended)}"
    if ended.signal is not None:
        return RunFailureKind.CRASH, f"Tensile was ended by {ended.signal}, {_where(ended)}"
    if ended.said.client_signal is not None:
        return RunFailureKind.CRASH, f"the benchmark client was ended by {ended.said.client_signal}"
    return _words(ended)


def _words(ended: RunEnd) -> tuple[RunFailureKind, str]:
    """The words of a run that ended by itself with an error."""
    said = ended.said
    last_words = f"{said.fatal}\n{said.exception}"
    if "resulted in 0 valid sol" in said.fatal or "0 valid soultion" in said.fatal:
        return RunFailureKind.NOTHING_VALID, f"Tensile rejected every permutation{_commonest(ended)}"
    if match := _NO_PROGRAM.search(last_words):
        return (
            RunFailureKind.REFUSED,
            f"Tensile does not find {match[1] or match[2]}; is ROCm installed, ROCM_PATH set?",
        )
    if match := _NO_MODULE.search(said.exception):
        return RunFailureKind.REFUSED, f"Tensile's Python lacks something: {match[1]}"
    if _NO_GPU.search(last_words) or (not said.fatal and _NO_GPU.search(said.tail)):
        return RunFailureKind.REFUSED, "Tensile finds no AMD GPU that it supports"
    if said.fatal:
        return RunFailureKind.REFUSED, said.fatal.splitlines()[0]
    if said.exception:
        return RunFailureKind.CRASH, f"Tensile ended by a Python exception: {said.exception}"
    if said.last_words and said.client_code is None and said.phase in ("preparing", "solutions"):
        return RunFailureKind.REFUSED, said.last_words.splitlines()[0]
    told = f"Tensile ended with status {ended.returncode}, {_where(ended)}"
    return RunFailureKind.CRASH, told if said.client_code is None else _of_client(said.client_code)


def _of_client(status: int) -> str:
    return f"the benchmark client ended with status {status}"


def _where(ended: RunEnd) -> str:
    doing = {
        "preparing": "before it made solutions",
        "solutions": "while it made solutions",
        "kernels": "while it wrote and assembled kernels",
        "client": "while the kernels ran",
        "library": "after the kernels had run",
    }
    return doing[ended.said.phase]


def _commonest(ended: RunEnd) -> str:
    reasons = [(count, reason) for group in ended.said.groups for reason, count in group.rejected.items()]
    if not reasons:
        return ""
    count, reason = max(reasons)
    return f"; the commonest reason, {count} times: {reason}"
