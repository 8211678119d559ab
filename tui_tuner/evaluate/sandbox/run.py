"""Run a command on untrusted input, confined, after a self-test has proved the confinement."""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_tuner.errors import DeviceError, SandboxError
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import CommandResult, ConfinedCommand, ForkServer, run_job

HINT = "--allow-unconfined builds without confinement: then the source could read your files"


class Policy:
    """Whether untrusted source may be built, and the processes that start what builds it; shared by all that builds.

    Args:
        allow_unconfined: whether the user allows to go on where confinement is not proven.
    """

    def __init__(self, *, allow_unconfined: bool = False) -> None:
        self.allow_unconfined = allow_unconfined
        self._lock = asyncio.Lock()
        self._report: SandboxReport | None = None
        self._server = ForkServer()
        self._warm: dict[str, ForkServer] = {}

    def warm(self, *script: str) -> None:
        """Let commands that run a Python script find it loaded; its `warm_up` is called with its arguments.

        Args:
            script: its path and the arguments; nothing for none.
        """
        if script and script[0] not in self._warm:
            self._warm[script[0]] = ForkServer(*script)
            self._warm[script[0]].begin()

    def server(self, command: Sequence[str]) -> ForkServer:
        """What forks the launcher of a command."""
        return self._warm.get(" ".join(command[2:3]), self._server)

    def close(self) -> None:
        """End what forks the launchers, with all that still runs; it starts again when it is needed."""
        for server in (self._server, *self._warm.values()):
            server.close()

    async def prove(self) -> SandboxReport:
        """How this machine confines; tried at the first call and remembered."""
        async with self._lock:
            self._report = self._report or await prove(self._server)
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
    server = policy.server(command)
    done = await run_job(job, server, timeout_s=timeout_s, output_limit=output_limit, limits=limits, strict=strict)
    if done.refused:
        raise SandboxError(done.output.strip(), hint=HINT)
    if done.not_started:
        raise DeviceError(f"the compiler cannot be started: {done.output.removeprefix('sandbox: ').strip()}")
    return done


_TIMEOUT_S = 20.0
_ATTEMPTS = ("read", "write", "connect")
_MEANING = {
    "read": "files outside the work directory can be read",
    "write": "files outside the work directory can be written",
    "connect": "the network can be reached",
}
_NETWORK = {"namespace": "network namespace", "tcp": "TCP refused", "open": "no network confinement"}

_PROBE = """\
import os, socket, sys
canary, port = sys.argv[1], int(sys.argv[2])
def attempt(name, action):
    try:
        action()
        print(name, "done")
    except OSError:
        print(name, "denied")
attempt("work", lambda: open("probe", "w").close())
attempt("read", lambda: open(canary).read())
attempt("write", lambda: open(canary + ".new", "w").close())
attempt("connect", lambda: socket.create_connection(("127.0.0.1", port), 5).close())
print("state", os.environ["TUNER_CONFINEMENT"])
"""


@dataclass(frozen=True)
class SandboxReport:
    """How compilers of untrusted source are confined on this machine.

    Attributes:
        line: one line for people, as in "landlock ABI 7, network namespace, limits".
        missing: what is not prevented, in words.
    """

    level: Literal["confined", "unconfined"]
    line: str
    missing: tuple[str, ...] = ()


async def prove(server: ForkServer) -> SandboxReport:
    """Start a confined child that tries to read, to write and to connect, and report what it was denied.

    A child that cannot be started or says anything unexpected counts as unconfined.
    """
    with tempfile.TemporaryDirectory(prefix="tuner-canary-") as name:
        canary = Path(name, "canary")
        canary.write_text("secret")
        work = Path(name, "work")
        work.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as listener:  # the system answers for it
            port = listener.getsockname()[1]
            socket.create_connection(("127.0.0.1", port), _TIMEOUT_S).close()  # so that a denied one means something
            done = await _probe(server, canary, port, work)
    return judge(done)


def judge(probe: CommandResult) -> SandboxReport:
    """What a probe's output proves."""
    said = dict(line.split(" ", 1) for line in probe.output.splitlines() if " " in line)
    if probe.returncode != 0 or probe.timed_out or said.get("work") != "done" or "state" not in said:
        return SandboxReport("unconfined", "not confined: the self-test did not run", ("the self-test did not run",))
    missing = tuple(_MEANING[name] for name in _ATTEMPTS if said.get(name) != "denied")
    abi, network = said["state"].split(" ")
    files = f"landlock ABI {abi}" if abi != "0" else "no landlock"
    line = f"{files}, {_NETWORK[network]}, limits"
    if missing:
        return SandboxReport("unconfined", f"not confined: {line}", missing)
    return SandboxReport("confined", line)


async def _probe(server: ForkServer, canary: Path, port: int, work: Path) -> CommandResult:
    command = (sys.executable, "-I", "-S", "-c", _PROBE, str(canary), str(port))
    python = tuple({Path(sys.prefix), Path(sys.base_prefix)})
    return await run_job(
        ConfinedCommand(command, work, read=python),
        server,
        timeout_s=_TIMEOUT_S,
        output_limit=4096,
        limits=ResourceLimits(),
        strict=False,
    )
