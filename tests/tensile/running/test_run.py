"""Tensile as a subprocess: its words, its time limit, its end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.tensile.clocks import OwnTime
from tests.tensile.running.programs import as_tensile, python_program
from tests.waiting import is_running, reached
from tui_tuner.tensile.measure import WALL_CLOCK, RunClock, run_failure, run_tensile
from tui_tuner.tensile.program import Tensile
from tui_tuner.tensile.run_end import RunEnd

SLEEPS = "import time; time.sleep(600)"
OFFSPRING = """\
import subprocess, sys, time
forever = "import signal, time; {ignore}print('up', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", forever])
open({file!r}, "w").write(str(child.pid))
time.sleep({seconds})
"""
IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN); "


LONG_S = 200.0
"""More than anything here takes that ends by itself."""


async def run(
    tensile: Tensile,
    tmp_path: Path,
    limit_s: float | None = LONG_S,
    lines: list[str] | None = None,
    clock: RunClock = WALL_CLOCK,
) -> RunEnd:
    told = [] if lines is None else lines
    config, output = tmp_path / "config.yaml", tmp_path / "round" / "output"
    return await run_tensile(tensile, config, output, limit_s=limit_s, on_line=told.append, clock=clock)


def ready_in(directory: Path) -> RunClock:
    """Whose time is up as soon as the program says that it is ready, by a file."""
    return OwnTime(directory / "ready").clock


async def test_words_go_to_the_listener_and_to_a_file(tmp_path: Path) -> None:
    lines: list[str] = []
    tensile = as_tensile(tmp_path, "import sys; print('out', *sys.argv[1:]); print('\\x1b[31merr', file=sys.stderr)")
    ended = await run(tensile, tmp_path, lines=lines)
    assert (ended.returncode, ended.timed_out, ended.has_results) == (0, False, True)
    assert lines == [f"out {tmp_path / 'config.yaml'} {tmp_path / 'round' / 'output'}", "err"]
    assert "\x1b[31merr" in ended.log.read_text()
    assert ended.log == tmp_path / "round" / "output.log"


async def test_a_list_of_sizes_asks_for_the_alternate_format(tmp_path: Path) -> None:
    tensile = as_tensile(tmp_path, "import sys; print(*sys.argv[1:])")
    lines: list[str] = []
    sizes = tmp_path / "sizes.yaml"
    config, output = tmp_path / "config.yaml", tmp_path / "out"
    await run_tensile(tensile, config, output, sizes=sizes, limit_s=LONG_S, on_line=lines.append)
    assert lines == [f"{config} {sizes} {output} --alternate-format"]


async def test_keys_are_not_inherited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "HF_TOKEN", "MY_PASSWORD", "ROCM_PATH"):
        monkeypatch.setenv(name, "x")
    lines: list[str] = []
    await run(as_tensile(tmp_path, "import os; print(*sorted(os.environ), sep='\\n')"), tmp_path, lines=lines)
    assert "ROCM_PATH" in lines
    assert not {"ANTHROPIC_API_KEY", "HF_TOKEN", "MY_PASSWORD"} & set(lines)


@pytest.mark.slow
async def test_at_the_time_limit_all_of_it_is_ended(tmp_path: Path) -> None:
    body = OFFSPRING.format(file=str(tmp_path / "pid"), seconds=600, ignore="")
    ready = body.replace("time.sleep(600)\n", f"open({str(tmp_path / 'ready')!r}, 'w').close()\ntime.sleep(600)\n")
    assert ready.count("ready") == 1
    ended = await run(as_tensile(tmp_path, ready), tmp_path, limit_s=1.0, clock=ready_in(tmp_path))
    assert (ended.timed_out, ended.signal) == (True, "SIGTERM")
    assert 1.0 <= ended.seconds < 5.0
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_what_ignores_the_request_to_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tuner.tensile.measure.GRACE_S", 0.3)
    body = f"import signal, time; {IGNORE}open({str(tmp_path / 'ready')!r}, 'w').close(); time.sleep(600)"
    ended = await run(as_tensile(tmp_path, body), tmp_path, limit_s=0.5, clock=ready_in(tmp_path))
    assert (ended.timed_out, ended.signal) == (True, "SIGKILL")


@pytest.mark.slow
async def test_the_time_limit_is_that_of_the_clock_on_the_wall(tmp_path: Path) -> None:
    ended = await run(as_tensile(tmp_path, "import time; time.sleep(600)"), tmp_path, limit_s=0.5)
    assert ended.timed_out
    assert ended.seconds >= 0.5


@pytest.mark.slow
async def test_what_a_finished_run_left_behind_is_ended(tmp_path: Path) -> None:
    body = OFFSPRING.format(file=str(tmp_path / "pid"), seconds=0.5, ignore="")
    ended = await run(as_tensile(tmp_path, body), tmp_path)
    assert ended.returncode == 0
    assert not is_running(int((tmp_path / "pid").read_text()))


@pytest.mark.slow
async def test_a_cancelled_run_leaves_nothing_behind(tmp_path: Path) -> None:
    body = OFFSPRING.format(file=str(tmp_path / "pid"), seconds=600, ignore="")
    task = asyncio.create_task(run(as_tensile(tmp_path, body), tmp_path, limit_s=None))
    assert await reached(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_a_run_cancelled_twice_is_killed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tuner.tensile.measure.GRACE_S", LONG_S)
    told = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
    body = f"import os, signal, time; {IGNORE}{told}; time.sleep(600)"
    task = asyncio.create_task(run(as_tensile(tmp_path, body), tmp_path, limit_s=None))
    assert await reached(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", task)
    start = time.monotonic()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0.1)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - start < LONG_S / 2
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_a_listener_that_fails_ends_the_run(tmp_path: Path) -> None:
    def on_line(line: str) -> None:
        raise RuntimeError(line)

    tensile = as_tensile(tmp_path, f"import os; print(os.getpid(), flush=True); {SLEEPS}")
    with pytest.raises(RuntimeError) as caught:
        await run_tensile(tensile, tmp_path / "c", tmp_path / "out", limit_s=LONG_S, on_line=on_line)
    assert not is_running(int(str(caught.value)))


async def test_a_program_that_cannot_be_started_is_no_exception(tmp_path: Path) -> None:
    for tensile in (Tensile((str(tmp_path / "gone"),), ""), Tensile((str(broken(tmp_path)),), "")):
        ended = await run(tensile, tmp_path)
        failure = run_failure(ended)
        assert failure is not None
        assert failure.message.startswith(f"Tensile cannot be started: {tensile.program}")


def broken(tmp_path: Path) -> Path:
    program = python_program(tmp_path, "")
    program.write_text("#!/no/such/python\n")
    return program


@pytest.mark.slow
async def test_megabytes_of_output_are_read_without_waiting(tmp_path: Path) -> None:
    lines: list[str] = []
    body = "import sys\nfor _ in range(40): sys.stdout.write(('x' * 99 + '\\n') * 500)"
    ended = await run(as_tensile(tmp_path, body), tmp_path, lines=lines, clock=RunClock(now=lambda: 0.0))
    assert ended.log.stat().st_size == 2_000_000
    assert len(lines) < 300
