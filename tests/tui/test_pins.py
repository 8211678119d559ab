"""Rows that are pinned and timed in turns, and the charts over the table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.tui import scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import notices, screen_text, table_text, view_model_of
from tests.tui.scripted import Entry, ScriptedRun
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, FailureKind
from tui_tuner.problem.candidate import Configured
from tui_tuner.session import events
from tui_tuner.session.plan import Compare
from tui_tuner.tui import kernel_view
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.kernel_view import KernelView
from tui_tuner.tui.panes.charts import Scatter, over_time
from tui_tuner.tui.tables.evaluation_table import EvaluationTable
from tui_tuner.tui.tables.rows import pair_words

FIRST, SECOND = (
    Configured(candidate=scripted.TILES.id, configuration=scripted.configuration(number)) for number in (30, 29)
)
FASTER = Comparison(ratio=1.234, low=1.2, high=1.25, pairs=60)


def compared(**changes: object) -> events.PairCompared:
    known: dict[str, object] = {"comparison": FASTER, "verdict": "FAST", **changes}
    return events.PairCompared.model_validate({"number": 1, "first": FIRST, "second": SECOND, **known})


def pins(app: TunerApp) -> str:
    widget = app.session_screen.query_one("#pins")
    return "\n".join(line for line in screen_text(app).split("\n")) if widget.display else ""


@pytest.mark.slow
async def test_keys_for_rows_are_offered_once_there_are_some(started: Started) -> None:
    goes_on = asyncio.Event()

    def entries() -> Iterator[Entry]:
        before = len(scripted.opening())
        yield from scripted.opening()
        yield goes_on
        yield from scripted.running()[before:]

    async with started(ScriptedRun(entries(), stays=True), size=(160, 36)) as pilot:
        await pilot.press("3", "slash", "equals_sign")
        await settled(pilot)
        keys = screen_text(pilot.app).rstrip().split("\n")[-1]
        assert "sort" in keys
        assert "filter" not in keys
        assert "compare" not in keys
        assert not pilot.app.screen.query_one("#filter-line").display
        goes_on.set()
        await settled(pilot)
        keys = screen_text(pilot.app).rstrip().split("\n")[-1]
        assert "/ filter" in keys
        assert "= compare" in keys


@pytest.mark.slow
async def test_two_rows_are_pinned_compared_and_stay_in_sight(started: Started) -> None:
    goes_on = asyncio.Event()

    def entries() -> Iterator[Entry]:
        yield from scripted.running()
        yield goes_on
        yield events.PairAsked(number=1, first=FIRST, second=SECOND)
        yield compared()

    run = ScriptedRun(entries(), stays=True)
    async with started(run) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        await pilot.press("equals_sign")
        assert pins(app) == ""  # the kernel is the active pane
        await pilot.press("3", "equals_sign")
        assert run.told == []
        assert notices(app)[-1] == "Only what was timed can be compared with something else."  # 32 runs still
        await pilot.press("j", "j", "equals_sign")
        await settled(pilot)
        assert "= on another row times both in turns" in pins(app)
        assert any(row.startswith("◆30 ") for row in table_text(app))
        await pilot.press("j", "equals_sign")
        assert run.told == [Compare(first=FIRST, second=SECOND)]
        goes_on.set()
        await settled(pilot)
        assert "FAST #29 is 1.234x [1.200,1.250] as fast as #30, 60 pairs" in pins(app)
        await pilot.press("enter")
        await settled(pilot)
        assert "FAST #29 is 1.234x" in " ".join(screen_text(app).split())
        await pilot.press("escape", "G", "equals_sign")
        assert len(run.told) == 2
        assert any(row.startswith("◆1 ") for row in table_text(app))
        assert not any(row.startswith("◆29 ") for row in table_text(app))
        await pilot.press("equals_sign", "g", "j", "j", "equals_sign")
        await settled(pilot)
        assert pins(app) == ""
        assert len(run.told) == 2


@pytest.mark.slow
async def test_where_nothing_can_be_measured_that_is_said(started: Started) -> None:
    run = ScriptedRun(scripted.running(), stays=True, is_replay=True)
    async with started(run, size=(80, 24)) as pilot:
        await pilot.press("3", "j", "equals_sign", "j", "equals_sign")
        await settled(pilot)
        assert isinstance(pilot.app, TunerApp)
        assert "not compared: nothing can be measured here now" in pins(pilot.app)
        told = "Not compared: nothing is measured again. `tuner-tui resume matmul-20261120-1432` takes the device."
        assert notices(pilot.app)[-1] == told


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (events.PairAsked(number=1, first=FIRST, second=SECOND), "… #29 against #30: being timed in turns, or waiting"),
        (compared(comparison=None, verdict=None, fault="no device"), "✗ #29 against #30: no device"),
        (
            compared(
                verdict="WRONG",
                comparison=FASTER.model_copy(
                    update={"failure": Failure(kind=FailureKind.WRONG_RESULT, message="y[3] is 0")}
                ),
            ),
            "WRONG #29 on fresh inputs: wrong result: y[3] is 0",
        ),
    ],
)
def test_what_came_of_a_pair_is_told_in_words(pair: events.PairAsked | events.PairCompared, words: str) -> None:
    assert pair_words(pair, view_model_of(scripted.running())).plain.startswith(words)


def test_a_ratio_of_recorded_times_says_that_nothing_was_measured() -> None:
    view_model = view_model_of(scripted.running())
    view_model.device = DeviceInfo(kind="recorded", name="a file", backend="")
    assert pair_words(compared(), view_model).plain.endswith("as recorded, nothing was measured")


@pytest.mark.slow
async def test_the_charts_are_gone_through_by_a_key_from_any_pane(started: Started) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True)) as pilot:
        for shown in ("best over time, in 0:05:22", "block_size_x", "block_size_y", "unroll", "best so far"):
            await pilot.press("h")
            await settled(pilot)
            assert shown.split(",")[0][:10] in screen_text(pilot.app)
            chart = pilot.app.screen.query_one("#best-chart")
            assert (chart.size.height > 3) == (not shown.startswith("best"))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 36)])
async def test_a_tall_chart_leaves_a_table_six_rows_also_below_rows_that_are_pinned(
    started: Started, size: tuple[int, int]
) -> None:
    async with started(ScriptedRun(scripted.running(), stays=True), size=size) as pilot:
        await pilot.press("3", "h", "h", "j", "equals_sign", "j", "equals_sign")
        await settled(pilot)
        table, chart = pilot.app.screen.query_one(EvaluationTable), pilot.app.screen.query_one("#best-chart")
        assert chart.size.height == {15: 1, 24: 7, 36: 4}[size[1]]
        assert ("its chart needs a higher pane" in screen_text(pilot.app)) == (chart.size.height == 1)
        assert table.size.height >= (7 if chart.size.height > 1 else 4)
        await pilot.press("equals_sign", "k", "equals_sign")
        await settled(pilot)
        assert chart.size.height == {15: 1, 24: 7, 36: 6}[size[1]], "nothing is pinned any more"


def test_the_best_over_time_stands_as_long_as_it_was_the_best() -> None:
    assert over_time([5.0, 4.0, 1.0], [0.0, 1.0, 10.0], 10) == [4.0] * 9 + [1.0]
    assert over_time([5.0], [3.0], 2) == [5.0, 5.0]
    assert over_time([], [], 4) == []


def test_a_scatter_has_a_strip_a_value_and_equal_heights_are_equal_factors() -> None:
    scatter = Scatter(best=(16, 1.0))
    scatter.times |= {8: [4.0, 2.0], 16: [1.0]}
    scatter.failed |= {16: 2, 32: 1}
    *lines, names = scatter.draw("tile", "ms", 40, 4).plain.split("\n")
    assert [name.strip() for name in (names[:9], names[9:19], names[19:29], names[29:])] == [
        "tile", "8", "16 ✗2", "32 ✗1",
    ]  # fmt: skip
    assert [line[:9].strip() for line in lines] == ["4.000 ms", "", "1.000 ms"]
    strips = [[bool(line[at : at + 10].strip()) for line in lines] for at in (9, 19, 29)]
    assert strips == [[True, True, False], [False, False, True], [False, False, False]]
    assert lines[2][19] == "★"
    alone = Scatter()
    alone.times[8] = [28.86, 28.8601]
    assert alone.draw("tile", "ms", 40, 4).plain.count("28.86 ms") == 1, "one time is no axis"
    assert Scatter().draw("tile", "ms", 40, 4).plain == "tile: nothing measured yet"


def test_values_that_have_no_room_for_a_strip_each_share_one() -> None:
    scatter = Scatter()
    scatter.times |= {number: [float(number + 1)] for number in range(100)}
    drawn = scatter.draw("tile", "ms", 80, 4).plain.split("\n")
    assert all(len(line) <= 80 for line in drawn)
    assert drawn[-1].split()[:3] == ["tile", "0..12", "13..25"]
    assert drawn[-1].split()[-1] == "91..99"


def test_a_scatter_of_many_evaluations_is_made_of_the_latest_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    contents, view_model = KernelView().contents(), view_model_of(scripted.running())
    whole = contents.chart(view_model, "unroll", 100, 6).plain
    assert whole.split("\n")[-1].startswith("unroll ")
    monkeypatch.setattr(kernel_view, "MOST_DOTS", 4)
    latest = contents.chart(view_model, "unroll", 100, 6).plain
    assert latest.split("\n")[-1].startswith("latest 4: unroll ")
    assert [latest.split("\n")[0].split()[0], whole.split("\n")[0].split()[0]] == ["0.1139", "0.1751"]
