import platform
import socket
import struct
import tempfile
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError, SandboxError
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.devices.probe import DeviceReport
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox import run
from tui_tuner.evaluate.sandbox.launcher import REPORT, is_confined
from tui_tuner.evaluate.sandbox.run import Policy, SandboxReport
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem

CPU = DeviceReport(opencl_devices={"0.0": "a CPU", "1.0": "a GPU"}, opencl_cpus=["0.0"])
SOURCE = """\
__kernel void add_one(__global const int* in, __global int* out, const int n) {
    int i = get_global_id(0);
    if (i < n) out[i] = in[i] + 1;
}
"""
PROBLEM = """\
[kernel]
source = "add_one.cl"
name = "add_one"
[sizes]
n = 4096
[launch]
problem_size = ["n"]
[[arguments]]
name = "in"
dtype = "int32"
shape = ["n"]
[[arguments]]
name = "out"
dtype = "int32"
shape = ["n"]
output = true
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
[tunables]
block_size_x = [64, 128]
[[tests]]
sizes = { n = 100 }
[reference]
python = "reference.py:add_one"
"""
REFERENCE = "def add_one(n, **arrays):\n    return arrays['in'] + 1\n"
CALL = """\
static long call(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}
"""
"""What a kernel on this CPU asks of Linux by itself."""
OPEN, SOCKET, CONNECT, CREATE = 2, 41, 42, 0x41


async def confinement(choice: DeviceChoice, *asked):
    return await kind_named(choice.kind).confinement(choice, *asked)


def problem_in(directory: Path):
    for name, text in {"add_one.cl": SOURCE, "add_one.toml": PROBLEM, "reference.py": REFERENCE}.items():
        (directory / name).write_text(text)
    return load_problem(directory / "add_one.toml")


def probe_that_finds(report):
    async def probe():
        return report

    return probe


async def probe_that_must_not_run():
    raise AssertionError("nothing depends on what there is")


def bytes_of(content: bytes) -> str:
    return "{" + ", ".join(map(str, content)) + "}"


def wrong_if(attempt: str, data: bytes) -> str:
    """A kernel whose first result is wrong only if the attempt at `data` succeeds."""
    body = f"char data[] = {bytes_of(data)};\n    if (i == 0 && {attempt}) out[0] = -1000000;"
    return CALL + SOURCE.replace("= in[i] + 1;", f"= in[i] + 1;\n    {body}")


def attempts(canary: Path, port: int) -> dict[str, str]:
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, socket.inet_aton("127.0.0.1"))
    new = canary.with_name("new")
    return {
        "read": wrong_if(f"call({OPEN}, (long)data, 0, 0) >= 0", bytes(canary) + b"\0"),
        "write": wrong_if(f"call({OPEN}, (long)data, {CREATE}, 0600) >= 0", bytes(new) + b"\0"),
        "connect": wrong_if(f"call({CONNECT}, call({SOCKET}, 2, 1, 0), (long)data, {len(address)}) == 0", address),
    }


@pytest.fixture
def cpu(report):
    if "0.0" not in report.opencl_cpus or platform.machine() != "x86_64":
        pytest.skip("OpenCL device 0.0 is not an x86 processor")


@pytest.mark.slow
@pytest.mark.opencl
@pytest.mark.parametrize("allow_unconfined", [False, True])
async def test_a_kernel_on_an_opencl_cpu_reaches_files_and_network_only_where_the_user_allows_it(
    cpu, tmp_path, open_port, allow_unconfined
):
    problem = problem_in(tmp_path)
    canary = tmp_path / "canary"
    canary.write_text("secret")
    options = LocalOptions(
        "opencl", tmp_path / "builds", tmp_path / "log", 2, Policy(allow_unconfined=allow_unconfined)
    )
    evaluator = LocalEvaluator(problem, options)
    try:
        started = await evaluator.start()
        kinds = {}
        for name, source in attempts(canary, open_port).items():
            candidate = baseline(problem).model_copy(update={"source": source})
            evaluation = await evaluator.evaluate(candidate, {"block_size_x": 64}, None)
            kinds[name] = None if evaluation.failure is None else evaluation.failure.kind
    finally:
        await evaluator.close()
    assert started.device.is_cpu
    assert kinds == dict.fromkeys(kinds, FailureKind.WRONG_RESULT if allow_unconfined else None)
    assert (tmp_path / "new").exists() == allow_unconfined


