"""Asynchronous copies: done where they are waited for, and of no use where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.bench import Bench

PIPELINE = """
#include <cuda_pipeline.h>
constexpr int STAGES = 2, TILE = 32;
__global__ void sums(const float4 *in, float *out, int tiles) {
    __shared__ float4 stage[STAGES][TILE];
    const int t = threadIdx.x;
    const float4 *mine = in + blockIdx.x * tiles * TILE;
    float sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &mine[t], sizeof(float4));
    __pipeline_commit();
    for (int tile = 0; tile < tiles; tile++) {
        if (tile + 1 < tiles)
            __pipeline_memcpy_async(&stage[(tile + 1) % STAGES][t], &mine[(tile + 1) * TILE + t], sizeof(float4));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();  // what others have copied
        const float4 v = stage[tile % STAGES][TILE - 1 - t];
        sum += v.x + v.y + v.z + v.w;
        __syncthreads();  // before it is written again
    }
    out[blockIdx.x * TILE + t] = sum;
}
"""
SHARED_BY_A_GROUP = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void turned(const int *in, int *out, int n) {
    extern __shared__ int tile[];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in + blockIdx.x * n, sizeof(int) * n);
    cg::wait(block);
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[blockIdx.x * n + i] = tile[n - 1 - i];
}
"""
ZEROS = """
#include <cuda_pipeline_primitives.h>
__global__ void cut(const int *in, int *out, int bytes) {
    __shared__ __align__(16) int tile[4];
    __pipeline_memcpy_async(tile, in, bytes, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    for (int i = 0; i < bytes / 4; i++) out[i] = tile[i];
}
"""
GRID = {"grid": (4, 1, 1), "block": (32, 1, 1)}


def _sums(emulator: Bench, source: str) -> bool:
    tiles = 5
    values = np.random.default_rng(3).integers(0, 9, (4, tiles, 32, 4)).astype(np.float32)
    kernel = emulator.load(source, "sums")
    found = emulator.run(kernel, values, np.zeros((4, 32), np.float32), np.int32(tiles), **GRID)[1]
    return np.array_equal(found, values.sum((1, 3))[:, ::-1])


@pytest.mark.slow
def test_stages_of_copies_are_there_once_they_are_waited_for(emulator: Bench) -> None:
    assert _sums(emulator, PIPELINE)


@pytest.mark.parametrize(
    "missing",
    [
        "__pipeline_wait_prior(1);",
        "__syncthreads();  // what others have copied",
        "__syncthreads();  // before it is written again",
    ],
)
def test_a_wait_or_a_barrier_that_is_missing_shows(emulator: Bench, missing: str) -> None:
    assert missing in PIPELINE
    assert not _sums(emulator, PIPELINE.replace(missing, ""))


def test_a_wait_for_too_few_stages_shows(emulator: Bench) -> None:
    assert not _sums(emulator, PIPELINE.replace("wait_prior(1)", "wait_prior(2)"))


@pytest.mark.parametrize("n", [1, 37, 500])
def test_a_group_shares_a_copy_of_any_size(emulator: Bench, n: int) -> None:
    values = np.arange(4 * n, dtype=np.int32).reshape(4, n)
    kernel = emulator.load(SHARED_BY_A_GROUP, "turned")
    found = emulator.run(kernel, values, np.zeros_like(values), np.int32(n), shared_bytes=4 * n, **GRID)[1]
    assert np.array_equal(found, values[:, ::-1])


@pytest.mark.parametrize(("nbytes", "expected"), [(4, [0, 0, 0, 0]), (8, [5, 0, 0, 0]), (16, [5, 6, 7, 0])])
def test_what_is_cut_off_is_zero(emulator: Bench, nbytes: int, expected: list[int]) -> None:
    kernel = emulator.load(ZEROS, "cut")
    given, out = np.array([5, 6, 7, 8], np.int32), np.zeros(4, np.int32)
    assert emulator.run(kernel, given, out, np.int32(nbytes))[1].tolist() == expected


def test_copies_that_hardware_does_not_take_are_refused_with_their_line(emulator: Bench) -> None:
    fault = emulator.fault(emulator.load(ZEROS, "cut"), *_pair(), np.int32(12))
    assert "__pipeline_memcpy_async of a size that it does not take" in fault.message
    fault = emulator.fault(emulator.load(ZEROS.replace(", in,", ", in + 1,"), "cut"), *_pair(), np.int32(16))
    assert "__pipeline_memcpy_async at an address that is no multiple of its size" in fault.message
    assert "line 5" in fault.message


def _pair() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(8, np.int32), np.zeros(8, np.int32)
