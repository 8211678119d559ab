"""A session that remembers and a second that is offered it; replays need no file; off, nothing is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, reply
from tests.session.fakes import new_run as new_one_prompt
from tests.strategies.world import FIXED, Script, Told, World, kernel, new_run, plan, rewrite, tell_all
from tui_tuner.headless import ApproveAll
from tui_tuner.memory import Memory, Recollection
from tui_tuner.memory.sessions import Database, RememberedSessions
from tui_tuner.session.events import Event, Note
from tui_tuner.session.run_directory import RunDirectory, open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import Effects, Strategy
from tui_tuner.strategies.single_step import OnePromptStrategy

FASTER = rewrite(kernel(4.0, tunables="matters"), [("block_size_x", [32], 32), ("matters", [1, 2], 1)])
STRATEGY = AutonomousStrategy(with_replanning=False)
FILE = "memory.sqlite3"


def memory_in(directory: Path, *, sessions: bool = True) -> Memory:
    return Memory(Database(directory / FILE), sessions=sessions, replies=not sessions)


async def tuned(directory: Path, name: str, live: Memory | None, **options: object) -> tuple[Told, Script]:
    """An autonomous session with one step, which is accepted."""
    run = new_run(directory / name, STRATEGY, **options)
    script = Script(
        [("plan", plan("Shared-memory tiling")), ("apply_step", FASTER)],
    )
    return await tell_all(Session(run, STRATEGY, World(run.problem), script, memory=live)), script


def kinds(run: Path) -> list[str]:
    return [json.loads(line)["kind"] for line in (run / "journal.jsonl").read_text().splitlines()[1:]]


def notes(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Note)]


async def test_what_a_session_found_is_in_the_first_prompt_of_the_next_and_in_no_other(tmp_path: Path) -> None:
    first, script = await tuned(tmp_path, "first", memory_in(tmp_path), memory=True)
    assert "<memory>" not in script.prompt(1)
    assert first.finished.status == "finished"

    (found,) = RememberedSessions(Database(tmp_path / FILE)).all()
    assert found.entry is not None
    assert (found.entry.features.kernel, found.entry.device, found.entry.times) == ("scale", "Fake GPU", "gpu")
    assert found.entry.best.configuration == {"block_size_x": 32, "matters": 2}
    assert [other.configuration for other in found.entry.others] == [{"block_size_x": 32, "matters": 1}]
    assert "Shared-memory tiling" in [step.title for step in found.entry.helped]
    assert found.entry.speedup == first.finished.speedup

    second, script = await tuned(tmp_path, "second", memory_in(tmp_path), memory=True)
    told = script.prompt(1).partition("<memory>")[2].partition("</memory>")[0]
    assert "\nscale on Fake GPU (other tunables): block_size_x=32, matters=2: " in told
    assert "helped: Tune the parameters of the kernel as given 1.09x, Shared-memory tiling 7.36x" in told
    assert "<memory>" not in script.prompt(2)
    assert "from earlier sessions: 1 similar kernels, 1 configurations" in notes(second.events)


async def test_a_replay_tells_the_same_without_the_file_and_writes_none(tmp_path: Path) -> None:
    await tuned(tmp_path, "first", memory_in(tmp_path), memory=True)
    told, _ = await tuned(tmp_path, "second", memory_in(tmp_path), memory=True)
    assert kinds(tmp_path / "second/run").count("memory") == 1
    (tmp_path / FILE).unlink()
    again = await tell_all(Session(open_run(tmp_path / "second/run", resume=False), STRATEGY, None, None))
    assert again.plan() == told.plan()
    unlike = {"elapsed", "result"}
    assert again.finished.model_dump(exclude=unlike) == told.finished.model_dump(exclude=unlike)
    assert notes(again.events) == notes(told.events)
    assert not (tmp_path / FILE).exists()


async def test_a_resumed_session_sees_what_it_was_offered_at_first_and_is_remembered_once(tmp_path: Path) -> None:
    await tuned(tmp_path, "first", memory_in(tmp_path), memory=True)
    told, script = await tuned(tmp_path, "second", memory_in(tmp_path), memory=True)
    assert len(RememberedSessions(Database(tmp_path / FILE)).all()) == 2
    (tmp_path / FILE).unlink()
    run = open_run(tmp_path / "second/run", resume=True)
    nobody = Script([])
    again = await tell_all(Session(run, STRATEGY, World(run.problem), nobody, memory=memory_in(tmp_path)))
    assert again.plan() == told.plan()
    assert nobody.requests == [], "the same prompts, so nothing is asked again"
    assert len(script.requests) == 2
    assert len(RememberedSessions(Database(tmp_path / FILE)).all()) == 1


async def test_switched_off_nothing_is_looked_up_recorded_or_written_and_the_prompts_are_the_same(
    tmp_path: Path,
) -> None:
    _, script = await tuned(tmp_path, "off", None)
    _, remembering = await tuned(tmp_path, "on", memory_in(tmp_path), memory=True)
    assert "memory" not in kinds(tmp_path / "off/run")
    assert [r.messages for r in script.requests] == [r.messages for r in remembering.requests], "nothing is known yet"
    _, after = await tuned(tmp_path, "off again", None)
    assert [r.messages for r in after.requests] == [r.messages for r in script.requests]
    assert len(RememberedSessions(Database(tmp_path / FILE)).all()) == 1


async def test_with_cached_replies_alone_no_session_is_remembered(tmp_path: Path) -> None:
    await tuned(tmp_path, "first", memory_in(tmp_path, sessions=False), cache_replies=True)
    assert not (tmp_path / FILE).exists()
    assert kinds(tmp_path / "first/run").count("memory") == 1


async def test_a_file_that_cannot_be_used_is_a_warning_and_the_session_ends_as_ever(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"nonsense" * 1000)
    told, _ = await tuned(tmp_path, "first", memory_in(tmp_path), memory=True)
    assert told.finished.status == "finished"
    warnings = [event.text for event in told.events if isinstance(event, Note) and event.level == "warning"]
    assert [warning.partition(":")[0] for warning in warnings] == [
        "nothing is recalled",
        "this session is not remembered",
    ]
    assert (tmp_path / FILE).read_bytes() == b"nonsense" * 1000


async def all_events(run: RunDirectory, *answers: str, memory: Memory | None) -> tuple[list[Event], ScriptedModel]:
    model = ScriptedModel(*answers)
    session = Session(run, OnePromptStrategy(), FakeEvaluator(run.problem), model, memory=memory)
    async with aclosing(session.events(ApproveAll())) as stream:
        return [event async for event in stream], model


async def test_one_prompt_is_offered_what_another_session_found(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        run = new_one_prompt(tmp_path / name, memory=True)
        _, model = await all_events(run, reply(), memory=memory_in(tmp_path))
        prompt = model.requests[0].messages[-1].content
        assert ("<memory>" in prompt) == (name == "second")
    assert "scale on Fake GPU (other tunables): block_size_x=128, work_per_thread=4: " in prompt


async def test_a_session_without_an_improvement_is_not_remembered(tmp_path: Path) -> None:
    run = new_run(tmp_path, STRATEGY, memory=True, problem=FIXED)
    script = Script(
        [("plan", plan("Try")), ("apply_step", rewrite(kernel(0.5)))],
    )
    told = await tell_all(Session(run, STRATEGY, World(run.problem), script, memory=memory_in(tmp_path)))
    assert told.finished.status == "no_improvement"
    assert not (tmp_path / FILE).exists()


class Looking(Strategy):
    """Asks the memory twice and keeps what it was told."""

    async def run(self, session: Effects) -> None:
        SEEN.append(await session.recollect())
        SEEN.append(await session.recollect(session.baseline))


SEEN: list[Recollection] = []


@pytest.mark.parametrize("memory", [True, False])
async def test_a_strategy_gets_the_same_lines_and_seeds_however_often_it_asks(tmp_path: Path, memory: bool) -> None:
    await tuned(tmp_path, "first", memory_in(tmp_path), memory=True)
    SEEN.clear()
    run = new_run(tmp_path / "second", Looking(), memory=memory)
    await tell_all(Session(run, Looking(), World(run.problem), None, memory=memory_in(tmp_path) if memory else None))
    assert SEEN[0] == SEEN[1]
    assert SEEN[0].seeds == ([{"block_size_x": 32}] if memory else [])
    assert kinds(run.path).count("memory") == memory
