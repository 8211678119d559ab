from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.session.fakes import write_problem
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.choose import devices_named, spelled, titles_of
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Failure, FailureKind, Timing
from tui_tuner.evaluate.runner.protocol import (
    ChecksRequest,
    ComparisonAnswer,
    ComparisonRequest,
    DeviceAnswer,
    EvaluationAnswer,
    EvaluationRequest,
    Executable,
    OpenRequest,
    PreparationRequest,
    RunnerAnswer,
    RunnerRequest,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.several import Places
from tui_tuner.evaluate.site import OtherPlace, PlaceLost
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

SIBLINGS = {"cuda:0": "cuda:gpu-a", "cuda:1": "cuda:gpu-b", "cuda:2": "cuda:gpu-c"}
H200 = DeviceInfo(kind="cuda", name="NVIDIA H200", backend="fake", architecture="sm_90a")
T400 = DeviceInfo(kind="cuda", name="NVIDIA T400", backend="fake", architecture="sm_75")
GIVEN = Executable(artifact="given", symbol="k", shapes=[])


def timing(ms: float) -> Timing:
    return Timing(median=ms, low=0.99 * ms, high=1.01 * ms, samples=20)


class FakePlace:
    """A device that takes `slow` times as long as it should; `do` may fail, or wait."""

    def __init__(self, machine: FakeMachine) -> None:
        self.machine = machine
        self.device = ""
        self.asked: list[RunnerRequest] = []
        self.opened: list[RunnerRequest] = []
        self.closed = 0

    def news(self) -> list[str]:
        return []

    async def open(self, request: RunnerRequest) -> RunnerAnswer:
        answer = await self.ask(request)
        self.opened.append(request)
        return answer

    async def ask(self, request: RunnerRequest) -> RunnerAnswer:
        self.asked.append(request)
        match request:
            case OpenRequest():
                number = request.device.rpartition(":")[2]
                self.device = SIBLINGS["cuda:0"] if number == "all" else SIBLINGS.get(request.device, request.device)
                info = self.machine.infos.get(self.device, H200)
                return DeviceAnswer(device=info, place=self.device, siblings=SIBLINGS)
            case EvaluationRequest() | ComparisonRequest() | PreparationRequest():
                await self.machine.do(self, request)
                slow = self.machine.slow.get(self.device, 1.0)
                if isinstance(request, ComparisonRequest):
                    times = {"incumbent": timing(4 * slow), "challenger": timing(2 * slow)}
                    return ComparisonAnswer(comparison=Comparison(ratio=2, low=1.9, high=2.1, pairs=30, **times))
                failure = self.machine.failures.get(self.device)
                return EvaluationAnswer(timing=None if failure else timing(2.0 * slow), failure=failure)
        return DeviceAnswer(device=H200)

    async def close(self) -> None:
        self.closed += 1


class FakeMachine:
    def __init__(self) -> None:
        self.places: list[FakePlace] = []
        self.slow: dict[str, float] = {}
        self.infos: dict[str, DeviceInfo] = {}
        self.failures: dict[str, Failure] = {}
        self.on_evaluate: Callable[[FakePlace], None] = lambda _: None
        self.waits: dict[str, asyncio.Event] = {}

    def place(self) -> FakePlace:
        self.places.append(FakePlace(self))
        return self.places[-1]

    async def do(self, place: FakePlace, request: RunnerRequest) -> None:
        if isinstance(request, EvaluationRequest) and request.executable != GIVEN:
            self.on_evaluate(place)
            if request.executable.artifact in self.waits:
                await self.waits[request.executable.artifact].wait()


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load_problem(write_problem(tmp_path))


async def started(
    machine: FakeMachine, problem: Problem, device: str = "cuda:all", *, named: bool = True
) -> tuple[Places, list[str]]:
    selection, request = devices_named(device), OpenRequest(device="")
    places = Places(machine.place(), Path("log"))
    opened = await places.take(spelled(selection.first), request)
    titles = titles_of(selection, opened.place, opened.siblings)
    first = titles.pop(opened.place)
    others = [OtherPlace(machine.place(), title, name) for name, title in titles.items()]
    said, _ = await asyncio.gather(
        places.take_others(first, others, request, opened, named=named), places.open(ChecksRequest(artifact="checks"))
    )
    await places.open(PreparationRequest(problem=problem, baseline=GIVEN))
    return places, said + await places.join()


def evaluation(name: str = "one", best_ms: float | None = None) -> EvaluationRequest:
    return EvaluationRequest(executable=Executable(artifact=name, symbol="k", shapes=[]), best_ms=best_ms)


def of_candidates(place: FakePlace) -> list[str]:
    return [r.executable.artifact for r in place.asked if isinstance(r, EvaluationRequest) and r.executable != GIVEN]


async def test_every_device_is_found_by_what_is_its_own_and_brought_to_the_state_of_the_first(machine, problem):
    places, said = await started(machine, problem, "cuda:2,0")
    assert (places.titles, said) == (["cuda:2", "cuda:0"], [])
    assert [place.device for place in machine.places] == ["cuda:gpu-c", "cuda:gpu-a"]
    assert [type(r) for r in machine.places[1].opened] == [OpenRequest, ChecksRequest, PreparationRequest]


async def test_nothing_waits_behind_a_slow_one_while_another_device_is_free(machine, problem):
    places, _ = await started(machine, problem, "cuda:0,1")
    machine.waits["slow"] = asyncio.Event()
    slow = asyncio.create_task(places.ask(evaluation("slow")))
    await asyncio.sleep(0)
    for name in "abcd":
        await places.ask(evaluation(name))
    assert not slow.done()
    assert sorted(map(of_candidates, machine.places)) == [["a", "b", "c", "d"], ["slow"]]
    machine.waits["slow"].set()
    await slow


async def test_a_device_does_one_thing_at_a_time(machine, problem):
    places, _ = await started(machine, problem, "cuda:0,1")
    machine.waits |= {"a": asyncio.Event(), "b": asyncio.Event()}
    tasks = [asyncio.create_task(places.ask(evaluation(name))) for name in "abc"]
    for _ in range(5):
        await asyncio.sleep(0)
    assert [of_candidates(place) for place in machine.places] == [["a"], ["b"]]
    machine.waits["b"].set()
    await tasks[2]
    assert [of_candidates(place) for place in machine.places] == [["a"], ["b", "c"]]
    machine.waits["a"].set()
    await asyncio.gather(*tasks)


async def test_whoever_waits_asks_before_the_last_answer_is_worked_on(machine, problem):
    places, _ = await started(machine, problem, "cuda:0")
    asked_by_then = []

    async def work_on(name: str) -> None:
        await places.ask(evaluation(name))
        asked_by_then.append(of_candidates(machine.places[0]))

    await asyncio.gather(work_on("a"), work_on("b"))
    assert asked_by_then == [["a", "b"], ["a", "b"]]


async def test_times_of_a_device_that_deviates_are_those_of_the_first_and_the_early_end_is_its_own(machine, problem):
    machine.slow["cuda:gpu-b"] = 1.05
    places, said = await started(machine, problem, "cuda:0,1")
    assert said == ["cuda:1 takes 1.050 times as long as cuda:0 for the kernel as given: its times are divided by that"]
    answers = [await places.ask(evaluation(best_ms=1.0)) for _ in range(2)]
    assert [a.timing.median for a in answers if isinstance(a, EvaluationAnswer) and a.timing] == pytest.approx([2, 2])
    asked = [place.asked[-1] for place in machine.places]
    assert [r.best_ms for r in asked if isinstance(r, EvaluationRequest)] == pytest.approx([1.0, 1.05])
    compare = ComparisonRequest(incumbent=GIVEN, challenger=GIVEN, delta=0.01)
    for _ in range(2):
        answer = await places.ask(compare)
        assert isinstance(answer, ComparisonAnswer)
        both = answer.comparison
        assert both.ratio == 2
        assert both.incumbent is not None
        assert both.incumbent.median == pytest.approx(4)


async def test_a_time_known_when_a_device_is_free_ends_early_what_was_asked_for_before(machine, problem):
    places, _ = await started(machine, problem, "cuda:0,1")
    machine.waits |= {"a": asyncio.Event(), "b": asyncio.Event()}
    waiting = [asyncio.create_task(places.ask(evaluation(name, best_ms=9.0))) for name in "abc"]
    await asyncio.sleep(0)
    machine.waits["b"].set()
    await waiting[2]
    assert [request.best_ms for request in machine.places[1].asked[-2:]] == [9.0, 2.0], "what b took is told with c"
    machine.waits["a"].set()
    await waiting[0]
    await places.ask(evaluation("exact"))
    asked = [request for place in machine.places for request in place.asked if isinstance(request, EvaluationRequest)]
    assert [request.best_ms for request in asked if request.executable.artifact == "exact"] == [None]


async def test_what_failed_is_no_time_to_be_beaten(machine, problem):
    places, _ = await started(machine, problem, "cuda:0")
    machine.failures["cuda:gpu-a"] = Failure(kind=FailureKind.WRONG_RESULT, message="wrong")
    for _ in range(2):
        await places.ask(evaluation(best_ms=9.0))
    assert machine.places[0].asked[-1].best_ms == 9.0


@pytest.mark.parametrize("slow", [1.2, 0.8])
async def test_a_device_that_deviates_too_much_is_left_out_and_that_is_said(machine, problem, slow):
    machine.slow["cuda:gpu-b"] = slow
    places, said = await started(machine, problem)
    assert places.titles == ["cuda:0", "cuda:2"]
    assert said == [f"cuda:1 is left out: cuda:1 takes {slow:.3f} times as long as cuda:0 for the kernel as given"]
    assert machine.places[1].closed


async def test_a_deviation_that_was_chance_is_gone_when_it_is_measured_again(machine, problem):
    machine.slow["cuda:gpu-b"] = 1.5

    async def calms_down(place: FakePlace, request: RunnerRequest) -> None:
        if isinstance(request, EvaluationRequest):
            machine.slow.clear()

    machine.do = calms_down  # type: ignore[method-assign]
    places, said = await started(machine, problem, "cuda:0,1")
    assert (places.titles, said) == (["cuda:0", "cuda:1"], [])


async def test_a_device_where_the_kernel_as_given_fails_is_left_out(machine, problem):
    machine.failures["cuda:gpu-c"] = Failure(kind=FailureKind.WRONG_RESULT, message="y[3] is 0")
    places, said = await started(machine, problem)
    assert places.titles == ["cuda:0", "cuda:1"]
    assert said == ["cuda:2 is left out: wrong result: y[3] is 0"]


async def test_another_model_that_was_named_is_refused_with_those_that_are_alike(machine, problem):
    machine.infos["cuda:gpu-b"] = T400
    with pytest.raises(DeviceError, match="cuda:1 cannot be beside cuda:0: it is NVIDIA T400 sm_75") as caught:
        await started(machine, problem)
    assert caught.value.hint == "name devices of one model, as in --device cuda:0,2"


async def test_another_model_that_was_only_there_is_left_out(machine, problem):
    machine.infos["cuda:gpu-b"] = T400
    places, said = await started(machine, problem, named=False)
    assert places.titles == ["cuda:0", "cuda:2"]
    reason = "it is NVIDIA T400 sm_75, the first is NVIDIA H200 sm_90a, and times of two models cannot be compared"
    assert said == [f"cuda:1 is left out: {reason}"]
    assert machine.places[1].closed


async def test_a_crash_is_the_candidates_and_its_device_goes_on(machine, problem):
    places, _ = await started(machine, problem, "cuda:0")

    def crash(_: FakePlace) -> None:
        raise RunnerDied(Failure(kind=FailureKind.CRASH, message="SIGSEGV"))

    machine.on_evaluate = crash
    with pytest.raises(RunnerDied):
        await places.ask(evaluation())
    machine.on_evaluate = lambda _: None
    await places.ask(evaluation())
    assert (places.titles, places.news()) == (["cuda:0"], [])


@pytest.mark.parametrize("error", [DeviceError("the device is unwell"), PlaceLost("its machine is gone")])
async def test_what_a_device_that_is_gone_was_to_do_goes_to_another(machine, problem, error):
    places, _ = await started(machine, problem)

    def fails(place: FakePlace) -> None:
        if place is machine.places[0]:
            raise error

    machine.on_evaluate = fails
    answers = await asyncio.gather(*(places.ask(evaluation(name)) for name in "abcdef"))
    assert len(answers) == 6
    assert sorted(of_candidates(machine.places[1]) + of_candidates(machine.places[2])) == [*"abcdef"]
    assert places.titles == ["cuda:1", "cuda:2"]
    assert places.news() == [f"cuda:0 is left out from now on: {error}"]
    assert places.news() == []


async def test_what_cost_two_devices_their_life_is_not_tried_on_a_third(machine, problem):
    places, _ = await started(machine, problem)

    def dies(_: FakePlace) -> None:
        raise PlaceLost("its machine is gone")

    machine.on_evaluate = dies
    with pytest.raises(RunnerDied) as caught:
        await places.ask(evaluation())
    assert caught.value.failure.kind is FailureKind.CRASH
    assert len(places.titles) == 1


async def test_when_no_device_is_left_everybody_who_waits_is_told(machine, problem):
    places, _ = await started(machine, problem, "cuda:0,1")

    def unwell(_: FakePlace) -> None:
        raise DeviceError("the device is unwell")

    machine.on_evaluate = unwell
    outcomes = await asyncio.wait_for(
        asyncio.gather(*(places.ask(evaluation(name)) for name in "abcde"), return_exceptions=True), 10
    )
    assert [str(outcome) for outcome in outcomes] == ["the device is unwell"] * 5


async def test_closing_ends_every_runner(machine, problem):
    places, _ = await started(machine, problem)
    await places.close()
    assert [place.closed for place in machine.places] == [1, 1, 1]
