"""What is offered: kernels alike by their features, the most similar first; nothing across kinds of devices."""

from __future__ import annotations

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.entries import A100, EMULATOR, H200, entry, features, sample, wanted
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory import MOST_LINES, MOST_SEEDS, Memory, ranked, recall_lines, seeds_of
from tui_tuner.memory.entry import THRESHOLD, WEIGHTS, MemoryEntry, device_factor, features_of, similarity, times_of
from tui_tuner.memory.sessions import Database, RememberedSessions
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Work

HERE = "matmul on NVIDIA H200 (same tunables): block_size_x=64, block_size_y=4: 1.5 ms, 8.4x [8.3, 8.5]"


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(Database(tmp_path / "memory.sqlite3"))


def remember(memory: Memory, *entries: MemoryEntry) -> None:
    for number, kept in enumerate(entries):
        RememberedSessions(memory.database).add(str(number), kept)


def test_a_line_says_kernel_device_configuration_gain_and_what_helped() -> None:
    (line,) = recall_lines([entry()], wanted())
    assert line == f"{HERE}; helped: shared-memory tiling 3.1x"


def test_times_of_a_cpu_say_so() -> None:
    (line,) = recall_lines([entry(device="CPU emulator", times="emulator", helped=[])], wanted())
    assert "1.5 CPU ms" in line


def test_the_most_similar_comes_first_then_the_larger_gain() -> None:
    tiled = entry(features=features(kernel="matmul_tiled").model_dump(), speedup=(90, 89, 91))
    elsewhere = entry(device="NVIDIA A100", architecture="sm_80")
    stranger = entry(features=features("vector_add").model_dump())
    small, large = entry(speedup=(2, 1.9, 2.1)), entry(speedup=(3, 2.9, 3.1))
    order = ranked([tiled, small, stranger, elsewhere, large], wanted())
    assert order == [large, small, tiled, elsewhere]


async def test_nothing_of_a_cpu_is_offered_to_a_gpu_nor_the_other_way_round(memory: Memory) -> None:
    on_emulator = entry(
        {"block_size_x": 8, "block_size_y": 8}, device="CPU emulator", kind="emulator", times="emulator"
    )
    remember(memory, on_emulator, entry())
    on_gpu = await memory.recall(sample("matmul"), H200)
    assert [line.partition(" (")[0] for line in on_gpu.lines] == ["matmul on NVIDIA H200"]
    assert on_gpu.seeds == [{"block_size_x": 64, "block_size_y": 4}]
    on_cpu = await memory.recall(sample("matmul"), EMULATOR)
    assert [line.partition(" (")[0] for line in on_cpu.lines] == ["matmul on CPU emulator"]
    assert on_cpu.seeds == [{"block_size_x": 8, "block_size_y": 8}]


def test_the_same_finding_takes_one_line_and_there_are_few() -> None:
    assert len(recall_lines([entry(), entry(speedup=(8, 7.9, 8.1))], wanted())) == 1
    many = [entry(device=f"GPU {number}") for number in range(MOST_LINES + 3)]
    assert len(recall_lines(many, wanted())) == MOST_LINES


def test_seeds_are_the_bests_then_the_others_and_only_valid_ones_of_the_same_tunables() -> None:
    def found(x: object, y: object) -> dict[str, object]:
        return {"configuration": {"block_size_x": x, "block_size_y": y}, "ms": 1.0}

    first = entry({"block_size_x": 64, "block_size_y": 4}, others=[found(32, 8), found(64, 4)])
    too_many_threads = entry({"block_size_x": 256, "block_size_y": 32})
    not_in_the_lists = entry({"block_size_x": 48, "block_size_y": 4})
    other_names = entry({"block_size_x": 64, "rows": 4})
    more_names = entry({"tile": 4, "block_size_y": 2, "block_size_x": 128})
    kept = [first, too_many_threads, not_in_the_lists, other_names, more_names]
    assert seeds_of(kept, [], wanted().space) == [
        {"block_size_x": 64, "block_size_y": 4},
        {"block_size_x": 128, "block_size_y": 2},
        {"block_size_x": 32, "block_size_y": 8},
    ]


def test_what_was_only_proposed_comes_behind_what_was_measured_and_is_not_crowded_out() -> None:
    space = wanted().space
    valid = space.enumerate_valid(MOST_SEEDS + 3)
    kept = [entry(configuration) for configuration in valid[:-1]]
    assert seeds_of(kept, [valid[0], valid[-1]], space) == [*valid[:MOST_SEEDS], valid[-1]]


async def test_seeds_are_for_the_tunables_of_the_kernel_that_is_asked_for(memory: Memory) -> None:
    remember(memory, entry({"block_size_x": 64, "block_size_y": 4, "tile": 2}))
    problem = sample("matmul")
    rewritten = baseline(problem).model_copy(update={"tunables": {**problem.tunables, "tile": [1, 2]}})
    found = await memory.recall(problem, H200, rewritten)
    assert found.seeds == [{"block_size_x": 64, "block_size_y": 4, "tile": 2}]
    assert "(same tunables)" in found.lines[0]
    given = await memory.recall(problem, H200)
    assert given.seeds == [{"block_size_x": 64, "block_size_y": 4}]
    assert "(other tunables)" in given.lines[0]


async def test_a_memory_that_cannot_be_used_is_a_warning(memory: Memory) -> None:
    memory.database.file.write_bytes(b"nonsense" * 1000)
    found = await memory.recall(sample("matmul"), A100)
    assert (found.lines, found.seeds) == ([], [])
    assert "nothing is recalled: " in found.warning
    assert "file is not a database" in found.warning
    assert "file is not a database" in await memory.remember("run", entry())


async def test_entries_that_cannot_be_read_are_counted_and_the_others_offered(memory: Memory) -> None:
    remember(memory, entry())
    with closing(sqlite3.connect(memory.database.file)) as connection:
        connection.execute("INSERT INTO sessions (run, kernel, times, content) VALUES ('x', '', 'gpu', '{}')")
        connection.commit()
    found = await memory.recall(sample("matmul"), H200)
    assert found.lines[0].startswith(HERE)
    assert found.warning == "1 of the sessions remembered cannot be read"


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
