"""C and C++ kernels, as a rule with OpenMP, compiled for this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.evaluate.compilers.base import Recipe, checked_name, include_paths, macros
from tui_tuner.evaluate.compilers.gnu import definitions, find_gnu
from tui_tuner.evaluate.devices.native.cpu import cpu_model
from tui_tuner.evaluate.emulator.sources import FAULTS
from tui_tuner.evaluate.results import Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration

SYMBOL = "tuner_kernel"
ARTIFACT = "kernel.so"
_OPTIONS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", "-w", "-fmax-errors=20")


@dataclass(frozen=True)
class CCompiler:
    """The gcc or g++ that builds C or C++ kernels.

    Attributes:
        program: absolute path of the compiler.
        toolchain: its version and the processor that it compiles for.
        suffix: of the kernel's file, ".c" or ".cpp".
    """

    program: Path
    toolchain: str
    suffix: str

    @classmethod
    def find(cls, suffix: str = ".c") -> CCompiler:
        """The compiler of the search path for files that end so: gcc for ".c", g++ for ".cc" and ".cpp".

        Raises:
            DeviceError: there is none, or it is too old.
        """
        gnu = find_gnu("gcc" if suffix == ".c" else "g++")
        return cls(gnu.program, f"{gnu.line} for {cpu_model()}", ".c" if suffix == ".c" else ".cpp")

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile the kernel to a shared object that exports its address, whatever its linkage."""
        source, export = f"kernel{self.suffix}", f"export{self.suffix}"
        tunables = definitions(macros(configuration))
        exported = f'{tunables}#include "{source}"\nvoid* {SYMBOL} = (void*)&{checked_name(candidate.kernel)};\n'
        files = {source: candidate.source, export: exported}
        command = (
            *(str(self.program), *_OPTIONS, *options),
            *(export, str(FAULTS), "-o", ARTIFACT, "-lm"),
        )
        return Recipe(files, command, ARTIFACT, read=(FAULTS.parent, *include_paths(options)))

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The exported address, the same for every kernel."""
        return SYMBOL

    def resources(self, log: str, symbol: str) -> Resources:
        """None: a compiler for CPUs does not say."""
        return Resources()
