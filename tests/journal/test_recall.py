from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tui_tuner.journal import Journal
from tui_tuner.journal.reading import read_journal
from tui_tuner.journal.recall import Recall, RecordEnds, SessionClock


def recall_of(journal: Journal, now: Iterator[float]) -> Recall:
    return Recall(journal, SessionClock(journal.last_elapsed, lambda: next(now)))


async def forty_two() -> dict[str, Any]:
    return {"value": 42}


async def never() -> dict[str, Any]:
    raise AssertionError("asked again")


async def test_an_effect_is_done_once_and_its_time_stands_beside_it(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j", {})
    recall = recall_of(journal, iter([100.0, 107.5]))
    assert await recall.once("a", {"x": 1}, forty_two) == await recall.once("a", {"x": 1}, never) == {"value": 42}
    journal.close()
    assert [record.elapsed for record in read_journal(tmp_path / "j").records] == [7.5]


async def test_the_clock_of_a_resumed_session_runs_on_from_the_last_record(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j", {})
    await recall_of(journal, iter([100.0, 107.5])).once("a", {}, forty_two)
    journal.close()

    journal = Journal.reopen(tmp_path / "j")
    recall = recall_of(journal, iter([500.0, 502.0, 502.0]))
    assert (recall.elapsed, recall.is_live) == (0.0, False)
    await recall.once("a", {}, never)
    assert (recall.elapsed, recall.is_live) == (7.5, False)
    await recall.once("b", {}, forty_two)
    assert (recall.elapsed, recall.is_live) == (9.5, True)
    journal.close()


async def test_work_is_given_up_once_the_sessions_time_is_over_and_a_pause_is_no_part_of_it(tmp_path: Path) -> None:
    now = [0.0]
    journal = Journal.create(tmp_path / "j", {})
    recall = Recall(journal, SessionClock(0.0, lambda: now[0]))
    recall.must_be_live()
    assert await recall.in_time(forty_two(), lambda: 0.0) == {"value": 42}

    looks: list[float] = []
    looked = {1: asyncio.Event(), 4: asyncio.Event()}

    def ends_s() -> float:
        looks.append(now[0])
        if len(looks) in looked:
            looked[len(looks)].set()
        return 0.001

    recall.hold(True)
    working = asyncio.create_task(recall.in_time(asyncio.Event().wait(), ends_s))
    await looked[1].wait()
    now[0] = 100.0
    recall.hold(False)
    await looked[4].wait()
    assert not working.done()
    now[0] = 101.0
    assert await working is None
    journal.close()


async def test_a_replay_does_nothing_new(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j", {}).close()
    with pytest.raises(RecordEnds):
        await recall_of(Journal.read(tmp_path / "j"), iter([])).once("a", {}, never)


def test_the_same_question_is_told_apart_by_how_often_it_was_put(tmp_path: Path) -> None:
    Journal.create(tmp_path / "j", {}).close()
    recall = recall_of(Journal.read(tmp_path / "j"), iter([]))
    asked = [recall.nth("ask", {"x": x})["occurrence"] for x in (1, 2, 1)]
    assert asked == [1, 1, 2]


async def test_a_replay_ends_once_all_is_told_that_is_on_record_beside_what_is_not(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "j", {})
    recall, told = recall_of(journal, itertools.repeat(1.0)), []

    async def measured(number: int) -> dict[str, Any]:
        return {"ms": number}

    for number in range(3):
        await recall.once("evaluate", {"number": number}, partial(measured, number))
    journal.close()
    replayed = recall_of(Journal.read(tmp_path / "j"), itertools.repeat(1.0))

    async def seeds() -> None:
        for number in range(4):
            await asyncio.sleep(0)
            told.append(await replayed.once("evaluate", {"number": number}, lambda: measured(9)))

    beside = asyncio.ensure_future(seeds())
    with pytest.raises(RecordEnds):  # the model was asked while they were measured
        await replayed.once("ask", {}, lambda: measured(9))
    beside.cancel()
    assert told == [{"ms": 0}, {"ms": 1}, {"ms": 2}]
