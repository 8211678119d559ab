"""CUDA device code straight to a cubin for one architecture: with nvcc, with NVRTC, or with whichever is quicker.

NVRTC is the same compiler without the host's preprocessor and without a process for each stage: it takes 0.03 s for a
small kernel that takes nvcc 0.3 s. It knows no host code and no headers of the system, so where both are installed in
the same release it is tried first, and what it cannot build is nvcc's.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers import (
    BuildRefusal,
    Headers,
    Recipe,
    TextBetween,
    checked_name,
    late_warps,
    macros,
    nvrtc_child,
)
from tui_tuner.evaluate.build.compilers.symbols import kernel_resources, kernel_symbol
from tui_tuner.evaluate.results import FailureKind, Resources
from tui_tuner.evaluate.toolkit import LATE_WARPS, WITH_LINES, toolkit_programs
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.headers import include_paths
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.signature import in_namespaces
from tui_tuner.processes import environment_without_keys
from tui_tuner.processes.waited import run_program

SOURCE, INSTANCE, ARTIFACT = "kernel.cu", "instance.cu", "kernel.cubin"

_HERE = re.compile(r"^#\$ _HERE_=(.+)$", re.MULTILINE)
_RELEASE = re.compile(r"release [\d.]+, V([\d.]+)")
_SYSTEM_CXX = Path("/usr/bin/g++")
_HINT = "install the CUDA toolkit, or the packages cuda-python and nvidia-cuda-nvrtc"


@dataclass(frozen=True)
class Nvcc:
    """The nvcc of one toolkit for one architecture.

    Attributes:
        program: the toolkit's own nvcc, never a wrapper around it.
        architecture: as in "sm_90a".
        toolchain: name, version and architecture.
        host_compiler: what nvcc preprocesses with, None for its own choice from the system's programs.
        sooner: NVRTC of the same release, tried first; None where it is not installed, or the user names an nvcc.
            Not for what is watched before a kernel is accepted: what is accepted compiles with nvcc as well.
    """

    program: Path
    architecture: str
    toolchain: str
    host_compiler: Path | None = None
    sooner: Nvrtc | None = None

    @classmethod
    def find(cls, architecture: str, program: Path | None = None) -> Nvcc:
        """The nvcc of the settings, of CUDA_HOME, of the search path or of /usr/local/cuda.

        Args:
            architecture: of the device, as in "sm_90"; its own variant "sm_90a" is used where there is one,
                since some instructions need it and a cubin only ever runs on the very device it is built for.
            program: from the settings; then no other is tried.

        Raises:
            DeviceError: there is none, or it cannot build for this architecture.
        """
        for found in [program] if program is not None else toolkit_programs("nvcc"):
            if found.is_file():
                return cls._at(found, architecture, None if program is not None else _packages())
        where = "in CUDA_HOME, PATH or /usr/local/cuda" if program is None else f"at {program}"
        raise DeviceError(f"no nvcc {where}", hint=_HINT)

    @classmethod
    def _at(cls, program: Path, architecture: str, packages: Path | None) -> Nvcc:
        for variant in (f"{architecture}a", architecture):
            here = _HERE.search("".join(_printed(program, "--dryrun", "-cubin", f"-arch={variant}", SOURCE)))
            if here is not None:
                release = _RELEASE.search("".join(_printed(program, "--version")))
                version = release[1] if release else "of unknown version"
                real = Path(here[1]).resolve() / "nvcc"
                sooner = None
                if release and packages:
                    includes = _toolkit_includes(real)
                    sooner = Nvrtc(packages, variant, "", includes, ".".join(version.split(".")[:2]))
                return cls(real, variant, f"nvcc {version} {variant}", _foreign_host_compiler(), sooner)
        raise DeviceError(f"{program} cannot build for {architecture}", hint="install a CUDA toolkit that can")

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile to a cubin; a template is instantiated from a file of its own."""
        is_late, options = LATE_WARPS in options, [one for one in options if one != LATE_WARPS]
        files, main = {SOURCE: with_macros_in_unrolls(candidate.source)}, SOURCE
        kernel = in_namespaces(checked_name(candidate.kernel), candidate.source)
        if "<" in kernel:
            files[INSTANCE], main = _instantiation(kernel), INSTANCE
        host = () if self.host_compiler is None else ("-ccbin", str(self.host_compiler))
        command = (
            *(str(self.program), "-cubin", f"-arch={self.architecture}", "-std=c++17", "-w", "-Xptxas", "-v", *host),
            *(*macros(configuration), *options, main, "-o", ARTIFACT),
        )
        toolkit = self.program.parent.parent
        host_tree = () if self.host_compiler is None else (self.host_compiler.resolve().parent.parent,)
        read = (toolkit, *host_tree, *include_paths(options))
        headers = Headers(_toolkit_includes(self.program), ("cuda_runtime.h",))
        recipe = Recipe(files, command, ARTIFACT, read, made_with=self._made_with(), headers=headers)
        if is_late:
            return _with_late_warps(recipe, main)
        if self.sooner is None or WITH_LINES in options:
            return recipe
        other = self.sooner.recipe(candidate, configuration, options)
        return replace(
            recipe,
            read=(*read, *other.read),
            made_with=(*recipe.made_with, *other.made_with),
            warm=other.warm,
            attempt=other.command,
        )

    def _made_with(self) -> tuple[Path, ...]:
        toolkit = self.program.parent.parent
        programs = (
            self.program.with_name("ptxas"),
            toolkit / "nvvm" / "bin" / "cicc",
            self.host_compiler or _SYSTEM_CXX,
        )
        return (*programs, toolkit / "include")

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The kernel's mangled name, from ptxas's log or as NVRTC told it."""
        if self.sooner is not None and nvrtc_child.SYMBOL_LINE in log:
            return self.sooner.symbol(candidate, log)
        return kernel_symbol(candidate.kernel, log)

    def resources(self, log: str, symbol: str) -> Resources:
        """What the kernel needs, from ptxas's part of the log."""
        return kernel_resources(log, symbol)


