import subprocess
import sys
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.cuda import Nvcc, Nvrtc
from tui_tuner.evaluate.devices import probe
from tui_tuner.evaluate.devices.choose import (
    choose_device,
    compiler_for,
    device_named,
    devices_named,
    spelled,
    titles_of,
)
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.devices.probe import DeviceReport, probe_devices, probe_preferred
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem

UUID = "gpu-6f1d3a52-0a11-4c8e-9d2b-7f3c5e0a9b44"
WITH_GPU = DeviceReport(cuda_devices=["NVIDIA H200 (sm_90)"], backends={"cuda-python": "13.0.3"})
NO_DRIVER = DeviceReport(cuda_problem="there is no usable NVIDIA driver here", backends={"cupy": "14"})
NO_PACKAGE = DeviceReport(cuda_devices=["NVIDIA H200 (sm_90)"], backend_problems={"cupy": "not installed"})


def probe_that_finds(report):
    async def probe():
        return report

    return probe


async def probe_that_must_not_run():
    raise AssertionError("nothing depends on what there is")


@pytest.mark.parametrize(
    ("text", "written", "index", "platform", "backend"),
    [
        ("cuda", "cuda:0", 0, 0, "auto"),
        ("cuda:3", "cuda:3", 3, 0, "auto"),
        ("CUDA:1@cupy", "cuda:1@cupy", 1, 0, "cupy"),
        ("cuda@cuda-python", "cuda:0@cuda-python", 0, 0, "cuda-python"),
        ("opencl", "opencl:0.0", 0, 0, "auto"),
        ("opencl:1", "opencl:0.1", 1, 0, "auto"),
        ("opencl:2.1", "opencl:2.1", 1, 2, "auto"),
        ("c", "c", 0, 0, "auto"),
        (" emulator ", "emulator", 0, 0, "auto"),
        ("emulator:01", "emulator:1", 0, 0, "auto"),
        (f"cuda:{UUID.upper()}@cupy", f"cuda:{UUID}@cupy", 0, 0, "cupy"),
    ],
)
def test_a_device_is_named_on_the_command_line(text, written, index, platform, backend):
    choice = device_named(text)
    assert (choice.index, choice.platform, choice.backend) == (index, platform, backend)
    assert spelled(choice) == written
    assert device_named(written) == choice


@pytest.mark.parametrize(
    "text",
    [
        *("", "gpu", "cuda:", "cuda:x", "cuda:1.0", "cuda@torch", "opencl@cupy", "emulator:1.0", "c:0", "cuda:-1"),
        *("auto", "cuda:1,", "cuda:,", "cuda:0,x", "cuda:all,1", "emulator:gpu-0", f"opencl:{UUID}", "cuda:gpu-12"),
    ],
)
def test_what_is_no_device_is_refused_with_the_names_that_are(text):
    with pytest.raises(DeviceError) as caught:
        device_named(text)
    assert "opencl:PLATFORM.N" in caught.value.hint


def test_hip_is_refused_with_the_way_that_an_amd_gpu_has():
    with pytest.raises(DeviceError, match="HIP") as caught:
        device_named("hip:0")
    assert "--device opencl" in caught.value.hint


async def test_cuda_runs_on_a_gpu_where_driver_and_package_are_there():
    selection, note = await choose_device("auto", "cuda", probe_that_finds(WITH_GPU))
    assert (spelled(selection.first), note) == ("cuda:0", "")


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        (NO_DRIVER, "there is no usable NVIDIA driver here"),
        (NO_PACKAGE, "none of cuda-python, pycuda and cupy can be used"),
        (DeviceReport(), "no GPU was found"),
    ],
)
async def test_cuda_without_a_usable_gpu_runs_on_the_emulator_and_says_why(report, reason):
    selection, note = await choose_device("auto", "cuda", probe_that_finds(report))
    assert selection.first.kind == "emulator"
    assert reason in note
    assert "its times are CPU times" in note


