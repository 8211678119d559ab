"""The toolkit's tools for kernels in Python, each in a process of its own that it runs: what they count, and accuse.

The machine code comes from the session's process, which has it compiled.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.evaluate.devices.base import CannotWatch
from tui_tuner.evaluate.devices.cuda.sanitizer import first_finding, tool_command
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.profiling.profiler import END_S, LAUNCHES, NothingTold, Profiler
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import (
    LAUNCHING,
    KernelLaunchesAnswer,
    KernelLaunchesRequest,
    KernelOpenRequest,
    MachineCodeAnswer,
    MachineCodeRequest,
    Rewritten,
)
from tui_tuner.python_kernels.client import KernelClient, KernelProcess, KernelProcessDied, ProcessOptions

_BUNDLED = "backends/nvidia/bin/nvdisasm"
"""Where a package of Triton has the disassembler."""


def profiling_tools(policy: Policy, nvcc: Path | None) -> Profiler | None:
    """The toolkit's programs, or the disassembler that comes with Triton; None without any."""
    triton = find_spec("triton")
    bundled = None if triton is None or triton.origin is None else Path(triton.origin).parent / _BUNDLED
    return Profiler.find(policy, nvcc, bundled if bundled is not None and bundled.is_file() else None)


Configured = tuple[Configuration, Rewritten | None]
"""A configuration, and what is rewritten of the kernel; None for the kernel as given."""


@dataclass(frozen=True)
class Launcher:
    """Launches configurations of one kernel in processes that tools run.

    Attributes:
        opening: what the session's process was told.
        process: how another is started.
        log: file for what that prints.
    """

    opening: KernelOpenRequest
    process: ProcessOptions
    log: Path

    async def launch(
        self, command: tuple[str, ...], kernel: Configured, launches: int, *, guarded: bool = True
    ) -> Failure | None:
        """Launch in a process that a command runs, and wait for its end.

        Raises:
            KernelProcessDied: it crashed or hung.
            UserError: the kernel's file cannot be loaded there.
        """
        options = replace(self.process, command=(*command, *self.process.command))
        process = await KernelProcess.start(self.log, options)
        configuration, rewritten = kernel
        request = KernelLaunchesRequest(
            opening=self.opening,
            configuration=configuration,
            rewritten=rewritten,
            launches=launches,
            guarded=guarded,
        )
        try:
            process.send(request)
            answer = await process.receive()
            await process.end(END_S)
        finally:
            await process.kill()
        return answer.failure if isinstance(answer, KernelLaunchesAnswer) else None


@dataclass(frozen=True)
class PythonProfiler:
    """Profiles configurations of one kernel.

    Attributes:
        client: asks the session's process.
    """

    tools: Profiler
    client: KernelClient
    launcher: Launcher

    async def profile(self, configuration: Configuration, rewritten: Rewritten | None) -> Profile:
        """Of a configuration that was built before.

        Args:
            rewritten: None for the kernel as given.
        """
        with tempfile.TemporaryDirectory(prefix="tuner-code-") as directory:
            artifact = str(Path(directory, "kernel.cubin"))
            request = MachineCodeRequest(
                id=self.client.next_number(), configuration=configuration, rewritten=rewritten, artifact=artifact
            )
            answer = await self.client.ask(request)
            if not isinstance(answer, MachineCodeAnswer):
                raise RuntimeError(f"unexpected answer to machine code: {answer!r}")
            if answer.failure is not None:
                return Profile(missing=[f"machine code: {answer.failure.in_words}"])
            launch = partial(self._launch, (configuration, rewritten))
            return await self.tools.profile(artifact, answer.symbol, launch, marked=True)

    async def _launch(self, kernel: Configured, command: tuple[str, ...]) -> None:
        try:
            failure = await self.launcher.launch(command, kernel, LAUNCHES)
        except (KernelProcessDied, UserError) as error:
            raise NothingTold(str(error)) from error
        if failure is not None:
            raise NothingTold(failure.in_words)


_ALONE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
"""Lets torch take memory for each tensor by itself, so that what is behind one is no other's."""


class MemoryWatch:
    """memcheck of compute-sanitizer, asked about kernels before they are accepted.

    Args:
        launcher: its log is not used, since what a tool says goes where its program prints.
        given: the kernel as given in its default configuration: where it is accused as well, nobody is refused.

    Attributes:
        news: what the user should know, which whoever reads it removes.
    """

    def __init__(self, launcher: Launcher, given: Configured) -> None:
        variables = {**launcher.process.variables, **_ALONE}
        self._launcher = replace(launcher, process=replace(launcher.process, variables=variables))
        self._given = given
        self._is_of_use = True
        self._known: dict[str, Failure | None] = {}
        self.news: list[str] = []

    async def accusation(self, kernel: Configured) -> Failure | None:
        """What it finds in a kernel that it does not find in the kernel as given; None where it cannot say."""
        if not self._is_of_use:
            return None
        try:
            found = await self._found(kernel)
            if found is None or await self._found(self._given) is None:
                return found
        except CannotWatch as reason:
            self._drop(f"kernels are accepted without memcheck: {reason}")
        else:
            self._drop(f"the kernel as given does not pass {found.message}: others are not judged by memcheck")
        return None

    def _drop(self, words: str) -> None:
        self._is_of_use = False
        self.news.append(words)

    async def _found(self, kernel: Configured) -> Failure | None:
        name = repr(kernel)
        if name not in self._known:
            self._known[name] = await self._looked(kernel)
        return self._known[name]

    async def _looked(self, kernel: Configured) -> Failure | None:
        with tempfile.TemporaryDirectory(prefix="tuner-memcheck-") as directory:
            said = Path(directory, "said")
            launcher = replace(self._launcher, log=said)
            try:
                failure = await launcher.launch(tool_command("memcheck"), kernel, 1, guarded=False)
                why = "" if failure is None else failure.in_words
            except (KernelProcessDied, UserError) as error:
                why = str(error)
            _, is_launched, text = said.read_text("utf-8", errors="replace").partition(f"{LAUNCHING}\n")
        finding = first_finding(text)
        if finding is not None:  # which may have cost the process its device
            return Failure(kind=FailureKind.ILLEGAL_ACCESS, message=f"memcheck: {finding}")
        if why or not is_launched:
            raise CannotWatch(why or "its process launched nothing")
        return None
