"""The real program in a real terminal: approve, reject with a sentence, leave in the middle, go on, quit."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import signal
import sys
import termios
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest

from tests.end_to_end import answers
from tests.end_to_end.kernels import rewrite, write_kernel
from tests.end_to_end.program import LIMIT_S, TUNER_TUI, ModelDouble, environment, kinds, wait_until

SAMPLES = Path(__file__).parents[2] / "sample_kernels"
WIDE, NARROW = (36, 120), (24, 80)
LEAVES_SCREEN = "\x1b[?1049l"
UNHEEDED_S = 0.6
"""Keys pressed sooner after a question appeared do not answer it."""
ALONE_S = 1.0
"""Longer than a terminal's program waits for what may follow an Esc."""
REASON = "no idea of yours, load 16 bytes at a time"
WORDS = "x is aligned to 256 bytes"
OWN_STEP = "Load float4"


class Terminal:
    """A terminal of some rows and columns with the program in it."""

    def __init__(self, child: pexpect.spawn[str]) -> None:
        self._child = child
        self._seen = ""

    def sees(self, text: str) -> None:
        self._child.expect_exact(text)
        self._seen += self._child.before + text

    def waits(self, seconds: float = UNHEEDED_S) -> None:
        self._child.expect(pexpect.TIMEOUT, timeout=seconds)

    def presses(self, keys: str) -> None:
        self._child.send(keys)

    def presses_alone(self, key: str) -> None:
        """Press a key and let it act: read together with the next one it may mean something else."""
        self._child.send(key)
        keyboard = os.open(f"/proc/{self._child.pid}/fd/0", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
        wait_until(lambda: _unread(keyboard) == 0, "the program reads its keys")
        os.close(keyboard)
        self.waits(ALONE_S)

    def wakes_up(self) -> None:
        """Let the program go on once it has stopped, as `fg` does."""
        stat = Path(f"/proc/{self._child.pid}/stat")
        wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "it has stopped")
        os.kill(self._child.pid, signal.SIGCONT)

    def hangs_up(self) -> None:
        """Close the window."""
        os.kill(self._child.pid, signal.SIGHUP)
        self._child.expect(pexpect.EOF)
        self._child.wait()  # else `close` sends signals to what is about to end
        self._child.close()
        assert self._child.signalstatus == signal.SIGHUP

    def is_left(self) -> tuple[int | None, str]:
        """Close what is open above a finished session, and the program; then as `ends`."""
        while True:
            self._child.send("q")
            if self._child.expect([pexpect.EOF, pexpect.TIMEOUT], timeout=1) == 0:
                self._seen += self._child.before
                return self.ends()

    def status(self) -> int | None:
        self._child.expect(pexpect.EOF)
        self._child.wait()  # else `close` sends signals to what is about to end
        self._child.close()
        return self._child.exitstatus

    def ends(self) -> tuple[int | None, str]:
        """Exit status, and what stands in the terminal once the screen is gone."""
        status = self.status()
        everything = self._seen + self._child.before
        assert "Traceback" not in everything
        assert LEAVES_SCREEN in everything
        return status, everything.rpartition(LEAVES_SCREEN)[2]


def _unread(terminal: int) -> int:
    count = array("i", [0])
    fcntl.ioctl(terminal, termios.FIONREAD, count)
    return count[0]


@contextmanager
def terminal(*arguments: object, cwd: Path, size: tuple[int, int], **changes: str) -> Iterator[Terminal]:
    in_colour = {"TERM": "xterm-256color", "NO_COLOR": "", "COLUMNS": str(size[1]), "LINES": str(size[0])}
    child = pexpect.spawn(
        TUNER_TUI,
        [*map(str, arguments)],
        cwd=str(cwd),
        env={**environment(**changes), **in_colour},
        dimensions=size,
        timeout=LIMIT_S,
        encoding="utf-8",
        codec_errors="replace",
    )
    try:
        yield Terminal(child)
    finally:
        child.close(force=True)


