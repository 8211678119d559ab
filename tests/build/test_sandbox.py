"""The sandbox itself: what a confined child can touch, how it ends, and that it fails closed."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.waiting import GROWING_S, LIMIT_S, reached
from tui_tuner.errors import DeviceError, SandboxError
from tui_tuner.evaluate.sandbox import run
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.process import CommandResult
from tui_tuner.evaluate.sandbox.run import Policy, SandboxReport, judge, prove, run_confined

REPOSITORY = Path(__file__).parents[2]
HOLES = {
    "read": "files outside the work directory can be read",
    "write": "files outside the work directory can be written",
}
LAUNCHER = "from tui_tuner.evaluate.sandbox import launcher\n"
PYTHON = (Path(sys.prefix), Path(sys.base_prefix))
UNCONFINED = SandboxReport("unconfined", "not confined: no landlock", ("files can be read",))


async def confined_python(script, directory, policy, **options):
    command = (sys.executable, "-I", "-S", "-c", script)
    return await run_confined(command, directory=directory, policy=policy, read=PYTHON, **options)


async def test_the_self_test_proves_confinement_on_a_kernel_with_landlock(policy):
    report = await policy.prove()

    assert report.level == "confined"
    assert report.line.startswith("landlock ABI ")
    assert report.missing == ()


@pytest.mark.parametrize("hole", ["read", "write"])
async def test_the_self_test_notices_a_sandbox_with_a_hole(policy, monkeypatch, hole):
    original = run.run_job

    async def leaky(job, server, **options):
        rights = {"read": (*job.read, *job.write), "write": job.write}
        rights[hole] = (*rights[hole], job.directory.parent)
        return await original(replace(job, **rights), server, **options)

    monkeypatch.setattr(run, "run_job", leaky)

    report = await prove(policy.server(()))

    assert report.level == "unconfined"
    assert HOLES[hole] in report.missing


@pytest.mark.parametrize(
    "probe",
    [
        CommandResult(125, "sandbox: landlock create: not permitted\n", False, 1.0),
        CommandResult(0, "", False, 1.0),
        CommandResult(0, "work done\nread denied\nwrite denied\nconnect denied\n", False, 1.0),
        CommandResult(0, "work denied\nread denied\nwrite denied\nconnect denied\nstate 7 namespace\n", False, 1.0),
        CommandResult(0, "work done\nread denied\nwrite denied\nstate 7 namespace\n", False, 1.0),
        CommandResult(0, "work done\nread denied\nwrite denied\nconnect done\nstate 3 open\n", False, 1.0),
        CommandResult(-9, "work done\nread denied\nwrite denied\nconnect denied\nstate 7 namespace\n", True, 1.0),
    ],
)
def test_a_self_test_that_does_not_show_every_denial_counts_as_unconfined(probe):
    assert judge(probe).level == "unconfined"


async def test_nothing_is_run_where_confinement_is_not_proven(monkeypatch, tmp_path):
    async def report(_):
        return UNCONFINED

    monkeypatch.setattr(run, "prove", report)

    with pytest.raises(SandboxError) as error:
        await run_confined(("/bin/touch", "ran"), directory=tmp_path, policy=Policy())

    assert "--allow-unconfined" in str(error.value)
    assert not (tmp_path / "ran").exists()


async def test_the_user_may_allow_to_run_where_confinement_is_not_proven(monkeypatch, tmp_path):
    async def report(_):
        return UNCONFINED

    monkeypatch.setattr(run, "prove", report)

    done = await run_confined(("/bin/touch", "ran"), directory=tmp_path, policy=Policy(allow_unconfined=True))

    assert done.returncode == 0
    assert (tmp_path / "ran").exists()


def test_the_launcher_runs_nothing_if_confinement_is_demanded_and_the_kernel_has_none(tmp_path):
    no_landlock = "launcher.confine = lambda **rules: launcher.Confinement(0, False)\n"

    done = launched(no_landlock, "/bin/touch", "ran", cwd=tmp_path, options=("strict",))

    assert done.returncode == 125
    assert done.stderr.startswith("sandbox: ")
    assert not (tmp_path / "ran").exists()


def test_the_launcher_loads_the_standard_library_only():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tui_tuner.evaluate.sandbox.launcher\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    command = [sys.executable, "-I", "-S", "-c", script, str(REPOSITORY)]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) == {"__main__", "tui_tuner"}


async def test_the_environment_is_not_inherited(policy, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")

    done = await run_confined(("/usr/bin/env",), directory=tmp_path, policy=policy)

    names = {line.partition("=")[0] for line in done.output.splitlines()}
    assert names == {"PATH", "HOME", "TMPDIR", "LANG", "TUNER_CONFINEMENT"}
    assert f"HOME={tmp_path}" in done.output


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
async def test_no_packet_leaves_the_sandbox(policy, tmp_path, kind):
    report = await policy.prove()
    if kind == "SOCK_DGRAM" and "namespace" not in report.line:
        pytest.skip("this system allows no network namespace, and Landlock knows TCP only")
    with socket.socket(socket.AF_INET, getattr(socket, kind)) as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        script = (
            f"import socket\ns = socket.socket(socket.AF_INET, socket.{kind})\n"
            f"try:\n s.connect(('127.0.0.1', {port})); s.send(b'x'); print('sent')\n"
            "except OSError as e: print('denied')"
        )
        if kind == "SOCK_STREAM":
            listener.listen()

        done = await confined_python(script, tmp_path, policy)

    assert done.output == "denied\n"


async def test_what_is_written_in_the_work_directory_cannot_be_executed(policy, tmp_path):
    script = (
        "import os\nopen('x', 'w').write('#!/bin/sh\\necho ran')\nos.chmod('x', 0o755)\n"
        "try: os.execv('./x', ['x'])\nexcept OSError as e: print(type(e).__name__)"
    )

    done = await confined_python(script, tmp_path, policy)

    assert done.output == "PermissionError\n"


async def test_a_rule_on_a_file_opens_that_file_and_not_its_neighbour(policy, tmp_path):
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    for name in ("given", "kept"):
        (outside / name).write_text(name)
    missing = outside / "missing"

    done = await run_confined(
        ("/bin/cat", str(outside / "given"), str(outside / "kept")),
        directory=work,
        policy=policy,
        read=(missing, outside / "given"),
    )

    assert done.output.startswith("given")
    assert "Permission denied" in done.output


async def test_a_confined_process_reads_of_itself_what_is_named_and_nothing_of_others(policy, tmp_path):
    script = f"""
