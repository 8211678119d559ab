"""Run a command on untrusted input, confined or, where the user allowed it, with what confinement there is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from tui_tuner.errors import DeviceError, SandboxError
from tui_tuner.evaluate.sandbox.limits import ResourceLimits
from tui_tuner.evaluate.sandbox.process import CommandResult, ConfinedCommand, run_job
from tui_tuner.evaluate.sandbox.selftest import SandboxReport, prove

HINT = "--allow-unconfined builds without confinement: then the source could read your files"


class Policy:
    """Whether untrusted source may be built; shared by all that builds.

    Args:
        allow_unconfined: whether the user allows to go on where confinement is not proven.
    """

    def __init__(self, *, allow_unconfined: bool = False) -> None:
        self.allow_unconfined = allow_unconfined
        self._lock = asyncio.Lock()
        self._report: SandboxReport | None = None

    async def prove(self) -> SandboxReport:
        """How this machine confines; tried at the first call and remembered."""
        async with self._lock:
            self._report = self._report or await prove()
        return self._report

    async def confinement_demanded(self) -> bool:
        """Whether a run must be confined, which is so wherever it can be.

        Raises:
            SandboxError: it cannot be, and the user does not allow to go on without.
        """
        report = await self.prove()
        if report.level == "unconfined" and not self.allow_unconfined:
            raise SandboxError(f"the compiler cannot be confined here: {', '.join(report.missing)}", hint=HINT)
        return report.level == "confined"


async def run_confined(
    command: Sequence[str],
    *,
    directory: Path,
    policy: Policy,
    read: Sequence[Path] = (),
    write: Sequence[Path] = (),
    timeout_s: float = 60.0,
    output_limit: int = 2**17,
    limits: ResourceLimits | None = None,
) -> CommandResult:
    """Run a command that may touch its work directory, the system's programs and what is named, and no network.

    Args:
        command: the program's absolute path and its arguments.
        directory: work directory, readable and writable; also home and place of temporary files.
        policy: whether it may run at all.
        read: more paths it may read and execute.
        write: more paths it may read and write, device nodes included.
        timeout_s: wall time after which its whole process group is killed, s.
        output_limit: bytes of its output that are kept.
        limits: of each of its processes; processor time is limited to a little over the time-out.

    Raises:
        SandboxError: it cannot be confined and the policy does not allow it to run unconfined.
        DeviceError: the program is missing or cannot be run.
    """
    strict = await policy.confinement_demanded()
    limits = limits or ResourceLimits(cpu_s=int(timeout_s) + 10)
    job = ConfinedCommand(command, directory, read, write)
    done = await run_job(job, timeout_s=timeout_s, output_limit=output_limit, limits=limits, strict=strict)
    if done.refused:
        raise SandboxError(done.output.strip(), hint=HINT)
    if done.not_started:
        raise DeviceError(f"the compiler cannot be started: {done.output.removeprefix('sandbox: ').strip()}")
    return done
