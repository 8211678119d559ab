"""The CUDA driver's library through ctypes: memory, waiting, attributes, what it tells about a device.

It works in the context that is current in the calling thread. Every call returns its own error code, which
matters: kernel_tuner 1.5 drops the codes that cuda-python returns from launches and waits. Standard library only, since
what runs under compute-sanitizer loads it (`watched_launches.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_ushort, c_void_p
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda import CudaError

if TYPE_CHECKING:
    import numpy as np

    from tui_tuner.evaluate.results import DeviceInfo

_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _CLOCK_KHZ = 75, 76, 13
_LIMITS = {
    "multiprocessors": 16,
    "max_threads_per_block": 1,
    "warp_size": 10,
    "registers_per_multiprocessor": 82,
    "shared_bytes": 8,
    "shared_bytes_optin": 97,
    "shared_bytes_per_multiprocessor": 81,
    "l2_bytes": 38,
}
"""Fields of `DeviceInfo` to attributes of a device (CUdevice_attribute)."""
_NEWER_LIMITS = {"max_threads_per_multiprocessor": 39, "max_blocks_per_multiprocessor": 106}
"""Those that an older driver does not tell."""
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
FILLS = {1: "cuMemsetD8_v2", 2: "cuMemsetD16_v2", 4: "cuMemsetD32_v2"}
"""Bytes of a number that an array can be filled with, and by what call."""


def architecture(driver: Driver, device: int) -> str:
    """The device's architecture as nvcc names it, "sm_90"."""
    major, minor = (driver.attribute(device, at) for at in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR))
    return f"sm_{major}{minor}"


def device_info(driver: Driver, device: int, backend: str) -> DeviceInfo:
    """The device's limits; without measured ceilings and without a compiler."""
    from tui_tuner.evaluate.results import DeviceInfo

    def told(number: int) -> int | None:
        try:
            return driver.attribute(device, number) or None
        except CudaError:  # a driver older than the attribute
            return None

    limits: dict[str, Any] = {name: driver.attribute(device, number) for name, number in _LIMITS.items()}
    limits |= {name: told(number) for name, number in _NEWER_LIMITS.items()}
    return DeviceInfo(
        kind="cuda",
        name=driver.device_name(device),
        backend=backend,
        architecture=architecture(driver, device),
        memory_bytes=driver.total_memory(device),
        clock_mhz=driver.attribute(device, _CLOCK_KHZ) / 1000,
        **limits,
    )


LIBRARY = "libcuda.so.1"


class Location(ctypes.Structure):
    """CUmemLocation."""

    _fields_ = (("type", c_int), ("id", c_int))


class AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", c_int),
        ("requested_handle_types", c_int),
        ("location", Location),
        ("win32_handle_meta_data", c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class AccessDescription(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", Location), ("flags", c_int))


SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDeviceGetPCIBusId": (c_char_p, c_int, c_int),
    "cuDeviceGetUuid_v2": (c_char_p, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemcpyDtoDAsync_v2": (c_uint64, c_uint64, c_size_t, c_void_p),
    "cuMemcpyHtoDAsync_v2": (c_uint64, c_void_p, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_uint64, c_size_t, c_void_p),
    "cuMemHostRegister_v2": (c_void_p, c_size_t, c_uint),
    "cuMemsetD8_v2": (c_uint64, c_ubyte, c_size_t),
    "cuMemsetD16_v2": (c_uint64, c_ushort, c_size_t),
    "cuMemsetD32_v2": (c_uint64, c_uint, c_size_t),
    "cuMemsetD32Async": (c_uint64, c_uint, c_size_t, c_void_p),
    "cuMemGetAllocationGranularity": (POINTER(c_size_t), POINTER(AllocationProperties), c_int),
    "cuMemAddressReserve": (POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_uint64),
    "cuMemAddressFree": (c_uint64, c_size_t),
    "cuMemCreate": (POINTER(c_uint64), c_size_t, POINTER(AllocationProperties), c_uint64),
    "cuMemRelease": (c_uint64,),
    "cuMemMap": (c_uint64, c_size_t, c_size_t, c_uint64, c_uint64),
    "cuMemUnmap": (c_uint64, c_size_t),
    "cuMemSetAccess": (c_uint64, c_size_t, POINTER(AccessDescription), c_size_t),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuModuleGetGlobal_v2": (POINTER(c_uint64), POINTER(c_size_t), c_void_p, c_char_p),
    "cuLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, POINTER(c_void_p), c_void_p),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, c_void_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
}


_NOT_FOUND = 500


class Driver:
    """The library, initialised.

    Raises:
        DeviceError: there is no driver, or it does not start.
    """

    def __init__(self) -> None:
        try:
            library = ctypes.CDLL(LIBRARY)
            self._functions = {name: getattr(library, name) for name in SIGNATURES}
        except (OSError, AttributeError) as error:
            raise DeviceError("there is no usable NVIDIA driver here", hint=str(error)) from error
        for name, types in SIGNATURES.items():
            self._functions[name].argtypes = types
            self._functions[name].restype = c_int
        try:
            self.call("cuInit", 0)
        except CudaError as error:
            raise DeviceError(
                f"the NVIDIA driver does not start: {error}", hint="see what `nvidia-smi` says"
            ) from error

    def call(self, name: str, *arguments: object) -> None:
        """Call a function of the library.

        Raises:
            CudaError: it returned an error.
        """
        code = self._functions[name](*arguments)
        if code:
            raise CudaError(code, name)

    def device_count(self) -> int:
        """Number of devices; 0 where the driver finds none."""
        count = c_int()
        self.call("cuDeviceGetCount", byref(count))
        return count.value

    def device(self, ordinal: int) -> int:
        """The handle of a device.

        Raises:
            DeviceError: there is no such device.
        """
        handle = c_int()
        try:
            self.call("cuDeviceGet", byref(handle), ordinal)
        except CudaError as error:
            raise DeviceError(
                f"there is no CUDA device {ordinal}", hint=f"devices here: {self.device_count()}"
            ) from error
        return handle.value

    def use_context(self, device: int) -> None:
        """Make the device's primary context the current one, for as long as the process lives."""
        context = c_void_p()
        self.call("cuDevicePrimaryCtxRetain", byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def device_name(self, device: int) -> str:
        """The device's name."""
        return self._text("cuDeviceGetName", device)

    def pci_bus_id(self, device: int) -> str:
        """Where the device is plugged in, as NVML knows it too."""
        return self._text("cuDeviceGetPCIBusId", device)

    def uuid(self, device: int) -> str:
        """What names the device, whatever others are visible: as `nvidia-smi -L` shows it, in small letters."""
        number = ctypes.create_string_buffer(16)
        self.call("cuDeviceGetUuid_v2", number, device)
        return f"gpu-{UUID(bytes=number.raw)}"

    def ordinal(self, uuid: str, otherwise: int = 0) -> int:
        """The number of a device among the visible ones: by its UUID where that is known, which counts for more.

        Raises:
            DeviceError: it is not among them.
        """
        if not uuid:
            return otherwise
        for ordinal in range(self.device_count()):
            if self.uuid(self.device(ordinal))[4:] == uuid[4:]:  # an instance of a GPU is called mig-
                return ordinal
        raise DeviceError(f"there is no CUDA device {uuid}", hint="`tuner-tui doctor` lists them")

    def _text(self, name: str, device: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.call(name, text, len(text), device)
        return text.value.decode(errors="replace")

    def attribute(self, device: int, number: int) -> int:
        """A CUdevice_attribute."""
        value = c_int()
        self.call("cuDeviceGetAttribute", byref(value), number, device)
        return value.value

    def total_memory(self, device: int) -> int:
        """Memory of the device, bytes."""
        size = c_size_t()
        self.call("cuDeviceTotalMem_v2", byref(size), device)
        return size.value

    def function_attribute(self, function: int, number: int) -> int:
        """A CUfunction_attribute of a loaded function."""
        value = c_int()
        self.call("cuFuncGetAttribute", byref(value), number, function)
        return value.value

    def synchronize(self) -> None:
        """Wait until the device has done everything.

        Raises:
            CudaError: something that was launched failed; most such errors stay with the context.
        """
        self.call("cuCtxSynchronize")

    def sticky_error(self) -> int:
        """What waiting for the device returns: 0 as long as the context is usable."""
        try:
            self.synchronize()
        except CudaError as error:
            return error.code
        return 0

    def allocate(self, nbytes: int) -> int:
        """Address of ordinary device memory."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), nbytes)
        return address.value

    def free(self, address: int) -> None:
        """Give ordinary memory back."""
        self.call("cuMemFree_v2", address)

    def upload(self, address: int, array: np.ndarray) -> None:
        """Copy a contiguous host array to the device."""
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data, array.nbytes)

    def upload_bytes(self, address: int, content: bytes) -> None:
        """Copy bytes to the device."""
        self.call("cuMemcpyHtoD_v2", address, content, len(content))

    def download(self, array: np.ndarray, address: int) -> None:
        """Fill a contiguous host array from the device."""
        self.call("cuMemcpyDtoH_v2", array.ctypes.data, address, array.nbytes)

    def upload_async(self, address: int, pinned: np.ndarray) -> None:
        """Queue such a copy of an array in pinned memory, which must stay as it is until it is done."""
        self.call("cuMemcpyHtoDAsync_v2", address, pinned.ctypes.data, pinned.nbytes, None)

    def download_async(self, pinned: np.ndarray, address: int) -> None:
        """Queue filling an array in pinned memory."""
        self.call("cuMemcpyDtoHAsync_v2", pinned.ctypes.data, address, pinned.nbytes, None)

    def pin(self, array: np.ndarray) -> None:
        """Lock the pages of a contiguous host array until the process ends."""
        self.call("cuMemHostRegister_v2", array.ctypes.data, array.nbytes, 0)

    def copy_async(self, target: int, source: int, nbytes: int, stream: int) -> None:
        """Queue a copy from device to device."""
        self.call("cuMemcpyDtoDAsync_v2", target, source, nbytes, stream)

    def fill_async(self, address: int, nbytes: int, stream: int) -> None:
        """Queue writing zeros; `nbytes` is a multiple of 4."""
        self.call("cuMemsetD32Async", address, 0, nbytes // 4, stream)

    def fill(self, address: int, value: int, nbytes: int, width: int = 1) -> None:
        """Write a number of so many bytes, a key of `FILLS`, over and over; `nbytes` is a multiple of it."""
        self.call(FILLS[width], address, value, nbytes // width)

    def load_module(self, image: bytes) -> int:
        """A module (a CUmodule) of the current context, from a cubin."""
        module = c_void_p()
        self.call("cuModuleLoadData", byref(module), image)
        return module.value or 0

    def function(self, module: int, name: str) -> int:
        """A function (a CUfunction) of a module."""
        function = c_void_p()
        self.call("cuModuleGetFunction", byref(function), module, name.encode())
        return function.value or 0

    def variable(self, module: int, symbol: str) -> tuple[int, int] | None:
        """Address and bytes of a variable of a module; None where it has none of this name."""
        address, size = c_uint64(), c_size_t()
        try:
            self.call("cuModuleGetGlobal_v2", byref(address), byref(size), module, symbol.encode())
        except CudaError as error:
            if error.code == _NOT_FOUND:
                return None
            raise
        return address.value, size.value

    def allow_shared(self, function: int, nbytes: int) -> None:
        """Let a function ask for so much dynamic shared memory, bytes."""
        self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, nbytes)

    def launch(self, function: int, shape: Sequence[int], arguments: Sequence[Any], stream: int | None = None) -> None:
        """Queue a function with arguments of ctypes on a stream; without one behind what uploads and fills queued.

        Args:
            shape: grid, block and bytes of dynamic shared memory, 7 numbers.
        """
        pointers = (c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        self.call("cuLaunchKernel", function, *shape, stream, pointers, None)
