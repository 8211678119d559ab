"""A journal's lines are what was written, in the order in which it was; what is not is named, and gone on before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tui_tuner.cli import main
from tui_tuner.errors import ExitCode, JournalError
from tui_tuner.journal import Journal, set_rest_aside
from tui_tuner.journal.reading import Record, key_of, parse_journal, read_journal
from tui_tuner.resources import __version__, samples_directory

Lines = list[bytes]


def run_with(path: Path, *kinds: str) -> Lines:
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = Journal.create(path, {"program": __version__})
    for kind in kinds:
        journal.append(Record(kind, key_of(kind, {}), 1.5, {"value": kind, "ms": 12.5}))
    journal.close()
    return path.read_bytes().splitlines(keepends=True)


def altered(lines: Lines) -> Lines:
    return [*lines[:2], lines[2].replace(b"12.5", b"11.5"), *lines[3:]]


def header_altered(lines: Lines) -> Lines:
    return [lines[0].replace(b'"journal"', b' "journal"'), *lines[1:]]


def swapped(lines: Lines) -> Lines:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def doubled(lines: Lines) -> Lines:
    return [*lines[:2], lines[1], *lines[2:]]


def removed(lines: Lines) -> Lines:
    return [*lines[:2], *lines[3:]]


def digest_left_out(lines: Lines) -> Lines:
    record = json.loads(lines[2])
    del record["digest"]
    return [*lines[:2], json.dumps(record).encode() + b"\n", *lines[3:]]


@pytest.mark.parametrize("damage", [altered, swapped, doubled, removed, digest_left_out])
def test_a_record_that_is_not_what_was_written_there_is_named_by_its_line(
    tmp_path: Path, damage: Callable[[Lines], Lines]
) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"".join(damage(run_with(path, "a", "b", "c", "d"))))
    with pytest.raises(JournalError, match=rf"{path}:3: is not what was written here") as told:
        Journal.reopen(path)
    assert "--from-last-good" in str(told.value)


def test_an_altered_header_is_named_and_nothing_can_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"".join(header_altered(run_with(path, "a"))))
    with pytest.raises(JournalError, match=rf"{path}:1: is not what was written here"):
        set_rest_aside(path)


def test_a_journal_whose_line_ends_were_turned_is_told_so_and_nothing_of_it_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "j"
    written = b"".join(run_with(path, "a", "b"))
    path.write_bytes(written.replace(b"\n", b"\r\n"))
    for read in (read_journal, set_rest_aside):
        with pytest.raises(JournalError, match=rf"{path}:1: ends with CR LF") as told:
            read(path)
        assert f"sed -i 's/\\r$//' {path}" in str(told.value)
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    assert [record.kind for record in read_journal(path).records] == ["a", "b"]


@pytest.mark.parametrize("version", ["9.9.9", "0.99", "newest", 7])
def test_a_journal_of_a_version_that_is_not_known_is_refused(tmp_path: Path, version: object) -> None:
    path = tmp_path / "j"
    Journal.create(path, {"program": version}).close()
    with pytest.raises(JournalError, match=rf"{path}:1: was written by version .*, and this is {__version__}"):
        read_journal(path)


def test_from_the_last_good_record_a_run_goes_on_and_what_stood_behind_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    lines = altered(run_with(path, "a", "b", "c"))
    path.write_bytes(b"".join(lines))

    aside = set_rest_aside(path)
    assert aside == tmp_path / "journal.set-aside-1.jsonl"
    assert aside.read_bytes() == b"".join(lines[2:])
    journal = Journal.reopen(path)
    journal.append(Record("e", "e", 3.0, {}))
    journal.close()
    assert [record.kind for record in read_journal(path).records] == ["a", "e"]
    assert set_rest_aside(path) is None

    path.write_bytes(b"".join(lines))
    second = set_rest_aside(path)
    assert second == tmp_path / "journal.set-aside-2.jsonl"


def test_resume_says_where_the_rest_of_a_damaged_journal_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run/journal.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(doubled(run_with(path, "a", "b"))))
    assert main(["resume", str(path.parent), "--auto"]) == ExitCode.FAILED
    assert f"{path}:3: is not what was written here" in capsys.readouterr().err
    assert main(["resume", str(path.parent), "--auto", "--from-last-good"]) == ExitCode.FAILED
    told = capsys.readouterr().err
    assert f"what stood behind is in {path.with_name('journal.set-aside-1.jsonl')}" in told
    assert "its header lacks" in told  # no session's: but behind the cut, and not for the damage


def test_a_journal_cut_at_any_byte_can_be_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole = b"".join(run_with(path, "a", "b"))
    header = whole.index(b"\n") + 1
    for length in range(header, len(whole)):
        read = parse_journal(whole[:length], path)
        assert whole[: read.length].count(b"\n") == 1 + len(read.records)
        assert parse_journal(whole[: read.length], path).digest == read.digest


def test_a_journal_without_digests_is_read_and_what_is_written_to_it_seals_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "j"
    old = (samples_directory() / "recorded/explicit-matmul/journal.jsonl").read_bytes()
    path.write_bytes(old)
    journal = Journal.reopen(path)
    known = journal.records
    assert len(known) > 1
    journal.append(Record("a", "new", 9e9, {}))
    journal.close()

    assert len(read_journal(path).records) == len(old.splitlines())
    path.write_bytes(path.read_bytes().replace(b'"elapsed": ', b'"elapsed": 1', 1))
    last = len(old.splitlines()) + 1
    with pytest.raises(JournalError, match=rf"{path}:{last}: is not what was written here"):
        read_journal(path)


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff", b"[]\n", b'{"journal": ' + b"[" * 100_000 + b"}\n"],
    ids=["bytes", "a list", "nested deeply"],
)
@pytest.mark.parametrize("command", ["resume", "replay", "attach", "show"])
def test_what_is_no_journal_is_told_before_a_terminal_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str, garbage: bytes
) -> None:
    path = tmp_path / "run/journal.jsonl"
    path.parent.mkdir()
    path.write_bytes(garbage)
    assert main([command, str(path.parent)]) == ExitCode.FAILED
    told = capsys.readouterr().err
    assert f"{path}:1: is no journal" in told
    assert "`tuner-tui runs` lists the runs" in told
