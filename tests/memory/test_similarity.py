"""Features of kernels, and which of them are alike."""

from __future__ import annotations

import itertools

import pytest

from tests.memory.entries import A100, EMULATOR, H200, features, sample
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory.entry import THRESHOLD, WEIGHTS, device_factor, features_of, similarity, times_of
from tui_tuner.problem.model import Work

SOURCE = """\
#define WARP(v) v
// __shared__ and atomicAdd in a comment do not count
template <typename T> __device__ T total(T v) { return __shfl_xor_sync(~0u, v, 1); }
__global__ void matmul(const float *A, const float *B, float *C, int n) {
    __shared__ float tile[32];
    for (int i = 0; i < n; i++) { while (n) { tile[0] += total<float>(A[i]); } }
    __syncthreads();
    atomicAdd(C, tile[0]);
}
"""


def test_features_are_read_from_source_and_problem() -> None:
    found = features_of(sample("matmul").model_copy(update={"source_text": SOURCE}))
    assert found.uses == ["shared memory", "barriers", "shuffles", "atomics", "loops", "nested loops"]
    assert found.arguments == ["float32[2]", "float32[2]", "float32[2]", "int32"]
    assert found.intensity == pytest.approx(2 * 4096**3 / (3 * 4 * 4096**2))
    assert found.threads == [4096, 4096, 1]
    assert found.tunables["block_size_y"] == [1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize(
    ("name", "uses"),
    [
        ("matmul", ["loops"]),
        ("reduction", ["shared memory", "barriers", "atomics", "loops"]),
        ("vector_add", []),
        ("matvec", ["loops", "nested loops"]),
        ("jacobi", []),
    ],
)
def test_features_of_sample_kernels(name: str, uses: list[str]) -> None:
    assert features(name).uses == uses


def test_a_kernel_of_another_language_or_without_work_has_what_can_be_told() -> None:
    kernel = sample("matmul").kernel.model_copy(update={"language": "python"})
    problem = sample("matmul").model_copy(
        update={"kernel": kernel, "source_text": "def matmul(): ...", "work": Work(flops="no_such_size"), "sizes": {}}
    )
    found = features_of(problem)
    assert (found.language, found.uses, found.intensity, found.threads) == ("python", [], None, [])


def test_the_weights_are_whole_and_a_kernel_is_itself() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert similarity(features(), features()) == pytest.approx(1)


def test_similarity_is_the_same_both_ways() -> None:
    names = ("matmul", "transpose", "reduction", "softmax", "jacobi")
    for one, other in itertools.combinations(names, 2):
        assert similarity(features(one), features(other)) == pytest.approx(similarity(features(other), features(one)))


def test_a_variant_is_more_alike_than_a_cousin_and_a_cousin_than_a_stranger() -> None:
    ours = features()
    variant = features(kernel="matmul_tiled", uses=["shared memory", "barriers", "loops", "nested loops"])
    alike = [similarity(ours, other) for other in (variant, features("convolution2d"), features("vector_add"))]
    assert alike == sorted(alike, reverse=True)
    assert alike[0] > THRESHOLD > alike[1]


def test_the_value_ranges_of_tunables_count_half() -> None:
    ours = features()
    moved = features(tunables={name: [1024, 2048] for name in ours.tunables})
    assert similarity(ours, moved) == pytest.approx(1 - WEIGHTS["tunables"] / 2)
    renamed = features(tunables={f"{name}_": values for name, values in ours.tunables.items()})
    assert similarity(ours, renamed) == pytest.approx(1 - WEIGHTS["tunables"])


def test_the_same_kernel_on_another_gpu_is_still_similar_and_less_so() -> None:
    same, sibling, other = (
        device_factor(H200, *device) for device in (("NVIDIA H200", "sm_90"), ("NVIDIA H100", "sm_90"), ("X", "sm_80"))
    )
    assert 1 == same > sibling > other > THRESHOLD


def test_every_cpu_and_recorded_times_are_apart_from_gpus_and_from_each_other() -> None:
    opencl = DeviceInfo(kind="opencl", name="a GPU", backend="")
    on_cpu = opencl.model_copy(update={"is_cpu": True})
    recorded = DeviceInfo(kind="recorded", name="NVIDIA A100", backend="")
    assert times_of(H200) == times_of(A100) == times_of(opencl)
    apart = [times_of(device) for device in (H200, EMULATOR, on_cpu, recorded)]
    assert len(set(apart)) == len(apart)
