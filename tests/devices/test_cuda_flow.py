import ctypes
import itertools
import re
import weakref
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from fake_cuda import FakeBackend, FakeDriver, cubin, floats

from tui_tuner.errors import DeviceError, DeviceLost, MachineError
from tui_tuner.evaluate.devices.base import Inspection
from tui_tuner.evaluate.devices.cuda import device as cuda
from tui_tuner.evaluate.devices.cuda.ceilings import (
    CEILING_SOURCE,
    LEAST_BYTES,
    CeilingKernels,
    computed_ceilings,
    measure_ceilings,
)
from tui_tuner.evaluate.devices.cuda.checks import checks_candidate, kernel_for
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.devices.cuda.timing import AHEAD, ClockSampler
from tui_tuner.evaluate.devices.cuda.transfers import PIECE, Transfers
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.results import DeviceInfo, FailureKind
from tui_tuner.evaluate.tolerance import Bound
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.placement import Placement

ONE = Geometry((2, 1, 1), (32, 1, 1))


@pytest.fixture
def driver():
    return FakeDriver()


@pytest.fixture
def backend(driver):
    return FakeBackend(driver)


@pytest.fixture
def device(driver, backend, monkeypatch):
    monkeypatch.setattr(cuda, "Driver", lambda: driver)
    monkeypatch.setattr(cuda, "open_backend", lambda *_: backend)
    return cuda.CudaDevice()


def add_one(address, n):
    values = floats(address, int(n))
    values += 1


def test_the_device_describes_itself(device):
    assert device.info.kind == "cuda"
    assert device.info.architecture == "sm_90"
    assert device.info.backend == "fake 1"
    assert device.info.clock_mhz == 1500
    assert device.info.event_gap == 0.25


def test_a_device_says_what_it_is_found_by_and_which_others_there_are(device):
    assert device.unit == "gpu-a"
    assert device.siblings == {"cuda:0": "gpu-a", "cuda:1": "gpu-b"}


@pytest.mark.parametrize(("unit", "ordinal"), [("gpu-b", 1), ("mig-b", 1), ("gpu-a", 0), ("all", 0)])
def test_a_device_is_found_by_its_uuid_wherever_it_stands(driver, backend, monkeypatch, unit, ordinal):
    opened = []
    monkeypatch.setattr(cuda, "Driver", lambda: driver)
    monkeypatch.setattr(cuda, "open_backend", lambda name, number, _: opened.append(number) or backend)
    uuid = DeviceChoice("cuda", unit=unit).uuid
    assert cuda.CudaDevice(0, "auto", uuid).unit == driver.uuids[ordinal]
    assert opened == [ordinal]


def test_a_device_that_fell_off_the_bus_is_not_taken_for_another(driver, backend, monkeypatch):
    monkeypatch.setattr(cuda, "Driver", lambda: driver)
    monkeypatch.setattr(cuda, "open_backend", lambda *_: backend)
    driver.uuids = ["gpu-b"]
    with pytest.raises(DeviceError, match="there is no CUDA device gpu-a"):
        cuda.CudaDevice(0, "auto", "gpu-a")


def test_constant_memory_is_filled_before_launches_and_is_no_argument(device, driver, backend, tmp_path):
    weights, offset = driver.allocate(16), driver.allocate(4)
    backend.variables = {"weights": (weights, 16), "_ZL6offset": (offset, 4)}
    seen = []
    backend.kernels["run"] = lambda *given: seen.append((len(given), *floats(weights, 4), *floats(offset, 1)))
    device.placement = Placement({0: "weights", 2: "offset"})
    values = [np.arange(4, dtype=np.float32), np.zeros(8, np.float32), np.float32(0.5)]
    buffers = device.allocate(values, frozenset({1}))
    kernel = device.load(cubin(tmp_path), "run")
    device.launch(kernel, buffers, ONE, 1.0)
    assert seen == [(1, 0.0, 1.0, 2.0, 3.0, 0.5)]
    backend.variables["weights"] = (weights, 12)
    with pytest.raises(DeviceFault, match="'weights' has 12 bytes, and the launch fills it with 16"):
        device.launch(kernel, buffers, ONE, 1.0)
    del backend.variables["weights"]
    with pytest.raises(DeviceFault, match="which the built kernel does not have"):
        device.time(kernel, buffers, ONE, 3, 1.0)


