from __future__ import annotations

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end.program import ModelDouble
from tests.recorded.caches import write_cache
from tui_tuner.cli import main
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.lab import RANDOM
from tui_tuner.lab.bench_search import marks, means, space_result
from tui_tuner.lab.runs import BenchmarkTask, TaskResult, check_strategy, run_all, run_task
from tui_tuner.lab.scores import Landscape, RecordedSpace, estimate, load, mean_of, recorded_space

FIRST = 8.0
"""The time of the default configuration."""


@pytest.fixture
def data(tmp_path: Path) -> RecordedSpace:
    return recorded_space(str(write_cache(tmp_path / "small.json.gz")))


def test_a_data_set_is_a_recording_with_the_problem_file_beside_it_or_named(tmp_path):
    recording = write_cache(tmp_path / "a.json.gz")
    assert recorded_space(str(recording)) == RecordedSpace(recording, None)
    beside, other = tmp_path / "a.toml", tmp_path / "b.toml"
    for file in (beside, other):
        file.write_text("", "utf-8")
    assert recorded_space(str(recording)) == recorded_space(str(beside)) == RecordedSpace(recording, beside)
    assert recorded_space(f"{recording}:{other}") == RecordedSpace(recording, other)
    assert recorded_space(str(recording)).name == "a"
    for wrong in (str(other), str(tmp_path / "c.json"), f"{recording}:{tmp_path / 'c.toml'}", str(tmp_path / "c.toml")):
        with pytest.raises(SettingsError, match="there is no") as caught:
            recorded_space(wrong)
        assert caught.value.hint


def test_the_space_is_what_is_on_record_and_allowed(tmp_path, data):
    assert len(load(data).landscape.times) == 11
    restricted = tmp_path / "r.toml"
    restricted.write_text('[search]\nrestrictions = ["block_size_x < 128"]\n', "utf-8")
    landscape = load(RecordedSpace(data.recording, restricted)).landscape
    assert sorted(time for time in landscape.times if time) == [2.0, 4.0, 4.0, 4.0, 8.0, 8.0, 8.0]
    assert (landscape.optimum, load(data).landscape.optimum) == (2.0, 1.0)


def test_a_method_begins_with_the_default_and_counts_its_failures(data):
    run = run_task(BenchmarkTask(data, "genetic_algorithm", 0, 200))
    assert run.failure == ""
    assert run.found[0] == FIRST
    assert len(run.found) == 11  # the whole space
    assert run.found.count(None) == 2
    assert run.seconds > 0


@pytest.mark.slow
def test_a_method_is_given_no_more_evaluations_than_allowed_and_repeats_by_its_seed(data):
    runs = {seed: run_task(BenchmarkTask(data, "surrogate", seed, 5)) for seed in (1, 2)}
    assert all(len(run.found) <= 5 for run in runs.values())
    assert run_task(BenchmarkTask(data, "surrogate", 1, 5)).found == runs[1].found


@pytest.mark.slow
def test_random_sampling_has_no_start(data):
    firsts = {run_task(BenchmarkTask(data, RANDOM, seed, 3)).found[0] for seed in range(2)}
    assert firsts != {FIRST}


REPLY = {"analysis": "large blocks", "configurations": [{"block_size_x": 128, "tile": 1, "layout": "column"}]}


@pytest.mark.parametrize("strategy", ["llm", "hybrid"])
def test_a_model_chooses_in_a_real_session_that_is_kept_and_gone_on_with(data, tmp_path, strategy):
    model = ModelDouble(tmp_path / "model", json.dumps(REPLY))
    task = BenchmarkTask(data, strategy, 0, 6, model.name, tmp_path / "runs")
    run = run_task(task)
    assert run.failure == ""
    assert run.found[0] == FIRST
    assert 1.0 in run.found
    assert 3 <= len(run.found) <= 6
    asked = len(model.prompts)
    assert asked >= 1
    assert run_task(task).found == run.found
    assert len(model.prompts) == asked


