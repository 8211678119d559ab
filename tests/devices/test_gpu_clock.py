import sys
from types import SimpleNamespace

from tui_tuner.evaluate.devices.base import ClockSample
from tui_tuner.evaluate.devices.cuda.timing import ClockSampler, open_clock, reasons_in


class NotSupported(Exception):
    pass


def nvml(mhz, bits):
    def clock(handle, which):
        if mhz is None:
            raise NotSupported
        return mhz

    return SimpleNamespace(
        NVML_CLOCK_SM=1,
        NVMLError=NotSupported,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByPciBusId=lambda place: place,
        nvmlDeviceGetClockInfo=clock,
        NVML_TEMPERATURE_GPU=0,
        nvmlDeviceGetTemperature=lambda handle, sensor: 64,
        nvmlDeviceGetCurrentClocksEventReasons=lambda handle: bits,
    )


def test_reasons_are_named_and_an_idle_gpu_is_not_throttled():
    assert reasons_in(0x1) == ()
    assert reasons_in(0x4 | 0x40) == ("power cap", "hardware thermal slowdown")


def test_a_sample_holds_the_clock_and_its_reasons():
    assert ClockSampler(nvml(1755, 0x4), None).sample() == ClockSample(1755, ("power cap",), 64)


def test_a_limit_of_power_is_the_kernels_own_and_heat_is_not():
    assert not ClockSample(1755, reasons_in(0x4)).is_held_down
    assert ClockSample(1200, reasons_in(0x4 | 0x20)).is_held_down
    assert not ClockSample(1980, ()).is_held_down


def test_a_gpu_that_does_not_tell_gives_no_sample():
    assert ClockSampler(nvml(None, 0), None).sample() is None


def test_the_clock_is_found_by_the_place_of_the_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", nvml(1200, 0))
    clock = open_clock("0000:17:00.0")
    assert clock is not None
    assert clock.sample() == ClockSample(1200, (), 64)


def test_without_nvml_there_is_no_clock(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_clock("0000:17:00.0") is None


def test_processes_on_the_gpu_are_named():
    module = nvml(1200, 0)
    running = [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in ((1, 12 * 2**30), (0, None))]
    module.nvmlDeviceGetComputeRunningProcesses = lambda handle: running
    users = ClockSampler(module, None).users()
    assert users[1].endswith(" (process 1, 12.0 GiB)")
    assert users[0] == "a process (process 0)"