def test_a_structure_holds_the_addresses_of_its_arrays_which_are_no_arguments(device, backend, tmp_path):
    seen = []

    def read(held, more):
        offsets = np.frombuffer(held.tobytes(), np.uint64)
        seen.append((floats(int(offsets[1]), 3).tolist(), floats(int(offsets[2]), 2).tolist(), int(offsets[0]), more))
        floats(int(offsets[2]), 2)[:] = 5

    backend.kernels["run"] = read
    device.placement = Placement({}, {0: {8: 3, 16: 1}})
    held = np.array((9, 0, 0), [("n", "u8"), ("from", "u8"), ("to", "u8")])[()]
    values = [held, np.zeros(2, np.float32), np.int32(4), np.arange(3, dtype=np.float32)]
    buffers = device.allocate(values, frozenset({1}))
    kernel = device.load(cubin(tmp_path), "run")
    for _ in range(2):  # what it wrote is restored
        device.launch(kernel, buffers, ONE, 1.0)
    assert seen == [([0, 1, 2], [0, 0], 9, 4)] * 2
    assert device.download(buffers, 1).tolist() == [5, 5]
    assert device.changed(buffers, [3]) is None
    assert device.guard_violation(buffers) is None


def test_a_kernel_that_takes_a_list_of_addresses_finds_the_parts_of_its_array_by_it(device, backend, tmp_path):
    def doubled(listed, others):
        for address in np.frombuffer((ctypes.c_uint64 * 2).from_address(listed), np.uint64):
            floats(int(address), 3)[:] *= 2
        seen.append(floats(int((ctypes.c_uint64 * 2).from_address(listed)[0]), 3).tolist())
        seen.append(floats(others, 1).tolist())

    seen = []
    backend.kernels["run"] = doubled
    device.placement = Placement(lists=frozenset({0}))
    buffers = device.allocate([np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([7])], frozenset({0}))
    kernel = device.load(cubin(tmp_path), "run")
    for _ in range(2):  # what it wrote is restored
        device.launch(kernel, buffers, ONE, 1.0)
    assert seen == [[8, 10, 12], [7]] * 2
    assert device.download(buffers, 0).tolist() == [[2, 4, 6], [8, 10, 12]]
    assert device.guard_violation(buffers) is None
    (ctypes.c_uint64 * 2).from_address(buffers.handle.arrays[0].given)[1] = 0
    found = device.guard_violation(buffers).message
    assert found == "argument 1: wrote to its list of addresses, which can only be read"


@pytest.mark.parametrize(
    ("code", "words"), [(214, "ECC"), (46, "another process"), (220, "NVLink"), (100, "no longer")]
)
def test_what_no_kernel_brings_about_is_the_devices_fault(device, driver, backend, tmp_path, code, words):
    backend.kernels["run"] = lambda *_: setattr(driver, "sticky", code)
    kernel = device.load(cubin(tmp_path), "run")
    with pytest.raises(DeviceLost, match=words) as caught:
        device.launch(kernel, device.allocate([], frozenset()), ONE, 1.0)
    assert caught.value.hint


def test_what_begins_to_use_the_gpu_when_it_is_taken_is_this_process_whatever_its_number(driver, backend, monkeypatch):
    users = {7: "python"}
    monkeypatch.setattr(cuda, "Driver", lambda: driver)
    monkeypatch.setattr(cuda, "open_clock", lambda _: SimpleNamespace(users=lambda: dict(users)))
    monkeypatch.setattr(cuda, "open_backend", lambda *_: users.update({99: "this one"}) or backend)
    device = cuda.CudaDevice()
    users[8] = "a late one"
    assert device.others() == ["python", "a late one"]


