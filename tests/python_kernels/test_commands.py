from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.python_kernels.fakes import narrow
from tui_tuner.app.named import check_kernel
from tui_tuner.app.sessions import check_options, new_session
from tui_tuner.cli import main
from tui_tuner.errors import DeviceError, ProblemError, SettingsError
from tui_tuner.python_kernels.from_file import visible_gpu
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_kernels"


def test_a_kernel_may_be_named_behind_its_file(tmp_path):
    (tmp_path / "kernel.py").write_text("", "utf-8")

    check_kernel(tmp_path / "kernel.py:matmul")
    with pytest.raises(ProblemError, match="there is no kernel file"):
        check_kernel(tmp_path / "other.py:matmul")


@pytest.mark.parametrize(
    ("device", "visible", "expected"),
    [
        ("auto", None, {}),
        ("cuda", None, {"CUDA_VISIBLE_DEVICES": "0"}),
        ("cuda:1", None, {"CUDA_VISIBLE_DEVICES": "1"}),
        ("cuda:1", "3,5", {"CUDA_VISIBLE_DEVICES": "5"}),
        (
            "cuda:GPU-6f1d3a52-0a11-4c8e-9d2b-7f3c5e0a9b44",
            "3,5",
            {"CUDA_VISIBLE_DEVICES": "GPU-6f1d3a52-0a11-4c8e-9d2b-7f3c5e0a9b44"},
        ),
    ],
)
def test_the_kernels_process_sees_the_gpu_that_is_named(monkeypatch, device, visible, expected):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    assert visible_gpu(device) == expected


@pytest.mark.parametrize("device", ["emulator", "opencl", "cuda:0@cupy", "cuda:all"])
def test_a_kernel_in_python_runs_on_no_other_device(device):
    with pytest.raises(DeviceError, match="runs on a CUDA GPU"):
        visible_gpu(device)


async def test_a_device_that_cannot_run_it_is_told_before_the_session_begins(tmp_path):
    with pytest.raises(SettingsError, match="runs on a CUDA GPU, not on 'emulator'"):
        await check_options(SessionOptions(device="emulator"), narrow(tmp_path).problem)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_error_says_how_to_install_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert main([str(SAMPLES / "matmul_helion.py"), "--auto"]) == 1
    said = capsys.readouterr().err
    assert "kernels in Python need torch and Triton" in said
    assert "pip install 'tuner-tui[helion]'" in said
    assert "Traceback" not in said


@pytest.mark.skipif(importlib.util.find_spec("helion") is not None, reason="Helion is installed")
def test_without_helion_the_plug_in_says_how_to_install_it():
    with pytest.raises(ImportError, match=r"pip install 'tuner-tui\[helion\]'"):
        importlib.import_module("tui_tuner.helion")


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["matmul_helion", "softmax_triton"])
def test_a_sample_is_tuned_on_a_gpu(tmp_path, monkeypatch, name):
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("helion" if name.endswith("helion") else "triton", reason="it is not installed")
    monkeypatch.chdir(tmp_path)

    assert main([str(SAMPLES / f"{name}.py"), "--auto", "--llm", "none", "--max-evals", "8"]) in (0, 3)
    assert [*tmp_path.glob("tuner-runs/*/best_config.py")]


async def test_that_a_file_may_be_run_is_told_before_it_is(tmp_path, monkeypatch):
    def refused(*_):
        raise ProblemError("no")

    monkeypatch.setattr("tui_tuner.app.sessions.problem_of", refused)
    file, told = tmp_path / "kernels.py", list[str]()
    for kernel, host in (
        (file, None),
        (tmp_path / "kernels.py:softmax", tmp_path / "bench.py"),
        (tmp_path / "k.cu", None),
    ):
        with pytest.raises(ProblemError):
            await new_session(kernel, SessionOptions(), Settings(), None, host, tell=told.append)
    assert told == [
        "loading kernels.py; kernels.py is run where that does not say what to tune with",
        "loading kernels.py; bench.py is run where that does not say what to tune with",
    ]
