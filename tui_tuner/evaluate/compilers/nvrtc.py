"""CUDA with NVRTC, for machines without a CUDA toolkit: compiled in a child by the packages of Python."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.compilers import nvrtc_child
from tui_tuner.evaluate.compilers.base import BuildRefusal, Recipe, checked_name, include_paths, macros
from tui_tuner.evaluate.compilers.ptxas import kernel_resources
from tui_tuner.evaluate.results import Failure, FailureKind, Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.processes.child import run_program
from tui_tuner.processes.environment import environment_without_keys

SOURCE, ARTIFACT = "kernel.cu", "kernel.cubin"

_CHILD = Path(nvrtc_child.__file__).resolve()
_FIRST_WITH_VARIANT = 90
_HINT = "install the packages cuda-python and nvidia-cuda-nvrtc, or a CUDA toolkit"


@dataclass(frozen=True)
class Nvrtc:
    """NVRTC for one architecture.

    Attributes:
        packages: the directory that holds the `cuda` package.
        architecture: as in "sm_90a".
        toolchain: name, version and architecture.
        includes: directories with the toolkit's headers; empty where none are installed.
    """

    packages: Path
    architecture: str
    toolchain: str
    includes: tuple[Path, ...]

    @classmethod
    def find(cls, architecture: str) -> Nvrtc:
        """The NVRTC of the installed packages.

        Args:
            architecture: of the device, as in "sm_90"; its own variant is used as in `Nvcc.find`.

        Raises:
            DeviceError: there is none, or it cannot build for this architecture.
        """
        packages = _packages()
        said = "" if packages is None else _ask(packages)
        if packages is None or not said:
            raise DeviceError("no NVRTC for this Python", hint=_HINT)
        version, *architectures = said.split()
        number = architecture.removeprefix("sm_")
        if number not in architectures:
            raise DeviceError(f"NVRTC {version} cannot build for {architecture}", hint="install a version that can")
        variant = f"{architecture}a" if int(number) >= _FIRST_WITH_VARIANT else architecture
        return cls(packages, variant, f"nvrtc {version} {variant}", _includes(packages))

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile to a cubin in a Python of ours that is confined like any compiler."""
        command = (
            *(sys.executable, "-I", str(_CHILD), str(self.packages), checked_name(candidate.kernel)),
            *(SOURCE, ARTIFACT, "--", f"-arch={self.architecture}", "-std=c++17", "-w", "--ptxas-options=-v"),
            *(*macros(configuration), *(f"-I{path}" for path in self.includes), *options),
        )
        python = (Path(sys.prefix), Path(sys.base_prefix), self.packages, _CHILD)
        read = (*python, *self.includes, *include_paths(options))
        return Recipe({SOURCE: candidate.source}, command, ARTIFACT, read=read)

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The kernel's mangled name, as NVRTC told it."""
        for line in reversed(log.splitlines()):
            if line.startswith(nvrtc_child.SYMBOL_LINE):
                return line.removeprefix(nvrtc_child.SYMBOL_LINE)
        raise BuildRefusal(Failure(kind=FailureKind.COMPILE, message=f"the source has no kernel '{candidate.kernel}'"))

    def resources(self, log: str, symbol: str) -> Resources:
        """From ptxas's part of the log."""
        return kernel_resources(log, symbol)


def _packages() -> Path | None:
    try:
        spec = importlib.util.find_spec("cuda.bindings")
    except ModuleNotFoundError:
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]).parents[1]


def _ask(packages: Path) -> str:
    """Version and architectures, asked in a child so that this process loads no CUDA; nothing where it fails."""
    command = (sys.executable, "-I", str(_CHILD), str(packages), "--version")
    try:
        done = run_program(command, environment=environment_without_keys(), limit_s=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _includes(packages: Path) -> tuple[Path, ...]:
    """Directories of the toolkit's headers: of packages beside ours, of CUDA_HOME, of /usr/local/cuda."""
    toolkits = [Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include")]
    for include in [*sorted(packages.glob("nvidia/*/include")), *toolkits]:
        if Path(include, "cuda_fp16.h").is_file():
            return tuple(path for path in (include, include / "cccl") if path.is_dir())
    return ()
