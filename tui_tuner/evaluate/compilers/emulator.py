"""CUDA for the emulator: the kernel compiled as C++ with the emulator's headers and runtime."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tui_tuner.evaluate.compilers.base import Recipe, SharedPart, checked_name, include_paths, macros
from tui_tuner.evaluate.compilers.gnu import definitions, find_gnu
from tui_tuner.evaluate.emulator.rewriting import rewritten
from tui_tuner.evaluate.emulator.sources import INCLUDE, RUNTIME, fingerprint, runtime_sources
from tui_tuner.evaluate.results import Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration

SOURCE, LAUNCH, ARTIFACT = "kernel.cu", "launch.cpp", "kernel.so"
SYMBOL = "tuner_launch"
# Not -march=native: with AVX2 the compiler gathers strided loads, which made a naive matrix multiply 1.6 times slower.
_OPTIONS = (
    *("-O3", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w", "-fmax-errors=20"),
    # Longjmp between stacks is what the fortified one forbids.
    *("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"),
    # Other kernels of the file are left out, and with them their shared memory.
    *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
    # Device code reads one type as another, and never errno.
    *("-fno-strict-aliasing", "-fno-math-errno", "-fwrapv"),
)
_COMPILING = tuple(option for option in _OPTIONS if option != "-shared" and not option.startswith("-Wl,"))
_UNDERSTOOD = ("-I", "-std=c++", "-O")
"""Beginnings of the options, beside `-D`, that mean the same to nvcc and to g++; the others are left out."""
_OWN_HEADERS = ("tuner_emulator/device.h", "tuner_emulator/launch.h")
_HEADER = "emulator.h"
_HEADER_TEXT = "".join(f"#include <{name}>\n" for name in _OWN_HEADERS)
_HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "math_constants.h")


@dataclass(frozen=True)
class EmulatorCompiler:
    """The g++ that builds for the emulator.

    Attributes:
        program: absolute path of g++.
        toolchain: its version and the emulator's.
    """

    program: Path
    toolchain: str

    @classmethod
    def find(cls) -> EmulatorCompiler:
        """The g++ of the search path.

        Raises:
            DeviceError: there is none, or it is too old.
        """
        gnu = find_gnu("g++")
        return cls(gnu.program, f"{gnu.line}, emulator {fingerprint()}")

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile the kernel, the runtime and the launch of this one kernel to a shared object.

        Raises:
            Refused: the source uses what the emulator cannot run.
        """
        source = rewritten(candidate.source)
        given = [option for option in options if option.startswith("-D")]
        launch = _launch(checked_name(candidate.kernel), source, definitions([*given, *macros(configuration)]))
        files = {SOURCE: source, LAUNCH: launch}
        understood = [option for option in options if option.startswith(_UNDERSTOOD)]
        command = (
            *(str(self.program), *_OPTIONS, *understood, f"-I{INCLUDE}"),
            *(LAUNCH, *map(str, runtime_sources()), "-o", ARTIFACT),
        )
        read = (INCLUDE, RUNTIME, *include_paths(understood))
        if understood:  # may mean another runtime
            return Recipe(files, command, ARTIFACT, read)
        shared = self._shared()
        objects = [str(shared.directory / name) for name in _objects()]
        header = ("-include", str(shared.directory / _HEADER))
        quick = (str(self.program), *_OPTIONS, f"-I{INCLUDE}", *header, LAUNCH, *objects, "-o", ARTIFACT)
        return Recipe(files, command, ARTIFACT, read, shared=shared, quick=quick)

    def _shared(self) -> SharedPart:
        """The runtime's objects and the emulator's headers, precompiled."""
        compiler = (str(self.program), *_COMPILING, f"-I{INCLUDE}")
        objects = tuple(
            (*compiler, "-c", str(source), "-o", name)
            for name, source in zip(_objects(), runtime_sources(), strict=True)
        )
        header = (*compiler, "-x", "c++-header", _HEADER, "-o", f"{_HEADER}.gch")
        content = json.dumps([self.toolchain, _HEADER_TEXT, objects, header])
        name = hashlib.sha256(content.encode()).hexdigest()[:16]
        directory = platformdirs.user_cache_path("tuner-tui") / "emulator" / name
        return SharedPart(directory, {_HEADER: _HEADER_TEXT}, (header, *objects))

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The exported launch, the same for every kernel."""
        return SYMBOL

    def resources(self, log: str, symbol: str) -> Resources:
        """None: g++ does not say."""
        return Resources()


def _objects() -> list[str]:
    return [f"{source.stem}.o" for source in runtime_sources()]


def _launch(kernel: str, source: str, tunables: str) -> str:
    """The file that is compiled: the emulator's headers before the tunables, whose names may be any."""
    headers = [*_OWN_HEADERS, *(name for name in _HEADERS if name in source)]
    includes = "".join(f"#include <{name}>\n" for name in headers)
    return f'{includes}{tunables}#include "{SOURCE}"\nTUNER_EXPORT_LAUNCH({kernel})\n'