@pytest.mark.parametrize(
    ("said", "error", "words"),
    [
        ("cuda-python: RuntimeError: CUDA error: CUDA_ERROR_OUT_OF_MEMORY", MachineError, "no memory left"),
        (
            "pycuda: LogicError: CUDA-capable device(s) is/are busy or unavailable",
            DeviceLost,
            "holds the GPU for itself",
        ),
        ("cupy: ImportError: no libnvrtc", DeviceError, "no CUDA backend works here"),
    ],
)
def test_a_gpu_that_cannot_be_taken_says_why_and_who_has_it(driver, monkeypatch, said, error, words):
    def refuse(*_):
        raise DeviceError("no CUDA backend works here", hint=said)

    others = SimpleNamespace(users=lambda: {7: "python (process 7, 70.1 GiB)"})
    monkeypatch.setattr(cuda, "Driver", lambda: driver)
    monkeypatch.setattr(cuda, "open_backend", refuse)
    monkeypatch.setattr(cuda, "open_clock", lambda _: others)
    with pytest.raises(error, match=words) as caught:
        cuda.CudaDevice()
    assert ("process 7" in caught.value.hint) == ("MEMORY" in said)


@pytest.mark.parametrize(("value", "error"), [(15, DeviceLost), (3, DeviceFault)])
def test_a_crash_on_a_gpu_that_fell_off_the_bus_is_no_kernels(device, driver, backend, tmp_path, value, error):
    backend.kernels["run"] = lambda *_: setattr(driver, "sticky", 999)
    lost = type("NVMLError", (Exception,), {"value": value})

    def ask(*_):
        raise lost

    nvml = SimpleNamespace(NVMLError=lost, NVML_CLOCK_SM=1, nvmlDeviceGetClockInfo=ask)
    device._clock = ClockSampler(nvml, None)
    kernel = device.load(cubin(tmp_path), "run")
    with pytest.raises(error):
        device.launch(kernel, device.allocate([], frozenset()), ONE, 1.0)


def test_a_uuid_is_written_as_nvidia_smi_shows_it(driver):
    number = bytes(range(16))
    driver._cu_device_get_uuid_v2 = lambda text, _: setattr(text, "raw", number)
    assert Driver.uuid(driver, 0) == "gpu-00010203-0405-0607-0809-0a0b0c0d0e0f"


def test_an_array_is_restored_before_every_launch(device, backend, tmp_path):
    backend.kernels["add"] = add_one
    kernel = device.load(cubin(tmp_path), "add")
    buffers = device.allocate([np.arange(5, dtype=np.float32), np.int32(5)], frozenset({0}))
    device.launch(kernel, buffers, ONE, 1.0)
    device.launch(kernel, buffers, ONE, 1.0)
    assert device.download(buffers, 0).tolist() == [1, 2, 3, 4, 5]
    device.time(kernel, buffers, ONE, 3, 1.0)
    assert device.download(buffers, 0).tolist() == [1, 2, 3, 4, 5]


def test_with_warm_caches_each_launch_follows_another_on_arrays_that_are_restored(device, driver, backend, tmp_path):
    backend.kernels["add"] = add_one
    kernel = device.load(cubin(tmp_path), "add")
    buffers = device.allocate([np.arange(5, dtype=np.float32), np.int32(5)], frozenset({0}))
    driver.calls.clear()
    assert device.time_warm(kernel, buffers, ONE, 2, 1.0) == [0.25, 0.25]
    restore = "cuMemcpyDtoDAsync_v2"
    queued = [restore, "cuMemsetD32Async", "launch", restore, "start", "launch", "stop"]
    assert driver.calls[:-1] == ["cuMemsetD32Async"] * AHEAD + queued * 2
    assert device.download(buffers, 0).tolist() == [1, 2, 3, 4, 5]


