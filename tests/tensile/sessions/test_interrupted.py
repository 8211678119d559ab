"""Interrupted sessions, by the user or by `kill -9`, go on where they stopped; what is recorded is not done again.

Nobody is left behind, and replays show the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.end_to_end.program import (
    ModelDouble,
    end_of,
    kinds,
    orphans_come_here,
    start,
    tuner_tui,
    wait_until,
)
from tests.llm.fakes import said
from tests.tensile.sessions.replies import BEST, DEEPER, INSTRUCTION, MORE_TILES, SPLIT, STOP, advice, drop
from tests.tensile.sessions.world import (
    UNREACHABLE,
    A,
    B,
    Told,
    World,
    finished,
    measured,
    model,
    of,
    played,
    prompts,
    states,
    winners,
)
from tests.waiting import reached, running_in
from tui_tuner.errors import JournalError
from tui_tuner.resources import samples_directory
from tui_tuner.session import events
from tui_tuner.session.plan import Say
from tui_tuner.strategies.steps import Approver, Decision, Proposal, StepState
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput
from tui_tuner.tensile.run_directory import open_run
from tui_tuner.tensile.session import TensileSession

_LIVE_ONLY = (BenchmarkOutput, events.ModelText, events.ApprovalAsked)
_OF_THE_PROCESS = {"elapsed", "resumed", "result", "run", "directory"}
"""What a replay, or a resumed session, does not have in common with the first one."""


def essence(story: Sequence[events.Event]) -> list[dict[str, object]]:
    """What every replay must show."""
    return [event.model_dump(exclude=_OF_THE_PROCESS) for event in story if not isinstance(event, _LIVE_ONLY)]


async def interrupted(session: TensileSession, when: Callable[[], bool], approver: Approver | None = None) -> None:
    """Play until something is so, then cancel."""
    task = asyncio.create_task(played(session, approver))
    while not when():
        assert not task.done()
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class Absent:
    """A user who is away."""

    def __init__(self) -> None:
        self.asked = False

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked = True
        await asyncio.sleep(600)
        raise AssertionError


async def test_a_run_that_is_interrupted_leaves_no_process_and_is_made_again(tmp_path: Path) -> None:
    child = tmp_path / "child"
    world, backend = World(tmp_path, fault=f"2:offspring={child},2:hang"), model(DEEPER)
    groups: set[int] = set()

    def begun() -> bool:
        if child.exists() and (number := child.read_text()):
            groups.add(os.getpgid(int(number)))
        return bool(groups)

    await interrupted(world.begin(backend), begun)
    try:
        assert await reached(lambda: not running_in(*groups)), "a child of Tensile's lives on"
    except AssertionError:
        os.killpg(*groups, signal.SIGKILL)
        raise
    assert (world.runs, kinds(world.path).count("benchmark")) == (2, 1)

    world.file.write_text("something else")
    again = model(SPLIT, STOP)
    story = await played(world.resume(again))
    assert (len(backend.requests), len(again.requests)) == (1, 2)
    assert world.runs == 2 + 2, "the first run is not made again"
    assert measured(story) == [(0, 2), (1, 4), (2, 8)]
    assert winners(story) == {A: (72_000, 2), B: (72_000, 1)}
    assert {"01", "01-2"} <= {path.name for path in (world.path / "rounds").iterdir()}


async def test_a_reply_that_is_interrupted_is_asked_for_again(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model([60.0])
    await interrupted(world.begin(backend), lambda: bool(backend.requests))
    again = model(DEEPER, STOP)
    story = await played(world.resume(again))
    assert prompts(again)[0] == prompts(backend)[0]
    assert world.runs == 2
    assert winners(story)[A] == (48_000, 1)


async def test_an_open_question_is_put_to_the_user_again(tmp_path: Path) -> None:
    world, away, back = World(tmp_path), Absent(), Told()
    await interrupted(world.begin(model(DEEPER)), lambda: away.asked, away)
    story = await played(world.resume(model(STOP)), back)
    assert [proposal.step.title for proposal in back.proposals] == ["Round 1"]
    assert measured(story) == [(0, 2), (1, 4)]


async def test_an_end_in_the_last_runs_costs_only_the_one_under_way(tmp_path: Path) -> None:
    world = World(tmp_path, fault="4:hang")
    await interrupted(world.begin(model(DEEPER, STOP), repeats=3), lambda: world.runs == 4)
    story = await played(world.resume(model()))
    assert world.runs == 4 + 2
    assert finished(story).speedup == pytest.approx((1.2, 1.2, 1.2))


async def test_a_finished_session_is_resumed_without_model_or_run(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model(DEEPER, SPLIT, STOP), repeats=1))
    runs, files = world.runs, [(world.path / name).read_bytes() for name in ("best.yaml", "winners.yaml")]
    backend = model()
    again = await played(world.resume(backend))
    assert (backend.requests, world.runs) == ([], runs)
    assert essence(again) == essence(story)
    assert [(world.path / name).read_bytes() for name in ("best.yaml", "winners.yaml")] == files


async def test_a_replay_shows_the_same_with_neither_tensile_nor_model(tmp_path: Path) -> None:
    world = World(tmp_path, fault="3:crash")
    replies = (DEEPER, [UNREACHABLE], SPLIT, advice(drop(INSTRUCTION, BEST)), MORE_TILES, STOP)
    user = Told(Decision(action="approve"), Decision(action="reject", message="Not now."))
    session = world.begin(model(*replies), patience=6, repeats=1)
    session.tell(Say(text="Memory is slow here."))
    story = await played(session, user)
    journal = (world.path / "journal.jsonl").read_bytes()
    world.program.unlink()
    again = await played(world.replay(), Told())
    assert essence(again) == essence(story)
    assert [event.elapsed for event in of(again, BenchmarkFinished)] == pytest.approx(
        [event.elapsed for event in of(story, BenchmarkFinished)], abs=0.05
    )
    assert (world.path / "journal.jsonl").read_bytes() == journal


async def test_a_replay_of_an_interrupted_session_ends_where_the_record_does(tmp_path: Path) -> None:
    world = World(tmp_path, fault="2:hang")
    await interrupted(world.begin(model(DEEPER)), lambda: world.runs == 2)
    story = await played(world.replay())
    assert (finished(story).status, finished(story).reason) == ("interrupted", "the record ends here")
    assert states(story)["Round 1"] is StepState.RUNNING


async def test_a_session_is_not_resumed_with_another_tensile(tmp_path: Path) -> None:
    world = World(tmp_path, fault="2:hang")
    await interrupted(world.begin(model(DEEPER)), lambda: world.runs == 2)
    world.version = "5.0.0"
    with pytest.raises(JournalError, match=r"measured with Tensile 4\.33\.0; here is 5\.0\.0") as refused:
        await played(world.resume(model(STOP)))
    assert refused.value.hint
    assert world.runs == 2


async def test_a_call_that_failed_is_made_again_on_resume(tmp_path: Path) -> None:
    world = World(tmp_path)
    story = await played(world.begin(model([UNREACHABLE], [UNREACHABLE])))
    assert finished(story).reason.startswith("the model is gone")
    again = model(DEEPER, STOP)
    story = await played(world.resume(again))
    assert len(again.requests) == 2
    assert winners(story)[A] == (48_000, 1)
    assert world.runs == 2


async def test_a_record_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    world = World(tmp_path)
    await played(world.begin(model(DEEPER, STOP)))
    journal = world.path / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"kind": "benchmark"' in line)
    journal.write_bytes(b"".join(lines[:last]) + lines[last][:-40])
    backend = model(said(STOP))
    story = await played(world.resume(backend))
    assert (world.runs, len(backend.requests)) == (3, 1)
    assert winners(story) == {A: (48_000, 1), B: (72_000, 1)}


def test_a_run_whose_header_cannot_be_used_is_given_back(tmp_path: Path) -> None:
    first, _, rest = (samples_directory() / "tensile/recorded/journal.jsonl").read_text("utf-8").partition("\n")
    header = json.loads(first)
    whole = header.pop("tensile")
    journal = tmp_path / "journal.jsonl"
    journal.write_text(f"{json.dumps(header)}\n{rest}", "utf-8")
    with pytest.raises(JournalError, match="its header lacks 'tensile'") as refused:
        open_run(tmp_path, resume=True)
    assert refused.value.line == 1

    journal.write_text(f"{json.dumps({**header, 'tensile': whole})}\n{rest}", "utf-8")
    run = open_run(tmp_path, resume=True)  # and not: another process is at work on this run
    run.journal.close()


ANSWERS = [([f"This is round {number} of"], reply) for number, reply in enumerate((DEEPER, SPLIT, STOP), start=1)]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_program_that_is_killed_leaves_no_tensile_behind_and_is_gone_on_with(
    tmp_path: Path, number: signal.Signals
) -> None:
    world, double = World(tmp_path, fault="3:hang"), ModelDouble(tmp_path / "model", ANSWERS)
    path = f"{world.program.parent}{os.pathsep}{os.environ['PATH']}"
    arguments = ("--auto", "--repeats", 1, "--no-rehearse", "--llm", double.name, "--run-dir", "run")
    with orphans_come_here() as descendants:
        process = start("tensile", "gemm.yaml", *arguments, cwd=tmp_path, PATH=path)
        wait_until(lambda: world.runs == 3 or process.poll() is not None, "the third run of Tensile")
        assert process.poll() is None, end_of(process).err
        log = world.path / "rounds" / "02" / "tensile.log"
        wait_until(lambda: log.exists() and b"Contraction" in log.read_bytes(), "kernels that run")
        os.kill(process.pid, number)
        if number is signal.SIGTERM:
            ended = end_of(process)
            assert ended.code == 143
            assert "interrupted; go on with: tuner-tui resume run" in ended.err
        process.communicate()
        try:
            wait_until(lambda: not descendants(), "the end of all that the program had started")
        finally:
            for pid in descendants():
                os.kill(pid, signal.SIGKILL)
    assert kinds(world.path).count("benchmark") == 2

    resumed = tuner_tui("resume", "run", "--auto", cwd=tmp_path, PATH=path)
    assert resumed.code == 0, resumed.err
    assert "resumed: gemm.yaml, strategy tensile" in resumed.err
    assert world.runs == 3 + 2, "the run under way again, and the last one"
    assert len(double.prompts) == 3
    result = json.loads((world.path / "result.json").read_text())
    assert [winner["gflops"] for winner in result["winners"]] == [72_000, 72_000]
    assert result["model_calls"] == 3
    assert kinds(world.path).count("ask") == 3
