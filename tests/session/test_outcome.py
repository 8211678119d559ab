"""What is on disk at every moment of a session, and what an interrupted one leaves and says."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.session.fakes import FakeEvaluator, ScriptedModel, new_run, reopened, reply, session_of
from tui_tuner.app.sessions import resumed_session
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.given import check_given
from tui_tuner.evaluate.profiling import Profile
from tui_tuner.evaluate.results import Comparison, Failure, FailureKind
from tui_tuner.exports import told_run
from tui_tuner.headless import ApproveAll, Lines
from tui_tuner.journal.reading import FILE
from tui_tuner.llm import Chunk, Request
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.prompts import WORDING
from tui_tuner.resources import write_whole
from tui_tuner.session import session as session_module
from tui_tuner.session.events import Event, Note, SessionFinished
from tui_tuner.session.outcome import write_outcome
from tui_tuner.session.run_directory import RunDirectory, open_run
from tui_tuner.session.session import Session
from tui_tuner.settings import Settings
from tui_tuner.story import KernelStory
from tui_tuner.subjects import KERNEL


def on_disk(directory: Path) -> dict[str, Any]:
    """The result, empty where there is none."""
    file = directory / "run" / "result.json"
    found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return found


async def all_events(session: Session) -> list[Event]:
    async with aclosing(session.events(ApproveAll())) as stream:
        return [event async for event in stream]


class Watching(FakeEvaluator):
    """Looks at what is on disk whenever it is asked for something."""

    def __init__(self, problem: Problem, directory: Path) -> None:
        super().__init__(problem)
        self.seen: list[tuple[str, Any] | dict[str, Any]] = []
        self.on_evaluate = lambda _: self.look()
        self._directory = directory

    def look(self) -> None:
        found = on_disk(self._directory)
        self.seen.append(found and (found["status"], found["best"]["configuration"]["block_size_x"]))

    async def compare(self, *asked: Any) -> Comparison:
        self.look()
        return await super().compare(*asked)


async def test_the_fastest_so_far_is_on_disk_while_the_session_goes_on(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = Watching(run.problem, tmp_path)
    await all_events(session_of(run, evaluator))

    measuring, comparing = evaluator.seen[:3], evaluator.seen[3:]
    assert measuring == [{}, ("interrupted", 64), ("interrupted", 128)]
    assert comparing
    assert set(comparing) == {("interrupted", 256)}
    assert on_disk(tmp_path)["status"] == "finished"
    assert not [*run.path.glob(".*.new")]


async def test_a_best_that_a_disk_does_not_take_for_a_moment_is_written_after_the_next_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new_run(tmp_path, strategy="search")
    evaluator = Watching(run.problem, tmp_path)
    left = [OSError(errno.ENOSPC, "No space left on device")]

    def write(*given: Any) -> str:
        if left:
            raise left.pop()
        return write_outcome(*given)

    monkeypatch.setattr("tui_tuner.session.session.write_outcome", write)
    events = await all_events(session_of(run, evaluator))

    told = [one.text for one in events if isinstance(one, Note) and one.level == "warning"]
    assert told == [
        "the best so far could not be written, tried again after the next evaluation: No space left on device"
    ]
    assert evaluator.seen[2] == ("interrupted", 128)
    assert on_disk(tmp_path)["status"] == "finished"


class Interrupting(FakeEvaluator):
    """Interrupts the session when it is asked for the comparison of this number, and never answers."""

    session: Session
    at = 1
    ratio = 2.0

    async def compare(self, *asked: Any) -> Comparison:
        if self.compared + 1 == self.at:
            self.session.interrupt("ended by SIGTERM")
            await asyncio.Event().wait()
        self.compared += 1
        return Comparison(ratio=self.ratio, low=self.ratio, high=self.ratio, pairs=30)


async def interrupted(run: RunDirectory, evaluator: Interrupting) -> SessionFinished:
    """The last event of a session that is interrupted by its evaluator."""
    evaluator.session = session_of(run, evaluator)
    last = (await all_events(evaluator.session))[-1]
    assert isinstance(last, SessionFinished)
    assert (last.status, last.reason, last.confirmed) == ("interrupted", "ended by SIGTERM", False)
    return last


async def test_an_interrupted_session_ends_with_its_event_and_what_it_had_found(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    last = await interrupted(run, Interrupting(run.problem))

    assert last.result == str(run.path / "result.json")
    left = on_disk(tmp_path)
    assert (left["reason"], left["confirmed"]) == ("ended by SIGTERM", False)
    assert left["speedup"] == list(last.speedup or ())
    assert left["best"]["configuration"] == {"block_size_x": 256}
    assert "#define block_size_x 256" in (run.path / "best.cu").read_text()

    again = reopened(tmp_path)
    end = (await all_events(session_of(again, FakeEvaluator(again.problem))))[-1]
    assert isinstance(end, SessionFinished)
    assert end.status == "finished"
    assert (on_disk(tmp_path)["status"], on_disk(tmp_path)["confirmed"]) == ("finished", True)


class Silent(ScriptedModel):
    """Interrupts the session when it is asked for the reply of this number, and never answers."""

    session: Session
    at = 1

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.at -= 1
        if self.at == 0:
            self.session.interrupt("ended by SIGTERM")
            await asyncio.Event().wait()
        async for chunk in super().stream(request):
            yield chunk


async def test_a_session_that_is_interrupted_before_anything_was_faster_says_so(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator, model = Interrupting(run.problem), Silent()
    evaluator.milliseconds = lambda *_: 1.0  # type: ignore[method-assign]
    evaluator.at = 0
    model.session = session_of(run, evaluator, model)
    last = (await all_events(model.session))[-1]

    assert isinstance(last, SessionFinished)
    assert (last.status, last.speedup, last.times) == ("interrupted", None, None)
    assert on_disk(tmp_path)["best"] == on_disk(tmp_path)["baseline"]


async def test_a_best_that_was_timed_in_turns_with_the_kernel_as_given_is_told_as_that(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator, model = Interrupting(run.problem), Silent()
    evaluator.at = 0
    model.session = session_of(run, evaluator, model)
    last = (await all_events(model.session))[-1]

    assert isinstance(last, SessionFinished)
    assert (last.status, last.confirmed, last.speedup) == ("interrupted", True, (2.0, 2.0, 2.0))
    left = on_disk(tmp_path)
    assert (left["confirmed"], left["comparison"]["ratio"]) == (True, 2.0)
    assert "both timed in turns on fresh data" in (run.path / "best.cu").read_text()

    (run.path / "result.json").unlink()  # the journal alone tells the same
    again = (await all_events(session_of(open_run(run.path, resume=False), None)))[-1]
    assert isinstance(again, SessionFinished)
    assert (again.confirmed, again.speedup, again.times, again.result) == (True, last.speedup, last.times, None)
    told = (await told_run(run.path)).outcome.model_dump(mode="json")
    same = ("best", "confirmed", "speedup")
    assert [told[name] for name in same] == [left[name] for name in same]
    (run.path / "result.json").write_text(json.dumps({**left, "best": left["baseline"]}))  # before it was killed
    assert (await told_run(run.path)).outcome.model_dump(mode="json")["best"] == left["best"]
    faster = {**left["best"], "timing": {**left["best"]["timing"], "median": 1e-6}}  # what no replay comes to
    (run.path / "result.json").write_text(json.dumps({**left, "best": faster}))
    assert (await told_run(run.path)).outcome.model_dump(mode="json")["best"] == faster


async def test_what_lost_its_comparison_is_not_left_as_the_best(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    evaluator, model = Interrupting(run.problem), Silent(reply())
    evaluator.at, evaluator.ratio, model.at = 0, 0.9, 2
    model.session = session_of(run, evaluator, model)
    await all_events(model.session)

    assert evaluator.compared
    assert on_disk(tmp_path)["status"] == "interrupted"
    assert on_disk(tmp_path)["best"] == on_disk(tmp_path)["baseline"]


async def test_a_replay_writes_nothing(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    await interrupted(run, Interrupting(run.problem))
    (run.path / "result.json").unlink()
    (run.path / "best.cu").unlink()

    last = (await all_events(session_of(open_run(run.path, resume=False), None)))[-1]
    assert isinstance(last, SessionFinished)
    assert (last.status, last.reason, last.confirmed) == ("interrupted", "the record ends here", False)
    assert "not yet timed in turns on fresh data" in KernelStory().result(last)[-1]
    told = (await told_run(run.path)).outcome
    assert (told.confirmed, told.best.configuration, told.speedup) == (False, {"block_size_x": 256}, last.speedup)
    assert not on_disk(tmp_path)
    assert not (run.path / "best.cu").exists()


class Slow(FakeEvaluator):
    """Does one thing once it has been told of twice that it is still at it."""

    doing = "the reference of scale (at most 5m)"

    def __init__(self, problem: Problem, slow: str) -> None:
        super().__init__(problem)
        self.slow, self.told_twice = slow, asyncio.Event()

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        await self._do("start")
        return await super().start(proposed)

    async def compare(self, *given: Any) -> Comparison:
        await self._do("compare")
        return await super().compare(*given)

    async def _do(self, what: str) -> None:
        if what == self.slow:
            await self.told_twice.wait()


@pytest.mark.parametrize("slow", ["start", "compare"])
async def test_what_takes_long_says_what_it_is_at_until_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    monkeypatch.setattr("tui_tuner.session.machine.LONG_S", 0.001)
    monkeypatch.setattr(session_module, "MUCH_BYTES", 0)
    run = new_run(tmp_path, strategy="search")
    evaluator = Slow(run.problem, slow)
    told = []
    async with aclosing(session_of(run, evaluator).events(ApproveAll())) as stream:
        async for event in stream:
            told += [event.text] if isinstance(event, Note) else []
            if told[1:] == [f"still at it: {evaluator.doing}"] * 2:
                evaluator.told_twice.set()

    assert told[0].endswith("the kernel as given (its arrays take 0.0 GiB)")
    assert evaluator.starts == 1
    assert evaluator.compared


async def test_a_profile_that_takes_long_says_so_as_no_device_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.session.machine.LONG_S", 0.001)
    run = new_run(tmp_path)
    evaluator = FakeEvaluator(run.problem)
    evaluator.profile_found, told, is_told = Profile(), list[str](), asyncio.Event()
    profile = evaluator.profile

    async def slowly(*given: Any) -> Profile:
        await is_told.wait()
        return await profile(*given)

    monkeypatch.setattr(evaluator, "profile", slowly)
    async with aclosing(session_of(run, evaluator, ScriptedModel(reply())).events(ApproveAll())) as stream:
        async for event in stream:
            if isinstance(event, Note) and event.text.startswith("still at it"):
                told.append(event.text)
                is_told.set()
    assert set(told) == {"still at it: the device's counters of a launch"}


async def test_of_evaluations_of_which_many_are_under_way_none_says_what_it_is_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.session.machine.LONG_S", 0.001)
    run = new_run(tmp_path, strategy="search")
    evaluator = Slow(run.problem, "nothing")
    evaluate = evaluator.evaluate

    async def slowly(*given: Any) -> Any:
        await asyncio.sleep(0.02)
        return await evaluate(*given)

    monkeypatch.setattr(evaluator, "evaluate", slowly)
    async with aclosing(session_of(run, evaluator).events(ApproveAll())) as stream:
        told = [event.text async for event in stream if isinstance(event, Note)]

    assert len(evaluator.evaluated) > 1
    assert not any("still at it" in text for text in told)


def test_a_file_that_cannot_be_written_whole_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "best.cu", "old")

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        write_whole(tmp_path / "best.cu", "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("best.cu", "old")]


def test_an_event_with_a_path_that_is_no_text_is_a_line_of_json(tmp_path: Path) -> None:
    out = io.StringIO()
    path = os.fsdecode(b"r\xfd")
    Lines(KERNEL, json=True, out=out, err=io.StringIO()).take(Note(text=path))
    assert json.loads(out.getvalue())["text"] == path


def test_arrays_that_no_memory_holds_are_refused_before_they_are_filled(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.journal.close()
    problem = run.problem.model_copy(update={"sizes": {"n": 2**44}})
    with pytest.raises(ProblemError, match=r"its arrays take 131072.0 GiB at the timed size, there are "):
        asyncio.run(check_given(problem, [], None, None))  # type: ignore[arg-type]  # it comes to neither


async def test_what_failed_is_left_out_of_a_resume_that_is_to_try_it_again(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")

    def fails(_: object, configuration: Configuration) -> Failure | None:
        return Failure(kind=FailureKind.CRASH, message="gone") if configuration["block_size_x"] == 128 else None

    await all_events(session_of(run, FakeEvaluator(run.problem, fails)))
    kept = []
    for retry in (False, True):
        setup = await resumed_session(run.path, {}, Settings(), retry_failed=retry)
        kept.append(sum(record.kind == "evaluate" for record in setup.run.journal.records))
        setup.run.journal.close()
    assert kept == [3, 2]

    again = reopened(tmp_path)
    again.journal.forget(lambda record: record.kind == "evaluate" and bool(record.result.get("failure")))
    evaluator = FakeEvaluator(again.problem)
    await all_events(session_of(again, evaluator))
    assert evaluator.evaluated == [{"block_size_x": 128}]


async def test_a_resumed_run_keeps_the_wording_of_the_prompts_that_it_began_with(tmp_path: Path) -> None:
    run = new_run(tmp_path, strategy="search")
    run.journal.close()
    header = json.loads((run.path / FILE).read_text()) | {"wording": WORDING - 1}
    del header["digest"]
    (run.path / FILE).write_text(json.dumps(header) + "\n")
    setup = await resumed_session(run.path, {"max_evals": 7}, Settings())
    setup.run.journal.close()
    assert (setup.run.wording, setup.run.options.max_evals) == (WORDING - 1, 7)
