from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.journal.old import lines_without_digests, write_without_digests
from tests.session.fakes import (
    REWRITE,
    FakeEvaluator,
    ScriptedModel,
    new_run,
    reopened,
    reply,
    session_of,
    write_problem,
    wrong_result,
)
from tui_tuner.errors import JournalError, ModelError, UserError
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.profiling import NO_PROFILE, MachineCode, Profile
from tui_tuner.evaluate.tolerance import AllowedError
from tui_tuner.headless import ApproveAll, exit_code_of
from tui_tuner.llm import Chunk, Request
from tui_tuner.llm.errors import BrokenOff, Service
from tui_tuner.problem.load import load_problem
from tui_tuner.session.events import (
    Compared,
    ComparisonBegun,
    DeviceReady,
    EvaluationFinished,
    EvaluationLeft,
    EvaluationStarted,
    Event,
    IncumbentChanged,
    Note,
    ProfileBegun,
    Profiled,
    ReplyRefused,
    SearchBegun,
    SessionFinished,
    SessionStarted,
    StepChanged,
)
from tui_tuner.session.run_directory import create, open_run
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.story import KernelStory, Story
from tui_tuner.strategies.base import Effects, Strategy
from tui_tuner.strategies.steps import Decision, Proposal, StepState


async def all_events(session: Session, approver: object = None) -> list[Event]:
    async with aclosing(session.events(approver or ApproveAll())) as stream:  # type: ignore[arg-type]
        return [event async for event in stream]


def finished(events: list[Event]) -> SessionFinished:
    assert isinstance(events[-1], SessionFinished)
    return events[-1]


async def test_a_session_has_started_whatever_came_before_it_took_and_is_resumed_from_its_first_record_on(
    tmp_path: Path,
) -> None:
    file = write_problem(tmp_path)
    run = create(tmp_path / "run", load_problem(file), file, SessionOptions(strategy="search"), None, elapsed=9.5)
    first, *_ = await all_events(session_of(run, FakeEvaluator(run.problem)))
    assert isinstance(first, SessionStarted)
    assert not first.resumed
    first, *_ = await all_events(session_of(reopened(tmp_path), None))
    assert isinstance(first, SessionStarted)
    assert first.resumed