def test_an_array_that_is_not_restored_keeps_what_was_written(device, backend, tmp_path):
    backend.kernels["add"] = add_one
    kernel = device.load(cubin(tmp_path), "add")
    buffers = device.allocate([np.zeros(3, np.float32), np.int32(3)], frozenset())
    device.launch(kernel, buffers, ONE, 1.0)
    device.launch(kernel, buffers, ONE, 1.0)
    assert device.download(buffers, 0).tolist() == [2, 2, 2]


def test_timing_queues_restore_flush_start_launch_stop_and_waits_once_a_batch(
    device, driver, backend, tmp_path, monkeypatch
):
    monkeypatch.setattr(device._timer, "_now", lambda: device._timer._queued)  # the host never rests
    backend.kernels["add"] = add_one
    kernel = device.load(cubin(tmp_path), "add")
    buffers = device.allocate([np.zeros(3, np.float32), np.int32(3)], frozenset({0}))
    driver.calls.clear()
    assert device.time(kernel, buffers, ONE, 45, 1.0) == [0.25] * 45
    copy, timed = "cuMemcpyDtoDAsync_v2", ["cuMemsetD32Async", "start", "launch", "stop"]
    begun = 20  # when the device was opened
    each = [[copy, *[copy] * (number % 4 == 0), *timed] for number in range(begun + 1, begun + 46)]
    batches = [[*itertools.chain(*each[first : first + 20]), "cuCtxSynchronize"] for first in (0, 20, 40)]
    assert driver.calls == [*itertools.chain(*batches)]
    assert backend.launched[-1] == ((32, 1, 1), (2, 1, 1), 0)


def test_more_fills_stand_before_a_batch_of_a_host_that_rested(device, driver, monkeypatch):
    times = iter([100.0, 100.001, 100.002, 100.003, 100.006, 100.006])
    monkeypatch.setattr(device._timer, "_now", lambda: next(times))
    monkeypatch.setattr(device._timer, "_queued", 0.0)
    fills = []
    for _ in range(3):
        driver.calls.clear()
        device._timer.time(20, lambda: None, lambda: None)
        fills.append(driver.calls.count("cuMemsetD32Async") - 20)
    assert fills == [AHEAD, 0, AHEAD], "the device's waiting for it would count"


@pytest.mark.parametrize("about_each", range(1, 5))
def test_of_sixteen_timed_launches_each_rest_of_what_was_queued_before_has_four(device, driver, about_each):
    before = ["copy"] * (about_each - 1)
    driver.calls.clear()
    device._timer.time(48, lambda: driver.calls.extend(before), lambda: driver.calls.append("launch"))
    queued = [call for call in driver.calls if call in ("copy", "launch", "cuMemcpyDtoDAsync_v2")]
    places = [place for place, call in enumerate(queued) if call == "launch"]
    for first in range(0, 48, 16):
        assert Counter(place % 4 for place in places[first : first + 16]) == dict.fromkeys(range(4), 4)


def test_scalars_that_packages_cannot_pass_go_as_their_bits(device, backend, tmp_path):
    given = []
    backend.kernels["show"] = lambda *arguments: given.extend(arguments)
    kernel = device.load(cubin(tmp_path), "show")
    narrow = [dtype_named(name).type(1.5) for name in ("bfloat16", "float8_e4m3fn")]
    buffers = device.allocate([np.float16(1.5), np.bool_(True), np.float32(2.5), *narrow], frozenset())
    device.launch(kernel, buffers, ONE, 1.0)
    assert given == [0x3E00, 1, 2.5, 0x3FC0, 0x3C]
    assert [value.dtype for value in given] == [np.uint16, np.uint8, np.float32, np.uint16, np.uint8]


