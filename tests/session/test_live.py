"""A session that other terminals follow: what they see, who answers, and what is left when either side is killed."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import stat
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reply, session_of
from tests.waiting import reached
from tui_tuner.errors import JournalError
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.runs import is_driven
from tui_tuner.session import live
from tui_tuner.session.events import ApprovalGiven, Event, Note, SessionFinished, UserSaid
from tui_tuner.session.live import GONE, LiveRun, WatchedRun
from tui_tuner.session.plan import Say
from tui_tuner.session.session import Session
from tui_tuner.strategies.steps import Decision, ModelTrouble, Proposal, Remedy, Step


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LISTEN_S", 0.001)


class Nobody:
    """Waits; knows whether its question was withdrawn."""

    def __init__(self) -> None:
        self.asked: list[Proposal] = []
        self.withdrawn = 0

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal)
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            self.withdrawn += 1


class Answers(Nobody):
    def __init__(self, decision: Decision) -> None:
        super().__init__()
        self.decision = decision

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal)
        return self.decision


def waiting_session(directory: Path) -> Session:
    run = new_run(directory)
    return session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply()))


async def all_of(stream: object) -> list[Event]:
    async with aclosing(stream) as events:  # type: ignore[type-var]
        return [event async for event in events]


async def watched(run: Path, approver: object) -> list[Event]:
    assert await reached(lambda: is_driven(run))
    return await all_of(WatchedRun(run).events(approver))  # type: ignore[arg-type]


async def test_watchers_see_all_events_and_one_of_them_answers(tmp_path: Path) -> None:
    session, here, silent = waiting_session(tmp_path), Nobody(), Nobody()
    skips = Answers(Decision(action="skip"))
    driven, seen, also = await asyncio.gather(
        all_of(session.events(here)),
        watched(tmp_path / "run", skips),
        watched(tmp_path / "run", silent),
    )
    assert driven == seen == also
    assert {event.decision.action for event in driven if isinstance(event, ApprovalGiven)} == {"skip"}
    assert here.asked == skips.asked != []
    assert len(here.asked) == here.withdrawn
    with pytest.raises(JournalError, match="no process drives this run now"):
        WatchedRun(tmp_path / "run")


async def test_an_answer_here_withdraws_the_question_elsewhere(tmp_path: Path) -> None:
    silent, answer = Nobody(), asyncio.Event()

    class Later(Nobody):
        async def decide(self, proposal: Proposal) -> Decision:
            await answer.wait()
            return Decision(action="approve")

    driving = asyncio.create_task(all_of(waiting_session(tmp_path).events(Later())))
    watching = asyncio.create_task(watched(tmp_path / "run", silent))
    await reached(lambda: bool(silent.asked), driving)
    answer.set()
    assert (await driving)[-1] == (await watching)[-1]
    assert silent.withdrawn == 1


async def test_of_two_answers_the_first_counts_and_the_other_is_told_so(tmp_path: Path) -> None:
    live_run = LiveRun(tmp_path, Nobody(), lambda _: None)
    (tmp_path / "journal.jsonl").write_text('{"journal": 1}\n')
    live_run.open()
    deciding = asyncio.create_task(live_run.decide(Proposal(step=Step(id=1, title="t"))))
    await reached(lambda: bool(live_run._asked))
    (name,) = live_run._asked
    first, second = WatchedRun(tmp_path), WatchedRun(tmp_path)
    assert first._say(name, Decision(action="approve").model_dump_json())
    assert not second._say(name, Decision(action="reject").model_dump_json())
    assert (await deciding).action == "approve"
    live_run.close()


async def test_words_of_a_watcher_reach_the_model_of_the_session(tmp_path: Path) -> None:
    here, told, asked = Nobody(), asyncio.Event(), []
    run = tmp_path / "run"

    class Speaks(Nobody):
        async def decide(self, proposal: Proposal) -> Decision:
            asked.append(proposal)
            assert WatchedRun(run).tell(Say(text="use shuffles"))
            await told.wait()
            return Decision(action="skip")

    async def drive() -> list[Event]:
        events: list[Event] = []
        async with aclosing(waiting_session(tmp_path).events(here)) as stream:
            async for event in stream:
                events.append(event)
                if isinstance(event, UserSaid):
                    told.set()
        return events

    driven, _ = await asyncio.gather(drive(), watched(run, Speaks()))
    assert [event.text for event in driven if isinstance(event, UserSaid)] == ["use shuffles"] * len(asked)


async def test_only_the_user_may_enter_where_answers_are_laid(tmp_path: Path) -> None:
    live_run = LiveRun(tmp_path, Nobody(), lambda _: None)
    live_run.open()
    assert stat.S_IMODE((tmp_path / "live").stat().st_mode) == 0o700
    live_run.close()


async def test_what_is_no_word_and_what_an_earlier_process_left_changes_nothing(tmp_path: Path) -> None:
    said = tmp_path / "live" / "said"
    said.mkdir(parents=True)
    (said / "tell-1.json").write_text(Say(text="stale").model_dump_json())
    told: list[object] = []
    live_run = LiveRun(tmp_path, Nobody(), told.append)
    live_run.open()
    (said / "tell-2.json").write_text("{")
    (said / "tell-3.json").write_text(Say(text="sound").model_dump_json())
    await reached(lambda: bool(told))
    assert told == [Say(text="sound")]
    live_run.close()


async def test_without_a_place_for_its_files_a_session_goes_on(tmp_path: Path) -> None:
    session = waiting_session(tmp_path)
    (tmp_path / "run" / "live").write_text("no directory")
    (tmp_path / "run").chmod(0o500)
    try:
        live_run = LiveRun(tmp_path / "absent", Nobody(), lambda _: None)
        live_run.open()
        live_run.publish(Note(text="nobody hears"))
    finally:
        (tmp_path / "run").chmod(0o700)
    events = await all_of(session.events(ApproveAll()))
    assert isinstance(events[-1], SessionFinished)
    assert events[-1].status == "finished"


def _drive_for_ever(run: Path) -> None:
    async def drive() -> None:
        live_run = LiveRun(run, Nobody(), lambda _: None)
        live_run.open()
        live_run.publish(Note(text="begun"))
        await live_run.decide(Proposal(step=Step(id=1, title="t")))

    asyncio.run(drive())


async def test_a_watcher_learns_that_the_process_was_killed(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text('{"journal": 1}\n')
    process = multiprocessing.get_context("fork").Process(target=_drive_for_ever, args=(tmp_path,))
    process.start()
    try:
        asked = Nobody()
        watching = asyncio.create_task(watched(tmp_path, asked))
        await reached(lambda: bool(asked.asked), watching)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        first, last = await watching
    finally:
        process.kill()
    assert isinstance(first, Note)
    assert isinstance(last, SessionFinished)
    assert (last.status, last.reason) == ("interrupted", GONE)
    assert asked.withdrawn == 1
    with pytest.raises(JournalError, match="no process drives"):
        WatchedRun(tmp_path)


class Helps(Nobody):
    def __init__(self, remedy: Remedy | None = None) -> None:
        super().__init__()
        self.remedy = remedy
        self.troubles: list[ModelTrouble] = []

    async def help(self, trouble: ModelTrouble) -> Remedy:
        self.troubles.append(trouble)
        return self.remedy or await asyncio.get_running_loop().create_future()


def without_a_session(directory: Path) -> Path:
    run = new_run(directory)
    run.journal.close()
    return run.path


@pytest.mark.parametrize("from_here", [False, True])
async def test_whoever_watches_says_what_to_do_about_a_model_that_fails(tmp_path: Path, from_here: bool) -> None:
    path, trouble = without_a_session(tmp_path), ModelTrouble(purpose="plan", model="m", reason="no route")
    elsewhere, silent = Helps(None if from_here else Remedy(action="switch", model="other")), Nobody()
    here = Helps()
    live = LiveRun(path, here, lambda _: None)
    live.open()
    watchers = [asyncio.create_task(watched(path, each)) for each in (elsewhere, silent)]
    asking = asyncio.create_task(live.help(trouble))
    assert await reached(lambda: bool(here.troubles and elsewhere.troubles))
    if from_here:
        asking.cancel()
        await asyncio.wait({asking})
    else:
        assert await asking == Remedy(action="switch", model="other")
    live.close()
    await asyncio.gather(*watchers)
    assert elsewhere.troubles == [trouble]
    assert not silent.asked


async def test_who_asks_nobody_leaves_the_call_out(tmp_path: Path) -> None:
    live = LiveRun(without_a_session(tmp_path), ApproveAll(), lambda _: None)
    assert await live.help(ModelTrouble(purpose="plan", model="m", reason="no route")) == Remedy(action="skip")


async def test_a_watcher_who_comes_later_knows_how_long_ago_the_last_event_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "journal.jsonl").write_text('{"journal": 1}\n')
    now = [1000.0]
    monkeypatch.setattr(live.time, "time", lambda: now[0])
    live_run = LiveRun(tmp_path, Nobody(), lambda _: None)
    live_run.open()
    for wait in (30, 60, -5):  # of the last one the machine's clock says that it is still to come
        live_run.publish(Note(text="one"))
        now[0] += wait
    run, seen = WatchedRun(tmp_path), []
    async with aclosing(run.events(Nobody())) as stream:
        async for _ in stream:
            seen.append(run.behind_s)
            if len(seen) == 3:
                break
    live_run.close()
    assert seen == [85.0, 55.0, 0.0]