async def test_search_finds_the_best_block_size_and_writes_the_result(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    events = await all_events(session_of(run, FakeEvaluator(run.problem)))

    assert finished(events).status == "finished"
    best = [e for e in events if isinstance(e, IncumbentChanged)][-1]
    assert best.evaluation.configuration == {"block_size_x": 256}
    result = json.loads((run.path / "result.json").read_text())
    assert result["best"]["configuration"] == {"block_size_x": 256}
    assert result["evaluations"] == 3
    assert "#define block_size_x 256" in (run.path / "best.cu").read_text()
    assert "block_size_x = [256]" in (run.path / "best.toml").read_text()


async def test_one_prompt_accepts_a_faster_rewrite(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    model = ScriptedModel(reply())
    events = await all_events(session_of(run, FakeEvaluator(run.problem), model))

    assert finished(events).status == "finished"
    assert finished(events).model_calls == 1
    best = [e for e in events if isinstance(e, IncumbentChanged)][-1]
    assert best.candidate.source == REWRITE
    assert best.evaluation.configuration == {"block_size_x": 128, "work_per_thread": 4}
    assert (run.path / "kernels" / f"{best.candidate.id}.cu").read_text() == REWRITE


async def test_a_reply_with_another_signature_is_refused_and_asked_again(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    model = ScriptedModel(reply(code=REWRITE.replace("int n", "long n")), reply())
    events = await all_events(session_of(run, FakeEvaluator(run.problem), model))

    refused = [e for e in events if isinstance(e, ReplyRefused)]
    assert "same arguments" in refused[0].problems[0]
    assert "same arguments" in model.requests[1].messages[-1].content
    assert finished(events).model_calls == 2


async def test_a_wrong_kernel_is_told_to_the_next_attempt_with_its_reason(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    model = ScriptedModel(reply(), reply(code=REWRITE.replace("2.0f", "(2.0f)")))
    evaluator = FakeEvaluator(run.problem)
    evaluator.fail = lambda c, _: wrong_result() if c.source == REWRITE else None
    events = await all_events(session_of(run, evaluator, model))

    assert "y[3] is 0, expected 2" in model.requests[1].messages[-1].content
    steps = [e.step for e in events if isinstance(e, StepChanged) and e.step.id == 2]
    asked_again = [step.reason for step in steps if step.state is StepState.RUNNING and step.reason]
    assert asked_again == ["asked again: wrong result: at n=4096: y[3] is 0, expected 2"]
    assert steps[-1].state is StepState.ACCEPTED


async def test_a_model_that_never_answers_right_leaves_the_tuned_baseline(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    events = await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel("no", "no", "no")))

    assert finished(events).status == "finished"
    assert json.loads((run.path / "result.json").read_text())["best"]["configuration"] == {"block_size_x": 256}


async def test_a_search_is_said_to_take_no_more_evaluations_than_there_are_configurations(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search", max_evaluations=80)
    events = await all_events(session_of(run, FakeEvaluator(run.problem)))
    (begun,) = [event for event in events if isinstance(event, SearchBegun)]
    assert begun.evaluations == len([event for event in events if isinstance(event, EvaluationFinished)])


async def test_a_configuration_that_is_asked_for_twice_at_once_is_evaluated_once(tmp_path: Path) -> None:
    class AsksTwice(Strategy):
        async def run(self, session: Effects) -> None:
            both = await session.evaluate(session.baseline, [{"block_size_x": 64}, {"block_size_x": 64}])
            assert both[0] == both[1]

    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem)
    events = await all_events(Session(run, AsksTwice(), evaluator, None))

    assert evaluator.evaluated == [{"block_size_x": 64}]
    assert finished(events).evaluations == 1


async def test_it_is_told_when_a_comparison_and_a_profile_begin_and_when_they_end(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    evaluator.profile_found = NO_PROFILE
    heard = await all_events(session_of(run, evaluator, ScriptedModel(reply())))
    told = [event for event in heard if isinstance(event, ComparisonBegun | Compared | ProfileBegun | Profiled)]
    assert {(type(begun), type(ended)) for begun, ended in zip(told[::2], told[1::2], strict=True)} == {
        (ComparisonBegun, Compared),
        (ProfileBegun, Profiled),
    }
    assert [(e.candidate, e.configuration) for e in told[::2]] == [(e.candidate, e.configuration) for e in told[1::2]]


async def test_what_was_evaluated_ahead_and_is_not_asked_for_is_no_longer_under_way(tmp_path: Path) -> None:
    done = asyncio.Event()

    class Ahead(Strategy):
        async def run(self, session: Effects) -> None:
            session.bench.speculate(session.baseline, {"block_size_x": 64})
            await done.wait()
            await asyncio.sleep(0)  # what was set in its middle comes to its end
            await session.bench.cancel_speculation()

    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem)
    evaluator.on_evaluate = lambda _: done.set()
    heard = await all_events(Session(run, Ahead(), evaluator, None))
    begun, left = ([e.number for e in heard if isinstance(e, kind)] for kind in (EvaluationStarted, EvaluationLeft))
    assert len(evaluator.evaluated) == 1
    assert begun == left == [2]


async def test_a_device_that_cannot_be_given_back_does_not_keep_the_run(tmp_path: Path) -> None:
    class Stuck(FakeEvaluator):
        async def close(self) -> None:
            raise OSError("the device does not answer")

    run = new_run(tmp_path, strategy="search")
    with pytest.raises(OSError, match="does not answer"):
        await all_events(session_of(run, Stuck(run.problem)))
    reopened(tmp_path).journal.close()


def test_a_run_whose_header_cannot_be_used_is_not_kept_either(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    run.journal.close()
    file = run.journal.path
    header = json.loads(file.read_text())
    for broken in ({**header, "options": {"odd": 1}}, {**header, "problem": "no TOML"}):
        file.write_text(json.dumps(broken) + "\n")
        errors = []
        for _ in range(2):
            with pytest.raises(UserError) as caught:
                open_run(run.path, resume=True)
            errors.append(caught)  # as whoever shows the error holds it, and with it all that its frames hold
        assert str(errors[0].value) == str(errors[1].value)


async def test_a_reply_that_breaks_off_in_the_middle_of_a_character_costs_the_question_only(tmp_path: Path) -> None:
    class BreaksOff(ScriptedModel):
        async def stream(self, request: Request) -> AsyncIterator[Chunk]:
            yield Chunk(text="half a pair: \ud83d")
            raise BrokenOff("the connection was lost", Service("scripted", ""))

    run = new_run(tmp_path)
    events = await all_events(session_of(run, FakeEvaluator(run.problem), BreaksOff()))

    assert finished(events).status == "finished"
    assert finished(events).model_calls >= 1
    replayed = await all_events(session_of(open_run(run.path, resume=False), None))
    of_this_run = {"result", "elapsed"}
    assert finished(replayed).model_dump(exclude=of_this_run) == finished(events).model_dump(exclude=of_this_run)


async def test_no_improvement_is_said(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem, fail=lambda _, c: None if c["block_size_x"] == 32 else wrong_result())
    assert finished(await all_events(session_of(run, evaluator))).status == "no_improvement"


@pytest.mark.parametrize("most", [1, 2, 3, 5, 8])
async def test_the_number_of_evaluations_is_never_exceeded(tmp_path: Path, most: int) -> None:
    run = new_run(tmp_path, max_evaluations=most)
    evaluator = FakeEvaluator(run.problem)
    events = await all_events(session_of(run, evaluator, ScriptedModel(reply(), reply(), reply())))

    assert 1 <= len(evaluator.evaluated) <= most
    assert finished(events).evaluations == len(evaluator.evaluated)


async def test_the_target_ends_the_session(tmp_path: Path) -> None:
    run = new_run(tmp_path, target=1.5)
    model = ScriptedModel(reply())
    events = await all_events(session_of(run, FakeEvaluator(run.problem), model))

    assert "target" in finished(events).reason
    assert model.requests == []


class RejectOnce:
    def __init__(self) -> None:
        self.asked: list[Proposal] = []

    async def decide(self, proposal: Proposal) -> Decision:
        self.asked.append(proposal)
        if len(self.asked) == 2:
            return Decision(action="reject", message="keep one element a thread")
        return Decision(action="approve")


async def test_what_the_user_says_against_a_step_reaches_the_next_prompt(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    model = ScriptedModel(reply(), reply())
    approver = RejectOnce()
    await all_events(session_of(run, FakeEvaluator(run.problem), model), approver)

    assert "keep one element a thread" in model.requests[1].messages[-1].content
    assert len(approver.asked) == 3


class EditSecond:
    async def decide(self, proposal: Proposal) -> Decision:
        if proposal.candidate is None:
            return Decision(action="approve")
        return Decision(action="edit", source=proposal.candidate.source + "// mine\n")


async def test_an_edited_kernel_is_the_one_that_is_evaluated(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    events = await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply())), EditSecond())
    best = [e for e in events if isinstance(e, IncumbentChanged)][-1]
    assert best.candidate.source.endswith("// mine\n")


class Stop(Exception):
    pass


def stop_after(count: int) -> object:
    def check(number: int) -> None:
        if number == count:
            raise Stop

    return check


@pytest.mark.parametrize("crash_after", [1, 2, 4, 6])
async def test_a_resumed_session_asks_and_evaluates_nothing_twice(tmp_path: Path, crash_after: int) -> None:
    whole_directory, parts_directory = tmp_path / "whole", tmp_path / "parts"
    whole_directory.mkdir()
    parts_directory.mkdir()
    run = new_run(whole_directory)
    whole = FakeEvaluator(run.problem)
    await all_events(session_of(run, whole, ScriptedModel(reply())))

    run = new_run(parts_directory)
    first = FakeEvaluator(run.problem)
    first.on_evaluate = stop_after(crash_after)  # type: ignore[assignment]
    first_model = ScriptedModel(reply())
    with pytest.raises(Stop):
        await all_events(session_of(run, first, first_model))
    run = reopened(parts_directory)
    second, second_model = FakeEvaluator(run.problem), ScriptedModel(*first_model.replies)
    events = await all_events(session_of(run, second, second_model))

    done = [*first.evaluated, *second.evaluated]
    assert len(first.evaluated) == crash_after - 1
    assert sorted(map(str, done)) == sorted(map(str, whole.evaluated))
    assert len(first_model.requests) + len(second_model.requests) == 1
    assert finished(events).status == "finished"


async def test_a_replay_needs_neither_device_nor_model(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    live = await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply())))
    again = await all_events(session_of(open_run(run.path, resume=False), None))

    assert finished(again).speedup == finished(live).speedup
    timed = [e.evaluation for e in live if isinstance(e, EvaluationFinished)]
    assert [e.evaluation for e in again if isinstance(e, EvaluationFinished)] == timed


async def test_a_replay_of_an_interrupted_run_ends_where_the_record_ends(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    evaluator.on_evaluate = stop_after(3)  # type: ignore[assignment]
    with pytest.raises(Stop):
        await all_events(session_of(run, evaluator, ScriptedModel(reply())))
    events = await all_events(session_of(open_run(run.path, resume=False), None))
    assert finished(events).status == "interrupted"


async def test_a_run_is_not_resumed_on_another_device(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    evaluator.on_evaluate = stop_after(3)  # type: ignore[assignment]
    with pytest.raises(Stop):
        await all_events(session_of(run, evaluator, ScriptedModel(reply())))
    journal = run.path / "journal.jsonl"
    write_without_digests(journal, lines_without_digests(journal))
    journal.write_text(journal.read_text().replace("Fake GPU", "Other GPU"))
    run = reopened(tmp_path)
    with pytest.raises(JournalError, match="Other GPU"):
        await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply())))