@pytest.mark.parametrize(("language", "kind"), [("opencl", "opencl"), ("c", "c")])
async def test_other_languages_need_no_look_at_the_machine(language, kind):
    selection, note = await choose_device("auto", language, probe_that_must_not_run)
    assert (selection.first.kind, note) == (kind, "")


async def test_a_named_device_is_taken_without_a_look():
    selection, note = await choose_device("cuda:1@pycuda", "cuda", probe_that_must_not_run)
    assert (spelled(selection.first), note) == ("cuda:1@pycuda", "")


@pytest.mark.parametrize(
    ("device", "language", "way_out"),
    [
        ("cuda", "opencl", "--device opencl"),
        ("opencl", "cuda", "--device cuda or --device emulator"),
        ("emulator", "c", "--device c"),
        ("c", "cuda", "--device cuda or --device emulator"),
    ],
)
async def test_a_language_that_does_not_run_there_is_refused_with_a_way_out(device, language, way_out):
    with pytest.raises(DeviceError) as caught:
        await choose_device(device, language, probe_that_must_not_run)
    assert way_out in caught.value.hint


@pytest.mark.parametrize(
    ("device", "source", "toolchain"),
    [("emulator", "k.cu", "emulator"), ("c", "k.c", "gcc"), ("opencl:1.2", "k.cl", "OpenCL driver 5, GPU")],
)
def test_each_device_has_its_compiler(device, source, toolchain):
    info = DeviceInfo(kind="opencl", name="GPU", backend="", architecture="driver 5")
    number = Argument(name="n", dtype="int32", value=1)
    problem = Problem(kernel=Kernel(source=Path(source), name="k"), launch=Launch(), arguments=[number])
    compiler = compiler_for(device_named(device), info, problem)
    assert toolchain in compiler.toolchain


def test_cuda_without_any_compiler_names_both_that_are_missing(monkeypatch):
    def missing(cls, architecture, program=None):
        raise DeviceError(f"no {cls.__name__}", hint="install one")

    monkeypatch.setattr(Nvcc, "find", classmethod(missing))
    monkeypatch.setattr(Nvrtc, "find", classmethod(missing))
    info = DeviceInfo(kind="cuda", name="", backend="", architecture="sm_90")
    number = Argument(name="n", dtype="int32", value=1)
    problem = Problem(kernel=Kernel(source=Path("k.cu"), name="k"), launch=Launch(), arguments=[number])
    with pytest.raises(DeviceError, match="no Nvcc, and no Nvrtc"):
        compiler_for(DeviceChoice(kind="cuda"), info, problem)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("cuda:0,1", ["cuda:0", "cuda:1"]),
        ("CUDA:2,0@pycuda", ["cuda:2@pycuda", "cuda:0@pycuda"]),
        (f"cuda:1,{UUID}", ["cuda:1", f"cuda:{UUID}"]),
        ("opencl:0.0,1.2", ["opencl:0.0", "opencl:1.2"]),
        ("emulator:0,3", ["emulator:0", "emulator:3"]),
        ("cuda:all@cupy", ["cuda:all@cupy"]),
        ("emulator:all", ["emulator:all"]),
    ],
)
def test_several_devices_of_a_kind_are_named(text, named):
    selection = devices_named(text)
    assert [spelled(choice) for choice in (selection.first, *selection.others)] == named
    assert selection.is_several


@pytest.mark.parametrize("text", ["cuda:1,1", "emulator:2,02", f"cuda:{UUID},{UUID}"])
def test_a_device_named_twice_is_refused(text):
    with pytest.raises(DeviceError, match="names a device twice"):
        devices_named(text)


@pytest.mark.parametrize("text", ["c:0,1", "c:all"])
def test_the_c_device_measures_alone(text):
    with pytest.raises(DeviceError, match="would disturb each other") as caught:
        devices_named(text)
    assert caught.value.hint == "use --device c"


