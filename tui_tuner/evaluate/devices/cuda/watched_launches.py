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
from ctypes import c_uint64
from pathlib import Path
from typing import Any

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.processes.parent import die_with_parent

LAUNCHED = "tuner: all was launched"
"""What it says at its end."""
_USUAL_SHARED_BYTES = 48 * 1024


def launch_all(directory: Path, driver: Driver) -> None:
    """Launch what `job.json` tells, with the arguments in the files beside it, as many as there is time for.

    Raises:
        CudaError: the driver failed, and the tool has told why.
    """
    job = json.loads((directory / "job.json").read_text())
    module = driver.load_module(Path(job["cubin"]).read_bytes())
    function = driver.function(module, job["symbol"])
    began = time.monotonic()
    for number, launch in enumerate(job["launches"]):
        if number and time.monotonic() - began > job["last_start_s"]:
            break  # the smaller ones must do
        contents = [(directory / f"{number}.{index}").read_bytes() for index in range(launch["arguments"])]
        for index, symbols in launch["constants"].items():
            found = (driver.variable(module, symbol) for symbol in symbols)
            if variable := next(filter(None, found), None):  # that there is none was told before
                driver.upload_bytes(variable[0], contents[int(index)])
        _launch(driver, function, launch, contents)


def _launch(driver: Driver, function: int, launch: dict[str, Any], contents: list[bytes]) -> None:
    arrays = [index for index in launch["arrays"] if str(index) not in launch["constants"]]
    addresses = {
        index: _allocated(driver, contents[index], is_written=index not in launch["unwritten"]) for index in arrays
    }
    passed = dict(addresses)
    for index, offsets in launch["lists"].items():
        listed = b"".join((addresses[int(index)] + offset).to_bytes(8, "little") for offset in offsets)
        passed[int(index)] = _allocated(driver, listed)
    slots: list[Any] = []
    for index, content in enumerate(contents):
        if index not in launch["aside"]:
            is_array = index in passed
            slots.append(c_uint64(passed[index]) if is_array else _by_value(content, launch, index, addresses))
    if launch["shared_bytes"] > _USUAL_SHARED_BYTES:
        driver.allow_shared(function, launch["shared_bytes"])
    driver.launch(function, (*launch["grid"], *launch["block"], launch["shared_bytes"]), slots)
    driver.synchronize()
    for address in {*addresses.values(), *passed.values()}:
        driver.free(address)


def _allocated(driver: Driver, content: bytes, *, is_written: bool = True) -> int:
    """The address of memory for so many bytes, which are copied there if it is to start with them."""
    address = driver.allocate(max(len(content), 1))
    if content and is_written:
        driver.upload_bytes(address, content)
    return address


def _by_value(content: bytes, launch: dict[str, Any], index: int, addresses: dict[int, int]) -> Any:  # noqa: ANN401
    """A number or a structure, with the addresses of the arrays that it points to."""
    held = bytearray(content)
    for offset, array in launch["pointers"].get(str(index), ()):
        held[offset : offset + 8] = addresses[array].to_bytes(8, "little")
    return ctypes.create_string_buffer(bytes(held), max(16, len(held)))


def main(arguments: list[str]) -> None:
    """Take the device, wait for the directory of a job, launch all in it, say so, and end without tidying up.

    Tidying up would take a tool long, as taking the device does, which is why this may be started ahead.
    """
    die_with_parent()
    try:
        driver = Driver()
        driver.use_context(driver.device(driver.ordinal(arguments[0])))
        if directory := sys.stdin.read():
            launch_all(Path(directory), driver)
    except (CudaError, DeviceError) as error:
        raise SystemExit(" ".join(str(error).split())) from None
    sys.stdout.write(f"{LAUNCHED}\n")
    sys.stdout.flush()
    os._exit(0)
