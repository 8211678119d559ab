"""The toolkit's tools for kernels in Python: fakes of them, and a real GPU where there is one."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.evaluate.test_profiling import NO_COUNTERS, WRITTEN, counted, program
from tests.python_kernels.fake_child import LOST
from tests.python_kernels.fakes import fake_process, written
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.results import DeviceInfo, Failure, FailureKind
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.triton import in_place
from tui_tuner.python_kernels.evaluator import PythonEvaluator, PythonOptions
from tui_tuner.python_kernels.from_file import problem_in

NVDISASM = """#!/bin/sh
cat "$2"
"""


def toolkit(directory: Path, text: str) -> Path:
    """A compiler's path; the tools beside it are as the real ones, whose counters are the text."""
    tools = directory / "bin"
    tools.mkdir()
    program(tools, text)
    (tools / "nvdisasm").write_text(NVDISASM, "utf-8")
    (tools / "nvdisasm").chmod(0o755)
    return tools / "nvcc"


async def profile_of(directory: Path, name: str, text: str, **changed: int) -> Profile:
    problem = written(directory, name).problem
    options = PythonOptions(
        directory / "runner.log",
        jobs=1,
        process=fake_process(directory, name),
        allow_unconfined=True,
        profile=True,
        nvcc=toolkit(directory, text),
    )
    evaluator = PythonEvaluator(problem, options)
    try:
        assert (await evaluator.start()).profiles
        kernel = baseline(problem)
        return await evaluator.profile(kernel, {**kernel.default_configuration, **changed})
    finally:
        await evaluator.close()


async def test_the_launch_that_the_kernels_own_process_marks_is_counted(tmp_path: Path) -> None:
    profile = await profile_of(tmp_path, "softmax_triton", (WRITTEN / "transpose.csv").read_text("utf-8"))
    assert profile.missing == []
    assert profile.counters == counted("transpose")
    assert profile.code is not None
    assert profile.code.mix["global load of 16 bytes"] == 2
    command = json.loads((tmp_path / "bin/ncu.py.told").read_text("utf-8"))
    assert command[command.index("--profile-from-start") + 1] == "off"
    assert command[command.index("--kernel-name") + 1] == "softmax"
    assert "--launch-skip" not in command


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "changed", "why"),
    [
        (NO_COUNTERS, {}, "counters: ERR_NVGPUCTRPERM - The user does not have permission"),
        ("", {"num_warps": LOST}, "counters: illegal access: made up"),
        ("", {}, "counters: ncu counted nothing"),
    ],
    ids=["no permission", "the launch fails", "nothing"],
)
async def test_the_machine_code_is_known_where_nothing_can_be_counted(
    tmp_path: Path, text: str, changed: dict[str, int], why: str
) -> None:
    profile = await profile_of(tmp_path, "softmax_triton", text, **changed)
    assert profile.code is not None
    assert profile.counters is None
    assert [reason[: len(why)] for reason in profile.missing] == [why]


async def test_a_kernel_of_several_launches_is_not_profiled(tmp_path: Path) -> None:
    profile = await profile_of(tmp_path, "softmax_helion", "")
    assert profile == Profile(missing=["machine code: invalid configuration: 2 launches instead of one"])


async def test_what_holds_a_kernel_back_is_told_of_its_launch(tmp_path: Path) -> None:
    problem = written(tmp_path, "softmax_triton").problem
    options = PythonOptions(tmp_path / "runner.log", jobs=1, process=fake_process(tmp_path, "softmax_triton"))
    evaluator = PythonEvaluator(problem, options)
    try:
        started = await evaluator.start()
        assert not started.profiles
        assert await evaluator.profile(baseline(problem), started.given.configuration) == NO_PROFILE
    finally:
        await evaluator.close()
    found = diagnosis(problem, started.device, baseline(problem), started.given)
    assert found is not None
    assert found.facts[0] == (
        "launch: 8192 blocks of 128 threads; a multiprocessor holds 16 of them, 64 of 64 warps, limited by warps and "
        "registers; the grid fills the device 3.88 times"
    )
    before = started.device.model_copy(update={"peaks": {}})  # as sessions have it that began without
    assert diagnosis(problem, before, baseline(problem), started.given) is None


SANITIZER = """#!{python}
import os, sys
assert os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] == "1"
open({told!r}, "a").write(" ".join(sys.argv[1:sys.argv.index(sys.executable)]) + chr(10))
print("========= COMPUTE-SANITIZER", flush=True)
os.execv(sys.executable, sys.argv[sys.argv.index(sys.executable):])
"""


