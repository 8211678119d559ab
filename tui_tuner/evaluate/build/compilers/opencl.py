"""OpenCL C: built by the device's own driver in a confined child process that writes the program's binary."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tui_tuner.evaluate.build.compilers import BuildRefusal, Recipe, macros
from tui_tuner.evaluate.results import FailureKind, Resources
from tui_tuner.evaluate.sandbox.process import existing, python_places
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.headers import include_paths
from tui_tuner.problem.model import Configuration

SOURCE = "kernel.cl"
BINARY = "kernel.bin"
KERNELS = "kernels: "
"""What the child prints before the names of the kernels it built."""
CHILD = Path(__file__).with_name("opencl_child.py")
MACHINE = ("/proc/cpuinfo", "/proc/meminfo", "/proc/self/maps", "/proc/driver/nvidia", "/sys/devices", "/sys/bus")
DRIVERS = ("/etc/OpenCL", "/usr/lib*/llvm*", "/usr/share/pocl", "/opt/intel", "/opt/rocm*", *MACHINE)
"""What drivers read: their registry, their compilers, and the machine they run on; NVIDIA's where it is in memory."""
_INSTALLED = ("/etc/OpenCL", "/usr/share/pocl")
NODES = ("/dev/dri", "/dev/nvidia*", "/dev/kfd")


class OpenCLCompiler:
    """The compiler inside one device's driver.

    Args:
        platform: number of the platform.
        index: number of the device on it.
        description: name and version of platform and driver; part of the key of every build.
    """

    def __init__(self, platform: int, index: int, description: str) -> None:
        self.toolchain = f"OpenCL {description}"
        self._device = (str(platform), str(index))

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """How to build the configuration.

        Raises:
            BuildRefusal: a tunable cannot be a macro.
        """
        # Isolated: neither the environment nor the work directory decides what Python imports.
        program = (sys.executable, "-I", str(CHILD), *self._device, SOURCE, BINARY)
        return Recipe(
            files={SOURCE: candidate.source},
            command=(*program, *macros(configuration), *options),
            artifact=BINARY,
            read=(*python_places(), CHILD, *existing(DRIVERS), *include_paths(options)),
            devices=existing(NODES),
            made_with=(CHILD, *existing(_INSTALLED)),
            warm=(str(CHILD),),
        )

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The kernel's own name: OpenCL C changes no names.

        Raises:
            BuildRefusal: the program has no such kernel.
        """
        names = [name for line in log.splitlines() if line.startswith(KERNELS) for name in line.split()[1:]]
        if candidate.kernel not in names:
            there = ", ".join(names) or "none"
            message = f"no kernel is called '{candidate.kernel}' (kernels in the source: {there})"
            raise BuildRefusal(FailureKind.COMPILE, message)
        return candidate.kernel

    def resources(self, log: str, symbol: str) -> Resources:
        """Nothing known: drivers do not say before the program is loaded."""
        return Resources()
