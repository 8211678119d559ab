"""Which devices this machine has, and what is missing for the others.

A child looks, which is this module run as a program, so that nothing stays loaded.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from pydantic import BaseModel, ConfigDict, ValidationError

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.driver import Driver, architecture
from tui_tuner.processes import driver_environment
from tui_tuner.processes.child import Program, running
from tui_tuner.processes.server import own_program

LIMIT_S = 60.0
CHILD = "tui_tuner.evaluate.devices.probe"
_PREFERRED = "preferred"


class DeviceReport(BaseModel):
    """What a look at this machine found.

    Attributes:
        cuda_devices: names, in the driver's order.
        cuda_uuids: of each of them.
        cuda_problem: why there are none.
        backends: packages that can drive a CUDA device, with their versions.
        backend_problems: the other such packages, and why they cannot.
        opencl_devices: "platform.device" to name.
        opencl_cpus: which of these are the CPU.
        opencl_problem: why there are none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cuda_devices: list[str] = []
    cuda_uuids: list[str] = []
    cuda_problem: str = ""
    backends: dict[str, str] = {}
    backend_problems: dict[str, str] = {}
    opencl_devices: dict[str, str] = {}
    opencl_cpus: list[str] = []
    opencl_problem: str = ""

    @property
    def no_cuda(self) -> str:
        """Why no CUDA device can be used; empty where one can."""
        if not self.cuda_devices:
            return self.cuda_problem or "no GPU was found"
        if not self.backends:
            return "none of cuda-python, pycuda and cupy can be used"
        return ""

    def lines(self) -> list[str]:
        """All of it, a line for each thing found or missing."""
        uuids = self.cuda_uuids or [""] * len(self.cuda_devices)
        named = zip(self.cuda_devices, uuids, strict=True)
        lines = [f"cuda:{number}: {name}{uuid and f', {uuid}'}" for number, (name, uuid) in enumerate(named)]
        lines += self._side_by_side()
        lines += [f"cuda: {self.cuda_problem}"] if not self.cuda_devices else []
        lines += [f"{name} {version}" for name, version in self.backends.items()]
        lines += [f"{name}: {problem}" for name, problem in self.backend_problems.items()]
        lines += [f"opencl:{place}: {name}" for place, name in self.opencl_devices.items()]
        lines += [f"opencl: {self.opencl_problem}"] if not self.opencl_devices else []
        return lines

    def _side_by_side(self) -> list[str]:
        """Which CUDA devices are of one model, where there are several."""
        models: dict[str, list[str]] = {}
        for number, name in enumerate(self.cuda_devices):
            models.setdefault(name, []).append(str(number))
        if len(models) == 1 and len(self.cuda_devices) > 1:
            return [f"cuda:all: {len(self.cuda_devices)} of one model, which can measure side by side"]
        several = [numbers for numbers in models.values() if len(numbers) > 1]
        return [f"cuda:{','.join(numbers)}: of one model, which can measure side by side" for numbers in several]


Probe = Callable[[], Awaitable[DeviceReport]]
"""Looks for devices."""


async def probe_devices() -> DeviceReport:
    """Look for all there is, in a child process, which is killed when a driver makes it hang."""
    return await _probed()


async def probe_preferred() -> DeviceReport:
    """Look for a CUDA device and one package that can drive it, and for the rest only where these are not there.

    To load all packages takes half a second, CuPy most of it.
    """
    return await _probed(_PREFERRED)


async def _probed(*arguments: str) -> DeviceReport:
    program = Program(own_program(CHILD, *arguments), environment=driver_environment(), output=PIPE)
    try:
        async with asyncio.timeout(LIMIT_S), running(program) as child:
            output = await child.talk()
    except TimeoutError:
        return _nothing(f"looking for devices took more than {LIMIT_S:.0f} s")
    try:
        return DeviceReport.model_validate_json(output.splitlines()[-1])
    except (IndexError, ValidationError):
        return _nothing(f"looking for devices ended with status {child.returncode}")


def _nothing(problem: str) -> DeviceReport:
    return DeviceReport(cuda_problem=problem, opencl_problem=problem)


PACKAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "cuda-python": ("cuda.bindings.driver", lambda: version("cuda-bindings")),
    "pycuda": ("pycuda.driver", lambda: version("pycuda")),
    "cupy": ("cupy", lambda: str(import_module("cupy").__version__)),
}
"""Name to the module that loads the package's libraries, and its version."""


def cuda_devices() -> tuple[list[str], list[str], str]:
    """Names and UUIDs of the CUDA devices, or why there are none."""
    try:
        driver = Driver()
        devices = [driver.device(ordinal) for ordinal in range(driver.device_count())]
        names = [f"{driver.device_name(device)} ({architecture(driver, device)})" for device in devices]
        uuids = [driver.uuid(device) for device in devices]
    except DeviceError as error:
        return [], [], error.message
    except CudaError as error:
        return [], [], str(error)
    return names, uuids, "" if names else "the NVIDIA driver shows no GPU"


def backends(*, one_will_do: bool = False) -> tuple[dict[str, str], dict[str, str]]:
    """Versions of the packages that load, and why the others do not; with `one_will_do` as far as the first."""
    usable, problems = dict[str, str](), dict[str, str]()
    for name, (module, its_version) in PACKAGES.items():
        if one_will_do and usable:
            break
        try:
            import_module(module)
            usable[name] = its_version()
        except (ModuleNotFoundError, PackageNotFoundError):
            problems[name] = "not installed"
        except Exception as error:  # a broken installation may raise anything
            problems[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return usable, problems


def opencl_devices() -> tuple[dict[str, str], list[str], str]:
    """Platform and device number to name, which of them are the CPU, or why there are none."""
    try:
        import pyopencl as cl
    except ImportError as error:
        return {}, [], f"pyopencl is not installed ({error})"
    try:
        found = {
            f"{p}.{d}": device
            for p, platform in enumerate(cl.get_platforms())
            for d, device in enumerate(platform.get_devices())
        }
        names = {place: f"{device.name.strip()} ({device.platform.name.strip()})" for place, device in found.items()}
        cpus = [place for place, device in found.items() if device.type & cl.device_type.CPU]
    except cl.Error as error:
        return {}, [], f"no OpenCL driver is installed ({error})"
    return names, cpus, "" if names else "the OpenCL drivers show no device"


def main() -> None:
    """Look and print."""
    preferred = sys.argv[1:] == [_PREFERRED]
    cuda, cuda_uuids, cuda_problem = cuda_devices()
    usable, problems = backends(one_will_do=preferred)
    opencl, opencl_cpus, opencl_problem = ({}, [], "") if preferred and cuda and usable else opencl_devices()
    report = DeviceReport(
        cuda_devices=cuda,
        cuda_uuids=cuda_uuids,
        cuda_problem=cuda_problem,
        backends=usable,
        backend_problems=problems,
        opencl_devices=opencl,
        opencl_cpus=opencl_cpus,
        opencl_problem=opencl_problem,
    )
    sys.stdout.write(f"\n{report.model_dump_json()}\n")


if __name__ == "__main__":
    main()
