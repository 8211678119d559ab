"""What each sort of child inherits: keys for none but the user's own programs."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from tests.llm.wires import REQUEST
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers import cuda
from tui_tuner.evaluate.build.compilers.cuda import Nvcc
from tui_tuner.evaluate.build.compilers.gnu import find_gnu
from tui_tuner.evaluate.devices import probe
from tui_tuner.evaluate.runner.supervisor import RunnerProcess
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import ConfinedCommand, ForkServer, run_job
from tui_tuner.llm.command import CommandBackend
from tui_tuner.llm.streams import complete
from tui_tuner.processes import confined_environment, driver_environment, environment_without_keys, whole_environment
from tui_tuner.processes.child import Child, run_on_terminal
from tui_tuner.python_kernels.client import KernelProcess, ProcessOptions
from tui_tuner.search.connection import SearchProcess
from tui_tuner.tensile.measure import run_tensile
from tui_tuner.tensile.program import Tensile, check_installed, find_tensile

KEYS = ("OPENAI_API_KEY", "FAKE_API_KEY", "HF_TOKEN", "NVIDIA_API_KEY", "CUDA_SECRET", "DB_PASSWD", "SSH_AUTH_SOCK")
MARK = "sk-0123456789-of-a-test"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, MARK)


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the program of `script` writes what it was given."""
    return tmp_path / "told"


@pytest.fixture
def script(tmp_path: Path, told: Path) -> Path:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv > {told}\nexit 1\n")
    program.chmod(0o755)
    return program


def holds_keys(environment: str) -> bool:
    assert "PATH=" in environment, "nothing was told"
    return MARK in environment


def given(child: Child) -> str:
    while not (told := Path(f"/proc/{child.pid}/environ").read_text()):  # empty until it has become its program
        time.sleep(0.01)
    return told


@pytest.mark.parametrize("environment", [driver_environment, environment_without_keys])
def test_no_policy_but_the_whole_lets_a_key_through(environment) -> None:
    assert not {*KEYS} & environment().keys()
    assert environment()["PATH"] == os.environ["PATH"]
    assert {*KEYS} <= whole_environment().keys()
    assert [*confined_environment("/usr/bin/gcc", "/work")] == ["PATH", "HOME", "TMPDIR", "LANG"]


def test_a_driver_is_steered_by_its_own_variables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    monkeypatch.setenv("HOMEWORK", "2")
    assert driver_environment()["CUDA_VISIBLE_DEVICES"] == "1"
    assert "HOMEWORK" not in driver_environment()
    assert environment_without_keys()["HOMEWORK"] == "2"
    assert driver_environment()["OPENBLAS_THREAD_TIMEOUT"] == "4", "idle threads of BLAS would take time from kernels"


async def test_a_build(tmp_path: Path) -> None:
    job = ConfinedCommand(["/usr/bin/env"], tmp_path)
    done = await run_job(job, ForkServer(), timeout_s=60, output_limit=10_000, limits=ResourceLimits(), strict=False)
    assert not holds_keys(done.output)


async def test_the_runner(tmp_path: Path) -> None:
    process = await RunnerProcess.start(tmp_path / "log")
    try:
        assert not holds_keys(given(process._child))
    finally:
        await process.kill()


async def test_the_process_of_a_python_kernel(tmp_path: Path) -> None:
    process = await KernelProcess.start(tmp_path / "log", ProcessOptions({"MINE": "1"}, ("sh", "-c", "sleep 60")))
    try:
        assert not holds_keys(given(process._child))
        assert "MINE=1" in given(process._child)
    finally:
        await process.kill()


async def test_a_search() -> None:
    process = SearchProcess()
    try:
        await process.begin({"method": "none", "seed": 1, "points": []})
        assert not holds_keys(given(process._spoken.child))
        assert "PYTHONHASHSEED=0" in given(process._spoken.child)
    finally:
        await process.close()


async def test_the_look_for_devices(monkeypatch: pytest.MonkeyPatch, script: Path, told: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(script))
    assert "ended with status 1" in (await probe.probe_devices()).cuda_problem
    assert not holds_keys(told.read_text())


@pytest.mark.parametrize("compiler", ["nvcc", "nvrtc", "gnu"])
def test_a_compiler_that_is_asked_for_its_version(
    monkeypatch: pytest.MonkeyPatch, script: Path, told: Path, compiler: str
) -> None:
    if compiler == "nvrtc":
        monkeypatch.setattr(sys, "executable", str(script))
        monkeypatch.setattr(cuda, "_packages", lambda: script.parent)
        with pytest.raises(DeviceError, match="no NVRTC"):
            cuda.Nvrtc.find("sm_90")
    elif compiler == "nvcc":
        with pytest.raises(DeviceError):
            Nvcc.find("sm_90", script)
    else:
        script.rename(script.with_name("test-gcc"))
        monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
        with pytest.raises(DeviceError, match="returned non-zero exit status 1"):
            find_gnu("test-gcc")
    assert not holds_keys(told.read_text())


async def test_tensile(tmp_path: Path, script: Path, told: Path) -> None:
    find_tensile(script)
    assert not holds_keys(told.read_text())
    told.unlink()
    await run_tensile(
        Tensile((str(script),), ""), tmp_path / "config", tmp_path / "output", limit_s=60, on_line=lambda _line: None
    )
    assert not holds_keys(told.read_text())


async def test_tensiles_python_that_is_asked_about_a_configuration(tmp_path: Path, script: Path, told: Path) -> None:
    python = script.rename(tmp_path / "python-of-a-test")
    tensile = tmp_path / "Tensile"
    tensile.write_text(f"#!{python}\n")
    await check_installed(Tensile((str(tensile),), ""), "")
    assert not holds_keys(told.read_text())


async def test_an_assistant_of_the_users_has_its_keys() -> None:
    reply = await complete(CommandBackend(["/usr/bin/env"], 30), REQUEST)
    assert holds_keys(reply.text)


async def test_an_editor_of_the_users_has_its_keys(script: Path, told: Path) -> None:
    assert await asyncio.wait_for(run_on_terminal([str(script)], whole_environment()), 30) == 1
    assert holds_keys(told.read_text())
