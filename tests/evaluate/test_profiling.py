"""Profiles: of listings and tables that nvdisasm and ncu wrote for an H200, and of a real device where there is one."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.evaluate.test_bottleneck import COPY, H200, PRODUCT, kernel, measured
from tests.evaluate.test_local import evaluator_for, problem_in
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.profiling import MachineCode, Profile, machine_code_facts, profile_facts, read_machine_code
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.profiling.counters import METRICS, Counters, read_counters
from tui_tuner.evaluate.profiling.profiler import Profiler
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions, ThisMachine, Tools
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Problem

WRITTEN = Path(__file__).with_name("profiling")
TILED, HISTOGRAM = "_Z12matmul_tiledPKfS0_Pfi", "_Z9histogramPKhPji"
NO_COUNTERS = """\
==PROF== Connected to process 7 (/usr/bin/python3.12)
==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters
==WARNING== No kernels were profiled.
"""


def listed(name: str, symbol: str) -> MachineCode:
    code = read_machine_code((WRITTEN / f"{name}.sass").read_text(), symbol)
    assert code is not None
    return code


def counted(name: str) -> Counters:
    counters = read_counters((WRITTEN / f"{name}.csv").read_text())
    assert counters is not None
    return counters


def test_the_innermost_loop_is_counted_by_what_it_does() -> None:
    code = listed("matmul_tiled", TILED)
    assert (code.instructions, code.loop_instructions) == (87, 8)
    assert code.loop == {
        "integer, address or move": 4,
        "shared load of 4 bytes": 2,
        "floating-point operation": 1,
        "jump": 1,
    }
    assert (code.mix["shared store of 4 bytes"], code.mix["global load of 4 bytes"]) == (2, 2)


def looping(*loops: list[str]) -> MachineCode:
    """The machine code of a kernel with these loops, one behind the other."""
    lines = ["\t.section\t.text.k,"]
    for number, loop in enumerate(loops):
        lines.append(f".L_x_{number}:")
        lines += [f"        /*0010*/                   {one} ;" for one in [*loop, f"@P0 BRA `(.L_x_{number})"]]
    code = read_machine_code("\n".join(lines), "k")
    assert code is not None
    return code


SCALAR = ["LDG.E R0, desc[UR4][R2.64]", "FADD R1, R1, R0"] * 4
WIDE = ["LDG.E.128 R4, desc[UR4][R2.64]", *["FADD R1, R1, R4"] * 4]
MULTIPLIED = ["LDS.128 R4, [R8]", *["FFMA R1, R4, R5, R1"] * 8]
ON_TENSOR_CORES = [*["HMMA.16816.F32 R8, R12, R22, R8"] * 4, "LDSM.16.M88.4 R12, [R20]"]


@pytest.mark.parametrize(
    ("loops", "main"),
    [
        ([SCALAR, WIDE], "global load of 16 bytes"),
        ([WIDE, SCALAR], "global load of 16 bytes"),
        ([SCALAR, ["LDGSTS.E.BYPASS.128 [R6], desc[UR6][R12.64]"] * 5], "asynchronous copy"),
        ([WIDE, ["UTMALDG.2D [UR8], [UR4]"] * 5], "asynchronous copy"),
        ([WIDE, MULTIPLIED], "floating-point operation"),
        ([SCALAR * 3, MULTIPLIED * 3, ON_TENSOR_CORES], "tensor-core instruction"),
        ([MULTIPLIED], "floating-point operation"),
    ],
)
def test_of_several_innermost_loops_that_is_told_which_the_work_is_likely_in(loops: list[list[str]], main: str) -> None:
    code = looping(*loops)
    assert main in code.loop
    assert code.loops == len(loops)
    said = next(machine_code_facts(code))
    assert said.startswith(
        f"machine code of what is likely the main one of {len(loops)} innermost loops, "
        if len(loops) > 1
        else "machine code of the innermost loop, "
    )


def test_of_a_profile_of_before_the_loops_are_not_counted() -> None:
    code = MachineCode(instructions=9, mix={"jump": 1}, loop_instructions=6, loop={"jump": 1})
    assert next(machine_code_facts(code)).startswith("machine code of the innermost loop, 6 instructions")


def test_what_is_not_there_is_told_and_a_kernel_without_a_loop_has_none() -> None:
    loop, *facts = [
        *machine_code_facts(listed("matmul_tiled", TILED)),
        *machine_code_facts(listed("histogram", HISTOGRAM)),
    ]
    assert loop.startswith("machine code of the innermost loop, 8 instructions: 4 x integer")
    assert facts[0].endswith("; no asynchronous copy; no tensor-core instruction; no access to local memory")
    assert "19 instructions, of these: 1 x global load of 1 byte, 1 x atomic operation; no" in facts[1]


@pytest.mark.parametrize(
    ("instruction", "kind"),
    [
        ("LDGSTS.E.BYPASS.128 [R6], desc[UR6][R12.64]", "asynchronous copy"),
        ("@P0 HMMA.16816.F32 R8, R12, R22, R8", "tensor-core instruction"),
        ("HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0", "tensor-core instruction"),
        ("LDSM.16.M88.4 R12, [R20]", "matrix load from shared memory"),
        ("@!P1 LDG.E.U16.CONSTANT R8, desc[UR4][R2.64]", "global load of 2 bytes"),
        ("STS.128 [R12], R24", "shared store of 16 bytes"),
        ("LDL.LU R5, [R1+0x4]", "access to local memory"),
        ("HFMA2.MMA R9, -RZ, RZ, 2, 0", "integer, address or move"),
        ("HFMA2.MMA R9, R8, R7, R9", "floating-point operation"),
        ("UISETP.GE.AND UP0, UPT, UR4, 0x1, UPT", "integer, address or move"),
        ("REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R7", "atomic operation"),
    ],
)
def test_instructions_by_what_they_do(instruction: str, kind: str) -> None:
    listing = f'\t.section\t.text.k,"ax",@progbits\n.text.k:\n        /*0000*/                   {instruction} ;\n'
    code = read_machine_code(listing, "k")
    assert code is not None
    assert code.mix == {kind: 1}


def test_another_kernel_of_the_listing_is_not_counted() -> None:
    assert read_machine_code((WRITTEN / "histogram.sass").read_text(), "other") is None


def test_counters_in_words() -> None:
    """The transposition of 64 Mi floats, whose threads write down a column."""
    facts = "\n".join(profile_facts(Profile(counters=counted("transpose")), 8 * 8192 * 8192))
    assert "busy, as a share of its peak: the L2 cache 80%, the path to L1 and shared memory 50%" in facts
    assert "warps wait, as a share of their waiting: for global or local memory 77%" in facts
    assert "of the sectors stored to global memory 25% is data" in facts
    assert "sectors loaded" not in facts
    assert "539.4 MB from and to device memory, 1 times what is declared" in facts


def test_a_table_without_a_launch_has_no_counters() -> None:
    header = "\n".join((WRITTEN / "transpose.csv").read_text().splitlines()[:4])
    assert read_counters(header) is None
    assert read_counters(NO_COUNTERS) is None
    assert read_counters("") is None


def test_a_busy_unit_is_the_bottleneck_and_a_declared_ceiling_comes_first() -> None:
    profile = Profile(counters=counted("transpose"))
    slow = diagnosis(COPY, H200, kernel(256, "n * n"), measured(0.2), profile)
    assert slow is not None
    assert (slow.bottleneck, slow.cause[:42]) == ("l2", "Accesses that do not coalesce: of the sect")
    near = diagnosis(COPY, H200, kernel(256, "n * n"), measured(0.035), profile)
    assert near is not None
    assert near.bottleneck == "memory"


TENSOR = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
LOADED = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"
SHARED = "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"
FEW = {TENSOR: 3.0, LOADED: 12.0, SHARED: 0.3}


@pytest.mark.parametrize(
    ("mix", "told"),
    [
        ({"jump": 1}, ["sectors loaded", "accesses to shared memory reach 0%"]),
        ({"asynchronous copy": 2}, ["accesses to shared memory reach 0%"]),
        ({"asynchronous copy": 2, "tensor-core instruction": 4}, ["the tensor cores 3%"]),
    ],
)
def test_counters_that_mean_nothing_for_such_code_are_not_told(mix: dict[str, int], told: list[str]) -> None:
    profile = Profile(counters=Counters(values=FEW), code=MachineCode(instructions=9, mix=mix))
    facts = "\n".join(profile_facts(profile, 0))
    all_of_them = ("sectors loaded", "accesses to shared memory reach 0%", "the tensor cores 3%")
    assert [words for words in all_of_them if words in facts] == told


def test_few_warps_that_copy_for_tensor_cores_are_not_too_few() -> None:
    code = MachineCode(instructions=9, mix={"asynchronous copy": 2, "tensor-core instruction": 4})
    few = kernel(32, "n * n // 1000")
    plain = diagnosis(PRODUCT, H200, few, measured(26.4, shared=200_000))
    fed = diagnosis(PRODUCT, H200, few, measured(26.4, shared=200_000), Profile(code=code))
    assert plain is not None
    assert fed is not None
    assert (plain.bottleneck, fed.bottleneck) == ("occupancy", "latency")


def of_sums(busy: float) -> Counters:
    """What an H200 counted of a kernel whose threads all add to 192 words, its units this busy, in percent."""
    return Counters(
        values={
            "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": busy,
            "lts__throughput.avg.pct_of_peak_sustained_elapsed": 4.0,
            LOADED: 18.0,
            "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio": 68.0,
            "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio": 14.0,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio": 12.0,
        }
    )


@pytest.mark.parametrize(
    ("busy", "mix", "cause"),
    [
        (6.0, {"atomic operation": 3}, "Atomic operations, as it seems: no unit is busy for more than 6%"),
        (6.0, {"jump": 3}, "It waits, 72% of that since the queue of accesses to global memory is full"),
        (40.0, {"atomic operation": 3}, "Accesses that do not coalesce"),
    ],
)
def test_accesses_hold_nothing_back_where_the_way_to_memory_is_idle(
    busy: float, mix: dict[str, int], cause: str
) -> None:
    profile = Profile(counters=of_sums(busy), code=MachineCode(instructions=121, mix=mix))
    found = diagnosis(PRODUCT, H200, kernel(256, "n * n"), measured(26.4), profile)
    assert found is not None
    assert found.cause.startswith(cause)


@pytest.mark.parametrize(("memory", "bottleneck"), [(87.0, "memory"), (60.0, "l2")])
def test_what_passes_through_the_l2_cache_to_device_memory_is_held_by_that(memory: float, bottleneck: str) -> None:
    """Rows that are read once: 260 MB in 0.0682 ms on an H200, the L2 cache busy for 91%, device memory for 87%."""
    counters = Counters(
        values={
            "lts__throughput.avg.pct_of_peak_sustained_elapsed": 91.0,
            "dram__throughput.avg.pct_of_peak_sustained_elapsed": memory,
            "dram__bytes_read.sum": 256e6,
            "dram__bytes_write.sum": 4e6,
        }
    )
    no_work = PRODUCT.model_copy(update={"work": None})
    found = diagnosis(no_work, H200, kernel(256, "n * n"), measured(0.0682), Profile(counters=counters))
    assert found is not None
    assert found.bottleneck == bottleneck
    counted_rate = next(fact for fact in found.facts if fact.startswith("achieved, as counted"))
    assert "3812 GB/s" in counted_rate
    assert counted_rate.endswith("93% of the measured bandwidth of writing")


def test_without_a_busy_unit_it_is_what_warps_wait_for() -> None:
    found = diagnosis(PRODUCT, H200, kernel(256, "n * n"), measured(26.4), Profile(counters=counted("histogram")))
    assert found is not None
    assert found.cause.startswith("It waits, 40% of that for stores and atomic operations at its end.")


NCU = """\
import json, os, sys
place = sys.argv.index("--log-file")
open(__file__ + ".told", "w").write(json.dumps(sys.argv[1:sys.argv.index(sys.executable)]))
if {text!r}:
    open(sys.argv[place + 1], "w").write({text!r})