async def test_closing_the_stream_interrupts_and_leaves_a_resumable_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    async with aclosing(session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply())).events(ApproveAll())) as s:
        async for event in s:
            if isinstance(event, EvaluationFinished):
                break
    run = reopened(tmp_path)
    events = await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel(reply())))
    assert finished(events).status == "finished"


async def test_several_devices_are_told_and_recorded(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem)
    evaluator.devices = ["cuda:0", "cuda:1"]
    first = next(e for e in await all_events(session_of(run, evaluator)) if isinstance(e, DeviceReady))
    assert (first.title, first.devices) == ("2 x Fake GPU", ["cuda:0", "cuda:1"])

    replayed = await all_events(session_of(open_run(run.path, resume=False), None))
    assert next(e for e in replayed if isinstance(e, DeviceReady)).devices == first.devices


async def test_the_journal_of_one_device_says_no_more_than_it_did(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem)
    evaluator.devices = ["cuda:0"]
    events = await all_events(session_of(run, evaluator))
    assert next(e for e in events if isinstance(e, DeviceReady)).title == "Fake GPU"
    assert '"devices"' not in run.journal.path.read_text()


async def test_a_device_that_is_lost_on_the_way_is_told(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = FakeEvaluator(run.problem)
    evaluator.on_evaluate = lambda number: (
        evaluator.told.append("cuda:1 is left out from now on") if number == 2 else None
    )
    events = await all_events(session_of(run, evaluator))
    notes = [(e.level, e.text) for e in events if isinstance(e, Note)]
    assert notes.count(("warning", "cuda:1 is left out from now on")) == 1


class UnreachableModel(ScriptedModel):
    """Nobody answers."""

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        raise BrokenOff("nobody answers", Service("scripted", "http://127.0.0.1:1"))
        yield Chunk(text="")


async def test_a_model_that_never_was_of_use_is_told_at_the_end_and_has_an_exit_code(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    last = finished(await all_events(session_of(run, FakeEvaluator(run.problem), UnreachableModel())))

    assert last.status == "finished", "the kernel's own tunables were tuned all the same"
    assert "nobody answers" in last.model_fault
    assert "nobody answers" in json.loads((run.path / "result.json").read_text())["model_fault"]
    assert exit_code_of(last) == 4
    assert "model     was of no use: " in Story(KernelStory()).result(last)


async def test_one_usable_reply_makes_a_model_one_that_was_of_use(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    last = finished(
        await all_events(session_of(run, FakeEvaluator(run.problem), ScriptedModel("no JSON at all", reply())))
    )

    assert last.model_fault == ""
    assert exit_code_of(last) == 0


async def test_a_required_model_that_is_of_no_use_ends_the_session(tmp_path: Path) -> None:
    run = new_run(tmp_path, require_model=True)
    session = session_of(run, FakeEvaluator(run.problem), UnreachableModel())
    with pytest.raises(ModelError, match=r"the model is of no use: .*nobody answers") as raised:
        await all_events(session)

    assert "--require-model" in str(raised.value)


async def test_a_profile_is_made_once_for_each_prompt_s_kernel_and_is_replayed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    evaluator.profile_found = Profile(code=MachineCode(instructions=7, mix={"shuffle or vote": 7}), missing=["no ncu"])
    events = await all_events(session_of(run, evaluator, ScriptedModel(reply())))
    told = [(e.candidate, e.configuration) for e in events if isinstance(e, Profiled)]
    assert [configuration for _, configuration in told] == evaluator.profiled
    assert evaluator.profiled[-1] == {"block_size_x": 128, "work_per_thread": 4}
    assert sum(isinstance(e, Note) and e.text == "not profiled: no ncu" for e in events) == 1

    again = await all_events(session_of(reopened(tmp_path), None))
    assert [(e.candidate, e.configuration) for e in again if isinstance(e, Profiled)] == told


async def test_a_run_that_began_without_profiles_goes_on_without(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    await all_events(session_of(run, evaluator, ScriptedModel("no JSON", "no JSON", "no JSON")))
    evaluator.profile_found = Profile()
    resumed = reopened(tmp_path)
    await all_events(session_of(resumed, evaluator, ScriptedModel(reply())))
    assert evaluator.profiled == []


async def test_how_far_results_may_be_off_stands_in_prompts_also_of_a_resumed_run(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator, model = FakeEvaluator(run.problem), ScriptedModel("no JSON", "no JSON", "no JSON")
    evaluator.allowed = {"y": AllowedError(of_usual=0.0, of_element=2.5e-06)}
    await all_events(session_of(run, evaluator, model))
    resumed, later = reopened(tmp_path), ScriptedModel(reply())
    await all_events(session_of(resumed, FakeEvaluator(run.problem), later))
    for told in (model.requests[0], *later.requests[:1]):
        assert "the root mean square: y 2.5e-06 of the element" in told.messages[-1].content


async def test_the_time_of_a_library_stands_in_prompts_and_in_the_result(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator, model = FakeEvaluator(run.problem), ScriptedModel(reply())
    evaluator.library = LibraryTime(name="torch 2", function="f", median=0.5, low=0.5, high=0.5, checked=True)
    events = await all_events(session_of(run, evaluator, model))
    assert "a library computes the same: torch 2 0.5 ms" in model.requests[0].messages[-1].content
    assert json.loads((run.path / "result.json").read_text())["library"]["median"] == 0.5
    again = await all_events(session_of(reopened(tmp_path), None))
    for told in (events, again):
        assert [e.library for e in told if isinstance(e, DeviceReady)] == [evaluator.library]
