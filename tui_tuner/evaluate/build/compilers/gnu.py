"""gcc and g++ on this machine: found, named, and C and C++ kernels compiled with them."""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers import Headers, Recipe, checked_name, macros
from tui_tuner.evaluate.results import Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.headers import include_paths
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.signature import in_namespaces
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.waited import run_program

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
        kernel = in_namespaces(checked_name(candidate.kernel), candidate.source, "c")
        exported = f'{tunables}#include "{source}"\nvoid* {SYMBOL} = (void*)&{kernel};\n'
        files = {source: candidate.source, export: exported}
        command = (
            *(str(self.program), *_OPTIONS, *quick_linker(self.program), *options),
            *(export, str(FAULTS), "-o", ARTIFACT, "-lm"),
        )
        read = (FAULTS.parent, *include_paths(options))
        return Recipe(files, command, ARTIFACT, read, made_with=(FAULTS,), headers=Headers())

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The exported address, the same for every kernel."""
        return SYMBOL

    def resources(self, log: str, symbol: str) -> Resources:
        """Nothing known: a compiler for CPUs does not say what a kernel needs."""
        return Resources()


_HERE = Path(__file__).resolve().parents[2] / "emulator"
INCLUDE = _HERE / "include"
RUNTIME = _HERE / "runtime"
WATCHING = _HERE / "watching"
"""What a kernel calls that is compiled to tell of its accesses to memory."""
FAULTS = RUNTIME / "faults.c"
"""Compiled into every native artifact: tells the parent process where a fault happened."""


def runtime_sources() -> tuple[Path, ...]:
    """The files to compile beside a kernel."""
    return (*sorted(RUNTIME.glob("*.cpp")), FAULTS)


@cache
def fingerprint() -> str:
    """Eight hexadecimal digits that change with the emulator's C++."""
    digest = hashlib.sha256()
    for path in sorted([*INCLUDE.rglob("*.h"), *RUNTIME.iterdir(), *WATCHING.iterdir()]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def cpu_model() -> str:
    """The processor's name as Linux gives it, else its architecture."""
    return cpu_line("model name").partition(":")[2].strip() or platform.machine()


def cpu_line(*beginnings: str) -> str:
    """The first line that begins so of what Linux tells of the processor; empty where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(beginnings)), "")


_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_OLDEST = 11


class Gnu(NamedTuple):
    """A compiler of the GNU collection.

    Attributes:
        program: its absolute path.
        name: name and version in short, as in "g++ 12.2".
        line: the first line of what it prints about its version.
    """

    program: Path
    name: str
    line: str


@cache
def find_gnu(command: str) -> Gnu:
    """The compiler `gcc` or `g++` of the search path.

    Raises:
        DeviceError: there is none, or it is too old.
    """
    program = shutil.which(command)
    if program is None:
        raise DeviceError(f"no {command} in PATH", hint=f"apt install {command}")
    line = _first_line(program)
    found = _VERSION.search(line.split(")")[-1])
    version = found[0] if found else "0.0"
    if int(version.split(".")[0]) < _OLDEST:
        raise DeviceError(f"{program} is {line!r}: version {_OLDEST} is needed", hint=f"apt install {command}")
    return Gnu(Path(program), f"{command} {'.'.join(version.split('.')[:2])}", line)


def quick_linker(program: Path) -> tuple[str, ...]:
    """The option for the linker that takes a third of the time, where it stands beside the compiler."""
    return ("-fuse-ld=gold",) if program.with_name("ld.gold").exists() else ()


def definitions(options: Iterable[str]) -> str:
    """The options `-Dname=value` as lines of source, so that they hold from there on and not in other headers."""
    pairs = [option.removeprefix("-D").partition("=") for option in options]
    return "".join(f"#define {name} {value if equals else 1}\n" for name, equals, value in pairs)


def _first_line(program: str) -> str:
    command = [program, "--version"]
    environment = {**environment_without_keys(), "LC_ALL": "C"}
    try:
        done = run_program(command, environment=environment, limit_s=30)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceError(f"{program} cannot be run: {error}", hint="apt install g++") from error
    return done.stdout.partition("\n")[0].strip()
