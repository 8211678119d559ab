from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulator.bench import KERNELS, Bench
from tests.structures import STRUCTURES
from tests.waiting import processor_s
from tui_tuner.evaluate.devices.base import LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.placement import Placement

SOURCE = (KERNELS / "blocks.cu").read_text()
Load = Callable[[str], LoadedKernel]


@pytest.fixture(scope="module")
def load(emulator: Bench) -> Load:
    return lambda name: emulator.load(SOURCE, name)


@pytest.mark.slow
def test_every_thread_of_every_block_runs_once_with_its_own_indices(emulator: Bench, load: Load) -> None:
    grid, block = (3, 2, 2), (4, 3, 2)
    (out,) = emulator.run(load("geometry"), np.zeros(12 * 24, np.int32), grid=grid, block=block)
    z, y, x = np.meshgrid(range(2), range(3), range(4), indexing="ij")
    thread = (z * 1000 + y * 100 + x).ravel()
    assert np.array_equal((np.arange(12)[:, None] * 10000 + thread).ravel(), out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dtype", "tile"), [("matmul<float, 16>", np.float32, 16), ("matmul<double, 8>", np.float64, 8)]
)
def test_tiled_matmul_template_agrees_with_numpy(
    emulator: Bench, load: Load, name: str, dtype: type, tile: int
) -> None:
    n = 64
    a, b = np.random.default_rng(1).standard_normal((2, n, n)).astype(dtype)
    c, _, _ = emulator.run(
        load(name), np.zeros((n, n), dtype), a, b, np.int32(n), grid=(n // tile, n // tile, 1), block=(tile, tile, 1)
    )
    assert np.allclose(a @ b, c, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_256_threads_with_two_barriers_a_tile_take_less_than_half_a_second_at_n_256(
    emulator: Bench, load: Load
) -> None:
    n = 256
    a = np.ones((n, n), np.float32)
    buffers = emulator.device.allocate([a.copy(), a, a, np.int32(n)], frozenset({0}))
    times = emulator.device.time(load("matmul<float, 16>"), buffers, Geometry((16, 16, 1), (16, 16, 1)), 3, 20)
    emulator.device.free(buffers)
    assert len(times) == 3
    assert min(times) < 500


@pytest.mark.slow
def test_dynamic_shared_memory_and_threads_that_exit_before_the_barriers(emulator: Bench, load: Load) -> None:
    values = np.random.default_rng(2).random(1000, np.float32)
    out, _ = emulator.run(
        load("block_sum"),
        np.zeros(4, np.float32),
        values,
        np.int32(1000),
        grid=(4, 1, 1),
        block=(256, 1, 1),
        shared_bytes=1024,
    )
    assert np.allclose([values[i : i + 256].sum() for i in range(0, 1000, 256)], out, rtol=1e-5)


def test_barriers_in_two_branches_of_one_block_are_one_barrier(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("divergent"), np.zeros(64, np.int32), block=(64, 1, 1))
    assert np.array_equal([(63 - t) * (1 if t < 32 else 10) for t in range(64)], out)


def test_barriers_count_and_combine_predicates(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("barrier_votes"), np.zeros((50, 3), np.int32), block=(50, 1, 1))
    assert np.array_equal(np.tile([25, 1, 1], (50, 1)), out)


def test_histogram_with_atomics_in_shared_and_global_memory(emulator: Bench, load: Load) -> None:
    values = np.random.default_rng(3).integers(0, 8, 5000).astype(np.int32)
    out, _ = emulator.run(
        load("histogram"), np.zeros(8, np.uint32), values, np.int32(5000), grid=(4, 1, 1), block=(128, 1, 1)
    )
    assert np.array_equal(np.bincount(values, minlength=8), out)


def test_constant_memory_and_device_variables_that_start_afresh_with_every_launch(emulator: Bench, load: Load) -> None:
    values = np.arange(10, dtype=np.float32) ** 2
    for _ in range(2):
        out, _ = emulator.run(
            load("smooth"), np.zeros(10, np.float32), values, np.int32(10), block=(1, 1, 1), grid=(10, 1, 1)
        )
        assert np.allclose(np.convolve(values, [0.25, 0.5, 0.25], "valid"), out[1:-1])
        assert out[0] == out[-1] == 1


def test_shared_memory_of_the_block_before_is_poisoned(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("stale"), np.zeros(3 * 32 * 2, np.float32), grid=(3, 1, 1), shared_bytes=128)
    assert np.isnan(out).all()


def test_a_missing_barrier_shows_as_a_wrong_result(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("unsynchronised"), np.zeros(64, np.int32), block=(64, 1, 1))
    assert not np.array_equal(np.full(64, 5), out)


@pytest.mark.slow
def test_1024_threads_with_160_kilobytes_of_locals_each(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("big_locals"), np.zeros(1024, np.float32), block=(1024, 1, 1))
    threads = np.arange(1024)
    assert np.array_equal(threads + threads * 10 // 100 * 100, out)


def test_a_thread_that_spins_on_an_atomic_lets_the_others_run(emulator: Bench, load: Load) -> None:
    before = processor_s()
    (out,) = emulator.run(load("lock"), np.zeros(64, np.int32), block=(64, 1, 1))
    assert np.array_equal(np.arange(64), out)
    assert processor_s() - before < 5


def test_static_shared_memory_is_told_when_the_kernel_is_loaded(load: Load) -> None:
    assert load("matmul<float, 16>").resources.shared_bytes == 2048
    assert load("geometry").resources.shared_bytes == 0


BY_VALUE = """
struct Two { signed char mark; double by; int at[3]; };
__device__ float first(float v) {
    static __shared__ float held[32];
    held[threadIdx.x] = v;
    __syncthreads();
    return held[0];
}
__global__ void held(double *out, signed char before, const Two two, float4 four) {
    out[0] = two.mark + two.by + 10 * two.at[2];
    out[1] = before + first(four.w);
}
"""


def test_structures_and_vectors_are_passed_by_value_and_shared_memory_may_be_static_twice(emulator: Bench) -> None:
    (out,) = emulator.run(emulator.load(BY_VALUE, "held"), np.zeros(2), np.int8(1), *STRUCTURES)
    assert out.tolist() == [1.25 + 50, 5]


CONSTANTS = """
static __constant__ float weights[4], offset;
__global__ void weighted(float *out) { out[threadIdx.x] = weights[threadIdx.x] + offset; }
"""


def test_constant_memory_is_filled_anew_for_each_launch_and_is_no_argument(
    emulator: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, four = emulator.load(CONSTANTS, "weighted"), Geometry((1, 1, 1), (4, 1, 1))
    monkeypatch.setattr(emulator.device, "placement", Placement({0: "weights", 2: "offset"}))
    device, sets = emulator.device, [np.arange(4, dtype=np.float32), np.full(4, 7, np.float32)]
    jobs = [(device.allocate([w, np.zeros(4, np.float32), np.float32(0.5)], frozenset({1})), four) for w in sets]
    for (buffers, _), weights, _ in zip(jobs, sets, device.launch_each(kernel, jobs, 100), strict=True):
        assert np.array_equal(device.download(buffers, 1), weights + np.float32(0.5))
    for wrong, words in (
        ({0: "nowhere"}, "does not have"),
        ({1: "offset"}, "'offset' has 4 bytes, and the launch fills it with 16"),
    ):
        monkeypatch.setattr(device, "placement", Placement(wrong))
        with pytest.raises(DeviceFault, match=words):
            device.launch(kernel, jobs[0][0], four, 100)
    for buffers, _ in jobs:
        device.free(buffers)


POINTERS = """
struct Data { int n; const float *from; float *to; };
__global__ void copied(Data d, int more) {
    for (int i = threadIdx.x; i < d.n + more; i += blockDim.x) d.to[i] = d.from[i] + 1;
}
"""


def test_a_structure_holds_the_addresses_of_arrays_that_lie_between_guards(
    emulator: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator.device, "placement", Placement({}, {1: {8: 3, 16: 0}}))
    held = np.zeros((), {"names": ["n"], "formats": ["i4"], "offsets": [0], "itemsize": 24})
    held["n"] = 40
    kernel, one, device = emulator.load(POINTERS, "copied"), Geometry((1, 1, 1), (32, 1, 1)), emulator.device
    for more in (0, 1):
        arguments = [np.zeros(40, np.float32), held[()], np.int32(more), np.arange(40, dtype=np.float32)]
        buffers = device.allocate(arguments, frozenset({0}))
        if more:
            with pytest.raises(DeviceFault, match=r"touched memory 0 bytes past the end of argument [14]"):
                device.launch(kernel, buffers, one, 100)
        else:
            device.launch(kernel, buffers, one, 100)
            assert np.array_equal(device.download(buffers, 0), np.arange(1, 41, dtype=np.float32))
        device.free(buffers)


COUNTER = """
__global__ void last(float *out, unsigned *counter) {
    if (threadIdx.x == 0 && atomicInc(counter, gridDim.x - 1) == gridDim.x - 1) *out = gridDim.x;
}
"""


def test_blocks_that_are_tried_alone_leave_a_counter_as_it_was(emulator: Bench) -> None:
    kernel, geometry, device = emulator.load(COUNTER, "last"), Geometry((5, 1, 1), (2, 1, 1)), emulator.device
    buffers = device.allocate([np.zeros(1, np.float32), np.zeros(1, np.uint32)], frozenset({0}))
    assert device.race(kernel, buffers, geometry) is None
    assert device.changed(buffers, [1]) is None
    device.launch(kernel, buffers, geometry, 100)
    assert device.download(buffers, 0).tolist() == [5]
    device.free(buffers)


APPEND = """
__global__ void append(int *found, int *other, unsigned *counter) {
    found[atomicAdd(counter, 1)] = blockIdx.x + 1;
    other[0] = blockIdx.x + 1;
}
"""


def test_blocks_that_append_lose_nothing_to_each_other_where_any_order_will_do(emulator: Bench) -> None:
    kernel, geometry, device = emulator.load(APPEND, "append"), Geometry((4, 1, 1), (1, 1, 1)), emulator.device
    arrays = [np.zeros(4, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint32)]
    buffers = device.allocate(arrays, frozenset({0, 1, 2}))
    assert "both write element 0 of argument 1" in str(device.race(kernel, buffers, geometry))
    assert "both write element 0 of argument 2" in str(device.race(kernel, buffers, geometry, frozenset({0})))
    assert device.race(kernel, buffers, geometry, frozenset({0, 1})) is None
    device.free(buffers)


TURNS = """
__device__ unsigned next, turn;
__global__ void add(float *out, int how) {
    if (threadIdx.x) return;
    unsigned ticket = how ? atomicAdd(&next, 1) : 0;
    if (how == 1) while (*(volatile unsigned *)&turn != ticket) {}
    if (how == 2) while (atomicAdd(&turn, 0) != ticket) {}
    *out += blockIdx.x + 1;
    __threadfence();
    if (how == 1) *(volatile unsigned *)&turn = ticket + 1;
    if (how >= 2) atomicAdd(&turn, 1);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "is_lost"), [(0, True), (1, False), (2, False), (3, True)])
def test_blocks_that_wait_for_their_tickets_lose_nothing_to_each_other(
    emulator: Bench, how: int, is_lost: bool
) -> None:
    kernel, device = emulator.load(TURNS, "add"), emulator.device
    buffers = device.allocate([np.zeros(1, np.float32), np.int32(how)], frozenset({0}))
    found = device.race(kernel, buffers, Geometry((4, 1, 1), (2, 1, 1)))
    assert bool(found and "both write element 0 of argument 1" in found) == is_lost, found
    device.free(buffers)


MEANWHILE = """
__global__ void add(int* x, int how) {
    for (int i = 0; i < 8; i++) {
        if (how == 0) atomicAdd(&x[0], 1);
        if (how == 1) for (int old = x[0], seen; (seen = atomicCAS(&x[0], old, old + 1)) != old; old = seen) {}
        if (how == 2) atomicExch(&x[0], atomicAdd(&x[0], 0) + 1);
        if (how == 3) { int old = x[0]; atomicCAS(&x[0], old, old + 1); }
    }
}
__global__ void wait(int* x, int which) {
    if (threadIdx.x == which) while (atomicCAS(&x[0], 7, 8) != 7) {}
    if (threadIdx.x == 63 - which) atomicExch(&x[0], 7);
}
"""


@pytest.mark.parametrize(("how", "is_lost"), [(0, False), (1, False), (2, True), (3, True)])
def test_what_other_threads_do_between_a_look_and_an_exchange_is_lost_to_who_does_not_look_again(
    emulator: Bench, how: int, is_lost: bool
) -> None:
    kernel, device = emulator.load(MEANWHILE, "add"), emulator.device
    buffers = device.allocate([np.zeros(1, np.int32), np.int32(how)], frozenset({0}))
    for _ in device.launch_each(kernel, [(buffers, Geometry((1, 1, 1), (256, 1, 1)))], 100):
        assert (device.download(buffers, 0)[0] < 2048) == is_lost
    device.free(buffers)


@pytest.mark.parametrize("which", [0, 63])
def test_a_thread_that_spins_lets_those_begin_that_have_not(emulator: Bench, which: int) -> None:
    (out,) = emulator.run(emulator.load(MEANWHILE, "wait"), np.zeros(1, np.int32), np.int32(which), block=(64, 1, 1))
    assert out.tolist() == [8]