def test_where_one_device_is_needed_several_are_refused():
    with pytest.raises(DeviceError, match="names several devices"):
        device_named("cuda:0,1")


HERE = {"cuda:0": "cuda:gpu-a", "cuda:1": f"cuda:{UUID}", "cuda:2": "cuda:gpu-c"}


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("cuda:all", {"cuda:gpu-a": "cuda:0", f"cuda:{UUID}": "cuda:1", "cuda:gpu-c": "cuda:2"}),
        ("cuda:2,1", {"cuda:gpu-c": "cuda:2", f"cuda:{UUID}": "cuda:1"}),
        (f"cuda:0,{UUID}", {"cuda:gpu-a": "cuda:0", f"cuda:{UUID}": "cuda:1"}),
        (f"cuda:{UUID}", {f"cuda:{UUID}": "cuda:1"}),
    ],
)
def test_numbers_become_what_surely_finds_the_device(text, titles):
    assert titles_of(devices_named(text), f"cuda:{UUID}", HERE) == titles


@pytest.mark.parametrize(
    ("text", "reason"), [("cuda:0,3", "there is no cuda:3"), (f"cuda:1,{UUID}", "is cuda:1, which is named already")]
)
def test_a_selection_that_is_not_there_is_refused(text, reason):
    with pytest.raises(DeviceError, match=reason):
        titles_of(devices_named(text), "cuda:gpu-a", HERE)


SAYS_NOTHING = "import os; os.abort()"


@pytest.mark.slow
async def test_a_look_says_of_everything_that_it_is_there_or_what_is_missing():
    report = await probe_devices()
    assert report.cuda_devices or report.cuda_problem
    assert report.opencl_devices or report.opencl_problem
    assert {*report.backends, *report.backend_problems} == {"cuda-python", "pycuda", "cupy"}
    assert len(report.lines()) >= 5


@pytest.mark.parametrize(
    ("gpus", "looked", "opencl"), [(["H200 (sm_90)"], {"first"}, {}), ([], {"first"}, {"0.0": "pocl"})]
)
def test_a_look_for_what_is_preferred_goes_on_only_where_that_is_not_there(gpus, looked, opencl, monkeypatch, capsys):
    packages = {"first": ("json", lambda: "1"), "second": ("no.such.module", lambda: "2")}
    monkeypatch.setattr(probe, "PACKAGES", packages)
    monkeypatch.setattr(probe, "cuda_devices", lambda: (gpus, ["gpu-a"] * len(gpus), "" if gpus else "no driver"))
    monkeypatch.setattr(probe, "opencl_devices", lambda: ({"0.0": "pocl"}, [], ""))
    monkeypatch.setattr("sys.argv", ["probe", "preferred"])
    probe.main()
    report = DeviceReport.model_validate_json(capsys.readouterr().out)
    assert {*report.backends, *report.backend_problems} == looked
    assert (report.cuda_devices, report.opencl_devices) == (gpus, opencl)
    monkeypatch.setattr("sys.argv", ["probe"])
    probe.main()
    everything = DeviceReport.model_validate_json(capsys.readouterr().out)
    assert {*everything.backends, *everything.backend_problems} == {"first", "second"}
    assert everything.opencl_devices == {"0.0": "pocl"}


@pytest.mark.slow
async def test_the_child_that_looks_for_what_is_preferred_tells_the_same_of_cuda():
    brief, whole = await probe_preferred(), await probe_devices()
    assert (brief.cuda_devices, brief.no_cuda) == (whole.cuda_devices, whole.no_cuda)


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


@pytest.mark.slow
def test_choosing_a_device_loads_no_device_library():
    code = (
        "import sys, tui_tuner.evaluate.devices.choose;"
        "print([m for m in ('pyopencl', 'cuda', 'cupy', 'pycuda', 'kernel_tuner') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
