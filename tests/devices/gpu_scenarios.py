"""One scenario on a GPU in a process of its own: `gpu_scenarios.py BACKEND SCENARIO CUBIN CEILINGS_CUBIN CHECKS_CUBIN`.

The last line of the output is JSON: what the scenario returned, or the fault that ended it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tui_tuner.evaluate.devices.base import Buffers, Inspection, KernelArgument
from tui_tuner.evaluate.devices.cuda.ceilings import measure_ceilings
from tui_tuner.evaluate.devices.cuda.device import CudaDevice
from tui_tuner.evaluate.devices.cuda.timing import open_clock
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.tolerance import Bound, compare
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.inputs import scalar_of
from tui_tuner.problem.model import Argument
from tui_tuner.problem.placement import Placement

ONE = Geometry((1, 1, 1), (1, 1, 1))
ALL = frozenset({0})
LIMIT_S = 10.0


class Scenarios:
    """Each public method is a scenario; arrays of 64 floats end exactly where their page ends."""

    def __init__(self, backend: str, cubin: Path, ceilings: Path, checks: Path) -> None:
        self.device = CudaDevice(0, backend)
        self.checks_cubin = checks
        self.cubin = cubin
        self.ceilings = ceilings

    def describe(self) -> dict[str, Any]:
        return self.device.info.model_dump()

    def restored(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "add_one")
        values = np.arange(1000, dtype=np.float32)
        buffers = self.device.allocate([values, np.int32(1000)], ALL)
        shape = Geometry((8, 1, 1), (128, 1, 1))
        for _ in range(3):
            self.device.launch(kernel, buffers, shape, LIMIT_S)
        after_launches = self.device.download(buffers, 0)
        times = self.device.time(kernel, buffers, shape, 45, LIMIT_S)
        after_timing = self.device.download(buffers, 0)
        violation = self._violation(buffers)
        self.device.free(buffers)
        return {
            "right": bool(np.array_equal(after_launches, values + 1) and np.array_equal(after_timing, values + 1)),
            "times": times,
            "violation": violation,
            "registers": kernel.resources.registers,
        }

    def not_restored(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "add_one")
        buffers = self.device.allocate([np.zeros(64, np.float32), np.int32(64)], frozenset())
        for _ in range(3):
            self.device.launch(kernel, buffers, Geometry((1, 1, 1), (64, 1, 1)), LIMIT_S)
        return {"values": sorted(set(self.device.download(buffers, 0).tolist()))}

    def constants(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "weighted")
        self.device.placement = Placement({1: "weights", 2: "offset"})
        weights = np.arange(1, 5, dtype=np.float32)
        buffers = self.device.allocate([np.zeros(64, np.float32), weights, np.float32(0.5)], ALL)
        self.device.launch(kernel, buffers, Geometry((1, 1, 1), (4, 1, 1)), LIMIT_S)
        values = self.device.download(buffers, 0)[:4].tolist()
        self.device.placement = Placement({1: "nowhere"})
        try:
            self.device.launch(kernel, buffers, Geometry((1, 1, 1), (4, 1, 1)), LIMIT_S)
        except DeviceFault as fault:
            return {"values": values, "fault": fault.message, "fatal": fault.fatal}
        return {"values": values}

    def pointers(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "copy_behind")
        self.device.placement = Placement({}, {0: {8: 1, 16: 3}})
        outcome: dict[str, Any] = {"values": []}
        for count in (64, 64, 65):
            held = np.array((count, 0, 0), [("n", "i8"), ("from", "u8"), ("to", "u8")])[()]
            values = [held, np.arange(64, dtype=np.float32), np.float32(0.5), np.zeros(64, np.float32)]
            buffers = self.device.allocate(values, frozenset({3}))
            try:
                self.device.launch(kernel, buffers, Geometry((1, 1, 1), (128, 1, 1)), LIMIT_S)
            except DeviceFault as fault:
                return {**outcome, "fault": fault.kind.name}
            outcome["values"].append(bool(np.array_equal(self.device.download(buffers, 3), values[1] + values[2])))
            outcome["violation"] = self._violation(buffers)
            self.device.free(buffers)
        return outcome

    def read_past_end(self) -> dict[str, Any]:
        arguments = [np.zeros(64, np.float32), np.zeros(64, np.float32), np.int32(64)]
        return self._run("read_at", arguments, guard_end=True)

    def read_before_start(self) -> dict[str, Any]:
        arguments = [np.zeros(64, np.float32), np.zeros(64, np.float32), np.int32(-1)]
        return self._run("read_at", arguments, guard_end=False)

    def read_within(self) -> dict[str, Any]:
        arguments = [np.zeros(64, np.float32), np.ones(64, np.float32), np.int32(63)]
        return self._run("read_at", arguments, guard_end=True)

    def write_past_end(self) -> dict[str, Any]:
        return self._run("write_at", [np.zeros(64, np.float32), np.int32(64)], guard_end=True)

    def write_into_slack_after(self) -> dict[str, Any]:
        return self._run("write_at", [np.zeros(5, np.float32), np.int32(5)], guard_end=True)

    def write_into_slack_before(self) -> dict[str, Any]:
        return self._run("write_at", [np.zeros(64, np.float32), np.int32(-2)], guard_end=True)

    def misaligned(self) -> dict[str, Any]:
        return self._run("misaligned", [np.zeros(64, np.float32)])

    def trap(self) -> dict[str, Any]:
        return self._run("trap", [np.zeros(64, np.float32)])

    def fault_while_timing(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "write_at")
        buffers = self.device.allocate([np.zeros(64, np.float32), np.int32(64)], ALL)
        return {"times": self.device.time(kernel, buffers, ONE, 5, LIMIT_S)}

    def too_many_threads(self) -> dict[str, Any]:
        return self._refused("add_one", Geometry((1, 1, 1), (2048, 1, 1)))

    def beyond_launch_bounds(self) -> dict[str, Any]:
        return self._refused("at_most_32_threads", Geometry((1, 1, 1), (1024, 1, 1)), [np.zeros(1024, np.float32)])

    def too_much_shared(self) -> dict[str, Any]:
        return self._refused("reverse_in_shared", Geometry((1, 1, 1), (32, 1, 1), 2**20))

    def out_of_memory(self) -> dict[str, Any]:
        try:
            self.device.allocate([np.broadcast_to(np.float32(0), (2**42,))], frozenset())
        except DeviceFault as fault:
            return {"refused": fault.kind.name, "fatal": fault.fatal, "message": fault.message, **self.restored()}
        return {"refused": None}

    def missing_symbol(self) -> dict[str, Any]:
        try:
            self.device.load(self.cubin, "no_such_kernel")
        except DeviceFault as fault:
            return {"refused": fault.kind.name, "fatal": fault.fatal, "message": fault.message, **self.restored()}
        return {"refused": None}

    def big_shared(self) -> dict[str, Any]:
        values = np.arange(16384, dtype=np.float32)
        kernel = self.device.load(self.cubin, "reverse_in_shared")
        buffers = self.device.allocate([values, np.int32(values.size)], ALL)
        self.device.launch(kernel, buffers, Geometry((1, 1, 1), (256, 1, 1), values.nbytes), LIMIT_S)
        return {"right": bool(np.array_equal(self.device.download(buffers, 0), values[::-1]))}

    def reload(self) -> dict[str, Any]:
        buffers = self.device.allocate([np.zeros(1, np.int32)], ALL)
        counts = []
        for _ in range(2):
            kernel = self.device.load(self.cubin, "count_launches")
            for _ in range(3):
                self.device.launch(kernel, buffers, ONE, LIMIT_S)
                counts.append(int(self.device.download(buffers, 0)[0]))
            self.device.unload(kernel)
        return {"counts": counts}

    def scalars(self) -> dict[str, Any]:
        arguments = [np.zeros(5, np.uint16), np.float16(1.5), np.bool_(True), np.float64(7.0)]
        arguments += [dtype_named(name).type(1.5) for name in ("bfloat16", "float8_e4m3fn")]
        kernel = self.device.load(self.cubin, "show_bits")
        buffers = self.device.allocate(arguments, ALL)
        self.device.launch(kernel, buffers, ONE, LIMIT_S)
        bits = self.device.download(buffers, 0).tolist()
        members = [{"name": "mark", "dtype": "int8", "value": 1}, {"name": "by", "dtype": "float64", "value": 0.25}]
        members += [{"name": "four", "dtype": "float32", "value": [1.0, 2.0, 3.0, 4.0], "alignment": 16}]
        structure = scalar_of(Argument.model_validate({"name": "s", "dtype": "struct", "members": members}), {})
        held = self.device.allocate([np.zeros(2), np.int8(1), structure, np.float32(5)], frozenset({0}))
        self.device.launch(self.device.load(self.cubin, "show_structures"), held, ONE, LIMIT_S)
        return {"bits": bits, "structures": self.device.download(held, 0).tolist()}

    def empty_kernel(self) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, "nothing")
        times = self.device.time(kernel, self.device.allocate([], frozenset()), ONE, 100, LIMIT_S)
        one_by_one = [
            self.device.time(kernel, self.device.allocate([], frozenset()), ONE, 1, LIMIT_S)[0] for _ in range(50)
        ]
        return {
            "median_ms": statistics.median(times),
            "one_by_one_ms": statistics.median(one_by_one),
            "event_gap": self.device.info.event_gap,
        }

    def late_host(self) -> dict[str, Any]:
        run = self.device._prepare(self.device.load(self.cubin, "nothing"), self.device.allocate([], frozenset()), ONE)

        def launch() -> None:
            end = time.perf_counter() + 2e-4
            while time.perf_counter() < end:
                pass
            run()

        times = [self.device._timer.time(1, lambda: None, launch)[0] for _ in range(50)]
        return {"median_ms": statistics.median(times)}

    def ceilings_measured(self) -> dict[str, Any]:
        info = measure_ceilings(self.device, self.ceilings, 512 * 2**20)
        return {
            "memory_gbs": info.memory_gbs,
            "flops_gflops": info.flops_gflops,
            "bandwidths": {name: one.rate for name, one in info.bandwidths.items()},
            "peaks": {name: one.rate for name, one in info.peaks.items()},
        }

    def clock(self) -> dict[str, Any]:
        clock = open_clock(self.device.pci_bus_id)
        sample = clock.sample() if clock is not None else None
        return {"mhz": None if sample is None else sample.sm_mhz}

    def checks(self) -> dict[str, Any]:
        """How often the GPU decides otherwise than the host, and what it says of damage and of inputs."""
        self.device.use_checks(self.checks_cubin)
        random = np.random.default_rng()
        different = []
        for case in range(32 * len(DTYPES)):
            got, expected, allowed = _output(random, case)
            buffers = self.device.allocate([got], frozenset(), guard_end=case % 2 == 0)
            here, there = compare(got, expected, allowed), self.device.compare(buffers, 0, expected, allowed)
            if str(here[1]) != str(there[1]) or abs(min(here[0], 9.0) - min(there[0], 9.0)) > 0.05:
                different.append([str(got.dtype), str(here), str(there)])
            if self.device.guard_violation(buffers) is not None or self.device.changed(buffers, [0]) is not None:
                different.append([str(got.dtype), "untouched memory was not"])
            self.device.free(buffers)
        return {"different": different, **self._damaged()}

    def timed_launches_are_looked_at(self) -> dict[str, Any]:
        """For each kernel how often its outputs were looked at in full, and whether they were wrong then."""
        self.device.use_checks(self.checks_cubin)
        return {name: self._timed(name) for name in ("add_one", "add_nearly_one", "skip_every_seventh")}

    def warm_and_cold(self) -> dict[str, Any]:
        count = 2**20
        kernel, shape = self.device.load(self.cubin, "add_one"), Geometry((count // 256, 1, 1), (256, 1, 1))
        buffers = self.device.allocate([np.zeros(count, np.float32), np.int32(count)], ALL)
        cold = self.device.time(kernel, buffers, shape, 40, LIMIT_S)
        warm = self.device.time_warm(kernel, buffers, shape, 40, LIMIT_S)
        right = bool((self.device.download(buffers, 0) == 1).all())
        return {"cold": min(cold), "warm": min(warm), "right": right}

    def _timed(self, name: str) -> dict[str, Any]:
        values, wrong = np.arange(1000, dtype=np.float32), []
        kernel, shape = self.device.load(self.cubin, name), Geometry((1, 1, 1), (1024, 1, 1))
        buffers = self.device.allocate([values, np.int32(1000)], ALL)
        inspect = Inspection(
            lambda: wrong.append(not np.allclose(self.device.download(buffers, 0), values + 1, atol=0.01))
        )
        self.device.launch(kernel, buffers, shape, LIMIT_S)
        inspect.see(self.device.digest(buffers))
        times = self.device.time(kernel, buffers, shape, 45, LIMIT_S, inspect)
        self.device.free(buffers)
        return {"looks": len(wrong), "wrong": any(wrong), "times": len(times)}

    def _damaged(self) -> dict[str, Any]:
        buffers = self.device.allocate([np.zeros(1003, np.uint8)], frozenset(), guard_end=False)
        array = buffers.handle.arrays[0]
        self.device._driver.fill(array.address + 1003 + 5, 1, 3)
        behind = self._violation(buffers)
        self.device._driver.fill(array.address + 500, 1, 1)
        return {"behind": behind, "changed": self.device.changed(buffers, [0])}

    def many_allocations(self) -> dict[str, Any]:
        for _ in range(200):
            buffers = self.device.allocate([np.zeros(2**20, np.float32), np.int32(1)], ALL)
            self.device.free(buffers)
        return self.restored()

    def _violation(self, buffers: Buffers) -> str | None:
        fault = self.device.guard_violation(buffers)
        return None if fault is None else fault.message

    def _run(self, symbol: str, arguments: list[KernelArgument], *, guard_end: bool = True) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, symbol)
        buffers = self.device.allocate(arguments, ALL, guard_end=guard_end)
        try:
            self.device.launch(kernel, buffers, ONE, LIMIT_S)
            return {
                "violation": self._violation(buffers),
                "first": float(self.device.download(buffers, 0)[0]),
            }
        finally:
            self.device.free(buffers)
            self.device.unload(kernel)

    def _refused(self, symbol: str, shape: Geometry, arguments: list[KernelArgument] | None = None) -> dict[str, Any]:
        kernel = self.device.load(self.cubin, symbol)
        buffers = self.device.allocate(arguments or [np.zeros(64, np.float32), np.int32(64)], ALL)
        try:
            self.device.launch(kernel, buffers, shape, LIMIT_S)
        except DeviceFault as fault:
            return {"refused": fault.kind.name, "fatal": fault.fatal, "message": fault.message, **self.restored()}
        return {"refused": None}


DTYPES = ("float16", "float32", "float64", "int32", "uint8", "bool", "bfloat16", "float8_e4m3fn", "float8_e5m2")


def _output(random: np.random.Generator, case: int) -> tuple[np.ndarray, np.ndarray, Bound]:
    """What was computed, what was expected and what is allowed: right, a little off, or with what is no number."""
    dtype = dtype_named(DTYPES[case % len(DTYPES)])
    count = int(random.integers(1, 200_000))
    expected = random.normal(0, 10, count).astype(dtype)
    got = expected.copy()
    places = random.integers(0, count, 3)
    match case // len(DTYPES) % 4:
        case 1:
            got[places] += np.ones(3).astype(dtype)
        case 2 if is_floating(dtype):
            got[places] = (np.nan, np.inf, -np.inf)
        case 3 if is_floating(dtype):
            got, expected = got + dtype.type(0.01), expected.astype(np.float64)
    return got, expected, Bound(0.01, 1e-3)


def main() -> None:
    backend, scenario, *cubins = sys.argv[1:]
    try:
        outcome = getattr(Scenarios(backend, *map(Path, cubins)), scenario)()
    except DeviceFault as fault:
        outcome = {"fault": fault.kind.name, "fatal": fault.fatal, "message": fault.message}
    sys.stdout.write("\n" + json.dumps(outcome) + "\n")
    sys.stdout.flush()
    os._exit(0)  # as the runner does: a lost context may hang in the driver's clean-up


if __name__ == "__main__":
    main()
