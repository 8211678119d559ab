"""How one run of Tensile ended, and what it printed on the way."""

from __future__ import annotations

import signal as signals
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class GroupLog:
    """What Tensile printed of one size group; None where it did not come that far.

    Attributes:
        name: as that of the group's files of results; empty where it was not told.
        permutations: of its forked parameters.
        valid: solutions that Tensile found possible.
        built: solutions that it made kernels of.
        rejected: how often it rejected one, by reason; empty unless `PrintSolutionRejectionReason` is on.
    """

    name: str = ""
    permutations: int | None = None
    valid: int | None = None
    built: int | None = None
    rejected: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LogSummary:
    """What Tensile printed, read line by line.

    Attributes:
        phases: seconds by phase, in the order of the run: preparing, solutions, kernels, client, library.
        phase: the last of them.
        device: instruction set of the GPU that it found, as `gfx90a`; empty where it named none.
        groups: in the order in which they ran.
        fatal: what it said before it gave up, where it did; empty otherwise.
        exception: last line of the last Python traceback, empty without one.
        client_code: exit status of the benchmark client, where Tensile complained of it: the number of solutions
            that failed, up to 255, or 128 and a signal's number.
        client_signal: the signal that ended the client; None where none did.
        collected: whether all groups came to their end.
        tail: the end of what was printed, cleaned.
    """

    phases: dict[str, float] = field(default_factory=dict)
    phase: str = "preparing"
    device: str = ""
    groups: list[GroupLog] = field(default_factory=list)
    fatal: str = ""
    exception: str = ""
    client_code: int | None = None
    client_signal: str | None = None
    collected: bool = False
    tail: str = ""


@dataclass(frozen=True)
class Ended:
    """One run of Tensile, over.

    Attributes:
        seconds: that it took.
        returncode: exit status; negative for the signal that ended it; None where it could not be started.
        timed_out: whether it was ended because its time was up.
        limit_s: the time that it had; None where it had all.
        log: the file with all that it printed.
        not_started: why it could not be started; empty where it could.
    """

    seconds: float
    returncode: int | None
    timed_out: bool
    limit_s: float | None
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
        """Whether its tables are complete: failed validations alone make Tensile end with status 1."""
        if self.timed_out or self.said.client_signal is not None:
            return False
        failures_only = self.returncode == 1 and self.said.collected and not self.said.exception
        return self.returncode == 0 or failures_only


def signal_name(number: int) -> str:
    """A signal's name, as `SIGSEGV`."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