def options(model: ModelDouble) -> tuple[object, ...]:
    return ("--device", "emulator", *model.asked_by("one_prompt"), "--max-evals", 5)


def test_a_session_is_led_by_keys_from_the_first_step_to_the_result(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 40])
    second = rewrite(block_size=(64,), passes=(10,), summary="Sixteen bytes at a time.")
    first = rewrite(block_size=(64,), passes=(10,))
    model = ModelDouble(tmp_path / "model", [([REASON], second), ([], first)])
    with terminal("scale.cu", *options(model), cwd=tmp_path, size=WIDE) as screen:
        screen.sees("step 1 awaits you")
        screen.waits()
        screen.presses("a")
        screen.sees("step 2 awaits you")
        assert len(model.prompts) == 1
        screen.waits()
        screen.presses("r")
        screen.sees("reject> ")
        screen.presses(f"{REASON}\r")
        screen.sees("Sixteen bytes at a time.")  # drawn with the question or just before
        screen.waits()
        assert REASON in model.prompts[1]
        assert REASON not in model.prompts[0]
        screen.waits()
        screen.presses("a")
        screen.sees("✓ finished")
        status, left = screen.is_left()

    assert status == 0
    assert "speed-up" in left, "the result stays in the terminal"
    (run,) = (tmp_path / "tuner-runs").iterdir()
    assert "passes 10" in (run / "best.cu").read_text()
    assert len(model.prompts) == 2


@pytest.mark.slow
def test_a_session_that_was_left_in_the_middle_goes_on_with_the_command_it_prints(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 40])
    model = ModelDouble(tmp_path / "model", rewrite(block_size=(64,), passes=(10,)))
    run = tmp_path / "runs of mine" / "first"
    with terminal("scale.cu", *options(model), "--run-dir", run, cwd=tmp_path, size=NARROW) as screen:
        screen.sees("step 1 awaits you")
        screen.waits()
        screen.presses("a")
        screen.sees("step 2 awaits you")
        screen.waits()
        screen.presses("q")
        screen.sees("Leave a resumable run?")
        screen.presses("l")
        status, left = screen.ends()
    assert status == 130
    assert "interrupted; go on with: tuner-tui resume " in left
    assert json.loads((run / "result.json").read_text())["status"] == "interrupted"

    command = shlex.split(left.partition("tuner-tui ")[2])
    with terminal(*command, cwd=tmp_path, size=NARROW) as screen:
        screen.sees("step 2 awaits you")
        screen.waits()
        screen.presses("A")
        screen.sees("✓ finished")
        status, _ = screen.is_left()

    assert status == 0
    assert len(model.prompts) == 1
    assert kinds(run).count("evaluate") == 2
    assert json.loads((run / "result.json").read_text())["status"] == "finished"


@pytest.mark.slow
def test_words_for_the_model_and_a_step_of_ones_own_are_told_while_a_step_awaits_approval(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 80])
    kernel = rewrite(block_size=(64,), passes=(10,), summary="As you wish.")
    script = [
        answers.to("plan", answers.plan("Profile it", summary="There is little to do.")),
        answers.to("validate_step", answers.valid(False, "It changes nothing."), step="Profile it"),
        answers.to("apply_step", kernel, step=OWN_STEP),
        answers.to("replan", answers.plan(summary="Nothing is left.")),
    ]
    model = ModelDouble(tmp_path / "model", script)
    options = ("--device", "emulator", *model.asked_by("autonomous"), "--max-evals", 8, "--run-dir", "run")
    validated = ("--set", "validate_steps=true")
    with terminal("scale.cu", *options, *validated, cwd=tmp_path, size=WIDE) as screen:
        screen.sees("step 1 awaits you")
        screen.waits()
        screen.presses_alone("c")
        screen.presses(f"/hint {WORDS}\r")
        wait_until(lambda: kinds(tmp_path / "run").count("told") == 1, "the words in the journal")
        screen.presses_alone("\x1b")
        screen.presses_alone("2")
        screen.presses("n")
        screen.sees("detail, in more words")
        screen.presses(f"{OWN_STEP}\r")
        wait_until(lambda: kinds(tmp_path / "run").count("told") == 2, "the step in the journal")
        assert model.prompts == []
        screen.waits()
        screen.presses("A")
        screen.sees("As you wish.")
        screen.sees("✓ finished")
        status, _ = screen.is_left()

    assert status == 0
    planning, carrying_out = model.prompts[:2]
    assert f"<programmer>\n{WORDS}\n</programmer>" in planning
    assert f'<step title="{OWN_STEP}">' in carrying_out, "a step of the user's own is not judged first"
    assert all(WORDS in prompt for prompt in model.prompts)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["best_title"] == OWN_STEP


