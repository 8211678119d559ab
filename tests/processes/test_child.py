"""Children: how they are started and read, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

import tui_tuner
from tests.waiting import is_running
from tui_tuner.processes import server
from tui_tuner.processes.child import Child, Program, running, start
from tui_tuner.processes.waited import begin_program, run_program

PACKAGE = Path(tui_tuner.__file__).parent
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
FAMILY = (
    "import subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-S', '-c', {DEAF!r}])\n"
    "print(child.pid, flush=True)\n"
)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


def python(code: str, **options: object) -> Program:
    return Program((sys.executable, "-S", "-c", code), {"A": "1"}, output=PIPE, **options)


async def gone(pid: int) -> None:
    while is_running(pid):
        await asyncio.sleep(0.01)


async def line(child: Child) -> str:
    assert child.output is not None
    return (await child.output.readline()).decode().strip()


def test_programs_are_started_nowhere_else_and_no_code_runs_between_fork_and_exec() -> None:
    starts = re.compile(
        r"create_subprocess|subprocess\.(?:run|Popen|call|check_)|os\.(?:system|popen|spawn|posix_spawn)"
    )
    files = {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    assert [name for name, text in files.items() if starts.search(text)] == [
        "processes/child.py",
        "processes/waited.py",
    ]
    assert [name for name, text in files.items() if "preexec_fn" in text] == []


async def test_a_child_gets_its_input_and_its_environment_and_nothing_else() -> None:
    code = "import os, sys; print(sys.stdin.read(), *sorted(os.environ.items()))"
    async with running(python(code, has_input=True)) as child:
        answer = await child.talk(b"asked")
    assert answer.decode().split("\n")[0] in ("asked ('A', '1')", "asked ('A', '1') ('LC_CTYPE', 'C.UTF-8')")
    assert child.returncode == 0


async def test_of_much_output_the_beginning_is_kept_and_all_is_read() -> None:
    async with running(python("print('x' * 5_000_000)")) as child:
        assert await child.talk(limit=1000) == b"x" * 1000
    assert child.returncode == 0


async def test_errors_are_read_apart_or_together() -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    async with running(python(code, errors=STDOUT)) as child:
        assert await child.talk() == b"out\nerr\n"
    async with running(python(code, errors=PIPE)) as child:
        assert await child.talk() == b"out\n"
        assert child.errors is not None
        assert await child.errors.read() == b"err\n"


async def test_a_child_that_answers_without_reading_is_no_error() -> None:
    async with running(python("print('enough')", has_input=True)) as child:
        assert await child.talk(b"x" * 1_000_000) == b"enough\n"


@pytest.mark.parametrize("dies_with_us", [True, False])
async def test_what_cannot_be_started_is_an_error_that_says_why(tmp_path: Path, dies_with_us: bool) -> None:
    text = tmp_path / "text"
    text.write_text("#!/no/such/program\n")
    text.chmod(0o755)
    for program, error in ((tmp_path / "none", FileNotFoundError), (tmp_path, PermissionError), (text, OSError)):
        with pytest.raises(error):
            await start(Program((str(program),), {}, dies_with_us=dies_with_us))


@pytest.mark.parametrize("dies_with_us", [True, False])
async def test_signals_are_at_their_defaults_in_a_child(dies_with_us: bool) -> None:
    command = ("/bin/sh", "-c", "grep SigIgn /proc/self/status")
    async with running(Program(command, {}, output=PIPE, dies_with_us=dies_with_us)) as child:
        ignored = int((await child.talk()).split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


async def test_a_child_that_ignores_the_request_to_end_is_killed_with_all_it_started() -> None:
    child = await start(python(f"{FAMILY}{DEAF}"))
    grandchild = int(await line(child))
    assert [await line(child), await line(child)] == ["up", "up"]
    assert await child.end(0.1) == -signal.SIGKILL
    child.close()
    await gone(grandchild)
    assert not Path(f"/proc/{child.pid}").exists()


async def test_a_child_that_ends_when_it_is_asked_is_not_killed() -> None:
    code = (
        "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(3)); print('up', flush=True); time.sleep(60)"
    )
    child = await start(python(code))
    await line(child)
    assert await child.end(30) == 3
    child.close()


async def test_what_a_child_leaves_behind_does_not_keep_us_waiting_and_is_killed() -> None:
    async with running(python(FAMILY)) as child:
        grandchild = int(await line(child))
        assert await child.wait() == 0
        assert is_running(grandchild)
    await gone(grandchild)


async def test_a_wait_that_is_cancelled_kills_the_child() -> None:
    numbers: asyncio.Queue[int] = asyncio.Queue()

    async def work() -> None:
        async with running(python(DEAF)) as child:
            await line(child)
            numbers.put_nowait(child.pid)
            await child.wait()

    task = asyncio.create_task(work())
    number = await numbers.get()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not Path(f"/proc/{number}").exists()


async def test_a_request_to_end_that_is_cancelled_kills_at_once() -> None:
    child = await start(python(DEAF))
    await line(child)
    ending = asyncio.create_task(child.end(3600))
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert await child.wait() == -signal.SIGKILL
    child.close()


async def test_the_pipes_of_a_child_are_closed_though_its_end_is_not_waited_for() -> None:
    child = await start(python(DEAF, has_input=True))
    await line(child)
    ending = asyncio.create_task(child.dispose())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    assert child.input is not None
    assert child.input.is_closing()
    assert await child.wait() == -signal.SIGKILL


FAR = (
    "import os, subprocess, sys, time\n"
    f"child = subprocess.Popen([sys.executable, '-S', '-c', {DEAF!r}], start_new_session=True)\n"
    "print(child.pid, flush=True)\n"
)


@pytest.mark.parametrize("more", ["", "time.sleep(60)", "os.abort()"])
async def test_what_left_the_group_of_a_child_ends_with_it_where_that_is_asked(more: str) -> None:
    async with running(python(FAR + more, ends_whole=True)) as child:
        grandchild = int(await line(child))
        if "sleep" in more:
            assert await line(child) == "up"
        else:
            assert await child.wait() == (-signal.SIGABRT if more else 0)
    assert not is_running(grandchild)
    assert not Path(f"/proc/{child.pid}").exists()


async def test_what_is_kept_cannot_be_started_either(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await start(Program((str(tmp_path / "none"),), {}, ends_whole=True))


@contextmanager
def killed_in_the_end(begins: str) -> Iterator[IO[str]]:
    """What a program prints that begins a child by this code and waits; it is killed behind the block."""
    program = (
        "import asyncio, sys\n"
        "from tui_tuner.processes.child import Program, start\n"
        "from tui_tuner.processes.waited import begin_program\n"
        "async def main():\n"
        f"    {begins}\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        try:
            yield parent.stdout
        finally:
            parent.kill()


def test_what_left_the_group_of_a_child_dies_with_the_program_that_started_it() -> None:
    command = f"(sys.executable, '-S', '-c', {FAR + 'time.sleep(60)'!r})"
    with killed_in_the_end(f"await start(Program({command}, dict(), output=sys.stdout, ends_whole=True))") as printed:
        grandchild = int(printed.readline())
        assert printed.readline() == "up\n"
        assert is_running(grandchild)
    asyncio.run(gone(grandchild))


@pytest.mark.parametrize(
    "begun",
    [
        f"(await start(Program((sys.executable, '-S', '-c', {DEAF!r}), dict()))).pid",
        f"begin_program((sys.executable, '-S', '-c', {DEAF!r}), environment=dict(), dies_with_us=True).process.pid",
    ],
    ids=["talked to", "waits to be told"],
)
def test_a_child_dies_with_the_program_that_started_it(begun: str) -> None:
    with killed_in_the_end(f"number = {begun}; print(number, flush=True)") as printed:
        child = int(printed.readline())
        assert is_running(child)
    asyncio.run(gone(child))


async def test_a_child_has_a_session_of_its_own() -> None:
    async with running(python("import os; print(os.getsid(0), os.getpgid(0), os.getpid())")) as child:
        numbers = (await child.talk()).split()
    assert len({*map(int, numbers), child.pid}) == 1
    assert child.pid != os.getpid()


def test_a_module_of_ours_is_run_from_where_this_package_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And from there only: a checkout need not be installed, and a directory of kernels may come from others."""
    where, elsewhere = tmp_path / "ours", tmp_path / "kernels"
    for place in (where, elsewhere):
        place.mkdir()
        (place / "part.py").write_text("import sys; print(__name__, __file__, *sys.argv[1:])\n")
    (elsewhere / "runpy.py").write_text("raise SystemExit('not ours')\n")
    monkeypatch.setattr(server, "PACKAGES", where)
    monkeypatch.chdir(elsewhere)
    done = run_program(server.own_program("part", "a", "b c"), environment={}, limit_s=30)
    assert done.stdout == f"__main__ {where / 'part.py'} a b c\n"


def test_a_short_program_is_waited_for_and_killed_when_it_is_late() -> None:
    done = run_program(["sh", "-c", "echo out; echo err >&2; exit 3"], environment=dict(os.environ), limit_s=30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    with pytest.raises(subprocess.TimeoutExpired):
        run_program([sys.executable, "-c", DEAF], environment={}, limit_s=0.3)
    with pytest.raises(FileNotFoundError):
        run_program(["/no/such/program"], environment={}, limit_s=1)


def test_a_program_waits_for_what_it_is_told_last() -> None:
    begun = begin_program([sys.executable, "-S", "-c", "print(input(), 'heard')"], environment={})
    assert begun.process.poll() is None
    assert begun.finish("word", 30).stdout == "word heard\n"
    over = begin_program(["true"], environment=dict(os.environ))
    over.process.wait()
    assert over.finish("too late", 30).returncode == 0