def _with_late_warps(recipe: Recipe, main: str) -> Recipe:
    """The same by way of PTX, in which warps are made late."""
    ptx = f"{main}.ptx"
    to_ptx = {"-cubin": "-ptx", ARTIFACT: ptx}
    first = tuple(to_ptx.get(word, word) for word in recipe.command)
    return replace(
        recipe,
        command=tuple(ptx if word == main else word for word in recipe.command),
        between=TextBetween(first, ptx, late_warps.with_late_warps),
        made_with=(Path(late_warps.__file__), *recipe.made_with),
    )


_UNROLL = re.compile(r"^([ \t]*)#[ \t]*pragma[ \t]+unroll\b((?:[^\n/\\]|/(?![/*]))+)", re.MULTILINE)
"""What stands before one, and its count without a comment behind it."""
_UNROLL_MACROS = """#define TUNER_PRAGMA(text) _Pragma(#text)
#define TUNER_UNROLL(count) TUNER_PRAGMA(unroll count)
#line 1
"""


def with_macros_in_unrolls(source: str) -> str:
    """The source with `#pragma unroll NAME` in a way in which a macro is replaced there, as a tunable is one.

    NVRTC and clang replace it. nvcc has the host's compiler preprocess, which leaves the words of a pragma alone: the
    name would be one that nobody declared.
    """

    def spelled(found: re.Match[str]) -> str:
        indent, count = found.groups()
        return f"{indent}TUNER_UNROLL({count.strip()})" if re.search(r"[A-Za-z_]", count) else found[0]

    changed = _UNROLL.sub(spelled, source)
    return source if changed == source else _UNROLL_MACROS + changed


def _toolkit_includes(nvcc: Path) -> tuple[Path, ...]:
    """Where the headers of a toolkit are, by its own nvcc."""
    include = nvcc.parent.parent / "include"
    return (include, include / "cccl")


def _instantiation(kernel: str) -> str:
    """A file that takes the address of a kernel template's instance, which makes the compiler build it."""
    return f'#include "{SOURCE}"\nstatic auto* const tuned_instance = &{kernel};\n'


def _printed(*command: Path | str, limit_s: float = 30) -> tuple[str, str]:
    """What a program of the toolkit, or our own with NVRTC, prints on either stream; nothing where it fails."""
    try:
        done = run_program([*map(str, command)], environment=environment_without_keys(), limit_s=limit_s)
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    return (done.stdout, done.stderr) if done.returncode == 0 else ("", "")


def _foreign_host_compiler() -> Path | None:
    """The user's g++ where it is not among the system's programs, as in a conda environment."""
    found = os.environ.get("NVCC_CCBIN") or shutil.which("g++")
    if found is None or Path(found).resolve().is_relative_to("/usr"):
        return None
    return Path(found)


