"""A cluster whose Ray is a fake: placing, checking that machines are alike, carrying, losing."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cluster.fake_ray import FakeRay, node
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import DeviceError, DeviceLost, UserError
from tui_tuner.evaluate import local, several
from tui_tuner.evaluate.cluster import RayCluster, places, slots_in, worker
from tui_tuner.evaluate.cluster.places import ClusterOptions
from tui_tuner.evaluate.cluster.worker import BuildMessage, packed, unpacked
from tui_tuner.evaluate.devices.choose import check_cluster, cluster_address
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.site import LocalOptions
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

REFERENCE = '\n[reference]\npython = "ours.py:scale"\n'
TWO = (node("a", CPU=2.0, emulator=1.0), node("b", CPU=2.0, emulator=1.0))
BLOCKS = [{"block_size_x": size} for size in (32, 64, 128, 256)]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    directory = tmp_path / "problem"
    directory.mkdir()
    (directory / "scale.cu").write_text(SOURCE)
    (directory / "ours.py").write_text("def scale(y, x, n):\n    return {'y': 2 * x}\n")
    (directory / "scale.toml").write_text(PROBLEM + REFERENCE)
    return load_problem(directory / "scale.toml")


@asynccontextmanager
async def started(
    monkeypatch: pytest.MonkeyPatch, problem: Problem, directory: Path, ray: FakeRay
) -> AsyncIterator[tuple[LocalEvaluator, MachineReport]]:
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(several, "OF_CPUS", several.Deviation(math.inf, math.inf))  # other programs keep cores busy
    affinity = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda name, soft: (name, soft))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", affinity)
    options = LocalOptions("ray", directory / "builds", directory / "log", 2, Policy())
    site = RayCluster(problem, ClusterOptions("", directory / "builds"))
    evaluator = LocalEvaluator(problem, options, site)
    try:
        yield evaluator, await evaluator.start()
    finally:
        await evaluator.close()
        for actor in ray.actors:
            if actor.is_dead:  # a process that dies takes its runner with it
                await actor.worker.close()


async def test_machines_build_check_and_time_and_give_everything_back(monkeypatch, problem, tmp_path):
    ray = FakeRay(*TWO)
    async with started(monkeypatch, problem, tmp_path, ray) as (evaluator, report):
        assert report.devices == ["a/0", "b/0"]
        assert "its times are CPU times" in report.note
        assert "g++" in report.device.toolchain
        evaluations = await asyncio.gather(*(evaluator.evaluate(baseline(problem), block, None) for block in BLOCKS))
        assert [evaluation.failure for evaluation in evaluations] == [None] * len(BLOCKS)
        wrong = baseline(problem).model_copy(update={"source": SOURCE.replace("2.0f", "3.0f")})
        failure = (await evaluator.evaluate(wrong, BLOCKS[0], None)).failure
        assert failure is not None
        assert failure.kind is FailureKind.WRONG_RESULT
        one = (baseline(problem), BLOCKS[1])
        comparison = await evaluator.compare(one, one, 0.01)
        assert comparison.failure is None
    assert [actor.options["scheduling_strategy"] for actor in ray.actors] == [("id-a", False), ("id-b", False)]
    assert [(a.options["num_cpus"], a.options["resources"]) for a in ray.actors] == [(2, {"emulator": 1})] * 2
    assert ray.killed == ray.actors
    assert not any(actor.worker._place.exists() for actor in ray.actors)


@pytest.mark.slow
async def test_what_a_machine_that_dies_was_doing_is_done_elsewhere(monkeypatch, problem, tmp_path):
    ray = FakeRay(*TWO)
    async with started(monkeypatch, problem, tmp_path, ray) as (evaluator, _):
        first = ray.actors[0]

        def dies(verb: str) -> None:
            if verb == "serve":
                asyncio.get_running_loop().call_soon(first.die)

        first.before = dies
        evaluations = await asyncio.gather(*(evaluator.evaluate(baseline(problem), block, None) for block in BLOCKS))
        assert first.is_dead
        assert [evaluation.failure for evaluation in evaluations] == [None] * len(BLOCKS)
        news = evaluator.news()
        assert len(news) == 1
        assert news[0].startswith("a/0 is left out from now on: a/0 is gone (ActorDiedError")


@pytest.mark.slow
async def test_a_fault_of_a_machine_is_tried_again_and_where_the_last_one_dies_the_session_is_told(
    monkeypatch, problem, tmp_path
):
    monkeypatch.setattr(local, "PAUSES_S", (0.0, 0.0))
    ray = FakeRay(TWO[0])
    async with started(monkeypatch, problem, tmp_path, ray) as (evaluator, _):
        supervisor = ray.actors[0].worker._supervisor
        ask, faults = supervisor.ask, [DeviceLost("the GPU's memory failed")]

        async def failing_once(request):
            if faults:
                raise faults.pop()
            return await ask(request)

        monkeypatch.setattr(supervisor, "ask", failing_once)
        assert (await evaluator.evaluate(baseline(problem), BLOCKS[0], None)).ok
        assert evaluator.news() == ["a/0: the GPU's memory failed: no candidate is to blame, it is tried again"]
        ray.actors[0].die()
        with pytest.raises(DeviceError, match=r"a/0 is gone|no machine is left"):
            await evaluator.evaluate(baseline(problem), BLOCKS[1], None)
        with pytest.raises(DeviceError, match=r"a/0 is gone|no machine is left"):
            await evaluator.evaluate(baseline(problem), BLOCKS[0], None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("other", "reason"),
    [("program", "tuner-tui is 0.0.1 on b/0"), ("compiler", "its compiler is another 1, that of the first")],
)
async def test_a_machine_that_is_not_as_the_first_is_left_out(monkeypatch, problem, tmp_path, other, reason):
    ray = FakeRay(*TWO)

    class Other(worker.Worker):
        async def introduce(self) -> bytes:
            is_other = other == "program" and self is ray.actors[1].worker
            return b"0.0.1" if is_other else await super().introduce()

        async def _find_tools(self, message):
            found = await super()._find_tools(message)
            is_other = other == "compiler" and self is ray.actors[1].worker
            return found.model_copy(update={"toolchain": "another 1"}) if is_other else found

    monkeypatch.setattr(worker, "Worker", Other)
    async with started(monkeypatch, problem, tmp_path, ray) as (_, report):
        assert report.devices == ["a/0"]
        assert f"b/0 is left out: {reason}" in report.note


async def test_a_machine_without_room_is_told_after_a_while(monkeypatch, problem, tmp_path):
    ray = FakeRay(TWO[0])
    monkeypatch.setattr(places, "ROOM_S", 0.05)

    async def never(_: worker.Worker) -> bytes:
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(worker.Worker, "introduce", never)
    with pytest.raises(DeviceError, match="a/0 has no room: a device and 2 CPUs are not free there"):
        async with started(monkeypatch, problem, tmp_path, ray):
            pass
    assert ray.killed == ray.actors


async def test_a_cluster_without_devices_is_refused_with_the_way_to_offer_some(monkeypatch, problem, tmp_path):
    with pytest.raises(DeviceError, match="offers a GPU") as caught:
        async with started(monkeypatch, problem, tmp_path, FakeRay(node("a", CPU=4.0))):
            pass
    assert "ray start --resources" in str(caught.value.hint)


@pytest.mark.slow
async def test_an_evaluation_that_is_cancelled_is_cancelled_there(monkeypatch, problem, tmp_path):
    ray = FakeRay(TWO[0])
    async with started(monkeypatch, problem, tmp_path, ray) as (evaluator, _):
        await evaluator.evaluate(baseline(problem), BLOCKS[0], None)
        task = asyncio.create_task(evaluator.evaluate(baseline(problem), BLOCKS[0], None))
        count = len(ray.actors[0].under_way)
        while len(ray.actors[0].under_way) == count:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(ray.cancelled) == 1
        assert (await evaluator.evaluate(baseline(problem), BLOCKS[0], None)).ok


def test_gpus_are_taken_before_emulators_and_share_the_cpus_of_their_machine():
    kind, slots = slots_in(
        [
            node("a", CPU=16.0, GPU=4.0, emulator=2.0),
            node("gone", alive=False, CPU=16.0, GPU=8.0),
            node("b", CPU=1.0, GPU=2.0),
            node("c", CPU=64.0, emulator=64.0),
        ]
    )
    assert kind == "cuda"
    assert [(slot.title, slot.cpus) for slot in slots] == [
        *((f"a/{number}", 4) for number in range(4)),
        *((f"b/{number}", 1) for number in range(2)),
    ]


def test_a_parcel_arrives_as_it_was_packed(problem):
    message = BuildMessage(candidate=baseline(problem), configuration={"block_size_x": 32}, options=["-O1"])
    files = {"a.so": b"\0\1\2", "empty": b"", "b/c.py": "ä".encode()}
    content, back = unpacked(packed(message, files))
    assert BuildMessage.model_validate(content) == message
    assert back == files


async def test_an_artifact_that_a_worker_has_is_not_written_anew():
    served = worker.Worker()
    try:
        served._write({"a.so": b"x"})
        before = (served._place / "a.so").stat()
        served._write({"a.so": b"x"})
        after = (served._place / "a.so").stat()
    finally:
        await served.close()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("name", ["/etc/passwd", "../other", "a/../../b"])
async def test_a_worker_writes_nothing_outside_of_its_directory(name, problem):
    served = worker.Worker()
    try:
        message = BuildMessage(candidate=baseline(problem), configuration={}, options=[])
        content, _ = unpacked(await served.serve(packed(message, {name: b"x"})))
    finally:
        await served.close()
    assert content["type"] == "refused"
    with pytest.raises(UserError, match="is not beside the problem file"):
        worker._harmless(name)


@pytest.mark.parametrize(
    ("text", "address"),
    [("ray", ""), (" RAY ", ""), ("ray://head:10001", "ray://head:10001"), ("cuda:0", None), ("rays", None)],
)
def test_a_cluster_is_named_by_its_address(text, address):
    assert cluster_address(text) == address


@pytest.mark.parametrize("text", ["ray:2", "ray://", "ray://head", "ray://user@head:1", "ray://head:port"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(DeviceError, match="there is no cluster at"):
        cluster_address(text)


def test_a_cluster_runs_cuda_kernels_and_needs_ray(monkeypatch):
    for language in ("c", "opencl", "python", "recorded"):
        with pytest.raises(DeviceError, match="does not run in a cluster"):
            check_cluster(language)
    monkeypatch.setattr("tui_tuner.evaluate.devices.choose.find_spec", lambda _: None)
    with pytest.raises(DeviceError, match="needs Ray") as caught:
        check_cluster("cuda")
    assert "tuner-tui[cluster]" in str(caught.value.hint)
