"""How the screen was left, at the next start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui import scripted
from tests.tui.conftest import settled
from tests.tui.looking import focused_pane, notices, screen_text
from tests.tui.scripted import ScriptedRun
from tui_tuner.resources import look_file
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.panes import Look, remember, remembered
from tui_tuner.tui.panes.benchmarks_pane import BenchmarksPane
from tui_tuner.tui.panes.kernel_pane import KernelPane


def app_with(file: Path) -> TunerApp:
    app = TunerApp(ScriptedRun(scripted.running(), stays=True), grace_s=0.0, clock=lambda: 0.0)
    app.look_file = file
    return app


@pytest.mark.slow
async def test_order_chart_and_diff_stand_as_they_were_left_and_all_panes_are_there(tmp_path: Path) -> None:
    file = tmp_path / "state" / "screen.json"
    app = app_with(file)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press(*"ooooooo", "O", "h", "h", "h", "1", "d", "vertical_line", "3", "f")
        await settled(pilot)
        app.exit()
    assert remembered(file) == (Look(order="block_size_x", turned=True, chart="block_size_y", split=True), "")
    app = app_with(file)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        assert focused_pane(app) == 1
        text = screen_text(app)
        assert "[block_size_x ↑]" in text
        assert all(pane in text for pane in ("1 Kernel", "2 Plan", "3 Benchmarks", "4 Chat"))
        pane = app.screen.query_one(BenchmarksPane)
        assert pane.query_one("#best-chart").size.height > 3
        assert app.screen.query_one(KernelPane).diff.split
        assert notices(app) == []


@pytest.mark.slow
async def test_an_order_of_another_kind_of_session_turns_nothing_here_and_stays_remembered(tmp_path: Path) -> None:
    file = tmp_path / "screen.json"
    remember(file, left := Look(order="gain", turned=True))
    app = app_with(file)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        assert "[newest]" in screen_text(app)
        app.exit()
    assert remembered(file) == (left, "")
    app = app_with(file)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        await pilot.press("O")
        assert "[newest ↑]" in screen_text(app)
        await pilot.press("o")
        assert "[fastest]" in screen_text(app), "another column is not turned round too"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "it: Invalid JSON"),
        ('{"turned": 9}', "turned: Input should be a valid boolean"),
        ("[]", "it: Input should be"),
    ],
)
async def test_a_broken_file_is_told_in_a_line_and_the_screen_is_as_it_is_at_first(
    tmp_path: Path, text: str, told: str
) -> None:
    file = tmp_path / "screen.json"
    file.write_text(text)
    look, fault = remembered(file)
    assert look == Look()
    assert told in fault
    assert str(file) in fault
    assert "\n" not in fault


def test_the_pane_that_an_earlier_version_kept_as_maximised_is_no_fault(tmp_path: Path) -> None:
    file = tmp_path / "screen.json"
    file.write_text('{"maximised": 3, "split": true}')
    assert remembered(file) == (Look(split=True), "")


async def test_the_line_is_shown_and_the_next_exit_mends_the_file(tmp_path: Path) -> None:
    file = tmp_path / "screen.json"
    file.write_text("{")
    app = app_with(file)
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert [notice for notice in notices(app) if "begun anew" in notice]
        assert focused_pane(app) == 1
        app.exit()
    assert remembered(file) == (Look(), "")


def test_what_cannot_be_written_or_read_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    remember(tmp_path / "file" / "screen.json", Look())
    look, fault = remembered(tmp_path)
    assert look == Look()
    assert "cannot be read" in fault
    assert remembered(tmp_path / "none.json") == (Look(), "")


def test_it_lies_in_the_users_directory_for_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert look_file() == tmp_path / "tuner-tui" / "screen.json"
