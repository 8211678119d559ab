"""Two runs against each other, at every width."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tui.at_start import look_at
from tests.tui.looking import screen_text
from tui_tuner.app import overview
from tui_tuner.journal.reading import RUNS
from tui_tuner.tui.start import RunCard
from tui_tuner.tui.start.lists import compared
from tui_tuner.tui.start.start_app import StartApp

LONG = "a device whose name is longer than the column that it has and so is broken where a word ends"
ONE = RunCard(
    Path("runs/one"), "scale.cu", "finished", "2026-11-20T12:00:00", 1.83, "search",
    {"model": "none", "device": LONG, "best": "0.1 ms", "block_size_x": "128"},
)  # fmt: skip
TWO = RunCard(
    Path("runs/two"), "scale.cu", "resumable", "2026-11-20T12:00:59", None, "search",
    {"model": "none", "device": LONG, "tile": "4"},
)  # fmt: skip


def lines_of(width: int) -> list[str]:
    lines = compared((ONE, TWO), width).plain.split("\n")
    assert all(len(line.rstrip()) <= width for line in lines)
    return lines


def line(lines: list[str], name: str) -> list[str]:
    return next(each.split() for each in lines if name in each.split()[:2])


def test_what_differs_is_marked_where_the_runs_stand_side_by_side() -> None:
    lines = lines_of(100)
    assert lines[0].split() == ["runs/one", "runs/two"]
    assert line(lines, "kernel") == ["kernel", "scale.cu", "scale.cu"]
    assert line(lines, "state") == ["≠", "state", "finished", "resumable"]
    assert line(lines, "speed-up") == ["≠", "speed-up", "1.83x", "none", "yet"]
    assert line(lines, "begun")[0] == "begun", "to the minute they are the same"
    assert line(lines, "block_size_x") == ["≠", "block_size_x", "128", "–"]  # noqa: RUF001  # a sign
    assert line(lines, "tile") == ["≠", "tile", "–", "4"]  # noqa: RUF001  # a sign
    columns = {each.index("a device") for each in lines if "a device" in each}
    assert len(columns) == 1


def test_nothing_of_a_long_value_is_lost_in_its_column() -> None:
    lines = lines_of(100)
    at = next(number for number, each in enumerate(lines) if "a device" in each)
    second = lines[0].index("runs/two")
    words = " ".join(each[second:] for each in lines[at : at + 3]).split()
    assert " ".join(words).startswith(LONG)


def test_where_there_is_no_room_they_stand_one_below_the_other_with_the_same_marks() -> None:
    one, two = compared((ONE, TWO), 72).plain.split("\n\n")
    assert one.split("\n")[0] == "runs/one"
    assert two.split("\n")[0] == "runs/two"
    assert line(one.split("\n"), "state") == ["≠", "state", "finished"]
    assert line(two.split("\n"), "kernel") == ["kernel", "scale.cu"]
    lines_of(72)
    lines_of(30)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "beside"), [((120, 36), True), ((200, 50), True), ((100, 36), False)])
async def test_the_terminals_width_decides(size: tuple[int, int], beside: bool) -> None:
    app = StartApp([], look_at([ONE, TWO]))
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        await pilot.press("equals_sign", "down", "equals_sign")
        await pilot.resize_terminal(*size)
        await pilot.pause()
        assert any("runs/one" in each and "runs/two" in each for each in screen_text(app).split("\n")) is beside


@pytest.mark.usefixtures("_here")
def test_of_a_run_that_cannot_be_read_it_is_told_why() -> None:
    (Path(RUNS) / "one" / "journal.jsonl").write_text("no journal\n")
    card = next(card for card in overview.run_cards(Path(RUNS)) if card.path.name == "one")
    assert card.facts["state"] == "damaged"
    assert "journal" in card.facts["damage"]


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("damage", [{}, {"best": None}, {"best": {"timing": {"median": "much"}}}, {"device": 3}])
def test_of_a_result_that_says_less_the_rest_is_told(damage: dict[str, object]) -> None:
    timing = {"timing": {"median": 0.5}}
    best = {**timing, "configuration": {"block_size_x": 64, "fast": True}}
    whole = {"time_unit": "CPU ms", "baseline": timing, "best": best, "device": {"name": "a GPU"}}
    effort = {"evaluations": 12, "model_calls": 1}
    (Path(RUNS) / "one" / "result.json").write_text(json.dumps({**whole, **effort, **damage}))
    card = next(card for card in overview.run_cards(Path(RUNS)) if card.path.name == "one")
    assert card.facts["kernel"] == "scale.cu"
    if not damage:
        assert (card.facts["best"], card.facts["fast"], card.facts["calls"]) == ("0.5 CPU ms", "1", "1")
        assert card.facts["block_size_x"] == "64"
    else:
        assert "best" not in card.facts


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            {"comparison": {"incumbent": {"median": 0.6}, "challenger": {"median": 0.2}}, "speedup": [3.0, 2.9, 3.1]},
            ("0.6 CPU ms", "0.2 CPU ms", "in turns: the speed-up is of these times"),
        ),
        (
            {"confirmed": False, "speedup": [2.0, 1.9, 2.1]},
            ("0.5 CPU ms", "0.1 CPU ms", "one by one; the speed-up is of other times, in turns"),
        ),
        ({"comparison": None, "confirmed": True}, ("0.5 CPU ms", "0.1 CPU ms", None)),
    ],
)
def test_times_are_those_of_the_speed_up_or_it_is_said_that_they_are_others(
    more: dict[str, object], told: tuple[str | None, ...]
) -> None:
    given, best = ({"timing": {"median": median}, "configuration": {}} for median in (0.5, 0.1))
    known = {"time_unit": "CPU ms", "baseline": given, "best": best, "device": {"name": "a GPU"}}
    effort = {"evaluations": 12, "model_calls": 1}
    (Path(RUNS) / "one" / "result.json").write_text(json.dumps({**known, **effort, **more}))
    facts = next(card for card in overview.run_cards(Path(RUNS)) if card.path.name == "one").facts
    assert tuple(facts.get(name) for name in ("as given", "best", "timed")) == told
