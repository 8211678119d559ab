"""Which ceilings the roofline of a kernel is drawn from, and in which words it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.profiling.roofline import expected_bytes, roofline, working_type
from tui_tuner.evaluate.results import Ceiling, DeviceInfo, Evaluation, Timing
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem, Work
from tui_tuner.prompts import bound_facts, traffic_facts

N = 4096
GPU = DeviceInfo(
    kind="cuda",
    name="NVIDIA H200",
    backend="",
    architecture="sm_90",
    memory_gbs=4000.0,
    flops_gflops=60_000.0,
    bandwidths={"copy": Ceiling(rate=4000.0), "read": Ceiling(rate=4500.0), "fill": Ceiling(rate=4100.0)},
    peaks={
        "float32": Ceiling(rate=60_000.0),
        "float64": Ceiling(rate=30_000.0),
        "float16": Ceiling(rate=120_000.0),
        "float16 on tensor cores": Ceiling(rate=1_000_000.0, measured=False),
        "tf32 on tensor cores": Ceiling(rate=500_000.0, measured=False),
        "float64 on tensor cores": Ceiling(rate=67_000.0, measured=False),
        "int8 on tensor cores": Ceiling(rate=2_000_000.0, measured=False),
        "int8": Ceiling(rate=240_000.0),
    },
)
BEFORE = GPU.model_copy(update={"bandwidths": {}, "peaks": {}})
"""As journals have it that began before the ceilings of each type were measured."""


def array(name: str, dtype: str, *, output: bool = False, **more: Any) -> Argument:
    return Argument.model_validate({"name": name, "dtype": dtype, "shape": ["n", "n"], "output": output, **more})


def problem(*arguments: Argument, source: str = "", dtype: str | None = None, nbytes: str = "4 * n * n") -> Problem:
    return Problem(
        kernel=Kernel(source=Path("k.cu"), name="k"),
        sizes={"n": N},
        launch=Launch(),
        arguments=list(arguments),
        work=Work.model_validate({"flops": "2 * n**3", "bytes": nbytes, "dtype": dtype}),
        source_text=source,
    )


def product(held: str, **more: Any) -> Problem:
    arrays = (array("A", held), array("B", held), array("C", "float32" if held == "float16" else held, output=True))
    return problem(*arrays, **more)


@pytest.mark.parametrize(
    ("asked", "dtype"),
    [
        (product("float32"), "float32"),
        (product("float16"), "float16"),
        (product("float64"), "float64"),
        (product("float32", source="wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32>"), "tf32"),
        (product("float32", source="// tf32 would be too coarse"), "float32"),
        (product("uint16", source="const __nv_bfloat16* A"), "bfloat16"),
        (product("uint8", source="const __nv_fp8_e4m3* A"), "float8"),
        (product("int8", source="int sum = __dp4a(a, b, sum);"), "int8"),
        (product("uint8", source="float sum = 0; sum += image[i];"), "float32"),
        (product("int32", source="int sum = 0;"), "int32"),
        (product("float32", dtype="bfloat16"), "bfloat16"),
        (problem(array("columns", "int8"), array("values", "float64"), source="float"), "float64"),
    ],
)
def test_the_type_worked_in_is_declared_or_told_by_arguments_and_source(asked: Problem, dtype: str) -> None:
    assert working_type(asked) == dtype


def test_bandwidths_are_measured_over_what_is_declared_or_else_over_all_arrays() -> None:
    """An H200 copies 64 MiB at 3.3 TB/s and 256 MiB at 4.0."""
    assert expected_bytes(product("float32", nbytes="8 * n")) == 8 * N
    assert expected_bytes(product("float32").model_copy(update={"work": None})) == 3 * 4 * N * N


@pytest.mark.parametrize(
    ("asked", "peak", "words"),
    [
        (product("float32"), 60_000.0, "the measured peak of float32"),
        (product("float16"), 1_000_000.0, "the computed peak of float16 on tensor cores"),
        (product("float64"), 67_000.0, "the computed peak of float64 on tensor cores"),
        (product("float32", dtype="tf32"), 500_000.0, "the computed peak of tf32 on tensor cores"),
        (product("int8"), 2_000_000.0, "the computed peak of int8 on tensor cores"),
        (product("float32", dtype="bfloat16"), 60_000.0, "the measured peak of float32"),
    ],
)
def test_operations_are_held_against_the_peak_of_their_type(asked: Problem, peak: float, words: str) -> None:
    limits = roofline(asked, GPU)
    assert limits is not None
    assert limits.compute_ms == pytest.approx(2 * N**3 / peak / 1e6)
    assert limits.compute == words
    assert limits.limiter == "compute"


@pytest.mark.parametrize(
    ("arguments", "gbs", "words"),
    [
        ([array("x", "float32"), array("y", "float32", output=True)], 4000.0, "the measured bandwidth of a copy"),
        ([array("y", "float32", output=True, fill="normal")], 4000.0, "the measured bandwidth of a copy"),
        ([array("x", "float32"), array("z", "float32")], 4500.0, "the measured bandwidth of reading"),
        ([array("y", "float32", output=True)], 4100.0, "the measured bandwidth of writing"),
        (
            [array("x", "float32"), array("z", "float32"), array("y", "float32", output=True)],
            1 / (2 / 3 / 4000 + 1 / 3 / 4500),
            "the measured bandwidths of a copy and of reading",
        ),
    ],
)
def test_bytes_that_are_only_read_are_held_against_the_bandwidth_of_reading(
    arguments: list[Argument], gbs: float, words: str
) -> None:
    limits = roofline(problem(*arguments), GPU)
    assert limits is not None
    assert limits.memory_ms == pytest.approx(4 * N * N / gbs / 1e6)
    assert limits.memory == words


def test_a_float16_product_is_told_no_share_beyond_what_tensor_cores_do() -> None:
    limits = roofline(product("float16"), GPU)
    assert limits is not None
    assert limits.share(0.25) == pytest.approx(2 * N**3 / 1e15 / 0.25e-3)
    before = roofline(product("float16"), BEFORE)
    assert before is not None
    assert before.share(0.25) > 9, "as it was"


def test_the_model_is_told_an_estimate_and_never_a_bound() -> None:
    (told,) = bound_facts(product("float16"), GPU)
    assert "operations in float16 take 0.1374 ms at the computed peak of float16 on tensor cores" in told
    assert "an estimate and not a bound" in told
    assert "float32" not in told


def test_where_no_work_is_declared_the_model_is_told_what_moving_the_arrays_takes() -> None:
    timing = Timing(median=0.05, low=0.05, high=0.05, samples=1)
    best = Evaluation(candidate="a", configuration={}, timing=timing)
    asked = problem(array("x", "bfloat16"), array("y", "bfloat16", output=True)).model_copy(update={"work": None})
    assert traffic_facts(asked, GPU, best) == (
        "the arrays, each read or written once, take 0.01678 ms at the measured bandwidth of a copy (67.11 MB), 33.6% "
        "of the time of the best; a kernel that needs a part of them alone takes less"
    )
    assert not traffic_facts(product("float32"), GPU, best), "the roofline tells more"
    assert not traffic_facts(asked, GPU.model_copy(update={"memory_gbs": None}), best)


def test_a_device_of_before_has_no_computed_ceilings() -> None:
    (told,) = bound_facts(product("float16"), BEFORE)
    assert "2.291 ms at the measured peak of float32; so compute limits it" in told
    assert "computed" not in kind_named("cuda").facts(BEFORE)


def test_the_model_is_told_which_ceilings_are_measured_and_which_are_computed() -> None:
    lines = kind_named("cuda").facts(GPU).splitlines()
    assert "bandwidths, measured, GB/s: read 4500, fill 4100" in lines
    assert "peaks, measured, 1e9 operations a second: float64 30000, float16 120000, int8 240000" in lines
    computed = "peaks, computed from clock and architecture, 1e9 operations a second: float16 on tensor cores"
    assert any(line.startswith(computed) for line in lines)


def test_work_without_a_type_is_written_as_ever() -> None:
    assert Work(flops=1).model_dump() == {"flops": 1, "bytes": 0}
    assert Work(flops=1, dtype="int8").model_dump() == {"flops": 1, "bytes": 0, "dtype": "int8"}
