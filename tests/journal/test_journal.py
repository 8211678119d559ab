from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

import pytest

from tui_tuner.errors import JournalError
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import Record, key_of, read_journal


def journal_with(path: Path, *kinds: str) -> None:
    journal = Journal.create(path, {"model": None})
    for kind in kinds:
        journal.append(Record(kind, key_of(kind, {}), 1.5, {"value": kind}))
    journal.close()


def test_what_was_recorded_is_found_again(tmp_path: Path) -> None:
    journal_with(tmp_path / "j", "a", "b")
    journal = Journal.read(tmp_path / "j")
    record = journal.get(key_of("b", {}))
    assert record is not None
    assert record.result == {"value": "b"}
    assert journal.last_elapsed == 1.5


def test_a_line_that_a_crash_cut_is_dropped_and_the_journal_goes_on_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal_with(path, "a")
    with path.open("ab") as file:
        file.write(b'{"kind": "b", "key": "12')
    journal = Journal.reopen(path)
    journal.append(Record("c", "key", 2.0, {}))
    journal.close()
    again = Journal.read(path)
    assert again.get("key") is not None
    assert again.get(key_of("a", {})) is not None


def test_looking_whether_a_run_can_be_gone_on_with_makes_it_no_younger(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal_with(path, "a")
    os.utime(path, (1, 1))
    Journal.reopen(path).close()
    assert path.stat().st_mtime == 1


def test_damage_in_the_middle_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal_with(path, "a", "b")
    lines = path.read_text().splitlines()
    lines[1] = lines[1][:20]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalError, match=rf"{path}:2: is damaged"):
        Journal.read(path)


def test_two_processes_cannot_go_on_with_one_run(tmp_path: Path) -> None:
    journal_with(tmp_path / "j", "a")
    first = Journal.reopen(tmp_path / "j")
    with pytest.raises(JournalError, match="another process"):
        Journal.reopen(tmp_path / "j")
    first.close()
    Journal.reopen(tmp_path / "j").close()


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    journal_with(tmp_path / "j")
    with pytest.raises(JournalError, match="there already"):
        Journal.create(tmp_path / "j", {})


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"journal": 99}\n', b"[]\n"])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "j").write_bytes(content)
    with pytest.raises(JournalError):
        Journal.read(tmp_path / "j")


def test_the_key_depends_on_content_and_not_on_its_order() -> None:
    assert key_of("a", {"x": 1, "y": [2]}) == key_of("a", {"y": [2], "x": 1})
    assert key_of("a", {"x": 1}) != key_of("a", {"x": 2})
    assert key_of("a", {"x": 1}) != key_of("b", {"x": 1})


def test_what_the_other_process_wrote_until_it_gave_the_lock_up_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    journal_with(path, "a")
    other = Journal.reopen(path)
    lock = fcntl.flock

    def after_the_other(file: int, operation: int) -> None:
        other.append(Record("b", key_of("b", {}), 2.5, {"value": "b"}))
        other.close()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", after_the_other)
    journal = Journal.reopen(path)
    journal.append(Record("c", key_of("c", {}), 3.5, {"value": "c"}))
    journal.close()

    assert [record.kind for record in read_journal(path).records] == ["a", "b", "c"]
    assert [record.kind for record in journal.records] == ["a", "b", "c"]


def test_a_journal_that_is_none_is_not_held_after_it_was_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"hello\n")
    with pytest.raises(JournalError, match="is no journal"):
        Journal.reopen(path)
    path.unlink()
    journal_with(path)
    Journal.reopen(path).close()


def test_what_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no run is there"):
        Journal.reopen(tmp_path / "j")
    with pytest.raises(JournalError, match="cannot be read: Is a directory"):
        Journal.reopen(tmp_path)


def test_a_full_disk_is_told_in_words_and_nothing_is_written_behind_half_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j"
    journal_with(path, "a")
    journal = Journal.reopen(path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match="cannot be written: No space left on device") as caught:
        journal.append(Record("b", "b", 2.0, {}))
    assert f"go on with: tuner-tui resume {tmp_path}" in (caught.value.hint or "")
    with pytest.raises(JournalError, match="cannot be written: No space left on device"):
        Journal.create(tmp_path / "new", {})
    monkeypatch.undo()
    Journal.create(tmp_path / "new", {}).close()
    with pytest.raises(JournalError, match="reading only"):
        journal.append(Record("c", "c", 2.0, {}))
    Journal.reopen(path).close()
    assert journal.get("b") is None


def test_half_of_a_character_pair_is_kept_in_a_file_that_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "j"
    half = {"text": "half a pair: \ud83d"}
    journal = Journal.create(path, {})
    journal.append(Record("ask", key_of("ask", half), 1.0, half, half))
    journal.close()

    record = Journal.read(path).get(key_of("ask", half))
    assert record is not None
    assert (record.result, record.content) == (half, half)
    assert path.read_text("utf-8").count("\n") == 2


def test_what_was_not_done_is_tried_again_and_stays_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal_with(path, "a")
    journal = Journal.reopen(path)
    journal.append(Record("ask", "failed", 2.0, {"failed": "time-out", "cost": 0.0}))
    journal.append(Record("ask", "no budget", 2.0, {"stopped": "the time is up"}))
    journal.append(Record("stopped", "evaluation", 2.0, {"reason": "the time is up"}))
    journal.forget_undone()
    journal.close()

    assert [record.kind for record in journal.records] == ["a"]
    assert [record.is_done for record in read_journal(path).records] == [True, False, False, False]


def test_a_journal_that_nothing_came_of_goes_with_what_was_made_for_it_alone(tmp_path: Path) -> None:
    journal = Journal.create(tmp_path / "a/b/journal.jsonl", {})
    (tmp_path / "a/b/builds").mkdir()
    journal.discard()
    assert not [*tmp_path.iterdir()]

    (tmp_path / "mine/kernels").mkdir(parents=True)
    (tmp_path / "mine/notes").touch()
    journal = Journal.create(tmp_path / "mine/journal.jsonl", {})
    (tmp_path / "mine/runner.log").touch()
    (tmp_path / "mine/live/run").mkdir(parents=True)
    (tmp_path / "mine/kernels/one.cu").touch()
    journal.discard()
    assert sorted(file.name for file in (tmp_path / "mine").iterdir()) == ["kernels", "notes"]


def test_a_run_is_not_begun_where_the_path_is_no_text(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"r\xe9")
    with pytest.raises(JournalError, match="the path is not UTF-8 text\n  name another --run-dir"):
        Journal.create(place / "run/journal.jsonl", {})
    assert not place.exists()


@pytest.mark.parametrize("name", ["best.cu", "result.json"])
def test_a_run_is_not_begun_where_it_would_write_over_what_is_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(JournalError, match=f"holds {name}, which a run would write over") as caught:
        Journal.create(tmp_path / "journal.jsonl", {})
    assert (caught.value.file, [file.name for file in tmp_path.iterdir()]) == (tmp_path, [name])


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES])
def test_a_run_where_nothing_can_be_written_is_told_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    journal_with(tmp_path / "j", "a")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(JournalError, match=f"cannot be written: {os.strerror(number)}\n.*copy its directory"):
        Journal.reopen(tmp_path / "j")
