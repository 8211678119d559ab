"""What the start screen tells of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.app.overview import files_in, start_world
from tui_tuner.evaluate.devices import probe
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
    for name in files:
        (tmp_path / name).touch()
    found = await (await start_world(tmp_path, files_in(tmp_path))).discover()
    assert found.automatic == told
    for suffix, words in told.items():
        assert found.offered("device", GivenFile(Path(f"x{suffix}")))[0] == (f"auto  {words}", "auto")
