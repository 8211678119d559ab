"""Configurations of other shapes: several size groups and problems, the alternate format, a file from Windows."""

from __future__ import annotations

from pathlib import Path

from tests.tensile.sessions.replies import BEST, DEEPER, INSTRUCTION, SMALL, SPLIT, STOP, advice, fork, try_value
from tests.tensile.sessions.world import (
    SMALL_SPACE,
    A,
    B,
    World,
    finished,
    measured,
    model,
    notes,
    of,
    played,
    prompts,
    steps,
    winners,
)
from tui_tuner.session import events
from tui_tuner.tensile.events import WinnersChanged

GROUP = """\
    - ForkParameters:
        - MatrixInstruction: [{first}, {second}]
        - DepthU: [32]
        - GlobalSplitU: [{split}]
      BenchmarkFinalParameters:
        - ProblemSizes:
          - Exact: {size}
"""
PROBLEM = """\
  -
    - {{OperationType: GEMM, DataType: {kind}, DestDataType: {kind}, ComputeDataType: s, Batched: True, \
HighPrecisionAccumulate: True, TransposeA: 1, TransposeB: 0}}
"""


def group(size: tuple[int, ...], split: int = 1) -> str:
    return GROUP.format(first=SMALL, second=BEST, size=list(size), split=split)


HALF, BRAIN = PROBLEM.format(kind="h"), PROBLEM.format(kind="b")
SEVERAL = f"BenchmarkProblems:\n{HALF}{group(A)}{group(B)}{BRAIN}{group(A, split=4)}"
"""Three size groups: two of a problem in half precision, and one of a problem in bfloat16 at the first one's size."""
ALTERNATE = f"""\
GlobalParameters: {{CSVExportWinner: 1, PrintSolutionRejectionReason: True}}
ProblemType: {{OperationType: GEMM, DataType: h, DestDataType: h, ComputeDataType: s, Batched: True, \
HighPrecisionAccumulate: True, TransposeA: 1, TransposeB: 0}}
BenchmarkCommonParameters:
- KernelLanguage: [Assembly]
ForkParameters:   # of all sizes
- MatrixInstruction: [{SMALL}, {BEST}]
- DepthU: [32]
- GlobalSplitU: [1]
"""


def by_group(story: list[events.Event]) -> dict[tuple[int, tuple[int, ...]], tuple[float, int]]:
    return {(w.group, tuple(w.size)): (w.gflops, w.round) for w in of(story, WinnersChanged)[-1].winners}


async def test_every_size_group_of_every_problem_has_winners_of_its_own(tmp_path: Path) -> None:
    world = World(tmp_path, SEVERAL)
    backend = model(advice(try_value("DepthU", 64, group=1)), advice(try_value("DepthU", 64, group=2)), STOP)
    story = await played(world.begin(backend, repeats=1))
    assert by_group(story) == {(0, A): (40_000, 0), (1, B): (72_000, 1), (2, A): (72_000, 2)}
    assert measured(story) == [(0, 6), (1, 8), (2, 10), (1000, 5)]
    for title, words in (("Round 1", "6 -> 8 permutations"), ("Round 2", "8 -> 10 permutations")):
        assert words in steps(story)[title].detail
    assert "Permutations now: 6 (2 + 2 + 2 of the size groups)." in prompts(backend)[0]
    gain = finished(story).speedup
    assert gain is not None
    assert abs(gain[0] - (1.0 * 1.2 * 1.2) ** (1 / 3)) < 1e-9


async def test_files_of_the_result_keep_the_size_groups_apart(tmp_path: Path) -> None:
    world = World(tmp_path, SEVERAL)
    await played(world.begin(model(advice(try_value("DepthU", 64, group=1)), STOP)))
    assert [one.permutations for one in world.configuration("best.yaml").size_groups] == [2, 4, 2]
    kept = world.configuration("winners.yaml").size_groups
    assert [one.permutations for one in kept] == [1, 1, 1]
    assert [(one.constants["DepthU"], one.constants["GlobalSplitU"]) for one in kept] == [(32, 1), (64, 1), (32, 4)]
    assert [one.sizes.listed for one in kept] == [(A,), (B,), (A,)]


