"""The packages that can drive a CUDA device; each is imported only when it is chosen."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import cast

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda.backends.base import CudaBackend
from tui_tuner.evaluate.devices.cuda.driver import Driver

BACKENDS = {
    "cuda-python": ("cuda.bindings", "nvcuda", "NvcudaBackend"),
    "pycuda": ("pycuda", "pycuda", "PycudaBackend"),
    "cupy": ("cupy", "cupy", "CupyBackend"),
}
"""Name of the package to the module that shows it is installed, and the file and class beside this one."""


def installed(name: str) -> bool:
    """Whether a package is there, without importing it."""
    try:
        return find_spec(BACKENDS[name][0]) is not None
    except ModuleNotFoundError:  # the parent of a dotted name is missing
        return False


def open_backend(name: str, ordinal: int, driver: Driver) -> CudaBackend:
    """The named backend on a device, or with "auto" the first that works.

    Raises:
        DeviceError: it is not installed or does not work here.
    """
    names = [n for n in BACKENDS if installed(n)] if name == "auto" else [name]
    if not names or names[0] not in BACKENDS or not installed(names[0]):
        wanted = "none of the packages that drive a CUDA device is" if name == "auto" else f"'{name}' is not"
        raise DeviceError(f"{wanted} installed", hint=f"pip install one of: {', '.join(BACKENDS)}")
    errors = []
    for candidate in names:
        try:
            return _open(candidate, ordinal, driver)
        except Exception as error:  # whatever a broken installation raises
            errors.append(f"{candidate}: {type(error).__name__}: {error}")
    raise DeviceError("no CUDA backend works here", hint="; ".join(errors))


def _open(name: str, ordinal: int, driver: Driver) -> CudaBackend:
    _, file, class_name = BACKENDS[name]
    module = import_module(f"{__name__}.{file}")
    return cast(CudaBackend, getattr(module, class_name)(ordinal, driver))
