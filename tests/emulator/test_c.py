from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.emulator.bench import Bench, descendants
from tests.structures import STRUCTURES
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.local import PAUSES_S
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.inputs import scalar_of
from tui_tuner.problem.model import Argument
from tui_tuner.problem.placement import Placement

SOURCE = """
#include <omp.h>
#include <stdint.h>
float axpy(float *restrict y, const float *restrict x, float a, int32_t n) {
    #pragma omp parallel for num_threads(2)
    for (int i = 0; i < n; i++) y[i] += a * x[i];
    return 1e-9f;
}
void mixed(double *out, int8_t a, uint64_t b, double c, _Bool d) { out[0] = a; out[1] = b; out[2] = c; out[3] = d; }
typedef struct { int8_t mark; double by; int32_t at[3]; } Two;
typedef struct { float x, y, z, w; } Four;
void held(double *out, int8_t before, Two two, Four four) {
    out[0] = two.mark + two.by + 10 * two.at[2];
    out[1] = before + four.w;
}
void past(float *y, int32_t i) { y[i] = 1; }
"""


def test_an_openmp_kernel_runs_and_is_timed_with_its_output_restored_before_every_launch(cpu: Bench) -> None:
    x, y = np.arange(2000, dtype=np.float32), np.ones(2000, np.float32)
    kernel = cpu.load(SOURCE, "axpy")
    buffers = cpu.device.allocate([y, x, np.float32(2), np.int32(2000)], frozenset({0}))
    times = cpu.device.time(kernel, buffers, Geometry((1, 1, 1), (1, 1, 1)), 5, 20)
    assert np.array_equal(y + 2 * x, cpu.device.download(buffers, 0))
    cpu.device.free(buffers)
    assert len(times) == 5
    assert all(0 < t < 1000 for t in times)


def test_scalars_of_every_width_reach_a_c_kernel(cpu: Bench) -> None:
    scalars = (np.int8(-3), np.uint64(2**40), np.float64(0.5), np.bool_(True))
    (out,) = cpu.run(cpu.load(SOURCE, "mixed"), np.zeros(4), *scalars)
    assert out.tolist() == [-3, 2**40, 0.5, 1]


def test_structures_are_passed_by_value_to_a_c_kernel(cpu: Bench) -> None:
    (out,) = cpu.run(cpu.load(SOURCE, "held"), np.zeros(2), np.int8(1), *STRUCTURES)
    assert out.tolist() == [1.25 + 50, 5]


def test_a_structure_within_a_structure_keeps_what_lies_free_behind_it(cpu: Bench) -> None:
    source = (
        "struct Point { double x; float w; };\nstruct Scene { struct Point at; float near_by; int width; };\n"
        "void k(double *out, struct Scene s) { out[0] = s.at.w; out[1] = s.near_by; out[2] = s.width; }"
    )
    members = [
        {"name": "at.x", "dtype": "float64", "value": 1},
        {"name": "at.w", "dtype": "float32", "value": 2},
        {"name": "near_by", "dtype": "float32", "value": 3, "alignment": 8},
        {"name": "width", "dtype": "int32", "value": 4},
    ]
    scene = scalar_of(Argument.model_validate({"name": "s", "dtype": "struct", "members": members}), {})
    (out,) = cpu.run(cpu.load(source, "k"), np.zeros(3), scene)
    assert out.tolist() == [2, 3, 4]


