"""The tools of the CUDA toolkit that tell more of a kernel than its time: nvdisasm, and ncu where it may count."""

from __future__ import annotations

import re
import tempfile
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

_LAUNCHES = 2
"""The first makes the kernel ready, the second is counted."""
_LISTING_S, _END_S = 30.0, 60.0
_LISTING_BYTES = 2**24
_TABLE = "counters.csv"
_ERROR = re.compile(r"^==ERROR== (.+)$", re.MULTILINE)
_WAYS = {"ERR_NVGPUCTRPERM": "the driver lets only administrators read counters; NVIDIA's page of this name says how"}


class _NothingTold(Exception):
    """A tool tells nothing, for the reason that is named."""


@dataclass(frozen=True)
class Profiler:
    """Profiles executables on one device.

    Attributes:
        policy: how what reads untrusted files is confined.
        log: where what libraries print goes.
        nvdisasm: its path, None where there is none.
        ncu: as `nvdisasm`.
    """

    policy: Policy
    log: Path
    nvdisasm: Path | None
    ncu: Path | None

    @classmethod
    def find(cls, policy: Policy, log: Path, nvcc: Path | None) -> Profiler | None:
        """The profiler with the tools beside nvcc, in CUDA_HOME, on PATH or in /usr/local/cuda; None without any."""
        found = (toolkit_program(name, nvcc) for name in ("nvdisasm", "ncu"))
        nvdisasm, ncu = (program and program.resolve() for program in found)
        return None if nvdisasm is ncu is None else cls(policy, log, nvdisasm, ncu)

    async def profile(self, executable: Executable, problem: Problem, opening: OpenRequest) -> Profile:
        """The machine code of an executable, and what the device counts in a launch at the timed size.

        Args:
            opening: of the device, by the name that surely finds it.
        """
        missing: list[str] = []
        code, counters = None, None
        try:
            code = await self._machine_code(executable)
        except _NothingTold as reason:
            missing.append(f"machine code: {reason}")
        try:
            counters = await self._counters(executable, problem, opening)
        except _NothingTold as reason:
            missing.append(f"counters: {reason}")
        return Profile(code=code, counters=counters, missing=missing)

    async def _machine_code(self, executable: Executable) -> MachineCode:
        if self.nvdisasm is None:
            raise _NothingTold("there is no nvdisasm")
        artifact = Path(executable.artifact).resolve()
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
                raise _NothingTold(error.message) from error
        code = read_machine_code(done.output, executable.symbol)
        if code is None:
            raise _NothingTold(f"nvdisasm lists no {executable.symbol} (exit status {done.returncode})")
        return code

    async def _counters(self, executable: Executable, problem: Problem, opening: OpenRequest) -> Counters:
        if self.ncu is None:
            raise _NothingTold("there is no ncu")
        with tempfile.TemporaryDirectory(prefix="tuner-counters-") as directory:
            table = Path(directory, _TABLE)
            process = await RunnerProcess.start(self.log, under=self._counting(executable.symbol, table))
            try:
                await process.ask(opening)
                answer = await process.ask(ProfileRequest(problem=problem, executable=executable, launches=_LAUNCHES))
                if isinstance(answer, EvaluationAnswer) and answer.failure is not None:  # as for want of memory
                    raise _NothingTold(answer.failure.in_words)
                await process.end(_END_S)
            except (RunnerDied, UserError) as error:
                raise _NothingTold(_why(_text_of(table)) or str(error)) from error
            finally:
                await process.kill()
            text = _text_of(table)
        counters = read_counters(text)
        if counters is None:
            raise _NothingTold(_why(text) or "ncu counted nothing")
        return counters

    def _counting(self, symbol: str, table: Path) -> tuple[str, ...]:
        """The command in front of a runner's; clocks are left as they are for every other launch."""
        return (
            *(str(self.ncu), "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
            *("--log-file", str(table), "--kernel-name-base", "mangled", "--kernel-name", symbol),
            *("--launch-skip", str(_LAUNCHES - 1), "--launch-count", "1", "--metrics", ",".join(METRICS)),
        )


def _text_of(table: Path) -> str:
    return table.read_text("utf-8", errors="replace") if table.is_file() else ""


def _why(text: str) -> str:
    """What ncu says that kept it from counting, a line; may be empty."""
    error = _ERROR.search(text)
    said = "" if error is None else error[1].strip()
    way = next((way for name, way in _WAYS.items() if name in said), "")
    return f"{said} ({way})" if way else said
