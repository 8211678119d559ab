"""What is known of a configuration of a kernel in Python beside its time.

Its machine code comes from the process that has it compiled, its counters from a second one that a profiler runs.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from tui_tuner.errors import UserError
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.profiling.profiler import END_S, LAUNCHES, NothingTold, Profiler
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels import (
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


@dataclass(frozen=True)
class PythonProfiler:
    """Profiles configurations of one kernel.

    Attributes:
        client: asks the session's own process.
        opening: what that was told.
        process: how another is started.
        log: file for what that prints.
    """

    tools: Profiler
    client: KernelClient
    opening: KernelOpenRequest
    process: ProcessOptions
    log: Path

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
            launch = partial(self._launch, configuration, rewritten)
            return await self.tools.profile(artifact, answer.symbol, launch, marked=True)

    async def _launch(
        self, configuration: Configuration, rewritten: Rewritten | None, command: tuple[str, ...]
    ) -> None:
        options = replace(self.process, command=(*command, *self.process.command))
        process = await KernelProcess.start(self.log, options)
        request = KernelLaunchesRequest(
            opening=self.opening, configuration=configuration, rewritten=rewritten, launches=LAUNCHES
        )
        try:
            process.send(request)
            answer = await process.receive()
            if isinstance(answer, KernelLaunchesAnswer) and answer.failure is not None:
                raise NothingTold(answer.failure.in_words)
            await process.end(END_S)
        except (KernelProcessDied, UserError) as error:
            raise NothingTold(str(error)) from error
        finally:
            await process.kill()
