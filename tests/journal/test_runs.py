"""What is told of the runs of a directory, which is the newest, and which are of no use."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tui_tuner.app.overview import run_cards
from tui_tuner.errors import JournalError
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import Record
from tui_tuner.journal.runs import STOPPED, clean_runs, last_run, list_runs, run_lines

NOW = datetime(2026, 1, 3, 12, tzinfo=UTC)


def run_at(path: Path, created: str, *kinds: str, **result: object) -> Path:
    problem = '[kernel]\nsource = "scale.cu"\nname = "scale"\n'
    header = {"created": created, "options": {"strategy": "search"}, "model": None, "problem": problem}
    journal = Journal.create(path / "journal.jsonl", header)
    for number, kind in enumerate(kinds):
        journal.append(Record(kind, str(number), 1.0, {"device": {"name": "a GPU"}} if kind == "device" else {}))
    journal.close()
    if result:
        (path / "result.json").write_text(json.dumps(result))
    work_at(path, created)
    return path


def work_at(path: Path, when: str) -> None:
    """Have a run last at work at that time."""
    os.utime(path / "journal.jsonl", 2 * (datetime.fromisoformat(when).timestamp(),))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_list_says_what_a_run_is_about_and_how_far_it_came(tmp_path: Path) -> None:
    run_at(
        tmp_path / "a",
        "2026-01-01T12:00:00+00:00",
        "device",
        "evaluate",
        "evaluate",
        status="finished",
        speedup=[1.5, 1.4, 1.6],
    )
    run_at(tmp_path / "b", "2026-01-03T11:30:00+00:00", "device", status="interrupted")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/journal.jsonl").write_text("no journal\n")
    work_at(tmp_path / "c", "2026-01-02T00:00:00+00:00")

    (live := run_at(tmp_path / "d", "2026-01-03T11:40:00+00:00", "device") / "live").mkdir()

    with (live / "events.jsonl").open("wb") as driven:
        fcntl.flock(driven, fcntl.LOCK_EX)
        head, d, b, c, a = run_lines(list_runs(tmp_path), NOW)

    assert head.split() == ["run", "kernel", "device", "strategy", "model", "evaluations", "speed-up", "age", "state"]
    assert cells(a)[0] == str(tmp_path / "a")
    assert cells(a)[1:] == ["scale.cu", "a GPU", "search", "-", "2", "1.50x", "2 d", "finished"]
    assert cells(b)[-4:] == ["0", "-", "30 min", "resumable"]
    assert c.endswith("is no journal")
    assert cells(d)[-1] == "running"


def test_a_journal_alone_is_a_recording_and_one_with_what_a_session_leaves_beside_it_is_a_run(tmp_path: Path) -> None:
    alone, killed = (run_at(tmp_path / name, "2026-01-01T12:00:00+00:00", "device") for name in "ab")
    (killed / "builds").mkdir()
    assert {Path(run.run): run.state for run in list_runs(tmp_path)} == {alone: "recorded", killed: "resumable"}


def test_a_run_that_its_user_stopped_is_stopped_and_one_whose_process_is_there_runs(tmp_path: Path) -> None:
    run_at(tmp_path / "a", "2026-01-01T12:00:00+00:00", status="finished", reason=STOPPED, speedup=[1.5, 1.4, 1.6])
    run_at(tmp_path / "b", "2026-01-01T11:00:00+00:00", status="no_improvement", reason="the strategy is done")
    (live := run_at(tmp_path / "c", "2026-01-01T10:00:00+00:00", status="finished") / "live").mkdir()

    with (live / "events.jsonl").open("wb") as driven:
        fcntl.flock(driven, fcntl.LOCK_EX)
        states = [run.state for run in list_runs(tmp_path)]

    assert states == ["stopped", "finished", "running"], "the device of the last one is kept for comparisons"


def test_the_last_run_is_the_one_that_was_last_at_work_and_is_listed_first(tmp_path: Path) -> None:
    resumed = run_at(tmp_path / "a", "2026-01-01T00:00:00+00:00")
    run_at(tmp_path / "b", "2026-01-02T00:00:00+00:00")
    work_at(resumed, "2026-01-03T00:00:00+00:00")

    assert last_run(tmp_path) == resumed
    assert [Path(run.run).name for run in list_runs(tmp_path)] == ["a", "b"]
    assert [card.path.name for card in run_cards(tmp_path)] == ["a", "b"]
    with pytest.raises(JournalError, match="there are no runs here"):
        last_run(tmp_path / "elsewhere")


def test_a_resume_goes_on_with_the_last_run_that_did_not_come_to_its_end(tmp_path: Path) -> None:
    crashed = run_at(tmp_path / "a", "2026-01-01T00:00:00+00:00", status="interrupted")
    done = run_at(tmp_path / "b", "2026-01-03T00:00:00+00:00", status="finished", reason="the strategy is done")

    assert last_run(tmp_path, to_resume=True) == crashed
    stopped = run_at(tmp_path / "c", "2026-01-02T00:00:00+00:00", status="finished", reason=STOPPED)
    assert last_run(tmp_path, to_resume=True) == stopped
    for run in (crashed, stopped):
        shutil.rmtree(run)
    assert last_run(tmp_path, to_resume=True) == done, "it may have evaluations left, or more by now"


def names(directory: Path) -> tuple[list[str], list[str]]:
    """Of the runs in a list and of those on the start screen."""
    return [Path(run.run).name for run in list_runs(directory)], [card.path.name for card in run_cards(directory)]


def test_a_run_that_is_removed_while_runs_are_listed_is_not_among_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        run_at(tmp_path / name, "2026-01-01T12:00:00+00:00", "device")
    glob = Path.glob

    def then_gone(directory: Path, pattern: str) -> list[Path]:
        files = sorted(glob(directory, pattern))
        if directory == tmp_path:
            shutil.rmtree(tmp_path / "a", ignore_errors=True)
        return files

    monkeypatch.setattr(Path, "glob", then_gone)
    assert names(tmp_path) == (["b"], ["b"])
    run_at(tmp_path / "a", "2026-01-01T12:00:00+00:00", "device")
    assert names(tmp_path) == (["b"], ["b"])
    run_at(tmp_path / "a", "2026-01-02T12:00:00+00:00", "device")
    assert [card.path.name for card in run_cards(tmp_path)] == ["b"]
    assert last_run(tmp_path).name == "b"


@pytest.mark.parametrize(
    "header",
    [{"options": []}, {"options": None}, {"model": 5}, {"model": ["a"]}, {"problem": 5}, {"created": 5}, {"file": 5}],
    ids=str,
)
def test_a_header_that_says_odd_things_keeps_no_run_from_being_listed(
    tmp_path: Path, header: dict[str, object]
) -> None:
    Journal.create(tmp_path / "odd/journal.jsonl", header).close()
    run_at(tmp_path / "b", "2026-01-01T12:00:00+00:00", "device")
    assert names(tmp_path) == (["odd", "b"], ["odd", "b"])
    assert len(list(run_lines(list_runs(tmp_path), NOW))) == 3


def test_only_what_is_of_no_use_is_removed(tmp_path: Path) -> None:
    empty = run_at(tmp_path / "empty", "2026-01-01T00:00:00+00:00")
    taken = run_at(tmp_path / "taken", "2026-01-01T00:00:00+00:00")
    begun = run_at(tmp_path / "begun", "2026-01-01T00:00:00+00:00", "device")
    done = run_at(tmp_path / "done", "2026-01-01T00:00:00+00:00", "device", status="no_improvement")
    for run in (begun, done):
        (run / "builds").mkdir()
        (run / "builds/kernel.so").write_bytes(b"x" * 2**20)
    at_work = Journal.reopen(taken / "journal.jsonl")

    told = [*clean_runs(tmp_path)]
    at_work.close()

    assert not empty.exists()
    assert taken.exists()
    assert (begun / "builds/kernel.so").exists()
    assert (done / "result.json").exists()
    assert not (done / "builds").exists()
    assert told == [f"{done}: removed its builds, 1.0 MiB", f"{empty}: removed: nothing was on record"]
