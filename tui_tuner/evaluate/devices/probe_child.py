"""Looks for devices and for the packages that drive them; a process of its own, so that nothing stays loaded.

Prints the fields of `tui_tuner.evaluate.devices.probe.DeviceReport` as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda.driver import Driver, architecture
from tui_tuner.evaluate.devices.cuda.errors import CudaError

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


def backends() -> tuple[dict[str, str], dict[str, str]]:
    """Versions of the packages that load, and why the others do not."""
    usable, problems = {}, {}
    for name, (module, its_version) in PACKAGES.items():
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
    cuda, cuda_uuids, cuda_problem = cuda_devices()
    usable, problems = backends()
    opencl, opencl_cpus, opencl_problem = opencl_devices()
    report = {
        "cuda_devices": cuda,
        "cuda_uuids": cuda_uuids,
        "cuda_problem": cuda_problem,
        "backends": usable,
        "backend_problems": problems,
        "opencl_devices": opencl,
        "opencl_cpus": opencl_cpus,
        "opencl_problem": opencl_problem,
    }
    sys.stdout.write("\n" + json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
