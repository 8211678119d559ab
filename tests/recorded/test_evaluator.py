from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.caches import cache_text, entries, write_cache
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.recorded import packed, unpacked
from tui_tuner.evaluate.recorded.evaluator import RecordedEvaluator
from tui_tuner.evaluate.recorded.problem import problem_of_recording
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.prompts import device_facts

FIRST = {"block_size_x": 32, "tile": 1, "layout": "row"}
BEST = {"block_size_x": 128, "tile": 1, "layout": "column"}


def evaluator_of(file: Path) -> tuple[RecordedEvaluator, Candidate]:
    problem = problem_of_recording(read_recording(file), None).problem
    return RecordedEvaluator(problem, file), baseline(problem)


async def test_it_starts_with_the_first_configuration_that_was_timed_and_invents_no_limits(tmp_path):
    evaluator, _ = evaluator_of(write_cache(tmp_path / "a.json"))
    started = await evaluator.start()
    assert started.given.configuration == FIRST
    assert started.given.timing is not None
    assert started.given.timing.median == 8.0
    assert started.members is not None
    assert len(started.members) == 11
    device = started.device
    assert (device.kind, device.name, device.backend) == ("recorded", "Slow GPU", "recorded")
    assert {device.max_threads_per_block, device.shared_bytes, device.shared_bytes_optin} == {None}
    assert "None" not in device_facts(device)
    assert not device.is_cpu
    assert await evaluator.sized_problem() is None


async def test_of_a_device_without_a_name_a_model_is_told_the_name_of_the_file(tmp_path):
    evaluator, _ = evaluator_of(write_cache(tmp_path / "conv_MI250X.json", cache_text(device_name="")))
    device = (await evaluator.start()).device
    assert device_facts(device).startswith("a recorded device (conv_MI250X.json): every configuration was built")


async def test_a_configuration_has_its_recorded_time_with_an_interval_around_it(tmp_path):
    evaluator, candidate = evaluator_of(write_cache(tmp_path / "a.json"))
    await evaluator.start()
    evaluation = await evaluator.evaluate(candidate, BEST, None)
    timing = evaluation.timing
    assert timing is not None
    assert timing.median == 1.0
    assert 0.998 <= timing.low < 1.0 < timing.high <= 1.002
    assert timing.samples == 5
    assert (evaluation.build_ms, evaluation.verify_ms, evaluation.measure_ms) == (30.5, 2.0, 7.25)
    assert evaluation.resources.registers == 40


async def test_where_time_and_launches_disagree_the_time_has_the_spread_of_the_launches(tmp_path):
    cache = entries()
    cache["32,1,row"] |= {"time": 8.61, "times": [5.0, 5.0, 5.05, 4.95, 5.0]}
    cache["128,1,column"] |= {"time": 7.24, "times": [9.0, 9.0, 9.09, 8.91, 9.0]}
    del cache["64,1,row"]["times"]
    evaluator, candidate = evaluator_of(write_cache(tmp_path / "a.json", cache_text(cache)))
    await evaluator.start()
    found = [
        (await evaluator.evaluate(candidate, one, None)).timing for one in (FIRST, BEST, {**FIRST, "block_size_x": 64})
    ]
    assert [timing and timing.median for timing in found] == [8.61, 7.24, 4.0]
    assert found[1].low >= 7.24 * 0.99
    assert found[1].high < found[0].low, "the new best lies below the old one"
    assert (found[2].low, found[2].high) == (4.0, 4.0)
    comparison = await evaluator.compare((candidate, FIRST), (candidate, BEST), 0.01)
    assert comparison.ratio == 8.61 / 7.24
    assert 1.16 < comparison.low <= comparison.ratio <= comparison.high < 1.22


async def test_a_configuration_that_was_not_recorded_is_invalid_and_another_kernel_is_refused(tmp_path):
    evaluator, candidate = evaluator_of(write_cache(tmp_path / "a.json"))
    await evaluator.start()
    for unknown in ({**FIRST, "block_size_x": 512}, {"block_size_x": 32}, {**FIRST, "tile": True}):
        failure = (await evaluator.evaluate(candidate, unknown, None)).failure
        assert failure is not None
        assert failure.kind is FailureKind.INVALID
    other = candidate.model_copy(update={"source": "// faster"})
    failure = (await evaluator.evaluate(other, BEST, None)).failure
    assert failure is not None
    assert failure.kind is FailureKind.REFUSED
    assert "only the kernel that it was made with" in failure.message


async def test_two_configurations_are_compared_by_their_recorded_times(tmp_path):
    cache = entries()
    del cache["64,1,row"]["times"]
    evaluator, candidate = evaluator_of(write_cache(tmp_path / "a.json", cache_text(cache)))
    await evaluator.start()
    comparison = await evaluator.compare((candidate, FIRST), (candidate, BEST), 0.01)
    assert comparison.ratio == 8.0
    assert comparison.low <= 8.0 <= comparison.high
    assert comparison.pairs == 5
    without = await evaluator.compare((candidate, FIRST), (candidate, {**FIRST, "block_size_x": 64}), 0.01)
    assert (without.ratio, without.low, without.high, without.pairs) == (2.0, 2.0, 2.0, 0)


async def test_an_objective_that_is_no_time_is_told(tmp_path):
    cache = {key: {**entry, "energy": 3.0} for key, entry in entries().items() if "time" in entry}
    evaluator, _ = evaluator_of(write_cache(tmp_path / "a.json", cache_text(cache, objective="energy")))
    assert "objective is energy" in (await evaluator.start()).note


async def test_a_default_that_has_no_time_is_told(tmp_path):
    file = write_cache(tmp_path / "a.json")
    problem = problem_of_recording(read_recording(file), None).problem
    failed = problem.model_copy(update={"defaults": {**FIRST, "block_size_x": 128, "tile": 2}})
    with pytest.raises(DeviceError, match="default configuration has no time"):
        await RecordedEvaluator(failed, file).start()


def test_members_come_out_of_their_packing_as_they_went_in():
    tunables = {"on": [True, False], "n": [1, 2, 1024], "kind": ["a", "b"], "one": [1.5]}
    members = [
        {"on": on, "n": n, "kind": kind, "one": 1.5} for on in (True, False) for n in (1, 1024) for kind in ("a", "b")
    ]
    assert repr(unpacked(packed(members[::-1], tunables), tunables)) == repr(members)
    assert unpacked(packed([], tunables), tunables) == []
    with pytest.raises(ValueError, match="unpacked"):
        unpacked("AAAA", tunables)


def test_members_of_a_space_beyond_all_machine_numbers_are_packed():
    tunables = {f"t{number}": list(range(64)) for number in range(30)}
    members = [dict.fromkeys(tunables, value) for value in (0, 31, 63)]
    assert unpacked(packed(members, tunables), tunables) == members