@pytest.fixture
def sanitizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What was asked of a compute-sanitizer that runs its program, which says what the real one said."""
    file = tmp_path / "toolkit/bin/compute-sanitizer"
    file.parent.mkdir(parents=True)
    file.write_text(SANITIZER.format(python=sys.executable, told=str(tmp_path / "asked")), "utf-8")
    file.chmod(0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    return tmp_path / "asked"


@asynccontextmanager
async def watching(directory: Path) -> AsyncIterator[PythonEvaluator]:
    problem = written(directory, "softmax_triton").problem
    options = PythonOptions(directory / "runner.log", 1, fake_process(directory, "softmax_triton"), memcheck=True)
    evaluator = PythonEvaluator(problem, options)
    await evaluator.start()
    try:
        yield evaluator
    finally:
        await evaluator.close()


async def accused(evaluator: PythonEvaluator, directory: Path, comment: str) -> Failure | None:
    given = baseline(written(directory, "softmax_triton").problem)
    candidate = given.model_copy(update={"source": f"a = 1\nb = 2\nc = 3\ny = tl.load(x + at)\n# {comment}\n"})
    pair = ((given, given.default_configuration), (candidate, candidate.default_configuration))
    return (await evaluator.compare(*pair, 0.01)).failure


@pytest.mark.slow
async def test_a_rewritten_kernel_that_memcheck_accuses_is_not_accepted(tmp_path: Path, sanitizer: Path) -> None:
    async with watching(tmp_path) as evaluator:
        assert await accused(evaluator, tmp_path, "fast") is None
        for comment in ("reads behind x", "reads behind x # dies of it"):
            failure = await accused(evaluator, tmp_path, comment)
            assert failure is not None
            assert failure.kind is FailureKind.ILLEGAL_ACCESS
            assert failure.message.startswith(
                "memcheck: invalid __global__ read of size 16 bytes in line 4 501 bytes after"
            )
            assert failure.detail == "line 4: y = tl.load(x + at)"
        asked = sanitizer.read_text("utf-8").splitlines()
        assert await accused(evaluator, tmp_path, "reads behind x") is not None, "what is known is not asked again"
        assert sanitizer.read_text("utf-8").splitlines() == asked
        assert evaluator.news() == []
    assert len(asked) == 4, "each, and the kernel as given once"
    assert all(line.startswith("--tool memcheck ") for line in asked)


async def test_what_the_kernel_as_given_is_accused_of_as_well_refuses_nobody(
    tmp_path: Path, sanitizer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MEMCHECK", "# as the file does")
    async with watching(tmp_path) as evaluator:
        assert await accused(evaluator, tmp_path, "fast") is None
        (told,) = evaluator.news()
        assert told.startswith("the kernel as given does not pass memcheck: invalid __global__ read")
        assert evaluator.news() == []


async def test_without_the_tool_kernels_are_accepted_and_that_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.evaluate.devices.cuda.sanitizer.toolkit_program", lambda *_: None)
    async with watching(tmp_path) as evaluator:
        assert await accused(evaluator, tmp_path, "fast") is None
        assert await accused(evaluator, tmp_path, "faster") is None
        (told,) = evaluator.news()
    assert told.startswith("kernels are accepted without memcheck: no compute-sanitizer in CUDA_HOME")


SEVERAL = """\
import torch
import triton
import triton.language as tl

@triton.jit
def double(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, at < n), at < n)

for n in (1000, 2**27, 3000):
    x = torch.rand(n, device="cuda")
    double[(triton.cdiv(n, 1024),)](torch.empty_like(x), x, n, BLOCK=1024)
"""


@pytest.mark.gpu
async def test_on_a_gpu_the_launch_that_is_timed_is_counted_whatever_the_file_launches(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(SEVERAL, "utf-8")
    problem = problem_in(file, None, "auto").problem
    evaluator = PythonEvaluator(problem, PythonOptions(tmp_path / "runner.log", jobs=2, profile=True))
    try:
        started = await evaluator.start()
        profile = await evaluator.profile(baseline(problem), started.given.configuration)
    finally:
        await evaluator.close()
    assert isinstance(started.device, DeviceInfo)
    assert started.device.peaks
    assert started.given.geometry is not None
    assert started.given.geometry.grid == (2**17, 1, 1)
    assert profile.code is not None, profile.missing
    assert profile.code.mix["global load of 16 bytes"] >= 1
    if profile.counters is None:
        pytest.skip(profile.missing[0])
    assert profile.counters.moved is not None
    assert profile.counters.moved > 0.8 * problem.kernel.tensor_bytes


OUTSIDE = """
@triton.jit
def double(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at), at < n)
"""


@pytest.mark.gpu
async def test_on_a_gpu_what_is_read_behind_an_array_is_accused(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(SEVERAL.replace("2**27, 3000", "2**20 + 3"), "utf-8")
    problem = problem_in(file, None, "auto").problem
    evaluator = PythonEvaluator(problem, PythonOptions(tmp_path / "runner.log", jobs=2, memcheck=True))
    right = in_place(problem.source_text, OUTSIDE.replace("x + at)", "x + at, at < n)"), "double", problem.source_text)
    wrong = in_place(problem.source_text, OUTSIDE, "double", problem.source_text)
    try:
        given = (await evaluator.start()).given
        found = []
        for source in (right + "\n", wrong):
            candidate = baseline(problem).model_copy(update={"source": source})
            assert (await evaluator.evaluate(candidate, given.configuration, None)).ok
            compared = await evaluator.compare(
                (baseline(problem), given.configuration), (candidate, given.configuration), -0.9
            )
            found.append(compared.failure)
    finally:
        await evaluator.close()
    assert evaluator.news() == []
    assert found[0] is None
    assert found[1] is not None
    assert found[1].message.startswith("memcheck: invalid __global__ read of size 16 bytes in line ")
