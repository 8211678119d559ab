"""Builds kernels with the real compiler and runs them on a native device."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from tui_tuner.evaluate.build.compilers import Compiler, Recipe
from tui_tuner.evaluate.build.compilers.emulator import LAUNCH
from tui_tuner.evaluate.devices.base import KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.native.device import NativeDevice
from tui_tuner.problem.candidate import Candidate, Geometry
from tui_tuner.problem.model import Configuration, Launch
from tui_tuner.processes import server

KERNELS = Path(__file__).parent / "kernels"
_EXPORT = """
static void thread_of_{name}(void** values) {{ tuner_emulator::invoke({name}, values); }}
extern "C" __attribute__((visibility("default"))) int {name}_launch(
    const unsigned* geometry, void** values, char* text, unsigned bytes) {{
    return tuner_emulator::run({{geometry, values, thread_of_{name}, text, bytes}});
}}
"""


def exports(kernels: Iterable[str]) -> str:
    """What exports a launch of each of these kernels, named with `_launch` behind it, from one artifact."""
    return "".join(_EXPORT.format(name=kernel) for kernel in kernels)


def descendants(process: int | str | None = None) -> set[str]:
    """Processes that this one, or another, started or that became its own, with all of theirs."""
    path = Path(f"/proc/{process or os.getpid()}/task/{process or os.getpid()}/children")
    children = path.read_text().split() if path.exists() else []
    return set(children).union(*map(descendants, children))


def change_executors(monkeypatch: pytest.MonkeyPatch, changes: str) -> None:
    """Execute these statements in the server of every device made from now on; `executor` is the module that serves."""
    module = "from tui_tuner.evaluate.devices.native import executor_process as executor"
    monkeypatch.setattr(server, "_BOOT", server._BOOT.replace("from {module}", f"{module}; {changes}; from {{module}}"))


@dataclass
class Compiled:
    artifact: Path
    symbol: str
    log: str
    ok: bool


@dataclass
class Bench:
    """One device, its compiler and a directory for what is built."""

    device: NativeDevice
    compiler: Compiler
    directory: Path
    built: int = 0
    loaded: dict[tuple[str, str], LoadedKernel] = field(default_factory=dict)

    def compile(
        self,
        source: str,
        kernel: str,
        configuration: Configuration | None = None,
        options: Sequence[str] = (),
        others: Sequence[str] = (),
    ) -> Compiled:
        """Compile in a fresh directory, whether it succeeds or not; for the emulator also exports of other kernels."""
        candidate = Candidate(source=source, kernel=kernel, launch=Launch())
        recipe = self.compiler.recipe(candidate, configuration or {}, options)
        self.built += 1
        work = self.directory / str(self.built)
        work.mkdir()
        for name, text in recipe.files.items():
            (work / name).write_text(text + (exports(others) if name == LAUNCH else ""))
        done = subprocess.run(self._command(recipe), cwd=work, capture_output=True, text=True, check=False)
        symbol = self.compiler.symbol(candidate, done.stderr)
        return Compiled(work / recipe.artifact, symbol, done.stderr, done.returncode == 0)

    def _command(self, recipe: Recipe) -> Sequence[str]:
        """The one that a session runs, with the runtime and the headers that are compiled once for all."""
        part = recipe.shared
        if part is None:
            return recipe.command
        if not part.directory.exists():
            made = Path(mkdtemp(dir=self.directory))
            for name, text in part.files.items():
                (made / name).write_text(text)
            for command in part.commands:
                subprocess.run(command, cwd=made, check=True)
            part.directory.parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # another worker was faster
                made.rename(part.directory)
        return recipe.quick

    def load(self, source: str, kernel: str) -> LoadedKernel:
        """Compile and load, once a kernel."""
        if (source, kernel) not in self.loaded:
            compiled = self.compile(source, kernel)
            assert compiled.ok, compiled.log
            self.loaded[source, kernel] = self.device.load(compiled.artifact, compiled.symbol)
        return self.loaded[source, kernel]

    def load_all(self, source: str, kernels: Sequence[str]) -> None:
        """Compile at once what is loaded kernel by kernel."""
        compiled = self.compile(source, kernels[0], others=kernels)
        assert compiled.ok, compiled.log
        for kernel in kernels:
            self.loaded[source, kernel] = self.device.load(compiled.artifact, f"{kernel}_launch")

    def run(
        self,
        kernel: LoadedKernel,
        *arguments: KernelArgument,
        grid: tuple[int, int, int] = (1, 1, 1),
        block: tuple[int, int, int] = (32, 1, 1),
        shared_bytes: int = 0,
        timeout_s: float = 100,
    ) -> list[np.ndarray]:
        """Launch once and return the arrays as the kernel left them."""
        buffers = self.device.allocate(arguments, frozenset())
        try:
            self.device.launch(kernel, buffers, Geometry(grid, block, shared_bytes), timeout_s)
            assert self.device.guard_violation(buffers) is None
            arrays = [index for index, argument in enumerate(arguments) if isinstance(argument, np.ndarray)]
            return [self.device.download(buffers, index) for index in arrays]
        finally:
            self.device.free(buffers)

    def fault(self, kernel: LoadedKernel, *arguments: KernelArgument, **launch: object) -> DeviceFault:
        """The fault that a launch must end in."""
        try:
            self.run(kernel, *arguments, **launch)  # type: ignore[arg-type]
        except DeviceFault as fault:
            return fault
        raise AssertionError("the launch did not fail")