os.execv(sys.executable, sys.argv[sys.argv.index(sys.executable):])
"""


def program(directory: Path, text: str) -> Path:
    """What starts a process as ncu does, leaves what the real one wrote, and in `ncu.py.told` its own arguments."""
    script = directory / "ncu.py"
    script.write_text(NCU.format(text=text))
    file = directory / "ncu"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
    file.chmod(0o755)
    return file


class Profiling(ThisMachine):
    """This machine with a profiler for whatever device."""

    def __init__(self, options: LocalOptions, ncu: Path | None) -> None:
        super().__init__(options)
        self._counts = Profiler(options.policy, None, ncu)

    async def tools(self, choice: DeviceChoice, device: DeviceInfo, problem: Problem) -> Tools:
        return replace(await super().tools(choice, device, problem), profiler=self._counts)


async def profile_on_the_emulator(directory: Path, ncu: Path | None) -> Profile:
    problem, policy = problem_in(directory), Policy(allow_unconfined=True)
    options = LocalOptions("emulator", directory / "builds", directory / "log", 2, policy)
    evaluator = LocalEvaluator(problem, options, Profiling(options, ncu))
    try:
        assert (await evaluator.start()).profiles
        return await evaluator.profile(baseline(problem), baseline(problem).default_configuration)
    finally:
        await evaluator.close()


@pytest.mark.slow
async def test_a_launch_is_counted_in_a_runner_of_its_own_that_the_profiler_starts(tmp_path: Path) -> None:
    profile = await profile_on_the_emulator(tmp_path, program(tmp_path, (WRITTEN / "transpose.csv").read_text()))
    assert profile.counters == counted("transpose")
    assert profile.missing == ["machine code: there is no nvdisasm"]


@pytest.mark.slow
async def test_who_may_not_count_is_told_why(tmp_path: Path) -> None:
    profile = await profile_on_the_emulator(tmp_path, program(tmp_path, NO_COUNTERS))
    assert profile.counters is None
    assert profile.missing[1].startswith("counters: ERR_NVGPUCTRPERM - The user does not have permission")
    assert "only administrators" in profile.missing[1]


def test_the_tools_beside_nvcc_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one/bin/ncu", "two/bin/ncu", "two/bin/nvdisasm"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "two"))
    found = Profiler.find(Policy(), tmp_path / "one/bin/nvcc")
    assert found is not None
    assert (found.ncu, found.nvdisasm) == (tmp_path / "one/bin/ncu", tmp_path / "two/bin/nvdisasm")


@pytest.mark.gpu
async def test_a_cuda_kernel_is_profiled(tmp_path: Path) -> None:
    problem = problem_in(tmp_path)
    async with evaluator_for(problem, tmp_path, "cuda") as (evaluator, report):
        if not report.profiles:
            pytest.skip("there is neither nvdisasm nor ncu")
        profile = await evaluator.profile(baseline(problem), baseline(problem).default_configuration)
    assert [*profile_facts(profile, 0)], profile.missing
    if profile.code is not None:
        assert profile.code.mix["global store of 4 bytes"] == 1
    if profile.counters is not None:
        assert profile.counters.values.keys() <= {*METRICS}
        assert profile.counters.busy()
