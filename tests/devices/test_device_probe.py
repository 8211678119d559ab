import subprocess
import sys

from tui_tuner.evaluate.devices import probe
from tui_tuner.evaluate.devices.probe import DeviceReport, probe_devices

SAYS_NOTHING = "import os; os.abort()"


async def test_a_look_says_of_everything_that_it_is_there_or_what_is_missing():
    report = await probe_devices()
    assert report.cuda_devices or report.cuda_problem
    assert report.opencl_devices or report.opencl_problem
    assert {*report.backends, *report.backend_problems} == {"cuda-python", "pycuda", "cupy"}
    assert len(report.lines()) >= 5


async def test_a_driver_that_brings_the_child_down_is_a_problem_in_words(monkeypatch, tmp_path):
    (tmp_path / "falls.py").write_text(SAYS_NOTHING)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(probe, "CHILD", "falls")
    report = await probe_devices()
    assert "ended with status -6" in report.no_cuda


async def test_a_driver_that_hangs_is_given_up_on(monkeypatch, tmp_path):
    (tmp_path / "hangs.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(probe, "CHILD", "hangs")
    monkeypatch.setattr(probe, "LIMIT_S", 0.5)
    assert "took more than" in (await probe_devices()).no_cuda


def test_gpus_of_one_model_are_told_with_what_finds_them():
    report = DeviceReport(cuda_devices=["H200", "H200"], cuda_uuids=["gpu-a", "gpu-b"])
    assert report.lines()[:3] == [
        "cuda:0: H200, gpu-a",
        "cuda:1: H200, gpu-b",
        "cuda:all: 2 of one model, which can measure side by side",
    ]
    mixed = DeviceReport(cuda_devices=["T400", "H200", "H200"], cuda_uuids=["a", "b", "c"])
    assert "cuda:1,2: of one model, which can measure side by side" in mixed.lines()
    assert not any("side by side" in line for line in DeviceReport(cuda_devices=["T400"], cuda_uuids=["a"]).lines())


def test_a_usable_gpu_needs_a_device_and_a_package():
    assert DeviceReport(cuda_devices=["a"], backends={"cupy": "1"}).no_cuda == ""
    assert DeviceReport(cuda_devices=["a"]).no_cuda
    assert DeviceReport(backends={"cupy": "1"}).no_cuda


def test_choosing_a_device_loads_no_device_library():
    code = (
        "import sys, tui_tuner.evaluate.devices.choose;"
        "print([m for m in ('pyopencl', 'cuda', 'cupy', 'pycuda', 'kernel_tuner') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
