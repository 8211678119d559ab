from __future__ import annotations

from pathlib import Path

import pytest

from tests.problem.examples import KERNEL, PROBLEM
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import parse_problem
from tui_tuner.strategies.base import FaultyReply
from tui_tuner.strategies.rewriting.faults import read_rewrite
from tui_tuner.strategies.rewriting.rewrite import RewriteContext, RewriteReply


@pytest.fixture(scope="module")
def context():
    given = parse_problem(PROBLEM, directory=Path(), file=Path("scale.toml"), source_text=KERNEL)
    return RewriteContext(given, baseline(given), given.default_configuration, max_threads=1024)


def reply_with(restrictions, block_sizes=(32, 64)):
    return RewriteReply(
        summary="",
        code=KERNEL,
        tunables=[{"name": "block_size_x", "values": list(block_sizes), "default": block_sizes[0]}],
        restrictions=list(restrictions),
        block_size=[],
        grid_div_x=["block_size_x"],
        grid_div_y=[],
        grid_div_z=[],
        grid=[],
        shared_memory="0",
    )


def faults_of(reply, context):
    with pytest.raises(FaultyReply) as caught:
        read_rewrite(reply, context)
    return caught.value.faults


def test_restrictions_of_a_rewrite_are_split_and_those_that_restrict_nothing_are_dropped(context):
    reply = reply_with(["block_size_x % 32 == 0 and block_size_x < 64", "block_size_x <= 1024", "n > 0"])
    assert read_rewrite(reply, context).candidate.restrictions == ["block_size_x < 64"]


def test_the_model_is_told_which_of_its_restrictions_contradict_each_other(context):
    reply = reply_with(["block_size_x > 16 and block_size_x < 64", "block_size_x % 64 == 0"])
    assert faults_of(reply, context) == [
        "restrictions: 'block_size_x < 64' and 'block_size_x % 64 == 0' "
        "contradict each other: no combination of block_size_x = 32, 64 satisfies them all"
    ]


def test_the_model_is_told_that_all_its_blocks_are_too_large_for_the_device(context):
    assert faults_of(reply_with([], block_sizes=(2048, 4096)), context) == [
        "restrictions: the limit of 1024 threads in a block of (block_size_x) "
        "holds for none of block_size_x = 2048, 4096"
    ]


def test_a_restriction_that_cannot_be_read_is_still_a_fault(context):
    (fault,) = faults_of(reply_with(["block_size_x && 1", "block_size_x > 0"]), context)
    assert fault.startswith("restrictions: 'block_size_x && 1'")
    assert "write 'and' for '&&'" in fault