@pytest.mark.slow
def test_a_keymap_that_cannot_be_used_is_told_before_a_run_is_begun(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    (tmp_path / "mine.toml").write_text('[screen.keys]\napprove = "q"\n')
    with terminal("scale.cu", cwd=tmp_path, size=NARROW, TUNER_TUI_CONFIG="mine.toml") as screen:
        screen.sees("mine.toml:2: keymap: the key 'q' would be 'quit' and 'approve'")
        assert screen.status() == 2

    assert not (tmp_path / "tuner-runs").exists()


@pytest.mark.slow
def test_a_start_that_fails_leaves_the_screen_and_tells_why(tmp_path: Path) -> None:
    with terminal("gone.cu", cwd=tmp_path, size=NARROW) as screen:
        status, left = screen.ends()

    assert status == 1
    told, way_out = left.split("\r\n")[:2]
    assert told.endswith("tuner-tui: there is no kernel file gone.cu")
    assert way_out == "  name a .cu, .cl, .c or .py file"
    assert not (tmp_path / "tuner-runs").exists()


@pytest.mark.slow
def test_who_leaves_a_draft_is_told_that_nothing_was_begun(tmp_path: Path) -> None:
    (tmp_path / "twice.cu").write_text(
        "__global__ void twice(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n"
    )
    with terminal("twice.cu", "--device", "emulator", "--llm", "none", cwd=tmp_path, size=NARROW) as screen:
        screen.sees("save and start")
        screen.presses("\x1b")
        status, left = screen.ends()
    assert status == 130
    assert left.endswith("left before anything was begun\r\n")
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["twice.cu"]


@pytest.mark.slow
def test_what_comes_to_nothing_goes_back_to_the_start_screen_which_tells_why(tmp_path: Path) -> None:
    (tmp_path / "twice.cu").write_text(
        "__global__ void twice(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }\n"
    )
    (tmp_path / "gemm.yaml").write_text((SAMPLES / "tensile" / "gemm.yaml").read_text())
    here = {"TUNER_TUI_DEVICE": "emulator", "TUNER_TUI_LLM": "none", "PATH": f"{Path(sys.executable).parent}:/usr/bin"}
    with terminal(cwd=tmp_path, size=WIDE, **here) as screen:
        screen.sees("run the command")
        screen.presses("\r")
        screen.sees("save and start")
        screen.presses("\x1b")
        screen.sees("the draft of twice.toml was left")
        screen.presses("G\r")
        screen.sees("$ tuner-tui tensile gemm.yaml")
        screen.sees("there is no Tensile on PATH")
        screen.sees('tensile = "PATH" under [tensile]')
        screen.hangs_up()
    assert not (tmp_path / "tuner-runs").exists()


@pytest.mark.slow
def test_a_start_screen_that_was_put_to_sleep_stands_there_again(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    with terminal(cwd=tmp_path, size=NARROW) as screen:
        screen.sees("run the command")
        screen.presses("\x1a")
        screen.sees(LEAVES_SCREEN)
        screen.wakes_up()
        screen.sees("run the command")
        screen.presses("q")
        status, left = screen.ends()
    assert status == 0, left