for path in ("/proc/self/maps", "/proc/self/environ", "/proc/{os.getpid()}/maps"):
    try:
        open(path).read()
        print(path)
    except OSError as error:
        print(type(error).__name__)
"""
    command = (sys.executable, "-I", "-S", "-c", script)
    own = Path("/proc/self/maps")

    done = await run_confined(command, directory=tmp_path, policy=policy, read=(*PYTHON, own))

    assert done.output.splitlines() == [str(own), "PermissionError", "PermissionError"]


async def test_a_hanging_command_is_ended_in_time_with_all_that_it_started(policy, tmp_path, processes_at_home):
    command = ("/bin/sh", "-c", "sleep 600 & sleep 600 & wait")
    for timeout_s in GROWING_S:
        task = asyncio.create_task(run_confined(command, directory=tmp_path, policy=policy, timeout_s=timeout_s))
        begun = await reached(lambda: processes_at_home(tmp_path).count("sleep") == 2, task)
        done = await task
        if begun:
            break

    assert begun
    assert done.timed_out
    assert timeout_s * 1000 <= done.milliseconds < (timeout_s + LIMIT_S) * 1000
    assert processes_at_home(tmp_path) == []


async def test_a_template_bomb_leaves_no_compiler_behind(policy, gxx, tmp_path, processes_at_home):
    bomb = "template<int d, long k> struct B { static const long v = B<d - 1, 2 * k>::v + B<d - 1, 2 * k + 1>::v; };\n"
    end = "template<long k> struct B<0, k> { static const long v = k; };\nlong x = B<40, 0>::v;\n"
    (tmp_path / "a.cpp").write_text(bomb + end)
    command = (gxx, "-c", "a.cpp")
    for timeout_s in GROWING_S:
        task = asyncio.create_task(run_confined(command, directory=tmp_path, policy=policy, timeout_s=timeout_s))
        begun = await reached(lambda: "cc1plus" in processes_at_home(tmp_path), task)
        done = await task
        if begun:
            break

    assert begun
    assert done.timed_out
    assert processes_at_home(tmp_path) == []


async def test_cancelling_ends_all_that_was_started(policy, tmp_path, processes_at_home):
    command = ("/bin/sh", "-c", "sleep 600 & wait")
    task = asyncio.create_task(run_confined(command, directory=tmp_path, policy=policy))
    assert await reached(lambda: "sleep" in processes_at_home(tmp_path), task)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert processes_at_home(tmp_path) == []


async def test_a_program_that_is_missing_is_the_machines_fault_and_not_the_sources(policy, tmp_path):
    with pytest.raises(DeviceError, match="/usr/bin/no-such-compiler: No such file"):
        await run_confined(("/usr/bin/no-such-compiler",), directory=tmp_path, policy=policy)


NO_NAMESPACES = "launcher.leave_network = lambda **_: False\n"


@pytest.mark.parametrize("forbidden", ["", NO_NAMESPACES], ids=["namespaces as here", "no namespaces"])
def test_neither_a_driver_nor_its_compilers_outlive_a_killed_parent(forbidden, tmp_path, processes_at_home):
    boot = f"import sys; sys.path.insert(0, sys.argv[1])\n{LAUNCHER}{forbidden}launcher.{{entry}}(sys.argv[2:])"
    script = (
        "import asyncio, pathlib, sys; sys.path.insert(0, sys.argv[1])\n"
        "from tui_tuner.evaluate.sandbox import process, run\n"
        "work, process._BOOT = pathlib.Path(sys.argv[2]), sys.argv[3]\n"
        "driver = ('/bin/sh', '-c', 'sleep 600 & sleep 600 & wait')\n"
        "asyncio.run(run.run_confined(driver, directory=work, policy=run.Policy(allow_unconfined=True)))"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(REPOSITORY), str(tmp_path), boot]) as parent:
        wait_until(lambda: processes_at_home(tmp_path).count("sleep") == 2)
        parent.kill()

    wait_until(lambda: not processes_at_home(tmp_path))


async def test_what_a_compiler_leaves_running_ends_with_it(policy, tmp_path, processes_at_home):
    if "namespace" not in (await policy.prove()).line:
        pytest.skip("this system allows no namespaces")

    done = await run_confined(("/bin/sh", "-c", "setsid sleep 600 & exit 3"), directory=tmp_path, policy=policy)

    assert (done.returncode, done.timed_out) == (3, False)
    assert processes_at_home(tmp_path) == []


@pytest.mark.parametrize("forbidden", ["", NO_NAMESPACES], ids=["namespaces as here", "no namespaces"])
@pytest.mark.parametrize(
    ("end", "status"), [("exit 7", 7), ("kill -9 $$", -9), ("kill -6 $$", -6), ("kill -11 $$", -11)]
)
def test_the_launcher_ends_as_the_command_does(forbidden, end, status, tmp_path):
    done = launched(forbidden, "/bin/sh", "-c", f"echo said; {end}", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (status, "said\n", "")


def launched(changes, *command, cwd, options=()):
    script = (
        f"import sys, os; sys.path.insert(0, sys.argv[1])\n{LAUNCHER}{changes}"
        "launcher.main([f'parent={os.getppid()}', 'limits=9,0,0,0', 'read=/', *sys.argv[2:]])"
    )
    full = [sys.executable, "-I", "-S", "-c", script, str(REPOSITORY), *options, "--", *command]
    return subprocess.run(full, cwd=cwd, capture_output=True, text=True, check=False, start_new_session=True)


def wait_until(condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


async def test_of_too_much_output_the_beginning_and_the_end_are_kept(policy, tmp_path):
    script = "print('first'); print('x' * 10_000_000); print('last')"

    done = await confined_python(script, tmp_path, policy, output_limit=1000)

    assert done.output.startswith("first\n")
    assert done.output.endswith("last\n")
    assert "bytes left out" in done.output
    assert len(done.output) < 1100


@pytest.mark.parametrize(
    ("script", "limits"),
    [
        ("x = bytearray(2**30)", ResourceLimits(memory=2**29)),
        ("open('x', 'wb').write(bytes(2**21))", ResourceLimits(file=2**20)),
        ("while True: pass", ResourceLimits(cpu_s=1)),
        ("files = [open('/dev/null') for _ in range(100)]", ResourceLimits(descriptors=50)),
    ],
    ids=["memory", "file size", "processor time", "open files"],
)
async def test_resource_limits_stop_a_greedy_command(policy, tmp_path, script, limits):
    done = await confined_python(script, tmp_path, policy, limits=limits, timeout_s=LIMIT_S)

    assert done.returncode != 0
    assert not done.timed_out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else; as anybody else all tests show it")
def test_an_ordinary_user_is_confined_too():
    script = (
        "import asyncio, sys\nsys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
        "from tui_tuner.evaluate.sandbox.run import Policy\nprint(asyncio.run(Policy().prove()).level)"
    )
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    python = next((p for p in (sys.executable, "/usr/bin/python3") if runs_as(p, nobody)), None)
    if python is None:
        pytest.skip("no Python that another user may run")

    command = [python, "-c", script, str(REPOSITORY)]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, **nobody)

    assert done.stdout == "confined\n", done.stderr


def runs_as(python, user):
    check = f"import sys; open({str(REPOSITORY / 'pyproject.toml')!r}); sys.exit(sys.version_info < (3, 11))"
    try:
        done = subprocess.run([python, "-c", check], cwd="/", capture_output=True, check=False, **user)
    except OSError:
        return False
    return done.returncode == 0
