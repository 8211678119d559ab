"""What a bare start lists, at every size of the terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Select, Static

from tests.session.fakes import write_problem
from tests.tui.at_start import look_at, shown
from tests.tui.looking import screen_text
from tests.waiting import reached
from tui_tuner.app import overview
from tui_tuner.journal.reading import RUNS
from tui_tuner.subjects import subjects
from tui_tuner.tui.start import Found, GivenFile, RunCard, StartWorld
from tui_tuner.tui.start.lists import run_lines
from tui_tuner.tui.start.problem_form import ProblemForm
from tui_tuner.tui.start.start_app import StartApp


@pytest.mark.slow
async def test_where_there_is_no_kernel_it_is_said_what_one_is_and_nothing_is_offered() -> None:
    app = StartApp([], look_at([]))
    async with app.run_test(size=(60, 18), notifications=True) as pilot:
        await app.workers.wait_for_complete()
        for size in ((60, 18), (80, 24), (200, 50)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            lines = screen_text(app).split("\n")
            assert "Kernels: no .cu .cl .c .cc .cpp" in lines[1], size
            assert any("Runs: none yet ──" in line for line in lines), size
            assert "$ tuner-tui DIRECTORY/KERNEL, or begin in the directory" in "\n".join(lines), size
            assert "A kernel to try it on: tuner-tui " in "\n".join(lines) or size == (60, 18), size
            assert "DIRECTORY/KERNEL" in lines[-2] + lines[-3], size
            assert lines[-1].split() == ["^s", "save", "?", "help", "q", "quit"], size
        await pilot.press("y", "enter", "i")
        assert app.is_running
        assert not app._notifications


@pytest.mark.slow
async def test_a_choice_that_goes_on_beyond_its_field_ends_with_a_sign_that_it_does() -> None:
    offered = Found({"device": [("auto  C or C++: CPU, CUDA: NVIDIA H200, OpenCL: NVIDIA H200, another: CPU", "auto")]})

    async def discover() -> Found:
        return offered

    async def look() -> StartWorld:
        return replace(await look_at([])(), discover=discover)

    app = StartApp([GivenFile(Path("scale.cu"))], look)
    async with app.run_test(size=(40, 20)) as pilot:
        await app.workers.wait_for_complete()
        for size in ((40, 20), (80, 24), (120, 36)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            line = next(line for line in screen_text(app).split("\n") if "auto  C" in line)
            assert "…" in line.partition("▼")[0], size


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
async def test_a_narrow_terminal_has_room_for_kernels_and_fields() -> None:
    async with shown((40, 20)) as pilot:
        for part in ("scale.cu", "other.cu", "device", "time", "cost in $", "▼", "$ tuner-tui"):
            assert part in screen_text(pilot.app), part
        assert all(widget.region in pilot.app.screen.region for widget in pilot.app.query(Select))
        await pilot.resize_terminal(120, 36)
        await pilot.pause()
        assert pilot.app.query_one("#how").region.y == pilot.app.query_one("#kernels").region.y


@pytest.mark.slow
@pytest.mark.parametrize("height", [15, 18, 24])
async def test_a_narrow_and_low_terminal_has_all_fields_and_the_list_that_has_the_focus(height: int) -> None:
    at, runs = "2026-11-20T14:32", ("first", "second", "third")
    cards = [RunCard(Path(f"tuner-runs/{name}"), "k0.cu", "finished", at, 1.8, "search", {}, at) for name in runs]
    app = StartApp([GivenFile(Path(f"k{number}.cu")) for number in range(20)], look_at(cards))
    async with app.run_test(size=(60, height)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        fields = ("tuner-tui │ 20 kernels", "device", "cost in $", "$ tuner-tui", "q quit", "Kernels─", "Runs─")
        for key, listed in (("k", ("k0.cu", "k1.cu", "k2.cu")), ("shift+tab", runs), ("tab", ("k0.cu", "k1.cu"))):
            await pilot.press(key)
            await pilot.pause()
            text = screen_text(app).replace(" ─", "─")
            assert [part for part in (*fields, *listed) if part not in text] == [], key
            assert app.screen.max_scroll_y == 0


@pytest.mark.slow
@pytest.mark.parametrize("height", [10, 12])
async def test_in_the_lowest_terminal_the_fields_are_a_line_as_well_until_one_has_the_focus(height: int) -> None:
    app = StartApp([GivenFile(Path(f"k{number}.cu")) for number in range(20)], look_at([]))
    async with app.run_test(size=(40, height)) as pilot:
        await app.workers.wait_for_complete()
        for key, seen in (("k", "k3.cu"), ("tab", "device"), ("tab", "model"), ("shift+tab", "device")):
            await pilot.press(key)
            await pilot.pause()
            assert app.screen.focused is not None
            assert app.screen.focused.region in app.screen.region, key
            assert seen in screen_text(app), key
        for _ in range(5):
            await pilot.press("tab")
        await pilot.pause()
        assert "cost in $" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause()
        assert "k3.cu" in screen_text(app)


@pytest.mark.usefixtures("_here")
async def test_a_terminal_that_is_too_low_for_all_of_it_shows_the_keys() -> None:
    async with shown((40, 12)) as pilot:
        assert screen_text(pilot.app).splitlines()[-1].split()[-2:] == ["q", "quit"]


LONG = "opencl:0.0  a device whose name is longer than the field that it is picked in"


@pytest.mark.slow
@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(("columns", "seen"), [(120, LONG), (40, LONG[:37] + "…")])
async def test_what_a_picker_offers_is_one_line_each(columns: int, seen: str) -> None:
    async def discover() -> Found:
        return Found({"device": [("auto", "auto"), (LONG, "opencl:0.0")]})

    async def look() -> StartWorld:
        return replace(await overview.start_world(Path(), overview.files_in(Path())), discover=discover)

    app = StartApp(overview.files_in(Path()), look)
    async with app.run_test(size=(columns, 30)) as pilot:
        await app.workers.wait_for_complete()
        app.query_one("#device", Select).focus()
        await pilot.press("enter")
        await pilot.pause()
        assert seen in screen_text(app)


NAME = "convolution2d_tiled-20261124-201508"
LONG_RUNS = [
    RunCard(
        Path(RUNS / NAME), "convolution2d_tiled.cu", "resumable", "", None, "autonomous", {}, "2026-11-24T20:15:08"
    ),
    RunCard(Path(RUNS / "scale-1"), "scale.cu", "finished", "", 12.5, "one_prompt", {}, "2026-11-20T12:00:00"),
]


@pytest.mark.parametrize(
    ("width", "says", "leaves_out"),
    [
        (200, ["convolution2d_tiled.cu", "12.50x", "resumable", "2026-11-24 20:15", "autonomous"], []),
        (120, ["convolution2d_tiled.cu", "12.50x", "resumable", "2026-11-24 20:15"], []),
        (100, ["convolution2d_tiled.cu", "12.50x", "resumable"], ["2026-11-24 20:15", "autonomous"]),
        (80, ["12.50x", "resumable"], ["convolution2d_tiled.cu", "2026-11-24 20:15", "autonomous"]),
    ],
)
def test_the_name_of_a_run_has_its_width_before_the_columns_that_it_tells_as_well(
    width: int, says: list[str], leaves_out: list[str]
) -> None:
    first, second = (line.plain for line in run_lines(LONG_RUNS, LONG_RUNS[0], width))
    assert first.startswith("=  ")
    assert first.endswith(NAME)
    assert len(first) == len(second) <= width - 6
    assert all(words in first + second for words in says)
    assert not any(words in first + second for words in leaves_out)
    assert run_lines([], None, width) == []


@pytest.mark.usefixtures("_here")
async def test_what_auto_stands_for_is_told_as_soon_as_it_is_known() -> None:
    async def discover() -> Found:
        return Found({"device": [("auto  CPU, no GPU", "auto")], "llm": [("auto  none", "auto")]})

    async def look() -> StartWorld:
        return replace(await overview.start_world(Path(), overview.files_in(Path())), discover=discover)

    app = StartApp(overview.files_in(Path()), look)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "auto  CPU, no GPU" in screen_text(app)
        assert "auto  none: search" in screen_text(app)
        assert str(app.query_one("#command", Static).render()) == "$ tuner-tui scale.cu"


@pytest.mark.parametrize(("runs", "is_told"), [([], True), (LONG_RUNS, False)])
async def test_whoever_has_no_runs_is_told_what_comes(runs: list[RunCard], is_told: bool) -> None:
    app = StartApp([GivenFile(Path("scale.cu"))], look_at(runs))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert ("You are asked" in screen_text(app)) is is_told


async def test_what_comes_is_told_of_the_file_that_is_selected() -> None:
    files = [GivenFile(Path("scale.cu")), GivenFile(Path("gemm.yaml"), subject=subjects()["tensile"])]
    app = StartApp(files, look_at([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert "Enter tunes the kernel: " in screen_text(app)
        await pilot.press("down")
        await pilot.pause()
        assert "Enter has your Tensile measure the configuration" in screen_text(app)
        assert "sandbox" not in screen_text(app)


def test_kernels_with_a_problem_file_are_found_one_directory_below_where_there_are_none_here(tmp_path: Path) -> None:
    for name in ("samples", ".hidden", "samples/deep"):
        (tmp_path / name).mkdir()
        write_problem(tmp_path / name)
        (tmp_path / name / "other.cu").touch()
    assert overview.files_in(tmp_path) == [GivenFile(Path("samples/scale.cu"))]
    (tmp_path / "mine.cu").touch()
    assert overview.files_in(tmp_path) == [GivenFile(Path("mine.cu"), has_problem=False)]


@pytest.mark.usefixtures("_here")
async def test_the_form_breaks_lines_where_it_ends_once_it_has_its_width() -> None:
    line = f"# {'x' * 50} {'y' * 8}"
    async with shown((80, 24)) as pilot:
        await pilot.app.push_screen(ProblemForm(Path("x.toml"), f"{line} {'z' * 20}\n"))
        assert await reached(lambda: line in screen_text(pilot.app)), screen_text(pilot.app)


@pytest.mark.slow
async def test_before_the_first_run_the_kernels_have_the_room_of_the_runs() -> None:
    app = StartApp([GivenFile(Path(f"kernel{number}.cu")) for number in range(11)], look_at([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        shown = screen_text(app)
        assert all(f"kernel{number}.cu" in shown for number in range(11))
        assert app.query_one("#runs").size.height == 1
        assert "You are asked" in shown, "what comes is told whole"
        assert shown.splitlines()[-3].startswith(" $ tuner-tui kernel0.cu")


@pytest.mark.parametrize(("runs", "kernels", "lines_of_runs"), [(3, 19, 3), (7, 15, 7), (40, 10, 12)])
async def test_kernels_have_the_lines_that_runs_leave_over_and_two_fifths_at_least(
    runs: int, kernels: int, lines_of_runs: int
) -> None:
    cards = [RunCard(Path(f"runs/run-{number}"), "matmul.cu", "finished", "search") for number in range(runs)]
    app = StartApp([GivenFile(Path(f"kernel{number}.cu")) for number in range(20)], look_at(cards))
    async with app.run_test(size=(100, 30)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert (app.query_one("#kernels").size.height, app.query_one("#runs").size.height) == (kernels, lines_of_runs)


async def test_the_last_line_says_how_a_picker_is_opened_and_left() -> None:
    app = StartApp([GivenFile(Path("scale.cu"))], look_at([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("tab")
        await pilot.pause()
        assert screen_text(app).splitlines()[-1].startswith(" ⏎ choose  esc to the kernels ")
