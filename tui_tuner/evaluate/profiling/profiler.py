"""The tools of the CUDA toolkit that tell more of a kernel than its time: nvdisasm, and ncu where it may count."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.evaluate.profiling import MachineCode, Profile, read_machine_code
from tui_tuner.evaluate.profiling.counters import METRICS, Counters, read_counters
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer, Executable, OpenRequest, ProfileRequest
from tui_tuner.evaluate.runner.supervisor import RunnerDied, RunnerProcess
from tui_tuner.evaluate.sandbox.run import Policy, run_confined
from tui_tuner.evaluate.toolkit import toolkit_program
from tui_tuner.problem.model import Problem

LAUNCHES = 2
"""The first makes the kernel ready, the second is counted."""
END_S = 60.0
"""How long the counting may take once the kernel was launched."""
_LISTING_S = 30.0
_LISTING_BYTES = 2**24
_TABLE = "counters.csv"
_ERROR = re.compile(r"^==ERROR== (.+)$", re.MULTILINE)
_WAYS = {"ERR_NVGPUCTRPERM": "the driver lets only administrators read counters; NVIDIA's page of this name says how"}


class NothingTold(Exception):
    """A tool tells nothing, for the reason that is named."""


LaunchUnder = Callable[[tuple[str, ...]], Awaitable[None]]
"""Launches a kernel `LAUNCHES` times in a process that a command runs, and waits for its end; raises NothingTold."""
_THE_LAST = ("--launch-skip", str(LAUNCHES - 1))
_MARKED = ("--profile-from-start", "off")


@dataclass(frozen=True)
class Profiler:
    """Profiles executables on one device.

    Attributes:
        policy: how what reads untrusted files is confined.
        nvdisasm: its path, None where there is none.
        ncu: as `nvdisasm`.
    """

    policy: Policy
    nvdisasm: Path | None
    ncu: Path | None

    @classmethod
    def find(cls, policy: Policy, nvcc: Path | None, bundled: Path | None = None) -> Profiler | None:
        """The profiler with the tools beside nvcc, in CUDA_HOME, on PATH or in /usr/local/cuda; None without any.

        Args:
            bundled: an nvdisasm where the toolkit has none.
        """
        nvdisasm, ncu = toolkit_program("nvdisasm", nvcc) or bundled, toolkit_program("ncu", nvcc)
        return None if nvdisasm is ncu is None else cls(policy, *(each and each.resolve() for each in (nvdisasm, ncu)))

    async def profile(self, artifact: str, symbol: str, launch: LaunchUnder, *, marked: bool = False) -> Profile:
        """The machine code of a kernel, and what the device counts in a launch.

        Args:
            artifact: path of what was built, with the kernel in it.
            marked: whether the process may launch the kernel before, and says by cudaProfilerStart which launch is
                counted.
        """
        missing: list[str] = []
        code, counters = None, None
        try:
            code = await self._machine_code(Path(artifact).resolve(), symbol)
        except NothingTold as reason:
            missing.append(f"machine code: {reason}")
        try:
            counters = await self._counters(symbol, launch, _MARKED if marked else _THE_LAST)
        except NothingTold as reason:
            missing.append(f"counters: {reason}")
        return Profile(code=code, counters=counters, missing=missing)

    async def _machine_code(self, artifact: Path, symbol: str) -> MachineCode:
        if self.nvdisasm is None:
            raise NothingTold("there is no nvdisasm")
        with tempfile.TemporaryDirectory(prefix="tuner-listing-") as directory:
            try:
                done = await run_confined(
                    (str(self.nvdisasm), "-c", str(artifact)),
                    directory=Path(directory),
                    policy=self.policy,
                    read=(self.nvdisasm.parent.parent, artifact),
                    timeout_s=_LISTING_S,
                    output_limit=_LISTING_BYTES,
                )
            except UserError as error:
                raise NothingTold(error.message) from error
        code = read_machine_code(done.output, symbol)
        if code is None:
            raise NothingTold(f"nvdisasm lists no {symbol} (exit status {done.returncode})")
        return code

    async def _counters(self, symbol: str, launch: LaunchUnder, which: tuple[str, ...]) -> Counters:
        if self.ncu is None:
            raise NothingTold("there is no ncu")
        with tempfile.TemporaryDirectory(prefix="tuner-counters-") as directory:
            table = Path(directory, _TABLE)
            try:
                await launch(self._counting(symbol, table, which))
            except NothingTold as reason:
                raise NothingTold(_why(_text_of(table)) or str(reason)) from reason
            text = _text_of(table)
        counters = read_counters(text)
        if counters is None:
            raise NothingTold(_why(text) or "ncu counted nothing")
        return counters

    def _counting(self, symbol: str, table: Path, which: tuple[str, ...]) -> tuple[str, ...]:
        """The command in front of a runner's; clocks are left as they are for every other launch."""
        return (
            *(str(self.ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
            *("--log-file", str(table), "--kernel-name-base", "mangled", "--kernel-name", symbol),
            *(*which, "--launch-count", "1", "--metrics", ",".join(METRICS)),
        )


def in_a_runner(executable: Executable, problem: Problem, opening: OpenRequest, log: Path) -> LaunchUnder:
    """Launches what was built of a kernel at the timed size.

    Args:
        opening: of the device, by the name that surely finds it.
    """

    async def launch(command: tuple[str, ...]) -> None:
        process = await RunnerProcess.start(log, under=command)
        try:
            await process.ask(opening)
            answer = await process.ask(ProfileRequest(problem=problem, executable=executable, launches=LAUNCHES))
            if isinstance(answer, EvaluationAnswer) and answer.failure is not None:  # as for want of memory
                raise NothingTold(answer.failure.in_words)
            await process.end(END_S)
        except (RunnerDied, UserError) as error:
            raise NothingTold(str(error)) from error
        finally:
            await process.kill()

    return launch


def _text_of(table: Path) -> str:
    return table.read_text("utf-8", errors="replace") if table.is_file() else ""


def _why(text: str) -> str:
    """What ncu says that kept it from counting, a line; may be empty."""
    error = _ERROR.search(text)
    said = "" if error is None else error[1].strip()
    way = next((way for name, way in _WAYS.items() if name in said), "")
    return f"{said} ({way})" if way else said
