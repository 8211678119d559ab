from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.journal.old import lines_without_digests, write_without_digests
from tests.session.fakes import FakeEvaluator, ScriptedModel, reply, session_of, write_problem
from tui_tuner.errors import JournalError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.recall import Recall, RecordEnds, SessionClock
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import InputFill, Problem, Test
from tui_tuner.session.events import Event, PromptSent
from tui_tuner.session.machine import Machine
from tui_tuner.session.run_directory import RunDirectory, create, open_run
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions

SMALL = Test(sizes={"n": 64})
ODD = Test(sizes={"n": 33}, inputs={"x": InputFill(fill="uniform", low=-1.0)})
PROPOSED = {
    "tests": [
        {"sizes": [{"name": "n", "value": 64}], "inputs": []},
        {
            "sizes": [{"name": "n", "value": 33}],
            "inputs": [{"argument": "x", "fill": "uniform", "low": -1, "high": None}],
        },
    ]
}


NewRun = Callable[[str], RunDirectory]


@pytest.fixture
def new_run(tmp_path: Path) -> Iterator[NewRun]:
    """Begins runs of a problem without tests, each under its name."""
    with ExitStack() as runs:

        def begin(name: str) -> RunDirectory:
            (tmp_path / name).mkdir()
            file = write_problem(tmp_path / name)
            file.write_text(file.read_text().partition("[[tests]]")[0])
            options = SessionOptions(strategy="one_prompt")
            run = create(tmp_path / name / "run", load_problem(file), file, options, "scripted")
            runs.callback(run.journal.close)
            return run

        yield begin


def machine_of(run: RunDirectory, evaluator: FakeEvaluator | None) -> Machine:
    return Machine(run.problem, evaluator, Recall(run.journal, SessionClock(run.journal.last_elapsed)))


def evaluator_dropping(problem: Problem, why: Callable[[Test], str | None] = lambda _: None) -> FakeEvaluator:
    evaluator = FakeEvaluator(problem)
    evaluator.why_dropped = why
    return evaluator


async def started(machine: Machine, *proposed: Test) -> MachineReport:
    return await machine.start(proposed)


async def all_events(session: Session) -> list[Event]:
    return [event async for event in session.events(ApproveAll())]


def replayed(run: RunDirectory) -> RunDirectory:
    run.journal.close()
    return open_run(run.path, resume=False)


async def test_tests_that_are_kept_are_in_force_and_in_the_keys_of_evaluations_and_of_a_replay(
    new_run: NewRun,
) -> None:
    run = new_run("run")
    live = machine_of(run, evaluator_dropping(run.problem, lambda test: "it faults" if test == SMALL else None))
    start = await started(live, SMALL, ODD)
    assert (start.tests, start.dropped) == ([ODD], ["{'n': 64}: it faults"])
    assert live.problem.tests == [ODD]
    again = machine_of(replayed(run), None)
    assert await started(again, SMALL, ODD) == start
    assert (again.problem, again.context) == (live.problem, live.context)


async def test_other_tests_make_other_keys_and_none_those_of_a_session_that_proposed_none(new_run: NewRun) -> None:
    contexts = []
    for name, proposed in (("none", []), ("small", [SMALL]), ("odd", [ODD]), ("plain", [Test(sizes={"n": 33})])):
        run = new_run(name)
        machine = machine_of(run, evaluator_dropping(run.problem))
        await started(machine, *proposed)
        contexts.append(machine.context["problem"])
    assert len(set(contexts)) == 4


async def test_a_session_recorded_before_tests_were_proposed_is_replayed_without_any(new_run: NewRun) -> None:
    run = new_run("run")
    await started(machine_of(run, evaluator_dropping(run.problem)))
    run.journal.close()
    file = run.path / "journal.jsonl"
    header, device = lines_without_digests(file)
    assert (device["result"].pop("tests"), device["result"].pop("dropped")) == ([], [])
    write_without_digests(file, [header, device])
    old = machine_of(open_run(run.path, resume=False), None)
    assert await old.untested() is None
    start = await started(old)
    assert (start.tests, start.dropped) == ([], [])


async def test_tests_are_wanted_for_a_problem_without_any_at_the_sizes_of_the_device(new_run: NewRun) -> None:
    run = new_run("run")
    evaluator = evaluator_dropping(run.problem)
    live = machine_of(run, evaluator)
    assert await live.untested() == run.problem
    await started(live, SMALL)
    assert await machine_of(replayed(run), None).untested() == run.problem
    tested = new_run("tested")
    evaluator.problem = tested.problem.with_tests([ODD])
    assert await machine_of(tested, evaluator).untested() is None
    assert evaluator.starts == 1


async def test_a_replay_of_a_session_that_never_had_its_device_ends_before_tests_are_asked_for(new_run: NewRun) -> None:
    with pytest.raises(RecordEnds):
        await machine_of(replayed(new_run("run")), None).untested()


async def test_a_resumed_session_starts_its_evaluator_with_the_tests_that_are_in_force(new_run: NewRun) -> None:
    run = new_run("run")
    await started(machine_of(run, evaluator_dropping(run.problem, lambda t: "no" if t == ODD else None)), SMALL, ODD)
    evaluator = evaluator_dropping(run.problem)
    resumed = machine_of(run, evaluator)
    await started(resumed, SMALL, ODD)
    assert evaluator.starts == 0
    await resumed.evaluator()
    assert evaluator.proposed == [SMALL]


async def test_a_test_that_is_no_longer_passed_on_resuming_is_the_users_to_know(new_run: NewRun) -> None:
    run = new_run("run")
    await started(machine_of(run, evaluator_dropping(run.problem)), SMALL)
    resumed = machine_of(run, evaluator_dropping(run.problem, lambda _: "it faults"))
    await started(resumed, SMALL)
    with pytest.raises(JournalError, match=r"no longer passes a test of this run: .*it faults"):
        await resumed.evaluator()


async def test_a_whole_session_with_proposed_tests_replays_without_evaluator_and_model(new_run: NewRun) -> None:
    run = new_run("run")
    evaluator = evaluator_dropping(run.problem, lambda test: "it faults" if test == SMALL else None)
    model = ScriptedModel(json.dumps(PROPOSED), reply())
    live = await all_events(session_of(run, evaluator, model))
    assert evaluator.proposed == [SMALL, ODD]
    first, second = [event for event in live if isinstance(event, PromptSent)]
    assert first.purpose == "propose_tests"
    assert "verified: n=33, x uniform from -1.0" in second.text
    assert "n=64" not in second.text
    again = await all_events(session_of(replayed(run), None))
    assert again[-1].model_dump(exclude={"elapsed", "result"}) == live[-1].model_dump(exclude={"elapsed", "result"})
    assert [e.text for e in again if isinstance(e, PromptSent)] == [first.text, second.text]
