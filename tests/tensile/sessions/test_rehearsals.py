"""Edits are counted by Tensile itself before they are approved: valid, rejected, duplicate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.real import DATA, needs_data
from tests.tensile.running.programs import as_tensile
from tests.tensile.sessions.replies import DEEPER, STOP, advice, try_value
from tests.tensile.sessions.world import SMALL_SPACE, Told, World, measured, model, notes, played, prompts
from tests.tensile.stand_in import sample, write_program
from tui_tuner.tensile.document.reading import parse_configuration, read_configuration
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome
from tui_tuner.tensile.program import Tensile
from tui_tuner.tensile.rehearsal import by_edit, counts, is_poor, is_refusal, rehearse

REASON = "totalVgprs of MT64x64 with DepthU 128 exceeds the limit of 512"
TOO_MUCH = advice(try_value("DepthU", 128), try_value("GlobalSplitU", 7))
"""Six permutations more, none of which was recorded: the stand-in rejects them."""


def outcome(permutations: int, solutions: int | None, **more: int) -> RoundOutcome:
    group = GroupOutcome(group=0, permutations=permutations, solutions=solutions, **more)  # type: ignore[arg-type]
    return RoundOutcome(seconds=1, groups=[group])


async def test_tensile_is_ended_once_it_has_counted(tmp_path: Path) -> None:
    """Where it went on it would run for the minutes that its kernels take."""
    text = SMALL_SPACE.replace("GlobalSplitU: [1]", "GlobalSplitU: [1, 1, 7]")
    program = write_program(tmp_path, measured=sample.write_table(tmp_path / "measured.csv"), pace=600)
    bench = TensileBench(Tensile((str(program),), ""))
    told = await rehearse(bench, parse_configuration(text, tmp_path / "gemm.yaml"))
    (group,) = told.groups
    assert told.failure is None
    assert (group.permutations, group.solutions, group.rejections, group.duplicates) == (6, 2, 2, 2)
    assert counts(told).startswith("of 6 permutations 2 make a kernel, 2 are rejected (")
    assert counts(told).endswith("), 2 are duplicates of others")


@pytest.mark.parametrize("fault", ["fatal", "reject_all", "none at all"])
async def test_a_rehearsal_without_solutions_says_why(tmp_path: Path, fault: str) -> None:
    program = write_program(tmp_path, measured=sample.write_table(tmp_path / "measured.csv"), fault=fault)
    refused = fault != "none at all"
    bench = TensileBench(Tensile((str(program),), "") if refused else as_tensile(tmp_path, "import sys; sys.exit(3)"))
    told = await rehearse(bench, parse_configuration(SMALL_SPACE, tmp_path / "gemm.yaml"))
    assert told.failure is not None
    assert is_refusal(told) is refused


async def test_the_model_sees_what_its_edits_make_and_thinks_again(tmp_path: Path) -> None:
    world, backend, user = World(tmp_path), model(TOO_MUCH, DEEPER, STOP), Told()
    story = await played(world.begin(backend, rehearse=True), user)
    assert (
        "round 1: Tensile tried these edits and built nothing: of 8 permutations 2 make a kernel, 6 are rejected ("
        in (prompts(backend)[1])
    )
    assert "try DepthU 128: +2 permutations, +0 that make a kernel" in prompts(backend)[1]
    assert "most of what the edits add makes no kernel" in notes(story)
    assert "before anything is built: of 4 permutations 4 make a kernel" in user.proposals[0].rationale
    assert measured(story) == [(0, 2), (1, 4)]
    assert notes(await played(world.replay())) == notes(story)


async def test_one_that_insists_has_its_way(tmp_path: Path) -> None:
    backend = model(TOO_MUCH, TOO_MUCH, STOP)
    story = await played(World(tmp_path).begin(backend, rehearse=True))
    assert measured(story) == [(0, 2), (1, 8)]


@needs_data
async def test_what_a_real_tensile_prints_is_enough(tmp_path: Path) -> None:
    """Its whole log, and then it goes on for ever, as while it builds kernels."""
    log = DATA / "real-runs" / "plain" / "stdout.log"
    body = f"import time; print(open({str(log)!r}).read(), flush=True); time.sleep(600)"
    given = read_configuration(DATA / "real-runs" / "config.yaml")
    (group,) = (await rehearse(TensileBench(as_tensile(tmp_path, body)), given)).groups
    assert (group.permutations, group.solutions, group.rejections, group.duplicates) == (8, 4, 4, 0)


def test_few_of_those_that_are_added_are_poor_and_few_of_those_that_were_there_are_not() -> None:
    assert is_poor(outcome(100, 10), None)
    assert not is_poor(outcome(100, 10), outcome(92, 5))
    assert is_poor(outcome(100, 10), outcome(50, 10))
    assert not is_poor(outcome(50, 10), outcome(100, 10))


def test_each_edit_has_its_share() -> None:
    assert by_edit(["fork A", "try B 2"], [outcome(2, 2), outcome(4, 4), outcome(6, 4)]) == [
        "fork A: +2 permutations, +2 that make a kernel",
        "try B 2: +2 permutations, +0 that make a kernel",
    ]