async def test_a_runner_for_an_opencl_cpu_reads_builds_and_the_references_file_but_not_what_lies_beside_it(tmp_path):
    problem, builds = problem_in(tmp_path), tmp_path / "builds"
    read = await confinement(DeviceChoice("opencl"), problem, builds, Policy(), probe_that_finds(CPU))
    assert builds.is_dir()
    assert [path for path in read if path.is_relative_to(tmp_path)] == [builds, tmp_path / "reference.py"]
    assert not any(tmp_path.is_relative_to(path) for path in read)


@pytest.mark.parametrize(
    ("choice", "allow_unconfined", "probe"),
    [
        (DeviceChoice(kind="opencl", platform=1), False, probe_that_finds(CPU)),
        (DeviceChoice(kind="opencl", platform=2), False, probe_that_finds(CPU)),
        (DeviceChoice(kind="opencl"), True, probe_that_must_not_run),
        (DeviceChoice(kind="emulator"), False, probe_that_must_not_run),
    ],
)
async def test_a_runner_that_runs_no_kernels_itself_or_may_do_so_freely_is_not_confined(
    tmp_path, choice, allow_unconfined, probe
):
    policy = Policy(allow_unconfined=allow_unconfined)
    assert await confinement(choice, problem_in(tmp_path), tmp_path, policy, probe) is None


async def test_where_nothing_can_be_confined_an_opencl_cpu_is_refused(tmp_path, monkeypatch):
    async def unproven(_):
        return SandboxReport("unconfined", "not confined: no landlock", ("files can be read",))

    monkeypatch.setattr(run, "prove", unproven)
    with pytest.raises(SandboxError, match="files can be read"):
        await confinement(DeviceChoice("opencl"), problem_in(tmp_path), tmp_path, Policy(), probe_that_finds(CPU))


@pytest.mark.parametrize(
    ("report", "confined"),
    [(None, False), ("7 namespace", True), ("4 tcp", True), ("3 open", False), ("0 namespace", False)],
)
def test_a_process_is_confined_if_both_files_and_network_are_out_of_its_reach(monkeypatch, report, confined):
    monkeypatch.delenv(REPORT, raising=False)
    if report is not None:
        monkeypatch.setenv(REPORT, report)
    assert is_confined() == confined


@pytest.mark.slow
@pytest.mark.opencl
async def test_a_kernel_that_brings_a_confined_runner_down_is_a_crash_and_the_next_runs_in_a_fresh_one(
    cpu, tmp_path, monkeypatch
):
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    problem = problem_in(tmp_path)
    evaluator = LocalEvaluator(problem, LocalOptions("opencl", tmp_path / "builds", tmp_path / "log", 2, Policy()))
    wild = SOURCE.replace("out[i] =", "*(volatile __global int*)(8L * n) = out[i] =")
    try:
        await evaluator.start()
        first = list(own.glob("tuner-runner-*"))
        crashed = await evaluator.evaluate(
            baseline(problem).model_copy(update={"source": wild}), {"block_size_x": 64}, None
        )
        sound = await evaluator.evaluate(baseline(problem), {"block_size_x": 64}, None)
        second = list(own.glob("tuner-runner-*"))
    finally:
        await evaluator.close()
    assert crashed.failure is not None
    assert crashed.failure.kind is FailureKind.CRASH
    assert sound.ok
    assert len(first) == len(second) == 1
    assert first != second
    assert not any(own.iterdir())


@pytest.mark.slow
@pytest.mark.opencl
async def test_several_devices_that_are_the_cpu_are_refused(cpu, tmp_path):
    options = LocalOptions("opencl:all", tmp_path / "builds", tmp_path / "log", 2, Policy())
    evaluator = LocalEvaluator(problem_in(tmp_path), options)
    try:
        with pytest.raises(DeviceError, match="side by side would disturb each other"):
            await evaluator.start()
    finally:
        await evaluator.close()
