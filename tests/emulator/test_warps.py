from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulator.bench import KERNELS, Bench
from tui_tuner.evaluate.devices.base import LoadedKernel
from tui_tuner.evaluate.results import FailureKind

SOURCE = (KERNELS / "warps.cu").read_text()
GROUPS = (KERNELS / "groups.cu").read_text()
LANES = np.arange(32)
Load = Callable[[str], LoadedKernel]


@pytest.fixture(scope="module")
def load(emulator: Bench) -> Load:
    return lambda name: emulator.load(SOURCE, name)


def test_shuffles_of_every_kind_stay_within_their_width(emulator: Bench, load: Load) -> None:
    kernel = load("shuffles")
    for width in (32, 8):
        (out,) = emulator.run(kernel, np.zeros((32, 4), np.int32), np.int32(width))
        base = LANES // width * width
        sources = [
            base + 5 % width,
            np.where(base <= LANES - 3, LANES - 3, LANES),
            np.where(base + width > LANES + 3, LANES + 3, LANES),
            np.where(base + width > (LANES ^ 6), LANES ^ 6, LANES),
        ]
        assert np.array_equal(np.stack(sources, axis=1) * 3, out)


def test_shuffles_of_8_byte_and_2_byte_values(emulator: Bench, load: Load) -> None:
    arrays = [np.zeros(32, dtype) for dtype in (np.float64, np.int64, np.float16, np.float32)]
    doubles, longs, halves, floats = emulator.run(load("wide_shuffles"), *arrays)
    assert np.array_equal((LANES ^ 1) + 0.5, doubles)
    assert np.array_equal(2**40 + np.where(LANES < 30, LANES + 2, LANES), longs)
    assert np.array_equal(np.maximum(LANES - 1, 0) * 0.25, halves)
    assert np.array_equal((31 - LANES) * 1.5, floats)


@pytest.mark.slow
def test_a_block_sum_by_shuffles(emulator: Bench, load: Load) -> None:
    values = np.random.default_rng(1).random(256, np.float32)
    out, _ = emulator.run(load("warp_sums"), np.zeros(1, np.float32), values, block=(256, 1, 1))
    assert np.isclose(values.sum(), out[0])


@pytest.mark.slow
def test_votes_matches_and_reductions(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("votes"), np.zeros((32, 9), np.uint32))
    ballot = sum(1 << t for t in range(0, 32, 3))
    match = [0xFF << (t // 8 * 8) for t in range(32)]
    assert np.array_equal([[ballot, 1, 1, 496, 2**32 - 26, 31, match[t], 2**32 - 1, 0] for t in range(32)], out)


def test_halves_of_a_warp_shuffle_with_masks_of_their_own(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("halves"), np.zeros(32, np.int32))
    assert np.array_equal(np.where(LANES < 16, LANES ^ 1, (LANES ^ 1) * 100), out)


@pytest.mark.slow
def test_tiles_of_a_block_whose_last_warp_is_not_full(emulator: Bench) -> None:
    (out,) = emulator.run(emulator.load(GROUPS, "tiles"), np.zeros((40, 2, 8), np.int32), block=(40, 1, 1))
    ranks = np.arange(40)
    for column, size in enumerate((32, 8)):
        first = ranks // size * size
        after = np.minimum(first + size, 40)
        ballot = [sum(1 << t - a for t in range(a, b) if t % 3 == 0) for a, b in zip(first, after, strict=True)]
        sums = [3 * sum(range(a, b)) for a, b in zip(first, after, strict=True)]
        wanted = [
            ranks - first + 100 * (ranks // size) + 10000 * -(-40 // size),
            3 * (first + 1),
            3 * np.where(ranks - 2 < first, ranks, ranks - 2),
            3 * np.where(ranks + 2 >= after, ranks, ranks + 2),
            3 * (ranks ^ 1),
            ballot,
            sums,
            3 * (after - 1) + np.where(first == 0, 1000, 0) + 2000,
        ]
        assert np.array_equal(np.stack(wanted, axis=1).astype(np.int32), out[:, column])


@pytest.mark.slow
def test_groups_whose_size_is_known_when_they_run(emulator: Bench) -> None:
    kernel = emulator.load(GROUPS, "sums")
    out, place = emulator.run(
        kernel, np.zeros(2, np.int32), np.zeros(1, np.int32), grid=(2, 1, 1), block=(64, 1, 1), shared_bytes=256
    )
    assert out.tolist() == [16 * 15 * 1000 + 4 * 15] * 2
    assert place[0] == 2 * 22


def test_a_barrier_of_the_whole_grid_is_refused_in_words(emulator: Bench) -> None:
    sync = "#include <cooperative_groups.h>\n__global__ void k() { cooperative_groups::this_grid().sync(); }\n"
    log = emulator.compile(sync, "k").log
    assert "the emulator cannot run barriers of the whole grid: use a CUDA GPU" in log


def test_exited_lanes_do_not_hold_up_a_vote(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("exited"), np.zeros(20, np.int32))
    assert np.array_equal(np.full(20, (1 << 20) - 1), out)


@pytest.mark.slow
def test_active_mask_is_the_lanes_that_stand_together(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("active"), np.zeros(64, np.uint32))
    assert np.array_equal(np.where(LANES < 10, 1023, 0), out[:32])
    assert np.array_equal(np.full(32, 2**32 - 1), out[32:])


def test_a_shuffle_on_which_a_named_lane_never_arrives_is_a_deadlock_with_both_lines(
    emulator: Bench, load: Load
) -> None:
    fault = emulator.fault(load("alone"), np.zeros(1, np.int32))
    assert fault.kind == FailureKind.TIMEOUT
    line = SOURCE[: SOURCE.index("void alone")].count("\n") + 1
    assert fault.message.startswith("deadlock: ")
    assert f"1 thread waits at __shfl_sync in line {line + 1}" in fault.message
    assert f"31 threads wait at __syncthreads in line {line + 2}" in fault.message


def test_a_lane_outside_its_own_mask_is_told(emulator: Bench, load: Load) -> None:
    fault = emulator.fault(load("left_out"), np.zeros(32, np.int32))
    assert fault.kind == FailureKind.CRASH
    assert "with mask 0x00000001, which leaves it out" in fault.message
