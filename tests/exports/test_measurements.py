"""What other programs make of all that was measured."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from kernel_tuner import tune_kernel
from kernel_tuner.file_utils import output_file_schema

from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.exports import ToldRun
from tui_tuner.exports.measurements import cache_file, csv_file, t4_file
from tui_tuner.session.events import CandidateProposed

BEST = {"block_size_x": 128, "work_per_thread": 8}


def test_t4_keeps_to_the_schema_that_kernel_tuner_ships(told: ToldRun) -> None:
    version, schema = output_file_schema("results")
    content = json.loads(t4_file(told, told.best))
    jsonschema.validate(content, schema)

    assert content["schema_version"] == version
    assert {result["invalidity"] for result in content["results"]} == {"correct", "runtime"}
    timed = [result for result in content["results"] if result["invalidity"] == "correct"]
    fastest = min(timed, key=lambda result: result["measurements"][0]["value"])
    assert fastest["configuration"] == BEST == told.outcome.best.configuration
    content["results"][0]["invalidity"] = "sideways"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema)


def test_a_cache_file_is_simulated_by_kernel_tuner(told: ToldRun, tmp_path: Path) -> None:
    file = tmp_path / "cache.json"
    file.write_text(cache_file(told, told.best))
    results, _ = tune_kernel(
        "scale",
        "__global__ void scale(float *y) {}",
        4096,
        [np.zeros(1, np.float32)],
        told.best.tunables,
        simulation_mode=True,
        cache=str(file),
        quiet=True,
        verbose=False,
    )

    times = {tuple(result[name] for name in BEST): result.get("time") for result in results}
    assert len(times) == 8
    ours = {tuple(e.configuration.values()): e.timing and e.timing.median for e in told.evaluations_of(told.best)}
    assert {key: time for key, time in times.items() if key[1] != 4} == {k: t for k, t in ours.items() if k[1] != 4}
    assert {tuple(r[name] for name in BEST) for r in results if "__error__" in r} == {(64, 4), (128, 4)}


def test_a_cache_file_is_read_by_this_program_too(told: ToldRun, tmp_path: Path) -> None:
    file = tmp_path / "cache.json"
    file.write_text(cache_file(told, told.best))
    recording = read_recording(file)
    entry = recording.entry(BEST)

    assert (recording.device, recording.kernel, recording.problem_size) == ("Fake GPU", "scale", (4096,))
    assert entry is not None
    assert entry.time == pytest.approx(told.outcome.best.timing and told.outcome.best.timing.median)


def test_csv_has_a_row_for_every_evaluation_of_every_kernel(told: ToldRun) -> None:
    rows = [*csv.DictReader(io.StringIO(csv_file(told)))]

    assert len(rows) == len(told.evaluations) == told.outcome.evaluations + 1
    assert rows[0]["work_per_thread"] == "", "the kernel as given has no such tunable"
    assert {row["failure"] for row in rows} == {"", "launch failure"}
    assert [row["reason"] for row in rows if row["failure"]] == ["too many resources"] * 2
    assert {row["kernel"] for row in rows} <= told.candidates.keys()


def test_a_kernel_that_a_later_step_proposes_again_keeps_its_name(told: ToldRun) -> None:
    late = told.best.model_copy(update={"title": "A later idea"})
    again = replace(told, told=[*told.told, CandidateProposed(step=9, candidate=late, rationale="")])

    assert again.candidates[late.id].title == told.best.title != late.title
    assert [*again.candidates] == [*told.candidates]
