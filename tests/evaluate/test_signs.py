"""Signs of how a kernel goes about its work, in what was measured and profiled of real ones on GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tui_tuner.evaluate.profiling import MachineCode, Profile
from tui_tuner.evaluate.profiling.bottleneck import diagnosis
from tui_tuner.evaluate.profiling.signs import signs
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

THESIS = Path(__file__).parents[2] / "benchmarks" / "thesis"
SEEN = {
    "assign_clusters": ["reuse"],
    "attention": ["narrow_reuse"],
    "depthwise_convolution": ["overlap"],
    "game_of_life": ["narrow", "overlap"],
    "half_gemm": ["narrow_reuse"],
    "histogram": ["atomics"],
    "inclusive_scan": ["barriers"],
    "int8_gemm": ["narrow_reuse"],
    "layer_norm": ["row_a_thread"],
    "mandelbrot": [],
    "matrix_add": [],
    "matrix_multiply": ["reuse"],
    "matrix_transpose": ["transposed"],
    "rms_norm_residual": ["row_a_thread", "narrow"],
    "sigmoid": [],
    "sparse_product": ["divergence", "row_a_thread"],
    "stencil_3d": ["overlap"],
    "top_k": ["row_a_thread", "divergence"],
    "verlet_integration": ["transposed"],
}


def recorded(name: str) -> tuple[Problem, DeviceInfo, Evaluation, Profile]:
    """A kernel as given, its best configuration and the profile of that, from the run with one prompt."""
    problem = load_problem(THESIS / "kernels" / f"{name}.toml")
    journal = THESIS / "recorded" / f"{name}-one_prompt" / "journal.jsonl"
    records = [json.loads(line) for line in journal.read_text().splitlines()]
    of_kind = {kind: [r["result"] for r in records if r.get("kind") == kind] for kind in ("device", "profile")}
    evaluated = [Evaluation.model_validate(r["result"]) for r in records if r.get("kind") == "evaluate"]
    of_given = [each for each in evaluated if each.candidate == baseline(problem).id and each.timing is not None]
    best = min(of_given, key=lambda each: each.timing.median if each.timing else 0.0)
    device = DeviceInfo.model_validate(of_kind["device"][0]["device"])
    return problem, device, best, Profile.model_validate(of_kind["profile"][0])


def seen(name: str, *, code: bool = True, counters: bool = True, work: bool = True) -> list[str]:
    """The signs of a recorded kernel, as they would be without one half of its profile or its declared work."""
    problem, device, best, profile = recorded(name)
    known = Profile(code=profile.code if code else None, counters=profile.counters if counters else None)
    found = diagnosis(problem, device, baseline(problem), best, known)
    assert found is not None
    told = problem if work else problem.model_copy(update={"work": None})
    return [*signs(told, baseline(problem), best.configuration, found, known)]


@pytest.mark.parametrize("name", SEEN)
def test_each_kernel_shows_what_it_is(name: str):
    assert seen(name) == SEEN[name]


def test_every_kernel_that_is_shipped_is_looked_at():
    assert {each.name.removesuffix("-one_prompt") for each in THESIS.glob("recorded/*-one_prompt")} == SEEN.keys()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("matrix_multiply", ["reuse"]),
        ("half_gemm", ["narrow_reuse"]),
        ("layer_norm", ["row_a_thread"]),
        ("histogram", ["atomics"]),
        ("rms_norm_residual", ["row_a_thread", "narrow"]),
        ("inclusive_scan", ["barriers"]),
        ("stencil_3d", ["overlap"]),
        ("game_of_life", ["narrow", "overlap"]),
        ("matrix_transpose", []),
        ("verlet_integration", []),
    ],
)
def test_without_counters_machine_code_and_declared_work_show_some(name: str, expected: list[str]):
    assert seen(name, counters=False) == expected


def test_without_any_profile_a_reuse_shows_in_the_declared_work():
    assert seen("matrix_multiply", code=False, counters=False) == ["reuse"]
    assert seen("layer_norm", code=False, counters=False) == []


def test_without_declared_work_shapes_show_a_product_and_nothing_else():
    assert seen("matrix_multiply", work=False) == ["reuse"]
    assert seen("half_gemm", work=False) == ["narrow_reuse"]
    assert seen("stencil_3d", work=False) == ["overlap"]


def test_a_product_that_is_in_tiles_already_still_reuses_and_arithmetic_on_nothing_does_not():
    problem, device, best, profile = recorded("matrix_multiply")
    tiled = MachineCode(instructions=87, mix={"global load of 4 bytes": 2}, loop={"shared load of 4 bytes": 2})
    found = diagnosis(problem, device, baseline(problem), best, profile)
    assert found is not None
    about = problem, baseline(problem), best.configuration, found
    assert signs(*about, Profile(code=tiled)) == ["reuse"]
    assert signs(*about, Profile(code=tiled.model_copy(update={"mix": {}}))) == []
