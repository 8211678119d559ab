"""`tuner-tui memory` and the options through the real program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.kernels import rewrite, write_kernel
from tests.end_to_end.program import Ended, ModelDouble, kinds, tuner_tui
from tests.memory.entries import entry, features
from tui_tuner.llm import Reply as ModelReply
from tui_tuner.llm import Request
from tui_tuner.memory import KeptReplies
from tui_tuner.memory.sessions import Database, RememberedSessions

Program = Callable[..., Ended]
FILE = Path("data/tuner-tui/memory.sqlite3")
SPARING = ("--auto", "--device", "emulator", "--max-evals", 4)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """The program of a user whose data are in a directory of the test."""
    return lambda *arguments, **more: tuner_tui(
        *arguments, cwd=tmp_path, **{"XDG_DATA_HOME": str(tmp_path / "data"), **more}
    )


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    file = tmp_path / FILE
    sessions = RememberedSessions(Database(file))
    sessions.add("one", entry())
    emulated = features(kernel="softmax\x1b[31m").model_dump()
    sessions.add("two", entry({"block_size_x": 32}, features=emulated, device="CPU emulator", times="emulator"))
    KeptReplies(Database(file)).put("key", "m", Request("plan", ()), ModelReply("x" * 2000))
    return file


def test_the_list_is_a_table_the_newest_first(program: Program, filled: Path) -> None:
    ended = program("memory", "list")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "id  date        kernel   device              speed-up         best configuration",
        "2   2026-11-21  softmax  CPU emulator (CPU)  8.4x [8.3, 8.5]  block_size_x=32",
        "1   2026-11-21  matmul   NVIDIA H200         8.4x [8.3, 8.5]  block_size_x=64 block_size_y=4",
    ]
    ended = program("memory", "list", "--replies")
    assert ended.out == f"1 cached reply, 2 KiB, in {filled}\n"


def test_where_nothing_is_remembered_it_says_so_and_makes_no_file(program: Program, tmp_path: Path) -> None:
    ended = program("memory", "list")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"nothing is remembered in {tmp_path / FILE}\n"
    assert program("memory", "forget", "--all").out == "forgot 0 sessions and 0 cached replies\n"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("arguments", "told", "left"),
    [
        (["1"], "forgot 1 session\n", [2]),
        (["1", "2"], "forgot 2 sessions\n", []),
        (["--kernel", "matmul"], "forgot 1 session\n", [2]),
        (["--kernel", "no_such"], "forgot 0 sessions\n", [2, 1]),
        (["--replies"], "forgot 1 cached reply\n", [2, 1]),
        (["1", "--replies"], "forgot 1 session and 1 cached reply\n", [2]),
        (["--all"], "forgot 2 sessions and 1 cached reply\n", []),
    ],
)
def test_what_is_named_is_forgotten_and_said(
    program: Program, filled: Path, arguments: list[str], told: str, left: list[int]
) -> None:
    ended = program("memory", "forget", *arguments)
    assert (ended.code, ended.out, ended.err) == (0, told, "")
    assert [found.id for found in RememberedSessions(Database(filled)).all()] == left
    assert KeptReplies(Database(filled)).count()[0] == (0 if "reply" in told else 1)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["forget", "7", "1"], 1, "nothing is remembered under 7\n  nothing was forgotten; `tuner-tui memory list`"),
        (["forget"], 2, "nothing is named that is to be forgotten\n  name ids of"),
        (["forget", "one"], 2, "invalid int value: 'one'"),
        (["list", "1"], 2, "list takes nothing but --replies"),
        (["list", "--all"], 2, "list takes nothing but --replies"),
        (["forgt"], 2, "invalid choice: 'forgt'"),
    ],
)
def test_a_mistake_is_named_and_forgets_nothing(
    program: Program, filled: Path, arguments: list[str], code: int, told: str
) -> None:
    ended = program("memory", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert told in ended.err
    assert len(RememberedSessions(Database(filled)).all()) == 2


def test_a_broken_file_is_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('[memory]\nfile = "mine.sqlite3"\n')
    (tmp_path / "mine.sqlite3").write_bytes(b"nonsense" * 1000)
    ended = program("memory", "list", TUNER_TUI_CONFIG="settings.toml")
    assert ended.code == 1
    assert ended.err.startswith("tuner-tui: mine.sqlite3: the memory cannot be used: file is not a database\n  ")


@pytest.mark.slow
def test_a_run_with_the_option_is_remembered_and_offered_to_the_next(program: Program, tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 5])
    searched = program("scale.cu", *SPARING, "--llm", "none", "--memory", "--run-dir", "first")
    assert searched.code == 0, searched.err
    assert "scale" in program("memory", "list").out

    model = ModelDouble(tmp_path / "model", rewrite(block_size=(64,), passes=(100, 5)))
    asked = program("scale.cu", *SPARING, *model.asked_by("one_prompt"), "--memory", "--run-dir", "second")
    assert asked.code == 0, asked.err
    assert "scale on " in model.prompts[0].partition("<memory>")[2]
    assert "from earlier sessions: 1 similar kernels" in asked.err
    assert kinds(tmp_path / "second").count("memory") == 1


@pytest.mark.slow
def test_the_option_wins_over_the_settings_and_both_are_off_at_first(program: Program, tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 5])
    (tmp_path / "settings.toml").write_text("[memory]\nenabled = true\n\n[model]\ncache_replies = true\n")
    without = ("--no-memory", "--no-cache-replies")
    for name, arguments, settings in (("a", (), {}), ("b", without, {"TUNER_TUI_CONFIG": "settings.toml"})):
        ended = program("scale.cu", *SPARING, "--llm", "none", "--run-dir", name, *arguments, **settings)
        assert ended.code == 0, ended.err
        header = json.loads((tmp_path / name / "journal.jsonl").read_text().splitlines()[0])
        assert (header["options"]["memory"], header["options"]["cache_replies"]) == (False, False)
    assert not (tmp_path / "data").exists()
    ended = program(
        "scale.cu", *SPARING, "--llm", "none", "--run-dir", "c", TUNER_TUI_CONFIG="settings.toml", LANG="C.UTF-8"
    )
    assert ended.code == 0, ended.err
    assert len(RememberedSessions(Database(tmp_path / FILE)).all()) == 1


ASSISTANT = """\
import pathlib, sys
sys.stdin.read()
asked = pathlib.Path("asked")
asked.write_text(asked.read_text() + "x" if asked.exists() else "x")
print('{"tests": [{"sizes": [{"name": "n", "value": 100}], "inputs": []}], "reason": "Small."}')
"""


@pytest.mark.slow
def test_a_cached_reply_costs_no_call_of_the_model_and_says_so(program: Program, tmp_path: Path) -> None:
    """A problem without tests asks for some before anything is measured: that prompt is the same in every run."""
    write_kernel(tmp_path, tests=[], passes=[400, 5])
    (tmp_path / "assistant.py").write_text(ASSISTANT)
    llm = ("--llm", f"command:{sys.executable} assistant.py", "--strategy", "one_prompt", "--max-calls", 1)
    for name in ("first", "second"):
        ended = program("scale.cu", *SPARING, *llm, "--cache-replies", "--run-dir", name)
        assert ended.code in (0, 3), ended.err
        assert ("a cached reply to the very same prompt: it cost nothing" in ended.err) == (name == "second")
    assert (tmp_path / "asked").read_text() == "x"
    assert program("memory", "list", "--replies").out.startswith("1 cached reply, ")