@pytest.mark.parametrize(("shared_bytes", "allowed"), [(1024, []), (49152, []), (65536, [65536])])
def test_more_dynamic_shared_memory_than_48_kib_is_asked_for(device, backend, tmp_path, shared_bytes, allowed):
    backend.kernels["nothing"] = lambda: None
    kernel = device.load(cubin(tmp_path), "nothing")
    buffers = device.allocate([], frozenset())
    device.launch(kernel, buffers, Geometry((1, 1, 1), (1, 1, 1), shared_bytes), 1.0)
    assert backend.allowed == allowed
    assert backend.launched[-1][2] == shared_bytes


def test_a_launch_that_is_refused_is_not_fatal(device, backend, tmp_path):
    def refuse():
        raise RuntimeError("cuLaunchKernel failed: too many resources requested for launch")

    backend.kernels["refuse"] = refuse
    kernel = device.load(cubin(tmp_path), "refuse")
    with pytest.raises(DeviceFault) as caught:
        device.launch(kernel, device.allocate([], frozenset()), ONE, 1.0)
    assert (caught.value.kind, caught.value.fatal) == (FailureKind.LAUNCH, False)


def test_a_fault_on_the_device_is_fatal_and_giving_back_afterwards_is_silent(device, driver, backend, tmp_path):
    def fault():
        driver.sticky = 700
        driver.fails.update(cuMemUnmap=700, cuMemFree_v2=700)

    backend.kernels["fault"] = lambda address: fault()
    kernel = device.load(cubin(tmp_path), "fault")
    buffers = device.allocate([np.zeros(3, np.float32)], frozenset({0}))
    with pytest.raises(DeviceFault) as caught:
        device.time(kernel, buffers, ONE, 2, 1.0)
    assert (caught.value.kind, caught.value.fatal) == (FailureKind.ILLEGAL_ACCESS, True)
    device.free(buffers)
    device.unload(kernel)


def test_an_error_in_our_own_code_is_not_taken_for_a_launch_failure(device, backend, tmp_path):
    backend.kernels["typo"] = lambda: {}["missing"]
    kernel = device.load(cubin(tmp_path), "typo")
    with pytest.raises(KeyError):
        device.launch(kernel, device.allocate([], frozenset()), ONE, 1.0)


def test_other_values_are_put_where_the_inputs_are_and_restored_arrays_stay(device, backend, tmp_path):
    backend.kernels["add"] = lambda y, x: floats(y, 3).__iadd__(floats(x, 3))
    kernel = device.load(cubin(tmp_path), "add")
    given = [np.ones(3, np.float32), np.arange(3, dtype=np.float32)]
    buffers = device.allocate(given, frozenset({0}))
    address = buffers.handle.arrays[1].address
    others = device.rewrite(buffers, [np.zeros(3, np.float32), np.full(3, 5, np.float32)])
    assert others.handle.arrays[1].address == address
    device.launch(kernel, others, ONE, 1.0)
    assert device.download(others, 0).tolist() == [6, 6, 6]
    assert device.changed(others, [1]) is None
    assert device.changed(buffers, [1]) == 1


def test_a_write_beyond_an_array_names_the_argument(device, backend, tmp_path):
    backend.kernels["beyond"] = lambda _, address: floats(address, 6).__setitem__(5, 0)
    kernel = device.load(cubin(tmp_path), "beyond")
    buffers = device.allocate([np.zeros(4, np.float32), np.zeros(5, np.float32)], frozenset())
    assert device.guard_violation(buffers) is None
    device.launch(kernel, buffers, ONE, 1.0)
    assert device.guard_violation(buffers).message == "argument 2: wrote past its end (first damaged byte +0)"


