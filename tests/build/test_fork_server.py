"""The process that forks a launcher a command: it starts once, keeps nothing, and what it loaded is only quicker."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.waiting import reached
from tui_tuner.evaluate.sandbox.run import run_confined
from tui_tuner.processes import server as sandbox_server

PYTHON = (Path(sys.prefix), Path(sys.base_prefix))


@pytest.fixture
def servers(monkeypatch):
    """The servers that were started."""
    started = []

    def noted(*arguments, **options):
        started.append(original(*arguments, **options))
        return started[-1]

    original = sandbox_server.start_server
    monkeypatch.setattr(sandbox_server, "start_server", noted)
    return started


def children(server):
    return Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()


async def test_only_the_first_command_waits_for_python_to_start(policy, tmp_path, servers):
    outputs = [await run_confined(("/bin/echo", str(n)), directory=tmp_path, policy=policy) for n in range(3)]

    assert [done.output for done in outputs] == ["0\n", "1\n", "2\n"]
    assert len(servers) == 1


async def test_commands_run_side_by_side_and_nothing_is_left_of_them(policy, tmp_path, servers):
    async def meeting(mine, other):
        script = f"touch {mine}; until [ -e {other} ]; do sleep 0.01; done"
        return await run_confined(("/bin/sh", "-c", script), directory=tmp_path, policy=policy)

    done = await asyncio.gather(meeting("a", "b"), meeting("b", "a"))

    assert [one.returncode for one in done] == [0, 0]
    await reached(lambda: not children(servers[0]))


async def test_of_a_cancelled_command_not_even_the_launcher_is_left(policy, tmp_path, servers, processes_at_home):
    task = asyncio.create_task(run_confined(("/bin/sleep", "600"), directory=tmp_path, policy=policy))
    assert await reached(lambda: "sleep" in processes_at_home(tmp_path), task)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await reached(lambda: not children(servers[0]))
    assert servers[0].poll() is None


async def test_a_server_that_was_killed_takes_its_commands_along_and_is_replaced(
    policy, tmp_path, servers, processes_at_home
):
    await policy.prove()
    task = asyncio.create_task(run_confined(("/bin/sleep", "600"), directory=tmp_path, policy=policy))
    assert await reached(lambda: "sleep" in processes_at_home(tmp_path), task)

    os.kill(servers[0].pid, signal.SIGKILL)
    killed = await task
    await reached(lambda: not processes_at_home(tmp_path))
    servers[0].wait()
    after = await run_confined(("/bin/echo", "on"), directory=tmp_path, policy=policy)

    assert (killed.returncode, killed.timed_out) == (-signal.SIGKILL, False)
    assert after.output == "on\n"
    assert len(servers) == 2


async def test_closing_ends_the_server(policy, tmp_path, servers):
    await policy.prove()

    policy.close()

    assert servers[0].returncode is not None


async def test_a_command_gets_its_three_streams_and_no_other_descriptor(policy, tmp_path):
    script = "import os\nfor n in range(256):\n try: os.fstat(n); print(n)\n except OSError: pass"

    done = await run_confined(
        (sys.executable, "-I", "-S", "-c", script), directory=tmp_path, policy=policy, read=PYTHON
    )

    assert done.output.split() == ["0", "1", "2"]


WARM = """
import os, sys
{before}
seen = ["as a command"]
def warm_up(arguments):
    seen[:] = arguments
    {warming}
def main(arguments):
    print(*seen, *arguments)
    seen.append("an earlier command")
    for name in arguments:
        try: print(open(name).read())
        except OSError as error: print(type(error).__name__)
    open("result", "w").write(os.getcwd() + os.environ["HOME"])
    sys.stdout.flush()
    sys.stderr.write("to the end")
    return 3
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def run_script(policy, tmp_path):
    async def run(*arguments, before="", warming="pass"):
        script, work = tmp_path / "script.py", tmp_path / "work"
        script.write_text(WARM.format(before=before, warming=warming))
        work.mkdir(exist_ok=True)
        policy.warm(str(script), "loaded")
        command = (sys.executable, "-I", str(script), *arguments)
        return await run_confined(command, directory=work, policy=policy, read=(*PYTHON, script))

    return run


async def test_a_script_that_is_loaded_runs_confined_as_it_would_as_a_command(run_script, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("told")

    done = await run_script(str(secret))

    assert done.output == f"loaded {secret}\nPermissionError\nto the end"
    assert done.returncode == 3
    assert (tmp_path / "work" / "result").read_text() == str(tmp_path / "work") * 2


async def test_what_one_command_leaves_in_a_loaded_script_does_not_reach_the_next(run_script):
    outputs = [(await run_script()).output for _ in range(3)]

    assert outputs == ["loaded\nto the end"] * 3


@pytest.mark.parametrize(
    "fault",
    [
        {"warming": "raise ValueError"},
        {"before": "if __name__ != '__main__': import no_such_package"},
        {"warming": "import threading, time; threading.Thread(target=time.sleep, args=(600,), daemon=True).start()"},
    ],
    ids=["it cannot warm up", "it cannot be loaded", "it has threads, and so can be neither forked nor confined"],
)
async def test_a_script_that_cannot_be_kept_loaded_is_started_for_each_command(policy, run_script, tmp_path, fault):
    secret = tmp_path / "secret"
    secret.write_text("told")

    done = await run_script(str(secret), **fault)

    assert done.output == f"as a command {secret}\nPermissionError\nto the end"
    assert done.returncode == 3


async def test_a_loaded_script_that_fails_says_why_and_ends_as_python_does(run_script):
    done = await run_script(before="def print(*_): raise ValueError('a reason')")

    assert done.returncode == 1
    assert done.output.endswith("ValueError: a reason\n")