@pytest.mark.slow
def test_a_model_that_is_not_there_fails_the_run_instead_of_leaving_it_to_others(data):
    assert "gave no reply" in run_task(BenchmarkTask(data, "llm", 0, 6, "command:false")).failure
    assert run_task(BenchmarkTask(data, "llm", 0, 6, "no-such-provider")).failure


def test_a_run_that_fails_is_told_and_does_not_end_the_others(data, tmp_path):
    gone = RecordedSpace(tmp_path / "gone.json", None)
    runs = list(run_all([BenchmarkTask(where, "surrogate", 0, 5) for where in (gone, data)], jobs=1))
    by_data = {run.task.data: run for run in runs}
    assert "no such recording" in by_data[gone].failure
    assert by_data[data].found[0] == FIRST


def test_a_strategy_that_does_not_exist_or_lacks_its_model_is_refused():
    check_strategy("mls", None)
    check_strategy(RANDOM, None)
    check_strategy("llm", "command:./model")
    with pytest.raises(SettingsError, match="did you mean 'genetic_algorithm'") as caught:
        check_strategy("genetic_algoritm", None)
    assert "hybrid" in (caught.value.hint or "")
    for llm in (None, "none"):
        with pytest.raises(UserError, match="needs a model"):
            check_strategy("hybrid", llm)


def test_the_results_of_a_data_set_are_means_over_its_runs(data):
    def run(strategy: str, seed: int, *found: float | None, failure: str = "") -> TaskResult:
        return TaskResult(BenchmarkTask(data, strategy, seed, 3), found, failure, seconds=2.0)

    runs = [run("a", 0, 4.0, 1.0), run("a", 1, 4.0, None, 2.0), run("b", 0, failure="broken")]
    result = space_result(data, ["a", "b"], runs, 3)
    (quality,) = result.qualities
    assert (quality.strategy, quality.runs, quality.seconds) == ("a", 2, 2.0)
    assert quality.fractions[3].mean == pytest.approx((1.0 + 0.5) / 2)
    assert [found.strategy for found in means([result, result], ["a", "b"])] == ["a"]


def test_the_usual_numbers_of_evaluations_are_told_as_far_as_they_are_reached():
    assert marks(200) == [25, 55, 85, 200]
    assert marks(60) == [25, 55, 60]
    assert marks(10) == [10]


TIMES = [5.0, 1.0, None, 2.0, 2.0, 9.0]


def test_a_curve_holds_the_best_so_far_and_begins_with_the_slowest_where_nothing_was_found():
    landscape = Landscape(TIMES)
    assert landscape.curve([None, 5.0, 9.0, 2.0], 6).tolist() == [9.0, 5.0, 5.0, 2.0, 2.0, 2.0]
    assert landscape.curve([1.0, 5.0, 2.0], 2).tolist() == [1.0, 1.0]
    assert landscape.curve([], 2).tolist() == [9.0, 9.0]


def test_the_baseline_is_the_mean_over_all_orders_of_drawing():
    landscape = Landscape(TIMES)
    curves = [landscape.curve(order, 6) for order in permutations(TIMES)]
    assert landscape.baseline(6) == pytest.approx(np.mean(curves, axis=0))


def test_the_baseline_stays_at_the_optimum_once_all_are_drawn():
    assert Landscape([2.0, 1.0]).baseline(5).tolist() == pytest.approx([1.5, 1.0, 1.0, 1.0, 1.0])
    assert Landscape([3.0]).baseline(2).tolist() == [3.0, 3.0]


@pytest.mark.slow
def test_the_baseline_of_a_large_space_agrees_with_drawing_from_it():
    rng = np.random.default_rng(1)
    times = rng.lognormal(size=20_000).tolist()
    landscape = Landscape(times)
    drawn = [landscape.curve(rng.choice(times, size=200, replace=False).tolist(), 200) for _ in range(400)]
    assert landscape.baseline(200)[[9, 49, 199]] == pytest.approx(np.mean(drawn, axis=0)[[9, 49, 199]], rel=0.05)


