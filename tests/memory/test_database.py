"""The memory's file: broken, locked, newer, another program's; two processes that write at once."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.entries import entry
from tui_tuner.memory.sessions import VERSION, Database, MemoryUnusable, RememberedSessions

WRITER = """
import sys
from pathlib import Path
from tests.memory.entries import entry
from tui_tuner.memory.sessions import Database
from tui_tuner.memory.sessions import RememberedSessions
sessions = RememberedSessions(Database(Path(sys.argv[1]), wait_s=240.0))
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    sessions.add(f"{sys.argv[2]}-{number}", entry())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.sqlite3"


def test_nothing_is_written_by_looking(file: Path) -> None:
    assert RememberedSessions(Database(file)).all() == []
    assert not file.parent.exists()


def test_only_the_user_may_read_the_file(file: Path) -> None:
    RememberedSessions(Database(file)).add("run", entry())
    assert file.stat().st_mode & 0o077 == 0
    assert file.parent.stat().st_mode & 0o077 == 0
    assert [path.name for path in file.parent.iterdir()] == [file.name], "nothing stays beside it"


@pytest.mark.slow
def test_two_processes_that_begin_the_file_and_write_at_once_lose_nothing(file: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), name],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("first", "second")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=250)
        assert writer.returncode == 0
    found = RememberedSessions(Database(file)).all()
    assert len(found) == 50
    assert len({remembered.id for remembered in found}) == 50


def broken(file: Path) -> None:
    file.write_bytes(b"not a database, whatever its name says" * 100)


def newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")


def of_another_program(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")


def directory(file: Path) -> None:
    file.mkdir()


@pytest.mark.parametrize(
    ("make", "message", "way_out"),
    [
        (broken, "file is not a database", "move the file away"),
        (newer, f"of version {VERSION + 1}, and this program knows version {VERSION}", "update tuner-tui"),
        (of_another_program, "another program's database", "name another file under [memory]"),
        (directory, "cannot be used: ", "move the file away"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_with_the_way_out_and_left_as_it_is(
    file: Path, make: object, message: str, way_out: str
) -> None:
    file.parent.mkdir()
    make(file)  # type: ignore[operator]
    before = file.read_bytes() if file.is_file() else b""
    sessions = RememberedSessions(Database(file))
    for use in (sessions.all, lambda: sessions.add("run", entry()), lambda: sessions.forget(everything=True)):
        with pytest.raises(MemoryUnusable, match=re.escape(message)) as caught:
            use()
        assert way_out in (caught.value.hint or "")
        assert caught.value.file == file
    assert (file.read_bytes() if file.is_file() else b"") == before


def test_a_file_that_another_process_holds_is_named_after_a_while(file: Path) -> None:
    sessions = RememberedSessions(Database(file, wait_s=0.05))
    sessions.add("run", entry())
    with closing(sqlite3.connect(file)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MemoryUnusable, match="database is locked") as caught:
            sessions.add("other", entry())
        assert "wait for what holds it" in str(caught.value.hint)


def test_what_is_forgotten_is_no_longer_in_the_file(file: Path) -> None:
    sessions = RememberedSessions(Database(file))
    sessions.add("run", entry(device="A very secret device"))
    assert b"very secret" in file.read_bytes()
    assert sessions.forget(everything=True) == 1
    assert b"very secret" not in file.read_bytes()
