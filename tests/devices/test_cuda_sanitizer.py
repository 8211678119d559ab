# ruff: noqa: N802 - functions of the driver's library have the names that they have there
"""compute-sanitizer: what it prints is told in one line; without it nobody is accused. The format is its manual's."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from tests.waiting import reached
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.base import CannotWatch, WatchedLaunch
from tui_tuner.evaluate.devices.choose import compiler_for
from tui_tuner.evaluate.devices.cuda import CudaError, driver, sanitizer, watched_launches
from tui_tuner.evaluate.devices.cuda.sanitizer import ROOMY_BYTES, Watchers, few_blocks, first_finding, first_in_a_warp
from tui_tuner.evaluate.devices.cuda.watched_launches import launch_all, main
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.devices.probe import DeviceReport
from tui_tuner.evaluate.results import DeviceInfo, FailureKind
from tui_tuner.evaluate.toolkit import toolkit_program
from tui_tuner.problem.candidate import Candidate, Geometry
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem
from tui_tuner.problem.placement import Placement

MEMCHECK = """========= COMPUTE-SANITIZER
words of the program itself
========= Invalid __global__ read of size 4 bytes
=========     at matmul(float *, const float *, int)+0x4f0 in /tmp/work/kernel.cu:44
=========     by thread (126,0,0) in block (2,0,0)
=========     Address 0x7f2f3ba00d44 is out of bounds
=========     and is 325 bytes after the nearest allocation at 0x7f2f3ba00c00 of size 3,108 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame: [0x333ef0]
=========                in /usr/lib/x86_64-linux-gnu/libcuda.so.1
=========
========= Target application returned an error
========= ERROR SUMMARY: 1 error
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Warning: Race reported between Read access at scan(float *)+0x10 in kernel.cu:12
=========     and Write access at scan(float *)+0x90 in kernel.cu:14 [8 hazards]
=========
========= Error: Race reported between Write access at scan(float *)+0x330 in kernel.cu:70
=========     and Read access at scan(float *)+0x490 in kernel.cu:72 [12160 hazards]
=========     and Read access at scan(float *)+0x4a0 in kernel.cu:73 [12160 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
ATOMICS = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at void cuda::std::__4::__cuda_atomic_store<unsigned>(T1 *, T1 &)
=========     and Read access at void cuda::std::__4::__cuda_atomic_load<unsigned>(const T1 *, T1 &) [64 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
LANES = """========= COMPUTE-SANITIZER
========= Error: Potential WAR hazard detected at __shared__ 0x408 in block (0,0,0) :
=========     Read Thread (2,0,0) at sort(float *, const float *)+0x140 in kernel.cu:11
=========     Write Thread (40,0,0) at sort(float *, const float *)+0x150 in kernel.cu:13
=========     Current Value : 0
=========
========= Warning: (Warp Level Programming) Potential RAW hazard detected at __shared__ 0x404 in block (0,0,0) :
=========     Write Thread (1,0,0) at sort(float *, const float *)+0x150 in kernel.cu:14
=========     Read Thread (0,0,0) at sort(float *, const float *)+0x170 in kernel.cu:12
=========     Current Value : 0
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: main [0x8bdf] in b
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
OLDER = """========= Uninitialized __global__ memory read of size 4 bytes
=========     at 0x160 in kernel.cu:34:vectors(int *, int *)
=========     by thread (65,0,0) in block (0,0,0)
=========     Address 0x7f9e2b000104
"""
SYNCCHECK = """========= Barrier error detected. Divergent thread(s) in block.
=========     at halves(float *)+0xa0
=========     by thread (32,0,0) in block (0,0,0)
"""
ILLEGAL_INSTRUCTION = """========= COMPUTE-SANITIZER
========= Illegal instruction
=========     at copies(int, float *, int)+0x4e0 in kernel.cu:29
=========     by thread (3,0,0) in block (0,0,0)
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: [0x8d55]
=========
========= Target application returned an error
"""
NOTHING = """========= COMPUTE-SANITIZER
tuner: all was launched
========= ERROR SUMMARY: 0 errors
"""


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        (
            MEMCHECK,
            "invalid __global__ read of size 4 bytes in line 44 325 bytes after an array of 3,108 bytes "
            "(block (2,0,0), thread (126,0,0))",
        ),
        (RACECHECK, "a race between a write in line 70 and a read in line 72, with no barrier between"),
        (ATOMICS, None),
        (
            ATOMICS.replace("Read access at void cuda::std::__4::__cuda_atomic_load<", "Read access at read_word<"),
            "a race between a write in void cuda::std::__4::__cuda_atomic_store<unsigned>(T1 *, T1 &) and a read in "
            "read_word<unsigned>(const T1 *, T1 &) [64 hazards], with no barrier between",
        ),
        (OLDER, "uninitialized __global__ memory read of size 4 bytes in line 34 (block (0,0,0), thread (65,0,0))"),
        (
            SYNCCHECK,
            "barrier error detected. Divergent thread(s) in block. in halves(float *)+0xa0 "
            "(block (0,0,0), thread (32,0,0))",
        ),
        (ILLEGAL_INSTRUCTION, "illegal instruction in line 29 (block (0,0,0), thread (3,0,0))"),
        (NOTHING, None),
        ("", None),
        ("=" * 5000 + " \x1b[31m", None),
    ],
)
def test_what_it_prints_is_told_in_one_line(printed: str, told: str | None) -> None:
    assert first_finding(printed) == told


def test_lanes_of_a_warp_that_are_taken_to_be_in_step_are_told_and_nothing_else_is() -> None:
    assert first_in_a_warp(LANES) == (
        "lanes of a warp share memory, thread (1,0,0) writes it in line 14, thread (0,0,0) reads it in line 12, "
        "and no __syncwarp is between (block (0,0,0))"
    )
    others = LANES.replace("Warning: (Warp Level Programming)", "Error:")
    assert [first_in_a_warp(printed) for printed in (others, RACECHECK, MEMCHECK, NOTHING)] == [None] * 4


def test_what_it_prints_cannot_steer_a_terminal_or_go_on_for_ever() -> None:
    told = first_finding(f"========= Invalid __global__ read \x1b[2J{'x' * 10_000}\n")
    assert told is not None
    assert "\x1b" not in told
    assert len(told) <= 400


def _tool(directory: Path, script: str) -> None:
    program = directory / "bin" / "compute-sanitizer"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o755)


LAUNCHES = [WatchedLaunch("n=4", [np.ones(4, np.float32)], frozenset({0}), Geometry((1, 1, 1), (4, 1, 1)))]


def _launch(tool: str, directory: Path, timeout_s: float = 30, watchers: Watchers | None = None) -> None:
    cubin = directory / "k.cubin"
    cubin.write_bytes(b"cubin")
    watchers = watchers or Watchers("gpu-a", ROOMY_BYTES)
    watchers.launch(tool, cubin, "k", LAUNCHES, timeout_s)


def test_what_the_tool_finds_is_the_kernels_fault_and_no_tool_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    _tool(tmp_path, f"print({RACECHECK!r})")
    with pytest.raises(DeviceFault) as fault:
        _launch("racecheck", tmp_path)
    assert fault.value.kind is FailureKind.RACE
    _tool(tmp_path, f"import sys; print({LANES!r} if 'hazard' in sys.argv else {NOTHING!r})")
    _launch("racecheck", tmp_path)
    with pytest.raises(DeviceFault, match="no __syncwarp is between") as fault:
        _launch("warpcheck", tmp_path)
    assert fault.value.kind is FailureKind.RACE
    _tool(tmp_path, "print('========= Error: Device not supported')")
    with pytest.raises(CannotWatch, match="Device not supported"):
        _launch("racecheck", tmp_path)
    _tool(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(CannotWatch, match="not done"):
        _launch("racecheck", tmp_path, 0.2)


WAITS = """import json, sys
from pathlib import Path
place = Path(__file__).with_name(sys.argv[2])
place.write_text("started")
job = json.loads(Path(sys.stdin.read(), "job.json").read_text())
place.write_text(f"{place.read_text()}, {job['symbol']}")
print("tuner: all was launched")
"""


async def test_a_tool_that_was_started_ahead_waits_for_the_kernel_and_serves_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    _tool(tmp_path, WAITS)
    watchers, told = Watchers("gpu-a", ROOMY_BYTES), tmp_path / "bin" / "synccheck"
    assert watchers.start_one(["synccheck", "ordercheck"])
    await reached(lambda: told.is_file() and told.read_text() == "started")
    assert not watchers.start_one(["synccheck", "ordercheck"])
    told.write_text("ahead")
    _launch("synccheck", tmp_path, watchers=watchers)
    assert told.read_text() == "ahead, k"
    _launch("synccheck", tmp_path, watchers=watchers)
    assert told.read_text() == "started, k"


async def test_a_tool_that_ended_while_it_waited_is_started_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one for which the device had no memory when it was started."""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    _tool(tmp_path, "print('out of memory')")
    watchers = Watchers("gpu-a", ROOMY_BYTES)
    assert watchers.start_one(["synccheck"])
    await reached(lambda: watchers._ready["synccheck"]._program.has_ended)
    _tool(tmp_path, WAITS)
    _launch("synccheck", tmp_path, watchers=watchers)
    assert (tmp_path / "bin" / "synccheck").read_text() == "started, k"


async def test_what_takes_longest_is_started_first_and_nothing_where_memory_is_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert not Watchers("gpu-a", ROOMY_BYTES).start_one(["memcheck"])  # there is no such program
    _tool(tmp_path, "import sys; from pathlib import Path; Path(__file__).with_name(sys.argv[2]).touch()")
    assert not Watchers("gpu-a", ROOMY_BYTES - 1).start_one(["memcheck"])
    watchers = Watchers("gpu-a", ROOMY_BYTES)
    assert watchers.start_one(["memcheck", "racecheck"])
    await reached(lambda: any((tmp_path / "bin").glob("*check")))
    assert [place.name for place in (tmp_path / "bin").glob("*check")] == ["racecheck"]
    with pytest.raises(CannotWatch, match="does not work here"):
        _launch("racecheck", tmp_path, watchers=watchers)


def test_what_lies_where_it_is_called_from_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory of kernels may come from others, with a tui_tuner.py in it, or a ctypes.py."""
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("tui_tuner.py", "ctypes.py"):
        (tmp_path / name).write_text("raise SystemExit('not ours')\n")
    _tool(tmp_path, "import subprocess, sys; sys.exit(subprocess.call(sys.argv[sys.argv.index(sys.executable):]))")
    with pytest.raises(CannotWatch, match=r"libcuda\.so|no CUDA device gpu-a"):  # ours, without such a device
        _launch("memcheck", tmp_path)


def test_without_the_toolkit_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sanitizer, "toolkit_program", lambda _: None)
    with pytest.raises(CannotWatch, match="no compute-sanitizer"):
        _launch("memcheck", tmp_path)


class Library(driver.Driver):
    """The driver, with two devices and memory of this process; keeps what is launched.

    Attributes:
        launched: the numbers of each launch and of what was set for it.
        given: the first eight bytes of each argument of each launch.
        read: called with the last of these at a launch.
    """

    def __init__(self) -> None:
        self.used = b""
        self.blocks: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.launched: list[tuple[int, ...]] = []
        self.given: list[list[int]] = []
        self.read: Callable[[int], object] = lambda _: None

    def call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self, name)(*arguments):
            raise CudaError(code, name)

    def __getattr__(self, name: str) -> Callable[..., int]:
        assert name in ("cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData", "cuCtxSynchronize")
        return lambda *_: 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, ordinal: int) -> int:
        device._obj.value = ordinal
        return 0

    def cuDeviceGetUuid_v2(self, number: Any, device: int) -> int:
        self.used = number.raw = bytes([device] * 16)
        return 0

    def cuModuleGetFunction(self, function: Any, module: object, symbol: bytes) -> int:
        function._obj.value = 7
        return 0

    def cuModuleGetGlobal_v2(self, address: Any, size: Any, module: object, symbol: bytes) -> int:
        if symbol != b"_ZL5table":
            return 500
        address._obj.value = self._memory(16)
        return 0

    def cuMemAlloc_v2(self, address: Any, size: int) -> int:
        address._obj.value = self._memory(size)
        return 0

    def cuMemcpyHtoD_v2(self, address: int, content: bytes, size: int) -> int:
        ctypes.memmove(address, content, size)
        return 0

    def cuMemFree_v2(self, address: int) -> int:
        del self.blocks[address]
        return 0

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> int:
        self.launched.append((function, attribute, value))
        return 0

    def cuLaunchKernel(self, function: int, *rest: Any) -> int:
        *numbers, stream, slots, extra = rest
        assert (stream, extra) == (None, None)
        self.launched.append((function, *numbers))
        self.given.append([int.from_bytes(ctypes.string_at(one, 8), "little") for one in slots])
        self.read(self.given[-1][-1])
        return 0

    def _memory(self, nbytes: int) -> int:
        block = ctypes.create_string_buffer(b"\xff" * nbytes, nbytes)
        self.blocks[ctypes.addressof(block)] = block
        return ctypes.addressof(block)


SECOND = f"gpu-{UUID(bytes=bytes([1] * 16))}"


def _launched(directory: Path, library: Library, launches: Sequence[WatchedLaunch], last_start_s: float = 1.0) -> None:
    """What the child does with launches that it is told."""
    (directory / "k.cubin").write_bytes(b"cubin")
    sanitizer.write_job(directory, directory / "k.cubin", "k", launches, last_start_s)
    launch_all(directory, library)


def _floats(address: int, count: int) -> list[float]:
    return np.frombuffer(ctypes.string_at(address, 4 * count), np.float32).tolist()


def test_the_child_launches_what_it_is_told(tmp_path: Path) -> None:
    arguments = [np.float32([[1, 2], [3, 4]]).T, np.int32(4), np.zeros(4, np.float32)]
    launch = WatchedLaunch("n=4", arguments, frozenset({2}), Geometry((2, 1, 1), (4, 3, 1), 60000), frozenset({2}))
    library, seen = Library(), list[object]()
    library.read = lambda last: seen.extend([_floats(library.given[-1][0], 4), ctypes.string_at(last, 16)])
    _launched(tmp_path, library, [launch, launch], last_start_s=-1.0)  # no time but for the first
    assert library.launched == [(7, 8, 60000), (7, 2, 1, 1, 4, 3, 1, 60000)]
    assert library.given[0][1] & 0xFFFFFFFF == 4
    assert seen == [[1, 3, 2, 4], b"\xff" * 16]  # the latter is an output that starts with nothing
    assert library.blocks == {}


def test_the_child_takes_its_device_before_it_is_told_what_to_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library, ended = Library(), list[int]()
    (tmp_path / "k.cubin").write_bytes(b"cubin")
    sanitizer.write_job(tmp_path, tmp_path / "k.cubin", "k", LAUNCHES, 1.0)

    def told() -> str:
        assert library.used == bytes([1] * 16)
        assert library.launched == []
        return str(tmp_path)

    monkeypatch.setattr(watched_launches, "Driver", lambda: library)
    monkeypatch.setattr(watched_launches, "die_with_parent", lambda: None)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(read=told))
    monkeypatch.setattr("os._exit", ended.append)
    main([SECOND])
    assert library.launched == [(7, 1, 1, 1, 4, 1, 1, 0)]
    assert (ended, capsys.readouterr().out) == ([0], "tuner: all was launched\n")


def test_the_child_puts_the_addresses_of_arrays_into_structures(tmp_path: Path) -> None:
    held = np.array((0,), [("from", "u8")])[()]
    arguments = [np.float32([3, 4]), np.int32(4), held]
    geometry, placement = Geometry((1, 1, 1), (2, 1, 1)), Placement({}, {2: {0: 0}})
    library, behind = Library(), list[float]()
    library.read = lambda address: behind.extend(_floats(address, 2))
    _launched(tmp_path, library, [WatchedLaunch("n=2", arguments, frozenset(), geometry, placement=placement)])
    ((number, _),) = library.given
    assert number & 0xFFFFFFFF == 4
    assert behind == [3, 4]


def test_the_child_gives_a_list_of_the_addresses_of_an_arrays_parts(tmp_path: Path) -> None:
    arguments, placement = [np.float32([[3, 4], [5, 6]])], Placement(lists=frozenset({0}))
    launch = WatchedLaunch("n=2", arguments, frozenset(), Geometry((1, 1, 1), (2, 1, 1)), placement=placement)
    library, seen = Library(), list[list[float]]()
    library.read = lambda listed: seen.extend(
        _floats(address, 2) for address in np.frombuffer(ctypes.string_at(listed, 16), np.uint64).tolist()
    )
    _launched(tmp_path, library, [launch])
    assert seen == [[5, 6], [3, 4]]
    assert library.blocks == {}


def test_the_child_fills_constant_memory_by_whichever_name_it_has(tmp_path: Path) -> None:
    arguments, placement = [np.float32([3, 4]), np.int32(2)], Placement({0: "table"})
    launch = WatchedLaunch("n=2", arguments, frozenset(), Geometry((1, 1, 1), (2, 1, 1)), placement=placement)
    library = Library()
    _launched(tmp_path, library, [launch])
    (filled,) = library.blocks
    assert _floats(filled, 2) == [3, 4]
    assert len(library.given[0]) == 1


def test_the_child_ends_where_the_driver_fails(tmp_path: Path) -> None:
    library = Library()
    library.cuModuleGetFunction = lambda *_: 500  # type: ignore[method-assign]
    with pytest.raises(CudaError, match="cuModuleGetFunction: named symbol not found"):
        _launched(tmp_path, library, LAUNCHES)
    with pytest.raises(DeviceError, match="no CUDA device"):
        library.ordinal("gpu-0")


def test_racecheck_gets_the_two_smallest_launches_and_those_of_few_blocks() -> None:
    launches = [
        WatchedLaunch(str(n), [], frozenset(), Geometry((n, 2, 1), (32, 1, 1)), frozenset()) for n in (9, 9, 4, 5)
    ]
    assert [launch.label for launch in few_blocks(launches)] == ["9", "9", "4"]


FAULTY = """struct Held { const float* more; }; __global__ void watched(float* x, int which, Held held) {
    __shared__ float tile[64];
    int t = threadIdx.x;
    tile[t] = x[t] + held.more[t];
    if (which != 1) __syncthreads();
    float other = tile[t ^ 33];
    if (which == 2) other += x[t + 64];
    if (which == 4) { tile[t ^ 33] = other; other = tile[t ^ 32]; }
    x[t] = other;
}
"""
FAULTS = [("racecheck", 1, "line 4"), ("memcheck", 2, "line 7"), ("racecheck", 0, ""), ("memcheck", 0, ""),
          ("initcheck", 0, ""), ("initcheck", 3, "line 4"), ("synccheck", 0, ""),
          ("racecheck", 4, ""), ("warpcheck", 4, "line 8"), ("warpcheck", 0, "")]  # fmt: skip


@pytest.mark.gpu
@pytest.mark.parametrize(("tool", "which", "place"), FAULTS)
def test_faults_of_a_kernel_on_a_gpu(
    tool: str, which: int, place: str, report: DeviceReport, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run with `-s` to see what the tool says."""
    if report.no_cuda:
        pytest.skip(report.no_cuda)
    if toolkit_program("compute-sanitizer") is None:
        pytest.skip("no compute-sanitizer")
    architecture = re.search(r"\((sm_\d+)\)", report.cuda_devices[0])
    assert architecture is not None
    info = DeviceInfo(kind="cuda", name="", backend="", architecture=architecture[1])
    arguments = [Argument(name="a", dtype="int32", value=1)]
    problem = Problem(kernel=Kernel(source=Path("k.cu"), name="k"), launch=Launch(), arguments=arguments)
    compiler = compiler_for(DeviceChoice(kind="cuda"), info, problem)
    candidate = Candidate(source=FAULTY, kernel="watched", launch=Launch())
    recipe = compiler.recipe(candidate, {}, ["-lineinfo"])
    for name, text in recipe.files.items():
        (tmp_path / name).write_text(text)
    built = subprocess.run(recipe.command, cwd=tmp_path, check=True, capture_output=True, text=True)
    unit = driver.Driver().uuid(driver.Driver().device(0))
    unwritten = frozenset({0}) if which == 3 else frozenset[int]()
    held = np.array((0,), [("more", "u8")])[()]
    values = [np.ones(64, np.float32), np.int32(which), held, np.ones(64, np.float32)]
    geometry, placement = Geometry((1, 1, 1), (64, 1, 1)), Placement({}, {2: {0: 3}})
    launch = WatchedLaunch("n=64", values, frozenset({0}), geometry, unwritten, placement)
    symbol = compiler.symbol(candidate, built.stdout + built.stderr)
    said = ""
    try:
        Watchers(unit, 0).launch(tool, tmp_path / recipe.artifact, symbol, [launch], 100)
    except DeviceFault as fault:
        said = fault.message
    with capsys.disabled():
        sys.stdout.write(f"\n{tool}, {which}: {said}\n")
    assert re.search(place, said) if place else said == ""