def test_the_score_is_0_for_random_sampling_1_for_the_optimum_at_once_and_linear_between():
    landscape = Landscape(TIMES)
    assert landscape.score(landscape.baseline(5)) == pytest.approx(0)
    assert landscape.score(landscape.curve([1.0], 5)) == pytest.approx(1)
    assert landscape.score((landscape.baseline(5) + 1.0) / 2) == pytest.approx(0.5)
    assert landscape.score(landscape.curve([9.0, 9.0, 9.0], 5)) < 0
    orders = [landscape.score(landscape.curve(order, 6)) for order in permutations(TIMES)]
    assert np.mean(orders) == pytest.approx(0)


def test_a_space_where_nothing_can_be_won_scores_1():
    landscape = Landscape([2.0, 2.0, 2.0])
    assert landscape.score(landscape.curve([2.0], 3)) == 1.0


def test_the_fraction_is_the_optimum_over_the_best_time():
    landscape = Landscape(TIMES)
    curve = landscape.curve([5.0, 2.0, 1.0], 3)
    assert [landscape.fraction(curve, n) for n in (1, 2, 3)] == [0.2, 0.5, 1.0]


def test_a_mean_has_the_standard_error_of_its_repeats():
    assert estimate([1.0, 3.0]).mean == 2.0
    assert estimate([1.0, 3.0]).error == pytest.approx(1.0)
    assert estimate([2.0]).error is None
    mean = mean_of([estimate([1.0, 3.0]), estimate([4.0, 4.0])])
    assert (mean.mean, mean.error) == (3.0, pytest.approx(0.5))
    assert mean_of([estimate([1.0, 3.0]), estimate([2.0])]).error is None
    assert not math.isnan(mean.mean)


@pytest.fixture
def recordings(tmp_path: Path) -> list[str]:
    return [str(write_cache(tmp_path / name)) for name in ("one.json", "two.json.gz")]


@pytest.mark.slow
def test_a_table_for_each_data_set_and_their_mean_go_to_standard_output(recordings, capsys):
    arguments = ["--strategies", "random,surrogate", "--repeats", "1", "--evaluations", "9", "--jobs", "1"]
    assert main(["bench-search", *recordings, *arguments]) == 0
    told = capsys.readouterr()
    assert "one: 11 configurations, best 1 ms (recorded)" in told.out
    assert "mean of 2 data sets" in told.out
    assert told.out.count("\n  random") == told.out.count("\n  surrogate") == 3
    assert "[4/4] " in told.err


@pytest.mark.slow
def test_the_same_as_json_and_the_same_in_several_processes(recordings, capsys):
    arguments = ["bench-search", recordings[0], "--strategies", "surrogate", "--repeats", "2", "--evaluations", "8"]
    found = []
    for jobs in ("1", "2"):
        assert main([*arguments, "--output", "json", "--jobs", jobs]) == 0
        found.append(json.loads(capsys.readouterr().out))
    for result in found:
        (quality,) = result["data"][0]["qualities"]
        del quality["seconds"], result["means"][0]["seconds"]
    assert found[0] == found[1]
    assert found[0]["data"][0]["optimum"] == 1.0
    assert found[0]["data"][0]["qualities"][0]["runs"] == 2
    assert set(found[0]["data"][0]["qualities"][0]["fractions"]) == {"8"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gone.json"], "there is no file gone.json"),
        (["--strategies", "mels"], "did you mean 'mls'"),
        (["--strategies", "llm"], "needs a model"),
        (["--strategies", ","], "names none"),
    ],
)
def test_a_mistake_is_told_before_anything_runs(recordings, capsys, arguments, said):
    data = [] if arguments[0].startswith("gone") else recordings
    assert main(["bench-search", *data, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_recording_is_told_before_anything_runs(tmp_path, capsys):
    file = tmp_path / "a.json"
    file.write_text("{}", "utf-8")
    assert main(["bench-search", str(file)]) != 0
    assert "no cache file of kernel_tuner" in capsys.readouterr().err