_CHILD = Path(nvrtc_child.__file__).resolve()
_FIRST_WITH_VARIANT = 90
_NVRTC_HINT = "install the packages cuda-python and nvidia-cuda-nvrtc, or a CUDA toolkit"


@dataclass(frozen=True)
class Nvrtc:
    """NVRTC for one architecture.

    Attributes:
        packages: the directory that holds the `cuda` package.
        architecture: as in "sm_90a".
        toolchain: name, version and architecture.
        includes: directories with the toolkit's headers; empty where none are installed.
        release: that NVRTC must have, as in "13.0"; empty for any.
    """

    packages: Path
    architecture: str
    toolchain: str
    includes: tuple[Path, ...]
    release: str = ""

    @classmethod
    def find(cls, architecture: str) -> Nvrtc:
        """The NVRTC of the installed packages.

        Args:
            architecture: of the device, as in "sm_90"; its own variant is used as in `Nvcc.find`.

        Raises:
            DeviceError: there is none, or it cannot build for this architecture.
        """
        packages, said = _packages(), ""
        if packages is not None:  # asked in a child so that this process loads no CUDA
            said, _ = _printed(sys.executable, "-I", _CHILD, packages, "--version", limit_s=60)
        if packages is None or not said:
            raise DeviceError("no NVRTC for this Python", hint=_NVRTC_HINT)
        version, *architectures = said.split()
        number = architecture.removeprefix("sm_")
        if number not in architectures:
            raise DeviceError(f"NVRTC {version} cannot build for {architecture}", hint="install a version that can")
        variant = f"{architecture}a" if int(number) >= _FIRST_WITH_VARIANT else architecture
        return cls(packages, variant, f"nvrtc {version} {variant}", _includes(packages))

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile to a cubin in a Python of ours that is confined like any compiler."""
        if LATE_WARPS in options:
            raise BuildRefusal(FailureKind.INVALID, "only nvcc builds with late warps")
        kernel = in_namespaces(checked_name(candidate.kernel), candidate.source)
        command = (
            *(sys.executable, "-I", str(_CHILD), str(self.packages), self.release, kernel, SOURCE, ARTIFACT, "--"),
            *(f"-arch={self.architecture}", "-std=c++17", "-w", "--ptxas-options=-v"),
            *(*macros(configuration), *(f"-I{path}" for path in self.includes), *options),
        )
        python = (Path(sys.prefix), Path(sys.base_prefix), self.packages, _CHILD)
        read = (*python, *self.includes, *include_paths(options))
        made_with = (_CHILD, *_libraries(self.packages), *self.includes)
        warm = _script(self.packages)
        files, headers = {SOURCE: candidate.source}, Headers(self.includes)
        return Recipe(files, command, ARTIFACT, read, made_with=made_with, headers=headers, warm=warm)

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The kernel's mangled name, as NVRTC told it."""
        for line in reversed(log.splitlines()):
            if line.startswith(nvrtc_child.SYMBOL_LINE):
                return line.removeprefix(nvrtc_child.SYMBOL_LINE)
        raise BuildRefusal(FailureKind.COMPILE, f"the source has no kernel '{candidate.kernel}'")

    def resources(self, log: str, symbol: str) -> Resources:
        """What the kernel needs, from ptxas's part of the log."""
        return kernel_resources(log, symbol)


def nvrtc_script() -> tuple[str, ...]:
    """The script of NVRTC's builds with the argument that it loads NVRTC by; empty where that is not installed."""
    packages = _packages()
    return () if packages is None else _script(packages)


def _script(packages: Path) -> tuple[str, ...]:
    return str(_CHILD), str(packages)


def _packages() -> Path | None:
    try:
        spec = importlib.util.find_spec("cuda.bindings")
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]).parents[1]


@cache
def _libraries(packages: Path) -> tuple[Path, ...]:
    """NVRTC itself: of packages beside ours, of CUDA_HOME, of /usr/local/cuda."""
    return (*sorted(packages.glob("nvidia/*/lib/libnvrtc*")), *sorted(_toolkit().glob("lib64/libnvrtc*")))


def _includes(packages: Path) -> tuple[Path, ...]:
    """Directories of the toolkit's headers: of packages beside ours, of CUDA_HOME, of /usr/local/cuda."""
    for include in [*sorted(packages.glob("nvidia/*/include")), _toolkit() / "include"]:
        if Path(include, "cuda_fp16.h").is_file():
            return tuple(path for path in (include, include / "cccl") if path.is_dir())
    return ()


def _toolkit() -> Path:
    return Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
