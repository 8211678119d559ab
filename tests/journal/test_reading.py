from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tui_tuner.errors import JournalError
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import Record, header_of, journal_of, read_journal

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
