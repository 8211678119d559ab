"""What runs under compute-sanitizer: launches a kernel as a directory tells, by the driver alone.

Of ours it loads next to nothing, and no NumPy: each tool starts it anew before a kernel is accepted, and with what
drives a device here that took half a second. It has a context and allocations of its own, so that the tool knows how
long each array is; outputs that start with nothing are not written, so that initcheck knows.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any
from uuid import UUID

from tui_tuner.processes.parent import die_with_parent

LAUNCHED = "tuner: all was launched"
"""What it says at its end."""
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
_USUAL_SHARED_BYTES = 48 * 1024


class PlainDriver:
    """The calls that this takes; an error of any ends the program, since the tool has told why by then.

    Args:
        library: of the driver, or what stands in for it.
    """

    def __init__(self, library: Any) -> None:  # noqa: ANN401
        self._library = library
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401
        """Call a function; all but pointers and numbers of 32 bits come as ctypes has them."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise SystemExit(f"{name}: CUDA error {code}")

    def use(self, uuid: str) -> None:
        """Make the primary context of the device with this UUID the current one."""
        count, device, context = c_int(), c_int(), c_void_p()
        self.call("cuDeviceGetCount", byref(count))
        for ordinal in range(count.value):
            number = ctypes.create_string_buffer(16)
            self.call("cuDeviceGet", byref(device), ordinal)
            self.call("cuDeviceGetUuid_v2", number, device)
            if str(UUID(bytes=number.raw)) == uuid[4:]:  # behind gpu-, or mig- for an instance of one
                self.call("cuDevicePrimaryCtxRetain", byref(context), device)
                self.call("cuCtxSetCurrent", context)
                return
        raise SystemExit(f"there is no CUDA device {uuid}")

    def load(self, cubin: bytes, symbol: str) -> tuple[c_void_p, c_void_p]:
        """A module and its function."""
        module, function = c_void_p(), c_void_p()
        self.call("cuModuleLoadData", byref(module), cubin)
        self.call("cuModuleGetFunction", byref(function), module, symbol.encode())
        return module, function

    def fill_constant(self, module: c_void_p, symbols: list[str], content: bytes) -> None:
        """Write a variable of the module that has one of these names; that there is none was told before."""
        address, size = c_uint64(), c_size_t()
        for symbol in symbols:
            if not self._library.cuModuleGetGlobal_v2(byref(address), byref(size), module, symbol.encode()):
                self.call("cuMemcpyHtoD_v2", address, content, c_size_t(len(content)))
                return

    def allocated(self, nbytes: int, content: bytes | None) -> int:
        """The address of new memory, with this content unless it is None."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", byref(address), c_size_t(max(nbytes, 1)))
        if content:
            self.call("cuMemcpyHtoD_v2", address, content, c_size_t(nbytes))
        return address.value

    def run(self, function: c_void_p, launch: dict[str, Any], slots: list[Any]) -> None:
        """Launch with these arguments, and wait."""
        shared = launch["shared_bytes"]
        if shared > _USUAL_SHARED_BYTES:
            self.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        pointers = (c_void_p * len(slots))(*map(ctypes.addressof, slots))
        self.call("cuLaunchKernel", function, *launch["grid"], *launch["block"], shared, None, pointers, None)
        self.call("cuCtxSynchronize")

    def free(self, address: int) -> None:
        """Give memory back."""
        self.call("cuMemFree_v2", c_uint64(address))


def launch_all(directory: Path, driver: PlainDriver) -> None:
    """Launch what `job.json` tells, with the arguments in the files beside it, as many as there is time for."""
    job = json.loads((directory / "job.json").read_text())
    driver.use(job["unit"])
    module, function = driver.load(Path(job["cubin"]).read_bytes(), job["symbol"])
    began = time.monotonic()
    for number, launch in enumerate(job["launches"]):
        if number and time.monotonic() - began > job["last_start_s"]:
            break  # the smaller ones must do
        contents = [(directory / f"{number}.{index}").read_bytes() for index in range(launch["arguments"])]
        for index, symbols in launch["constants"].items():
            driver.fill_constant(module, symbols, contents[int(index)])
        _launch(driver, function, launch, contents)


def _launch(driver: PlainDriver, function: c_void_p, launch: dict[str, Any], contents: list[bytes]) -> None:
    arrays = [index for index in launch["arrays"] if str(index) not in launch["constants"]]
    unwritten = set(launch["unwritten"])
    addresses = {
        index: driver.allocated(len(contents[index]), None if index in unwritten else contents[index])
        for index in arrays
    }
    passed = dict(addresses)
    for index, offsets in launch["lists"].items():
        listed = b"".join((addresses[int(index)] + offset).to_bytes(8, "little") for offset in offsets)
        passed[int(index)] = driver.allocated(len(listed), listed)
    slots: list[Any] = []
    for index, content in enumerate(contents):
        if index not in launch["aside"]:
            is_array = index in passed
            slots.append(c_uint64(passed[index]) if is_array else _by_value(content, launch, index, addresses))
    driver.run(function, launch, slots)
    for address in {*addresses.values(), *passed.values()}:
        driver.free(address)


def _by_value(content: bytes, launch: dict[str, Any], index: int, addresses: dict[int, int]) -> Any:  # noqa: ANN401
    """A number or a structure, with the addresses of the arrays that it points to."""
    held = bytearray(content)
    for offset, array in launch["pointers"].get(str(index), ()):
        held[offset : offset + 8] = addresses[array].to_bytes(8, "little")
    return ctypes.create_string_buffer(bytes(held), max(16, len(held)))


def main(arguments: list[str]) -> None:
    """Launch all in the directory that is given, say so, and end without tidying up, which takes a tool long."""
    die_with_parent()
    launch_all(Path(arguments[0]), PlainDriver(ctypes.CDLL("libcuda.so.1")))
    sys.stdout.write(f"{LAUNCHED}\n")
    sys.stdout.flush()
    os._exit(0)