def test_a_structure_holds_the_addresses_of_arrays_for_a_c_kernel(cpu: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "struct Data { double by; float *to; };\nvoid k(struct Data d, int n) { while (n--) d.to[n] *= d.by; }"
    monkeypatch.setattr(cpu.device, "placement", Placement({}, {0: {8: 2}}))
    held = np.array((0.5, 0), [("by", "f8"), ("to", "u8")])[()]
    (out,) = cpu.run(cpu.load(source, "k"), held, np.int32(3), np.arange(3, dtype=np.float32))
    assert out.tolist() == [0, 0.5, 1]


def test_a_half_scalar_is_refused_since_c_has_none(cpu: Bench) -> None:
    with pytest.raises(DeviceFault, match="C has no scalar of type float16"):
        cpu.device.allocate([np.float16(1)], frozenset())


def test_a_write_past_the_end_in_c_names_the_argument(cpu: Bench) -> None:
    fault = cpu.fault(cpu.load(SOURCE, "past"), np.zeros(8, np.float32), np.int32(10))
    assert fault.kind == FailureKind.ILLEGAL_ACCESS
    assert fault.message == "touched memory 8 bytes past the end of argument 1"


def test_a_template_in_cpp_runs_by_its_expression(cpu: Bench) -> None:
    source = "template <typename T, int k> static void scale(T* x, int n) { for (int i = 0; i < n; i++) x[i] *= k; }"
    bench = Bench(cpu.device, CCompiler.find(".cpp"), cpu.directory, built=100)
    (out,) = bench.run(bench.load(source, "scale<double, 3>"), np.arange(5.0), np.int32(5))
    assert np.array_equal(np.arange(5.0) * 3, out)


def test_a_syntax_error_in_c_is_told_with_the_line_of_the_kernel(cpu: Bench) -> None:
    compiled = cpu.compile("void k(int *x) {\n  *x = 1\n}\n", "k")
    assert not compiled.ok
    assert "kernel.c:2:" in compiled.log


def test_device_info_names_processor_and_compiler(cpu: Bench, emulator: Bench) -> None:
    assert cpu.device.info.kind == "c"
    assert cpu.device.info.backend.startswith("gcc 1")
    assert cpu.device.info.is_cpu
    assert emulator.device.info.name == f"CPU emulator on {cpu.device.info.name}"
    assert emulator.device.info.backend.startswith("g++ 1")


def timed(cpu: Bench, *job: Any) -> list[float]:
    """Times, again where they cannot be true, as a session does: threads of OpenMP may have spun meanwhile."""
    for _ in PAUSES_S:
        try:
            return cpu.device.time(*job)
        except DeviceFault as fault:
            if fault.kind is not FailureKind.IMPLAUSIBLE:
                raise
    return cpu.device.time(*job)


@pytest.mark.slow
def test_what_is_timed_in_turns_keeps_its_executor_which_stands_still_meanwhile(cpu: Bench) -> None:
    kernel = cpu.load(SOURCE, "axpy")
    job = [np.ones(2000, np.float32), np.ones(2000, np.float32), np.float32(2), np.int32(2000)]
    buffers, geometry, before = cpu.device.allocate(job, frozenset({0})), Geometry((1, 1, 1), (1, 1, 1)), descendants()
    timed(cpu, kernel, buffers, geometry, 2, 20)
    (executor,) = descendants() - before
    assert Path(f"/proc/{executor}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    assert len(timed(cpu, kernel, buffers, geometry, 3, 20)) == 3
    assert descendants() - before == {executor}
    assert len(timed(cpu, kernel, buffers, geometry, 600, 300)) == 600
    assert executor not in descendants()
    cpu.device.unload(kernel)
    assert not descendants() - before
    cpu.device.free(buffers)


def test_another_load_of_what_is_timed_remembers_nothing_and_takes_nothing_from_it(cpu: Bench) -> None:
    compiled = cpu.compile("void k(int *x) { static int launches; x[0] = ++launches; }", "k")
    buffers, geometry = cpu.device.allocate([np.zeros(1, np.int32)], frozenset({0})), Geometry((1, 1, 1), (1, 1, 1))
    timed, other = (cpu.device.load(compiled.artifact, compiled.symbol) for _ in range(2))
    for kernel, launches in [(timed, 1), (timed, 2), (other, 1), (timed, 3), (other, 2)]:
        cpu.device.time_first(kernel, buffers, geometry, 20)
        assert cpu.device.download(buffers, 0) == [launches]
    cpu.device.unload(other)
    cpu.device.time_first(timed, buffers, geometry, 20)
    assert cpu.device.download(buffers, 0) == [4]
    cpu.device.unload(timed)
    cpu.device.free(buffers)
