"""What is offered: lines with the most similar first, seeds that are valid, nothing across kinds of devices."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.memory.entries import A100, EMULATOR, H200, entry, features, sample, wanted
from tui_tuner.memory import MOST_LINES, MOST_SEEDS, Memory, ranked, recall_lines, seeds_of
from tui_tuner.memory.entry import MemoryEntry
from tui_tuner.memory.sessions import Database, RememberedSessions
from tui_tuner.problem.candidate import baseline

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