def test_memory_that_does_not_suffice_is_a_launch_failure_and_is_given_back(device, driver):
    before = set(driver.blocks)
    driver.fails["cuMemAlloc_v2"] = 2
    with pytest.raises(DeviceFault) as caught:
        device.allocate([np.zeros(3, np.float32)], frozenset({0}))
    assert (caught.value.kind, caught.value.fatal) == (FailureKind.LAUNCH, False)
    device._memory.trim()
    assert set(driver.blocks) == before


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_arrays_of_any_shape_come_back_as_they_went(device, shape):
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    buffers = device.allocate([array], frozenset({0}), guard_end=False)
    back = device.download(buffers, 0)
    assert back.shape == shape
    assert np.array_equal(back, array)
    device.free(buffers)


@pytest.mark.parametrize("number", [True, np.uint8(200), np.uint16(0x3F80), np.int32(-3), np.float32(np.nan)])
def test_an_array_of_one_number_is_written_by_the_device_and_not_uploaded(device, monkeypatch, number):
    ones = np.broadcast_to(number, (6, 1000))
    monkeypatch.setattr(Transfers, "upload", lambda *_: pytest.fail("uploaded"))
    buffers = device.allocate([ones], frozenset({0}))
    assert device.download(buffers, 0).tobytes() == ones.tobytes()
    monkeypatch.undo()
    device.free(buffers)
    assert device.download(device.allocate([ones[0, :1]], frozenset()), 0).tobytes() == ones[0, :1].tobytes()


def test_a_number_that_the_driver_cannot_repeat_is_uploaded(device):
    for ones in (np.broadcast_to(np.float64(0.1), (7,)), np.broadcast_to(np.float32(1), (0, 3))):
        assert np.array_equal(device.download(device.allocate([ones], frozenset({0})), 0), ones)


@pytest.mark.slow
def test_ceilings_are_bytes_and_operations_over_the_measured_time(device, driver, backend, tmp_path):
    before = set(driver.blocks)
    kernels = re.findall(r"__global__ void (\w+)\(", CEILING_SOURCE)
    backend.kernels.update({name: lambda *_: None for name in kernels})
    info = measure_ceilings(device, cubin(tmp_path), 1000)
    operations = 4 * 16 * 256 * 64 * 64  # threads, as many rounds as a millisecond takes, steps of a round
    assert info.memory_gbs == pytest.approx(LEAST_BYTES / 0.25e-3 / 1e9)
    assert info.flops_gflops == pytest.approx(2 * operations / 0.25e-3 / 1e9)
    for name in ("copy", "read", "fill"):
        assert info.bandwidths[name].rate == pytest.approx(LEAST_BYTES / 0.25e-3 / 1e9)
    measured = {name: peak.rate / info.flops_gflops for name, peak in info.peaks.items() if peak.measured}
    assert measured == pytest.approx({"float32": 1, "float64": 1, "float16": 2, "bfloat16": 2, "int32": 1, "int8": 4})
    device._memory.trim()
    assert set(driver.blocks) == before


def test_the_bandwidth_of_a_copy_is_that_of_the_faster_way(device, driver, backend, tmp_path, monkeypatch):
    kernels = CeilingKernels(device, cubin(tmp_path))
    asked = {}
    monkeypatch.setattr(kernels, "_median_ms", lambda symbol, _, blocks: asked.setdefault(symbol, 1 / blocks))
    assert kernels.copy(2**27) == pytest.approx(2**27 / asked["copy_single"] / 1e6)
    assert asked["copy"] == 4 * asked["copy_single"]


