from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.errors import JournalError
from tui_tuner.session.journal import Journal, Record, key_of


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
