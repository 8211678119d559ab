"""CUDA for the emulator: the kernel made fit for g++ and compiled with the emulator's headers and runtime."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.evaluate.build.compilers import (
    BuildRefusal,
    Headers,
    Recipe,
    SharedPart,
    checked_name,
    macros,
)
from tui_tuner.evaluate.build.compilers.emulated_source import rewritten
from tui_tuner.evaluate.build.compilers.gnu import (
    INCLUDE,
    RUNTIME,
    WATCHING,
    definitions,
    find_gnu,
    fingerprint,
    quick_linker,
    runtime_sources,
)
from tui_tuner.evaluate.results import FailureKind, Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.headers import include_paths
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.signature import in_namespaces
from tui_tuner.problem.syntax import without_own_values
from tui_tuner.resources import cache_directory

SOURCE, LAUNCH, ARTIFACT = "kernel.cu", "launch.cpp", "kernel.so"
SYMBOL = "tuner_launch"
# Not -march=native: with AVX2 the compiler gathers strided loads, which made a naive matrix multiply 1.6 times slower.
_OPTIONS = (
    *("-O3", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w", "-fmax-errors=20"),
    # A vector at an address that is no multiple of its alignment faults on a GPU, and here traps.
    *("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"),
    # Longjmp between stacks is what the fortified one forbids.
    *("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"),
    # Other kernels of the file are left out, and with them their shared memory.
    *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
    # Loading libstdc++ takes a sixth of a launch; what runs has one thread, so nothing guards what is set up once.
    *("-Wl,--as-needed", "-static-libgcc", "-fno-threadsafe-statics"),
    # Device code reads one type as another, and never errno.
    *("-fno-strict-aliasing", "-fno-math-errno", "-fwrapv"),
)
_WATCHED = {
    "-fsanitize=address": (
        ("bounds.cpp",),
        ("-fsanitize=kernel-address", "-fasan-shadow-offset=0x7fff8000", "-fno-sanitize-address-use-after-scope"),
        ("asan-stack=1", "asan-globals=1", "asan-instrumentation-with-call-threshold=0"),
    ),
    "-fsanitize=thread": (
        ("races.cpp", "blocks.cpp"),
        ("-fsanitize=thread",),
        ("tsan-distinguish-volatile=1", "tsan-instrument-func-entry-exit=0"),
    ),
}
"""What runs when the kernel touches memory, and how it is compiled to call that, by the option that asks for it."""
_SOURCE_LINE = f'#include "{SOURCE}"\n'
_NOT_TOLD = "#undef __SANITIZE_ADDRESS__\n#undef __SANITIZE_THREAD__\n"
"""A source that knew that it is watched could be another one."""
_WITHOUT_THEIR_RUNTIME = ("-nodefaultlibs", "-lstdc++", "-lm", "-lgcc", "-lc")
_COMPILING = tuple(option for option in _OPTIONS if option != "-shared" and not option.startswith("-Wl,"))
_UNDERSTOOD = ("-I", "-std=c++", "-O")
"""Beginnings of the options, beside `-D`, that mean the same to nvcc and to g++; the others are left out."""
_LOADING = re.compile(r"(?:^|[,=])(?:-f(?:pass-)?plugin|-plugin|-load|--?specs|-wrapper|-B|@)")
"""An option that does so, alone or behind another, as in `-Xcompiler=-fplugin=x.so` and `-Wl,-plugin,x.so`."""
_OWN_HEADERS = ("tuner_emulator/device.h", "tuner_emulator/launch.h")
_HEADER = "emulator.h"
_HEADER_TEXT = "".join(f"#include <{name}>\n" for name in _OWN_HEADERS)
_HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "math_constants.h")


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
            BuildRefusal: the source uses what the emulator cannot run, or an option loads code.
        """
        _refuse_loading(options)
        watched = next((option for option in options if option in _WATCHED), "")
        others = [option.removeprefix("-U") for option in options if option.startswith("-U")]
        source = rewritten(without_own_values(candidate.source, others))
        given = [option for option in options if option.startswith("-D")]
        kernel = in_namespaces(checked_name(candidate.kernel), source)
        launch = _launch(kernel, source, definitions([*given, *macros(configuration)]))
        files = {SOURCE: source, LAUNCH: launch}
        understood = [option for option in options if option.startswith(_UNDERSTOOD)]
        command = (
            *(str(self.program), *_OPTIONS, *quick_linker(self.program), *understood, f"-I{INCLUDE}"),
            *(LAUNCH, *map(str, runtime_sources()), "-o", ARTIFACT),
        )
        read = (INCLUDE, RUNTIME, WATCHING, *include_paths(understood))
        ours = Headers((INCLUDE,), _OWN_HEADERS)
        if watched:
            return self._watched(watched, files, understood, read)
        if understood:  # may mean another runtime
            return Recipe(files, command, ARTIFACT, read, headers=ours)
        shared = self._shared(runtime_sources(), _COMPILING)
        quick = self._quick(shared, _OPTIONS, runtime_sources())
        return Recipe(files, command, ARTIFACT, read, headers=ours, shared=shared, quick=quick)

    def _watched(
        self, option: str, files: Mapping[str, str], understood: Sequence[str], read: tuple[Path, ...]
    ) -> Recipe:
        """Compile the kernel to tell of every access to memory, and beside it the runtime, which does not."""
        watching, flags, parameters = _WATCHED[option]
        files = {**files, LAUNCH: files[LAUNCH].replace(_SOURCE_LINE, f"{_NOT_TOLD}{_SOURCE_LINE}")}
        sources = (*runtime_sources(), *(WATCHING / name for name in ("report.cpp", *watching)))
        told = (
            "-O1",
            "-finline-small-functions",
            "-g",
            *flags,
            *(word for one in parameters for word in ("--param", one)),
            *understood,
        )
        shared = self._shared(sources, (*_COMPILING, *told))
        quick = (*self._quick(shared, (*_OPTIONS, *told), sources), *_WITHOUT_THEIR_RUNTIME)
        ours = Headers((INCLUDE,), _OWN_HEADERS)
        return Recipe(files, quick, ARTIFACT, read, headers=ours, shared=shared, quick=quick)

    def _quick(self, shared: SharedPart, options: Sequence[str], sources: Sequence[Path]) -> tuple[str, ...]:
        objects = [str(shared.directory / name) for name in _objects(sources)]
        header = ("-include", str(shared.directory / _HEADER))
        linked = (*quick_linker(self.program), *objects, "-o", ARTIFACT)
        return (str(self.program), *options, f"-I{INCLUDE}", *header, LAUNCH, *linked)

    def _shared(self, sources: Sequence[Path], options: Sequence[str]) -> SharedPart:
        """The runtime's objects, and the emulator's headers, precompiled with the options of the kernel."""
        compiler = (str(self.program), *_COMPILING, f"-I{INCLUDE}")
        objects = tuple(
            (*compiler, "-c", str(source), "-o", name) for name, source in zip(_objects(sources), sources, strict=True)
        )
        header = (str(self.program), *options, f"-I{INCLUDE}", "-x", "c++-header", _HEADER, "-o", f"{_HEADER}.gch")
        content = json.dumps([self.toolchain, _HEADER_TEXT, objects, header])
        name = hashlib.sha256(content.encode()).hexdigest()[:16]
        directory = cache_directory("emulator") / name
        return SharedPart(directory, {_HEADER: _HEADER_TEXT}, (header, *objects))

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The exported launch, the same for every kernel."""
        return SYMBOL

    def resources(self, log: str, symbol: str) -> Resources:
        """Nothing known: g++ does not say what a kernel needs."""
        return Resources()


def _objects(sources: Sequence[Path]) -> list[str]:
    return [f"{source.stem}.o" for source in sources]


def _launch(kernel: str, source: str, tunables: str) -> str:
    """The file that is compiled: the emulator's headers before the tunables, whose names may be any."""
    headers = [*_OWN_HEADERS, *(name for name in _HEADERS if name in source)]
    includes = "".join(f"#include <{name}>\n" for name in headers)
    return f"{includes}{tunables}{_SOURCE_LINE}TUNER_EXPORT_LAUNCH({kernel})\n"


def _refuse_loading(options: Sequence[str]) -> None:
    """Refuse what would have the compiler run somebody's code, instead of leaving it out like what it cannot mean.

    Raises:
        BuildRefusal: there is such an option.
    """
    for option in options:
        if _LOADING.search(option) and not option.startswith(("-D", "-I")):
            message = f"'{option}' has the compiler load code or run a program: take it out of compiler_options"
            raise BuildRefusal(FailureKind.REFUSED, message)
