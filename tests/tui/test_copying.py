"""What leaves the screen: copies of the focused thing, the table as a file, the sign that a question waits."""

from __future__ import annotations

import asyncio
import csv
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.kernels import NAIVE
from tests.tui.looking import notices, view_model_of
from tests.tui.scripted import ScriptedRun
from tui_tuner.tui import copying
from tui_tuner.tui.approval import attention_codes
from tui_tuner.tui.kernel_view import evaluations_csv


@pytest.fixture(autouse=True)
def _no_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)


async def copied(pilot: Pilot[str], *keys: str) -> str:
    await pilot.press(*keys)
    await settled(pilot)
    for worker in [worker for worker in pilot.app.workers if worker.group == "copy"]:
        await worker.wait()
    return pilot.app.clipboard


@pytest.mark.slow
async def test_y_copies_what_the_focused_pane_shows_and_more_keys_its_command_and_table(
    started: Started, tmp_path: Path
) -> None:
    script = scripted.running()
    script[0] = script[0].model_copy(update={"directory": str(tmp_path)})
    async with started(ScriptedRun(script, stays=True)) as pilot:
        assert await copied(pilot, "1", "y") == NAIVE
        diff = await copied(pilot, "d", "y")
        assert diff.startswith("--- as given\n+++ ")
        assert "\n+" in diff
        assert (await copied(pilot, "2", "y")).startswith("1. Tile through shared memory (accepted)")
        assert "block_size_x" in await copied(pilot, "3", "y")
        assert await copied(pilot, "Y") == "tuner-tui resume matmul-20261120-1432"
        await pilot.press("4", "y")
        assert "nothing to copy here" in notices(pilot.app)[-1]  # type: ignore[arg-type]
        await pilot.press("E")
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert len(rows) == 32
    assert (rows[8]["failure"], rows[8]["ms"]) == ("launch failure", "")
    assert float(rows[29]["ms"]) > 0


def test_a_table_keeps_what_a_model_wrote_as_data() -> None:
    text = evaluations_csv(view_model_of(scripted.running()))
    assert "\x1b" not in text
    assert text.count("\n") == 33


@pytest.mark.slow
async def test_in_tmux_its_buffer_gets_the_text(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "tmux"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/words\ncat > {tmp_path}/text\n')
    program.chmod(0o755)
    monkeypatch.setenv("TMUX", "default,1,0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        assert await copied(pilot, "1", "y") == "", "tmux passes no OSC 52 on"
    assert (tmp_path / "text").read_text() == NAIVE
    assert (tmp_path / "words").read_text() == "load-buffer -w -\n"


@pytest.mark.slow
async def test_what_no_terminal_takes_is_in_a_file_too(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "_LONGEST", 10)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        await copied(pilot, "1", "y")
    (file,) = tmp_path.glob("tuner-tui-*.txt")
    assert file.read_text() == NAIVE


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "rings"), [("always", 1), ("never", 0), ("unfocused", 0)])
async def test_the_bell_is_as_the_settings_say(
    started: Started, monkeypatch: pytest.MonkeyPatch, setting: str, rings: int
) -> None:
    rung: list[int] = []
    monkeypatch.setattr("textual.app.App.bell", lambda _: rung.append(1))
    gate = asyncio.Event()
    async with started(ScriptedRun([*scripted.opening(), gate, scripted.PROPOSAL]), bell=setting) as pilot:
        gate.set()
        await settled(pilot)
        await settled(pilot)
    assert len(rung) == rings


def test_a_title_can_steer_no_terminal() -> None:
    codes = attention_codes("matmul.cu", "step 2: load\x07\x1b]52;c;eA==\x07 it; now\n", notify=True)
    assert codes.count("\x07") == 3
    assert codes.count("\x1b]") == 3
    assert "52" not in codes
    assert codes.endswith("\x1b]777;notify;tuner-tui;" + codes.split("\x1b]9;")[1].split("\x07")[0] + "\x07")
    assert attention_codes("matmul.cu", "", notify=True) == "\x1b]2;matmul.cu\x07"
