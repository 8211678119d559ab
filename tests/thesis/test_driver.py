"""`python -m benchmarks.thesis`: its mailbox and its turns; the tuner itself is played by small programs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.thesis import __main__ as driver
from benchmarks.thesis.mailbox import Mailbox, write_program
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import FILE, Record


def asked(box, prompt, *arguments):
    program = [sys.executable, str(write_program(box, "someone")), str(box), *arguments]
    return subprocess.run(program, input=prompt.encode(), capture_output=True, timeout=60, check=False)


def test_the_mailbox_answers_exactly_the_prompt_that_was_answered(tmp_path):
    name = f"{hashlib.sha256('what? é'.encode()).hexdigest()}.txt"
    first = asked(tmp_path, "what? é")
    assert (first.returncode, first.stdout) == (1, b"")
    assert f"replies/{name}" in first.stderr.decode()
    assert (tmp_path / "prompts" / name).read_text("utf-8") == "what? é"
    (tmp_path / "replies").mkdir()
    (tmp_path / "replies" / name).write_text('{"that": "é"}', "utf-8")
    assert asked(tmp_path, "what? é").stdout.decode() == '{"that": "é"}'
    assert asked(tmp_path, "what? e").returncode == 1
    assert [file.name for file in Mailbox(tmp_path).unanswered(0)] == [f"{hashlib.sha256(b'what? e').hexdigest()}.txt"]


@pytest.fixture
def play(tmp_path, monkeypatch, capsys):
    """Lets a program play the tuner: the driver's exit code and lines."""
    monkeypatch.setattr(driver, "SETTLE_S", 0.05)
    monkeypatch.setattr(driver, "POLL_S", 0.02)

    def played(code, *arguments):
        file = tmp_path / "tuner.py"
        file.write_text(f"import json, sys, time\nfrom pathlib import Path\n{textwrap.dedent(code)}")
        monkeypatch.setattr(driver, "PROGRAM", (sys.executable, str(file)))
        monkeypatch.setattr(sys, "argv", ["thesis", "--runs", str(tmp_path / "runs"), *arguments])
        return driver.main(), capsys.readouterr().out.splitlines()

    return played


FINISHES = """
run = Path(next(a.removeprefix("--run-dir=") for a in sys.argv if a.startswith("--run-dir=")))
if run.name.startswith("top_k"):
    sys.exit("it broke")
run.mkdir()
(run / "result.json").write_text(json.dumps({"status": "finished", "speedup": [2.0, 1.9, 2.1]}))
"""


def test_a_run_that_fails_keeps_no_other_from_its_turn_and_a_finished_one_is_left(play, tmp_path):
    code, lines = play(FINISHES, "top_k", "sigmoid")
    assert code == driver.State.FAILED
    assert "failed with exit code 1: it broke" in lines[0]
    assert lines[1].startswith("sigmoid-search: finished 2x")
    code, lines = play("sys.exit(9)", "sigmoid")
    assert (code, "was finished" in lines[0]) == (0, True)


WAITS = """
sys.path.insert(0, {root!r})
from benchmarks.thesis.mailbox import Mailbox
Mailbox(Path({box!r})).leave("a question")
time.sleep(60)
"""


def test_a_run_stops_at_a_prompt_without_a_reply_and_is_resumed_at_it(play, tmp_path):
    box = tmp_path / "box"
    waits = WAITS.format(root=str(Path(driver.__file__).parents[2]), box=str(box))
    code, lines = play(waits, "sigmoid", "--box", str(box), "--strategy", "one_prompt")
    assert code == driver.State.UNFINISHED
    assert "waits for a reply to" in lines[0]
    journal = Journal.create(tmp_path / "runs/sigmoid-one_prompt" / FILE, {})
    journal.append(Record("device", "key", 0.0, {"note": ""}))
    journal.close()
    _, lines = play("sys.exit(str(sys.argv[1:]))", "sigmoid", "--box", str(box), "--strategy", "one_prompt")
    assert "['resume', " in lines[0]


def test_a_run_ends_at_its_limit_and_none_is_begun_without_time(play):
    code, lines = play("time.sleep(60)", "sigmoid", "top_k", "--limit", "0.1")
    assert (code, [("limit of time" in line) for line in lines]) == (driver.State.UNFINISHED, [True, True])
    code, lines = play("time.sleep(60)", "sigmoid", "--time", "1")
    assert (code, lines) == (driver.State.UNFINISHED, ["sigmoid-search: the time is up"])


def test_a_damaged_journal_is_that_runs_fault_alone(play, tmp_path):
    (tmp_path / "runs/top_k-search").mkdir(parents=True)
    (tmp_path / "runs/top_k-search" / FILE).write_text("nonsense\n")
    code, lines = play(FINISHES, "top_k", "sigmoid")
    assert code == driver.State.FAILED
    assert lines[0].startswith("top_k-search: ")
    assert "finished 2x" in lines[1]


def test_a_run_with_nothing_on_record_is_begun_anew(play, tmp_path):
    Journal.create(tmp_path / "runs/sigmoid-search" / FILE, {}).close()
    code, lines = play(FINISHES, "sigmoid")
    assert (code, "finished 2x" in lines[0]) == (0, True)
