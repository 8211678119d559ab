"""The command line: inside this process, or as a process of its own and what is left of it when it is gone."""

from __future__ import annotations

import ctypes
import io
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.answers import Answer
from tui_tuner.cli import main

TUNER_TUI = str(Path(sys.executable).with_name("tuner-tui"))
QUICK_SETTINGS = Path(__file__).parents[1] / "quick_settings.toml"
MODEL_DOUBLE = Path(__file__).with_name("model_double.py")
LIMIT_S = 240.0
_PR_SET_CHILD_SUBREAPER = 36


def environment(**changes: str) -> dict[str, str]:
    """Of a user whose kernels are not watched, without other settings; the terminal is wide and has no colours."""
    return {**os.environ, "TUNER_TUI_CONFIG": str(QUICK_SETTINGS), "NO_COLOR": "1", "COLUMNS": "200", **changes}


def start(*arguments: object, cwd: Path, program: str = TUNER_TUI, **changes: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [program, *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@dataclass(frozen=True)
class Ended:
    """A program that ended, with all that it printed."""

    code: int
    out: str
    err: str


def end_of(process: subprocess.Popen[str]) -> Ended:
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
    assert "Traceback" not in err
    return Ended(process.returncode, out, err)


def tuner_tui_process(*arguments: object, cwd: Path, program: str = TUNER_TUI, **changes: str) -> Ended:
    """The installed program, as a process of its own."""
    return end_of(start(*arguments, cwd=cwd, program=program, **changes))


def tuner_tui(*arguments: object, cwd: Path, **changes: str) -> Ended:
    """The same command line inside this process, which has all imports behind it."""
    out, err = _captured(), _captured()
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment(**changes).items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", stack.enter_context(Path(os.devnull).open()))
        stack.enter_context(chdir(cwd))
        stack.enter_context(redirect_stdout(out))
        stack.enter_context(redirect_stderr(err))
        code = _code_of([str(argument) for argument in arguments])
    ended = Ended(code, _text_of(out), _text_of(err))
    assert "Traceback" not in ended.err
    return ended


def _code_of(arguments: list[str]) -> int:
    try:
        return int(main(arguments))
    except SystemExit as exit_:  # argparse leaves in this way
        return int(exit_.code or 0)


def _captured() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def wait_until(true: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"{what}: not within {limit_s:g} s"
        time.sleep(0.005)


def records(run: Path) -> list[dict[str, object]]:
    """The whole lines of a journal without its header, also while it is written."""
    with suppress(FileNotFoundError):
        lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
        return [json.loads(line) for line in lines[1:] if line.endswith(b"\n")]
    return []


def kinds(run: Path) -> list[str]:
    return [str(record["kind"]) for record in records(run)]


class ModelDouble:
    """Where the test double keeps its prompts and finds its answers.

    Args:
        answers: one reply to every prompt, or replies to some.
    """

    def __init__(self, directory: Path, answers: str | Sequence[Answer]) -> None:
        directory.mkdir()
        known = [([], answers)] if isinstance(answers, str) else answers
        (directory / "answers.json").write_text(json.dumps(known))
        self._directory = directory
        self.name = f"command:{shlex.join([sys.executable, '-IS', str(MODEL_DOUBLE), str(directory)])}"

    def asked_by(self, strategy: str) -> tuple[str, ...]:
        """Options for a run of a strategy with this model."""
        return ("--llm", self.name, "--strategy", strategy)

    @property
    def prompts(self) -> list[str]:
        count = len(list(self._directory.glob("prompt-*.txt")))
        return [(self._directory / f"prompt-{number}.txt").read_text() for number in range(1, count + 1)]


@contextmanager
def orphans_come_here() -> Iterator[Callable[[], dict[int, str]]]:
    """Make this process the parent of what a killed child leaves behind; yields who lives, with command lines."""
    before = set(_descendants())
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield lambda: {pid: _command(pid) for pid in _descendants() if pid not in before and not _reaped(pid)}
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _descendants() -> list[int]:
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for parent in found:
        found += [pid for pid, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def _reaped(pid: int) -> bool:
    """Whether it has ended; what is a zombie child of this process is put to rest."""
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return not Path(f"/proc/{pid}").exists()


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    return ""