async def test_a_size_group_whose_solutions_all_fail_leaves_the_others(tmp_path: Path) -> None:
    world = World(tmp_path, SEVERAL)
    rows = world.table.read_text().splitlines()
    world.table.write_text("\n".join(f"{row[: row.rindex(',')]},-1" if row.startswith("512,") else row for row in rows))
    backend = model(advice(try_value("DepthU", 64)), STOP)
    story = await played(world.begin(backend, repeats=1))
    assert by_group(story) == {(0, A): (48_000, 1), (2, A): (60_000, 0)}
    assert "size group 1, 512x512x1x1024: 0 solutions timed, 2 failed validation" in prompts(backend)[0]
    assert finished(story).status == "finished"
    assert notes(story).count("a problem size has no valid solution") == 3, "of every run"
    assert (world.path / "winners.yaml").exists()


async def test_the_alternate_format_takes_its_sizes_from_a_file(tmp_path: Path) -> None:
    world = World(tmp_path, ALTERNATE, sizes=f"- Exact: {list(A)}\n- Exact: {list(B)}\n")
    backend = model(DEEPER, SPLIT, STOP)
    story = await played(world.begin(backend, repeats=1))
    assert measured(story) == [(0, 2), (1, 4), (2, 8), (1000, 3)]
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}
    assert "2 problem sizes: 256x128x1x4096, 512x512x1x1024" in prompts(backend)[0]
    assert world.configuration("best.yaml").text == ALTERNATE.replace("[32]", "[32, 64]").replace("[1]", "[1, 4]")
    assert world.configuration("winners.yaml").permutations == 2
    again = await played(world.resume(model()))
    assert finished(again).evaluations == finished(story).evaluations


async def test_line_ends_of_windows_stay(tmp_path: Path) -> None:
    text = SMALL_SPACE.replace("\n", "\r\n")
    world = World(tmp_path, text)
    backend = model(DEEPER, advice(fork("StaggerU", [0, 32])), STOP)
    story = await played(world.begin(backend, repeats=1))
    assert winners(story) == {A: (48_000, 1), B: (72_000, 1)}
    for name in ("best.yaml", "winners.yaml"):
        content = (world.path / name).read_bytes()
        assert content.count(b"\r\n") == content.count(b"\n") > text.count("\n") - 5
    assert b"- DepthU: [32, 64]   # kept\r\n" in (world.path / "best.yaml").read_bytes()
    assert (world.path / "rounds" / "00" / "gemm.yaml").read_bytes() == text.encode()
    again = await played(world.resume(model()))
    assert finished(again).evaluations == finished(story).evaluations


async def test_alternatives_of_a_group_are_edited_and_kept(tmp_path: Path) -> None:
    grouped = SMALL_SPACE.replace(
        "        - GlobalSplitU: [1] # kept\n",
        "        - Groups:\n          - - {GlobalSplitU: 1, StaggerU: 0}   # one part\n"
        "            - {GlobalSplitU: 1, StaggerU: 4}\n",
    )
    assert grouped != SMALL_SPACE
    world = World(tmp_path, grouped)
    one = [{"parameter": "GlobalSplitU", "value": 4}, {"parameter": "StaggerU", "value": 8}]
    more = {"kind": "add_independent", "reason": "K is long.", "group": 0, "alternatives": [one]}
    gone = [{"parameter": "GlobalSplitU", "value": 1}, {"parameter": "StaggerU", "value": 4}]
    less = {"kind": "remove_independent", "reason": "No better.", "group": 0, "alternative": gone}
    story = await played(world.begin(model(advice(more), advice(less, try_value("DepthU", 64)), STOP), repeats=1))
    assert measured(story)[:3] == [(0, 4), (1, 6), (2, 8)]
    assert winners(story) == {A: (72_000, 2), B: (72_000, 2)}
    kept = world.configuration("best.yaml")
    assert "- - {GlobalSplitU: 1, StaggerU: 0}   # one part\n" in kept.text
    (alternatives,) = kept.size_groups[0].groups
    assert [*map(dict, alternatives)] == [{"GlobalSplitU": 1, "StaggerU": 0}, {"GlobalSplitU": 4, "StaggerU": 8}]
    alone = world.configuration("winners.yaml").size_groups[0]
    assert (alone.permutations, alone.constants[INSTRUCTION], alone.constants["DepthU"]) == (2, BEST, 64)
