"""The real program lets a model choose configurations of a recorded kernel, is killed, and goes on."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest

from tests.end_to_end.program import ModelDouble, kinds, start, tuner_tui, wait_until
from tests.recorded.caches import cache_text
from tests.schemas import keep_to_the_schemas

VALUES = {"block_size_x": [32, 64, 128, 256], "tile": [1, 2, 4, 8], "unroll": [1, 2, 4], "shared": [0, 1]}
FIRST, MORE = "that shall be measured first", "that shall be measured next"
OPTIONS = ("--auto", "--initial-batch-size", 6, "--refinement-batch-size", 4, "--max-rounds", 2, "--max-evals", 20)


def milliseconds(block: int, tile: int, unroll: int, shared: int) -> float:
    return 100 / (1 + shared) / (1 + min(tile, 4)) * (1.5 if block * tile > 512 else 1) * (1 + unroll / 50)


def entry(values: tuple[int, ...]) -> dict[str, object]:
    time = milliseconds(*values)
    return {**dict(zip(VALUES, values, strict=True)), "time": time, "times": [time * 0.999, time, time * 1.001]}


def chosen(*configurations: tuple[int, int, int, int]) -> str:
    proposed = [{**dict(zip(VALUES, values, strict=True)), "reason": "to see"} for values in configurations]
    return json.dumps({"analysis": "Shared memory helps.", "configurations": proposed})


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    cache = {",".join(map(str, values)): entry(values) for values in product(*VALUES.values())}
    file = tmp_path / "scale.json"
    file.write_text(cache_text(cache, tune_params=VALUES, tune_params_keys=list(VALUES)))
    return file


@pytest.fixture
def model(tmp_path: Path) -> ModelDouble:
    answers = [
        ([FIRST], chosen((128, 4, 2, 1), (64, 2, 1, 1))),
        ([MORE], chosen((128, 4, 1, 1), (128, 4, 3, 1), (256, 8, 4, 0), (32, 1, 2, 0))),
    ]
    return ModelDouble(tmp_path / "model", answers)


@pytest.mark.slow
def test_a_model_chooses_and_a_local_search_goes_on(tmp_path, recording, model):
    ended = tuner_tui(recording, *OPTIONS, *model.asked_by("llm_search"), "--run-dir", "run", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert re.search(r"round 1 of 2: \d+ configurations, best", ended.err)
    assert re.search(r"round 2 of 2: \d+ configurations, best", ended.err)
    assert "the search with the model ends: the evaluations are made" in ended.err
    assert json.loads((tmp_path / "run/result.json").read_text())["evaluations"] == 20
    assert ",17,1,64,2,1,1" in model.prompts[1]
    again = tuner_tui("replay", "run", "--auto", cwd=tmp_path)
    assert again.out.splitlines()[:4] == ended.out.splitlines()[:4]
    stream = tuner_tui("replay", "run", "--auto", "--output", "json", cwd=tmp_path)
    keep_to_the_schemas(stream.out.splitlines(), tmp_path / "run")


@pytest.mark.slow
def test_without_a_model_it_searches_and_says_so(tmp_path, recording):
    ended = tuner_tui(recording, *OPTIONS, "--llm", "none", "--strategy", "llm_search", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "round 1" not in ended.err
    asked = tuner_tui(recording, *OPTIONS, "--llm", "none", "--search", "hybrid", cwd=tmp_path)
    assert "--search hybrid needs a language model: searching without one" in asked.err


@pytest.mark.slow
def test_a_strategy_that_would_rewrite_is_replaced(tmp_path, recording, model):
    ended = tuner_tui(recording, *OPTIONS, *model.asked_by("autonomous"), cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert "only configurations of this kernel can be chosen here: running the strategy 'llm_search'" in ended.err


@pytest.mark.slow
def test_a_round_that_was_interrupted_goes_on_where_it_was(tmp_path, recording, model):
    run = tmp_path / "run"
    running = start(recording, *OPTIONS, *model.asked_by("llm_search"), "--run-dir", run, cwd=tmp_path)
    wait_until(lambda: kinds(run).count("ask") == 1, "first reply")
    running.kill()
    running.communicate()
    ended = tuner_tui("resume", run, "--auto", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len([prompt for prompt in model.prompts if FIRST in prompt]) == 1
    assert len([kind for kind in kinds(run) if kind == "ask"]) == 2


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--patience", "0"), "--patience: input should be greater than or equal to 1, it is 0"),
        (("--fallback", "luck"), "--fallback: input should be 'random', 'pattern' or 'error', it is luck"),
        (("--seeds", "many"), "--seeds: input should be a valid integer"),
        (("--temperature", "3"), "--temperature: input should be less than or equal to 2, it is 3"),
    ],
)
def test_a_setting_that_cannot_be_is_told(tmp_path, recording, option, said):
    ended = tuner_tui(recording, "--auto", *option, cwd=tmp_path)
    assert ended.code == 2
    assert said in ended.err
