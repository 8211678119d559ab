from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tui_tuner.errors import JournalError
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import Record, header_of, journal_of, read_journal
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


HEADER = {"journal": 1, "model": None, "created": "2026-01-01", "options": {"strategy": "search"}}


def written(path: Path, *lines: object, end: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines) + end)
    return path


def line(kind: str, **changes: object) -> dict[str, object]:
    return {"kind": kind, "key": kind, "elapsed": 1.0, "result": {}, **changes}


def test_records_know_their_line_and_stand_in_their_order(tmp_path: Path) -> None:
    found = read_journal(written(tmp_path / "j", HEADER, line("a"), line("b", elapsed=2.5), line("a")))
    assert found.header == HEADER
    assert [(record.kind, record.line) for record in found.records] == [("a", 2), ("b", 3), ("a", 4)]
    assert found.last_elapsed == 2.5


def test_a_record_reads_as_it_was_written(tmp_path: Path) -> None:
    record = Record("ask", "key", 1.25, {"text": "µ\u2028"}, {"purpose": "plan"})
    journal = Journal.create(tmp_path / "j", {})
    journal.append(record)
    journal.close()
    assert read_journal(tmp_path / "j").records == [record]
    assert "line" not in (tmp_path / "j").read_text("utf-8")


@pytest.mark.parametrize("end", [b'{"kind": "b", "key', b'{"kind"\n', b"\0\0\0"])
def test_what_a_crash_left_at_the_end_is_set_apart(tmp_path: Path, end: bytes) -> None:
    path = written(tmp_path / "j", HEADER, line("a"), end=end)
    found = read_journal(path)
    assert [record.kind for record in found.records] == ["a"]
    assert (found.torn, found.length) == (end, path.stat().st_size - len(end))


@pytest.mark.parametrize(
    "broken",
    [
        {"kind": "a"},
        line("a", odd=1),
        line("a", line=3),
        line("a", result=[]),
        line("a", elapsed="soon"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, broken: object) -> None:
    path = written(tmp_path / "j", HEADER, line("a"), broken, line("b"))
    with pytest.raises(JournalError, match=rf"{path}:3: is no record of an effect"):
        read_journal(path)


def test_a_header_is_read_without_the_records(tmp_path: Path) -> None:
    path = written(tmp_path / "run/journal.jsonl", HEADER, [], [])
    assert header_of(path.parent) == header_of(path) == HEADER
    assert journal_of(path.parent) == path


def test_runs_can_be_listed_without_any_package_but_the_standard_library(tmp_path: Path) -> None:
    code = "import sys; before = {*sys.modules}; import tui_tuner.journal.runs; print(*({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "tui_tuner" in loaded
    assert loaded - sys.stdlib_module_names == {"tui_tuner"}