def test_what_no_plain_kernel_reaches_is_computed_from_the_properties_of_the_device():
    h100 = DeviceInfo(kind="cuda", name="", backend="", architecture="sm_90", multiprocessors=132, clock_mhz=1830.0)
    shared, peaks = computed_ceilings(h100)
    assert shared["shared memory"].rate == pytest.approx(132 * 128 * 1.83)
    told = {"float16": 989.4e3, "bfloat16": 989.4e3, "tf32": 494.7e3, "int8": 1978.9e3, "float8": 1978.9e3}
    for name, rate in told.items():
        assert peaks[f"{name} on tensor cores"].rate == pytest.approx(rate, rel=1e-3)
        assert not peaks[f"{name} on tensor cores"].measured
    a100 = h100.model_copy(update={"architecture": "sm_80", "multiprocessors": 108, "clock_mhz": 1410.0})
    assert computed_ceilings(a100)[1]["float64 on tensor cores"].rate == pytest.approx(19.5e3, rel=1e-2)
    assert computed_ceilings(h100.model_copy(update={"architecture": "sm_61"}))[1] == {}
    assert computed_ceilings(h100.model_copy(update={"clock_mhz": None})) == ({}, {})


class FakeChecks:
    """Digests at once, as a driver that executes at once has it."""

    def __init__(self, driver):
        self.driver = driver
        self.numbers = []

    def begin_digests(self):
        self.numbers = []

    def queue_digest(self, place, arrays, stream):
        assert (place, stream) == (len(self.numbers), 7)
        self.driver.calls.append("digest")
        self.numbers.append(hash(tuple(floats(address, nbytes // 4).tobytes() for address, nbytes in arrays)))

    def digests(self, count):
        return self.numbers[:count]


@pytest.fixture
def timed(device, driver, backend, tmp_path):
    """Times a kernel so often, with a check that its outputs are one more than 0 to 4; how often that looked."""

    def run(kernel, *counts):
        device._checks = FakeChecks(driver)
        backend.kernels["kernel"] = kernel
        loaded = device.load(cubin(tmp_path), "kernel")
        buffers = device.allocate([np.arange(5, dtype=np.float32), np.int32(5)], frozenset({0}))
        looks = []

        def check():
            looks.append(device.download(buffers, 0).tolist())
            assert np.allclose(looks[-1], [1, 2, 3, 4, 5], atol=1e-3), "wrong"

        inspect = Inspection(check)
        times = [device.time(loaded, buffers, ONE, count, 1.0, inspect) for count in counts]
        return [len(each) for each in times], len(looks)

    return run


def test_every_timed_launch_is_digested_and_known_bits_are_looked_at_once(timed, driver):
    driver.calls.clear()
    assert timed(add_one, 1, 45) == ([1, 45], 1)
    launch = ["start", "launch", "stop", "digest"]
    assert [call for call in driver.calls if call in launch] == launch * 46


def test_where_the_outputs_of_one_kernel_vary_the_one_beside_it_is_timed_launch_by_launch_too():
    varied = Inspection(lambda: None)
    beside = Inspection(lambda: None, beside=varied)
    assert beside.reproducible
    varied.varies(4711)
    assert not beside.reproducible
    assert Inspection(lambda: None).reproducible


@pytest.mark.parametrize("skipped", [2, 7, 30])
def test_one_timed_launch_that_does_nothing_is_found(timed, skipped):
    def skips(address, n, done=[0]):  # noqa: B006 - what it keeps between launches
        done[0] += 1
        if done[0] % skipped:
            add_one(address, n)

    with pytest.raises(AssertionError, match="wrong"):
        timed(skips, 1, 45)


def test_bits_that_differ_from_launch_to_launch_are_looked_at_one_by_one(timed):
    def another_order(address, n, done=[0]):  # noqa: B006 - what it keeps between launches
        done[0] += 1
        add_one(address, n)
        floats(address, int(n))[:] += 1e-6 * done[0] * floats(address, int(n))

    assert timed(another_order, 1, 30) == ([1, 30], 31)


def test_what_is_pinned_for_copies_is_kept() -> None:
    """A copy of another array that came to lie there in part would be refused as an invalid argument."""
    driver = FakeDriver()
    expected = np.zeros(1000, np.float32)
    transfers = Transfers(driver)
    transfers.pin(expected)
    kept = weakref.ref(expected)
    del expected
    assert driver.calls == ["cuMemHostRegister_v2"]
    assert kept() is not None


@pytest.mark.parametrize("nbytes", [1, 4095, 4096, 4097, 3 * 4096, 5 * 4096 - 7])
def test_a_large_array_goes_to_the_device_and_back_by_pieces(monkeypatch: pytest.MonkeyPatch, nbytes: int) -> None:
    monkeypatch.setattr("tui_tuner.evaluate.devices.cuda.transfers.PIECE", 4096)
    monkeypatch.setattr("tui_tuner.evaluate.devices.cuda.transfers._SLICE", 1000)
    driver = FakeDriver()
    transfers = Transfers(driver)
    address = driver.allocate(nbytes)
    sent = np.random.default_rng(1).integers(0, 256, nbytes, np.uint8)
    back = np.zeros(nbytes, np.uint8)
    transfers.upload(address, sent)
    transfers.download(back, address)
    assert np.array_equal(back, sent)
    assert ("cuMemHostRegister_v2" in driver.calls) == (nbytes >= 4096)


@pytest.mark.slow
def test_nothing_stays_in_pinned_memory_that_went_through_it_while_a_kernel_runs(device, backend, tmp_path):
    secret, found = np.full(PIECE, 7, np.uint8), []
    backend.kernels["run"] = lambda *_: found.append(np.any(device._transfers._halves))
    buffers = device.allocate([secret, np.zeros(8, np.float32)], frozenset({1}))
    kernel = device.load(cubin(tmp_path), "run")
    look = Inspection(lambda: device.download(buffers, 0))
    for _ in range(2):
        assert np.any(device._transfers._halves)
        device.launch(kernel, buffers, ONE, 1.0)
        device.time(kernel, buffers, ONE, 3, 1.0, look)
        device.time_warm(kernel, buffers, ONE, 3, 1.0)
        device.download(buffers, 0)
    assert found == [False] * 20


def test_what_is_pinned_itself_goes_at_once() -> None:
    driver = FakeDriver()
    transfers = Transfers(driver)
    expected = np.arange(PIECE, dtype=np.int32)
    transfers.pin(expected)
    address = driver.allocate(expected.nbytes)
    transfers.upload(address, expected)
    back = np.empty_like(expected)
    driver.download(back, address)
    assert np.array_equal(back, expected)
    assert driver.calls.count("cuMemHostRegister_v2") == 1
    assert "cuCtxSynchronize" not in driver.calls


def test_where_nothing_can_be_pinned_a_large_array_goes_as_it_is() -> None:
    driver = FakeDriver()
    driver.fails["cuMemHostRegister_v2"] = 2
    transfers = Transfers(driver)
    sent = np.arange(PIECE, dtype=np.uint8)
    address = driver.allocate(sent.nbytes)
    for _ in range(2):
        back = np.zeros_like(sent)
        transfers.upload(address, sent)
        transfers.download(back, address)
        assert np.array_equal(back, sent)
    assert driver.calls.count("cuMemHostRegister_v2") == 1


TALLIED = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float32")


@pytest.mark.parametrize("name", [*TALLIED, "float64", "int32", "uint8", "bool"])
def test_of_the_kernels_that_check_those_are_built_that_an_output_needs(name: str) -> None:
    source, dtype = checks_candidate([name]).source, dtype_named(name)
    kernels = set(re.findall(r"^(?:TALLY|DIFFERENCES)\((\w+),", source, re.MULTILINE)) - {"name"}
    types = re.findall(r"^TALLIES\((\w+)\)", source, re.MULTILINE)
    kernels |= {f"tally_{one}{end}" for one in types for end in ("", "_in_double")}
    asked = [kernel_for(dtype, np.dtype(expected), Bound(0.0, 0.0)) for expected in (dtype, np.float64)]
    assert kernels.issuperset(filter(None, asked))
    assert set(types) == {name}.intersection(TALLIED)
