"""What the check of a rewrite has read is what the strategy goes on with, restrictions and all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.problem.examples import KERNEL, PROBLEM
from tests.strategies.branch import one_prompt
from tests.strategies.world import FIXED, played
from tui_tuner.problem import signature
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import parse_problem
from tui_tuner.strategies.base import FaultyReply, ask_and_read
from tui_tuner.strategies.rewriting import dialect
from tui_tuner.strategies.rewriting.faults import read_rewrite
from tui_tuner.strategies.rewriting.rewrite import RewriteContext, RewriteReply
from tui_tuner.strategies.single_step import OnePromptStrategy


class Count(BaseModel):
    number: int


def asking(*numbers):
    """Asks as a session does: what the check refuses is put back, and the next reply is checked."""
    told = []

    async def ask(check):
        for number in numbers:
            faults = check(Count(number=number))
            if not faults:
                return Count(number=number)
            told.append(faults)
        raise AssertionError("no further reply")

    return ask, told


def halves(read):
    def half(reply):
        read.append(reply.number)
        if reply.number % 2:
            raise FaultyReply([f"{reply.number} is odd", "so it has no half"])
        return reply.number // 2

    return half


async def test_the_value_of_the_reply_that_passes_is_given_back_and_each_reply_is_read_once():
    (ask, told), read = asking(3, 8, 9), []
    assert await ask_and_read(ask, halves(read)) == 4
    assert told == [["3 is odd", "so it has no half"]]
    assert read == [3, 8]


async def test_a_reply_that_nobody_checked_is_read_all_the_same():
    async def unchecked(number):
        return Count(number=number)

    assert await ask_and_read(lambda _: unchecked(6), halves([])) == 3
    with pytest.raises(FaultyReply, match="5 is odd; so it has no half"):
        await ask_and_read(lambda _: unchecked(5), halves([]))


def counted(monkeypatch, module, name):
    calls, original = [], getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(name) or original(*given))
    return calls


async def test_the_names_of_a_rewrite_are_found_and_its_code_is_parsed_once_a_reply(tmp_path, monkeypatch):
    scanned = counted(monkeypatch, dialect, "identifiers")
    parsed = counted(monkeypatch, signature, "parse_code")
    figures = []
    for number, answers in enumerate(([one_prompt()], [one_prompt(fail="crash"), one_prompt()])):
        scanned.clear()
        parsed.clear()
        signature.find_kernels.cache_clear()
        await played(tmp_path / str(number), OnePromptStrategy(), answers, problem=FIXED)
        figures.append((len(scanned), len(parsed)))
    lives = 2  # a session, and its replay
    assert figures[1][0] - figures[0][0] == figures[0][0] == lives
    assert figures[1][1] - figures[0][1] == 1, "of another text, whoever asks for its kernels"


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
