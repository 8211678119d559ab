"""What the start screen tells of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.app.overview import files_in, start_world
from tui_tuner.evaluate.devices import probe
from tui_tuner.evaluate.devices.kinds import CudaKind
from tui_tuner.evaluate.devices.probe import DeviceReport
from tui_tuner.tui.start import GivenFile

H100 = DeviceReport(cuda_devices=["NVIDIA H100 (sm_90)"], backends={"cupy": "13"}, opencl_devices={"0.0": "PoCL"})
POCL = DeviceReport(cuda_problem="no GPU was found", opencl_devices={"0.0": "PoCL"})


@pytest.mark.parametrize(
    ("report", "files", "told"),
    [
        (H100, ["a.cu"], {".cu": "NVIDIA H100 (sm_90)"}),
        (POCL, ["a.cu"], {".cu": "CPU, no GPU"}),
        (POCL, ["a.cl", "b.c"], {".cl": "PoCL", ".c": "CPU"}),
        (DeviceReport(opencl_problem="no platform"), ["a.cl"], {".cl": "none here"}),
        (POCL, [], {}),
    ],
)
async def test_auto_stands_for_what_runs_the_kernels_that_are_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: DeviceReport, files: list[str], told: dict[str, str]
) -> None:
    async def probed() -> DeviceReport:
        return report

    monkeypatch.setattr(probe, "probe_devices", probed)
    monkeypatch.setattr(CudaKind, "toolchain", lambda *_: "nvcc 13.0")  # which this machine need not have
    for name in files:
        (tmp_path / name).touch()
    found = await (await start_world(tmp_path, files_in(tmp_path))).discover()
    assert found.automatic == told
    for suffix, words in told.items():
        assert found.offered("device", GivenFile(Path(f"x{suffix}")))[0] == (f"auto  {words}", "auto")


@pytest.mark.parametrize(("with_file", "on_path"), [(True, False), (True, True), (False, False)])
async def test_a_tensile_that_is_not_there_is_known_where_there_is_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_file: bool, on_path: bool
) -> None:
    async def probed() -> DeviceReport:
        return POCL

    monkeypatch.setattr(probe, "probe_devices", probed)
    monkeypatch.setenv("PATH", str(tmp_path))
    if on_path:
        (tmp_path / "Tensile").write_text("#!/bin/sh\n")
        (tmp_path / "Tensile").chmod(0o755)
    if with_file:
        (tmp_path / "gemm.yaml").write_text("BenchmarkProblems: []\n")
    found = await (await start_world(tmp_path, files_in(tmp_path))).discover()
    said = found.missing.get("tensile", "")
    assert said.startswith("there is no Tensile on PATH") is (with_file and not on_path)
    assert said or not with_file or on_path
