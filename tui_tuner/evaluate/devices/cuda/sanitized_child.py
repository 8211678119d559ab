"""Launches a cubin a few times by the driver alone: what compute-sanitizer watches.

Started as `python -m tui_tuner.evaluate.devices.cuda.sanitized_child DIRECTORY`, where `sanitizer.write_job` has put
what to do. Arrays lie in allocations of their own; outputs that start with nothing are not written, so that initcheck
knows.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tui_tuner.processes.parent import die_with_parent

LAUNCHED = "tuner: all was launched"
_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8
_USUAL_SHARED_BYTES = 48 * 1024


def main() -> None:
    """Launch all and say so; an error of the driver ends it, since the tool has told why by then."""
    die_with_parent()
    from tui_tuner.evaluate.devices.cuda.driver import Driver

    directory = Path(sys.argv[1])
    job = json.loads((directory / "job.json").read_text())
    driver = Driver()
    driver.use_context(driver.device(driver.ordinal(job["unit"])))
    module = driver.load_module(Path(job["cubin"]).read_bytes())
    function = driver.function(module, job["symbol"])
    began = time.monotonic()
    for number, launch in enumerate(job["launches"]):
        if number and time.monotonic() - began > job["last_start_s"]:
            break  # the smaller ones must do
        values = [np.load(directory / f"{number}.{i}.npy") for i in range(launch["arguments"])]
        for index, symbols in launch["constants"].items():
            found = next(filter(None, (driver.variable(module, symbol) for symbol in symbols)), None)
            if found is not None:  # else it was told before
                driver.upload(found[0], values[int(index)])
        _launch(driver, function, launch, values)
    sys.stdout.write(f"{LAUNCHED}\n")


def _launch(driver: Any, function: int, launch: dict[str, Any], values: list[np.ndarray]) -> None:  # noqa: ANN401
    allocated: dict[int, int] = {}
    for index in launch["arrays"]:
        if str(index) not in launch["constants"]:
            allocated[index] = driver.allocate(max(values[index].nbytes, 1))
            if values[index].nbytes and index not in launch["unwritten"]:
                driver.upload(allocated[index], values[index])
    listed_at = {
        int(index): _list_of(driver, allocated[int(index)], offsets) for index, offsets in launch["lists"].items()
    }
    slots: list[Any] = []
    for index, value in enumerate(values):
        if index in launch["aside"]:
            continue
        if index in allocated:
            listed = listed_at.get(index)
            slots.append(ctypes.c_uint64(allocated[index] if listed is None else listed))
            continue
        content = bytearray(value.tobytes())
        for offset, array in launch["pointers"].get(str(index), ()):
            content[offset : offset + 8] = allocated[array].to_bytes(8, "little")
        slots.append(ctypes.create_string_buffer(bytes(content), max(16, len(content))))
    shared = launch["shared_bytes"]
    if shared > _USUAL_SHARED_BYTES:
        driver.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
    pointers = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
    driver.call("cuLaunchKernel", function, *launch["grid"], *launch["block"], shared, None, pointers, None)
    driver.synchronize()
    for address in (*allocated.values(), *listed_at.values()):
        driver.free(address)


def _list_of(driver: Any, array: int, offsets: list[int]) -> int:  # noqa: ANN401
    """Where the addresses of an array's parts lie."""
    addresses = np.array(offsets, np.uint64) + np.uint64(array)
    listed: int = driver.allocate(addresses.nbytes)
    driver.upload(listed, addresses)
    return listed


if __name__ == "__main__":
    main()
