"""Techniques against what holds a kernel back: which fit, where they are told, and the user's own."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest

from docs.prompting.replies import answers_for, plan
from docs.prompting.session import H200, Scene, requests_of, sample
from tests.strategies.world import Script
from tui_tuner.app.choosing import GivenObjects, choose_for
from tui_tuner.errors import ProblemError, SettingsError
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.tuning_step import Bottleneck, Sign, TuningStep, faults_of_steps
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.explicit import ExplicitStrategy
from tui_tuner.strategies.single_step import OnePromptStrategy
from tui_tuner.strategies.step_lists import default_steps, default_techniques, fitting, with_named_technique
from tui_tuner.strategies.steps import Step

OWN = """
[[steps]]
id = "my_swizzle"
when = ["l1"]
prompt_template = "Swizzle the blocks of $name for the cache."
tune_params = { swizzle = [1, 2, 4] }
watch = "the hit rate"
"""
MATMUL = sample("matmul")


def names(bottleneck: Bottleneck, candidate: Candidate | None = None, **changes: object) -> list[str]:
    """The default techniques that fit the matrix multiplication."""
    device = H200.model_copy(update=changes)
    given = candidate or baseline(MATMUL)
    return [step.id for step in fitting(default_steps(), [bottleneck], MATMUL, device, given)]


def test_there_is_a_default_technique_against_all_but_the_cost_of_a_launch():
    against = {name for step in default_steps() for name in step.when}
    assert {*get_args(Bottleneck)} - against == {"launch", "unknown"}
    assert all(step.watch for step in default_steps() if step.when)


def test_there_is_a_technique_for_every_sign_and_each_says_what_to_watch():
    assert {sign for technique in default_techniques() for sign in technique.when} == {*get_args(Sign)}
    assert all(technique.watch for technique in default_techniques())


def test_what_a_technique_stands_for_are_default_steps_and_what_is_wrong_with_none():
    assert {name for each in default_techniques() for name in each.instead_of} <= {step.id for step in default_steps()}
    assert faults_of_steps(default_techniques()) == []


def test_those_that_help_most_come_first():
    assert names("memory") == ["vectorized_loads", "shared_memory_input"]
    assert names("latency") == [
        "shared_memory_input",
        "instruction_parallelism",
        "vectorized_loads",
        "loop_unrolling",
    ]


def test_what_the_kernel_does_already_is_left_out_and_what_builds_on_it_fits():
    given = baseline(MATMUL)
    shared = given.model_copy(update={"tunables": {**given.tunables, "use_shared_mem": [0, 1]}})
    assert names("latency", shared)[:2] == ["async_copy", "instruction_parallelism"]


def test_what_the_device_has_not_is_left_out():
    assert "tensor_cores" in names("compute")
    assert "tensor_cores" not in names("compute", architecture="sm_61")
    assert "block_size_x" not in names("tail"), "a tunable that the kernel has"


async def told(strategy: Strategy, purpose: str, device: str = "cuda") -> str:
    """What a prompt says of techniques; the device that the sessions of the document have is held by latency."""
    requests = await requests_of(Scene(MATMUL, strategy, answers_for(MATMUL), max_evaluations=12))
    prompt = next(request for request in requests if request.purpose == purpose).messages[-1].content
    return prompt.partition("<techniques>")[2].partition("</techniques>")[0]


@pytest.mark.parametrize(
    ("strategy", "purpose"),
    [
        (AutonomousStrategy(), "plan"),
        (AutonomousStrategy(), "replan"),
        (OnePromptStrategy(), "one_prompt"),
    ],
)
async def test_a_plan_and_a_whole_rewrite_are_told_the_ones_that_fit(strategy, purpose):
    said = await told(strategy, purpose)
    assert re.findall('<technique name="(.*)">', said) == ["register tile", "vectorized loads"]
    assert "tunable tile_k: [8, 16, 32]" in said
    assert "watch: registers" in said


@pytest.mark.parametrize(
    ("strategy", "purpose"), [(AutonomousStrategy(), "apply_step"), (ExplicitStrategy(), "worth_step")]
)
async def test_a_single_step_is_told_none(strategy, purpose):
    assert await told(strategy, purpose) == ""


async def step_asked(title: str) -> str:
    """What the prompt for a planned step of this title says is to be done."""
    answers = answers_for(MATMUL) | {"plan": [plan(title)]}
    strategy = AutonomousStrategy(techniques=[OURS, OF_TENSOR_CORES, SWIZZLE])
    requests = await requests_of(Scene(MATMUL, strategy, answers, max_evaluations=12))
    assert "has its name in its title" in requests[0].messages[-1].content
    prompt = next(request for request in requests if request.purpose == "apply_step").messages[-1].content
    return prompt.partition(f'<step title="{title}">')[2].partition("</step>")[0]


OURS = TuningStep(id="ours", prompt_template="Swizzle $name.", when=["launch"])
OF_TENSOR_CORES = TuningStep(id="our_cores", prompt_template="Multiply.", when=["launch"], min_architecture=70)
SWIZZLE = TuningStep(id="swizzle_x", prompt_template="Turn.", when=["launch"], tune_params={"swizzle_x": [1, 2]})


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Register tile for both operands", ["register tile"]),
        ("Use `register_tile`", ["register tile"]),
        ("Ours, then a register tile", ["ours", "register tile"]),
        ("Ours, a register tile, vectorized loads", ["ours", "register tile"]),
        ("Vectorized loads of A", ["vectorized loads"]),
        ("Vectorized-loads of A", ["vectorized loads"]),
        ("Stage tiles in shared memory", []),
        ("Swizzle x of a block", ["swizzle x"]),
    ],
)
async def test_a_step_that_names_a_technique_comes_with_its_text(title: str, expected: list[str]):
    said = await step_asked(title)
    assert said.strip().startswith(f"{title}, as far as it pays.")
    assert re.findall('<technique name="(.*)">', said) == expected
    assert said.count("</technique>") == len(expected)


@pytest.mark.parametrize(
    ("name", "title", "told"),
    [
        ("matmul", "Larger tiles", True),
        ("transpose", "Turn tiles in shared memory", False),
        ("transpose", "Tiles by TMA", True),
    ],
)
async def test_how_tensor_maps_are_made_is_told_where_operations_hold_back_or_a_step_names_them(name, title, told):
    problem = sample(name)
    answers = answers_for(problem) | {"plan": [plan(title)]}
    requests = await requests_of(Scene(problem, AutonomousStrategy(), answers, max_evaluations=12))
    planned, step = (
        next(one for one in requests if one.purpose == purpose).messages[-1].content
        for purpose in ("plan", "apply_step")
    )
    assert ("tensormap.replace" in step) is told
    assert "names TMA is told how" in planned
    assert "tensormap.replace" not in planned


@pytest.mark.parametrize("title", ["Block scan of the list", "Yours and hours", "Tune swizzle_x"])
async def test_words_that_a_title_has_by_chance_bring_no_technique(title: str):
    """Of what no plan was told, of parts of longer words, and of the name of a tunable."""
    assert "</technique>" not in await step_asked(title)


async def test_a_product_in_float32_is_told_how_tensor_cores_keep_its_accuracy():
    said = await told(OnePromptStrategy(), "one_prompt")
    assert "split into three of bfloat16" in said.partition("</technique>")[0]


@pytest.mark.parametrize(
    ("toolchain", "architecture", "are_told"),
    [
        ("nvcc 13.0 sm_90a", "sm_90", ["register_tile", "tensor_core_tile"]),
        ("nvcc 13.0 sm_90", "sm_90", ["register_tile"]),
        ("nvcc 13.0 sm_75", "sm_75", []),
    ],
)
def test_facts_are_told_on_devices_that_they_are_of(toolchain: str, architecture: str, are_told: list[str]):
    device = H200.model_copy(update={"toolchain": toolchain, "architecture": architecture})
    found = [each.id for each in default_techniques() if any(facts.fit(device) for facts in each.facts)]
    assert found == are_told


async def test_a_step_of_the_users_may_name_any_technique():
    step = Step(id=1, title="Block scan of each row", detail="Scan.", by_user=True)
    session = SimpleNamespace(problem=MATMUL, bench=SimpleNamespace(device=H200))
    assert '<technique name="block scan">' in with_named_technique(session, step, baseline(MATMUL), [], set())


async def test_a_step_gets_no_technique_that_the_device_has_no_means_for(monkeypatch):
    assert "our cores" in await step_asked("Our cores")
    monkeypatch.setattr("docs.prompting.session.H200", H200.model_copy(update={"architecture": "sm_61"}))
    assert "</technique>" not in await step_asked("Our cores")


async def test_nothing_is_told_where_it_is_not_known_what_holds_the_kernel_back(monkeypatch):
    monkeypatch.setattr("docs.prompting.session.H200", H200.model_copy(update={"peaks": {}}))
    assert await told(OnePromptStrategy(), "one_prompt") == ""


async def test_the_users_own_go_first(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    said = await told(strategy_named("one_prompt", {"techniques": str(file)}), "one_prompt")
    first, _, rest = said.partition("</technique>")
    assert "Swizzle the blocks of matmul for the cache." in first
    assert "watch: the hit rate" in first
    assert rest.count("</technique>") == 2


async def test_no_more_are_told_than_can_be_taken_in(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text(OWN + OWN.replace("my_swizzle", "another").replace("{ swizzle", "{ other"))
    said = await told(strategy_named("one_prompt", {"techniques": str(file)}), "one_prompt")
    assert re.findall('<technique name="(.*)">', said) == ["my swizzle", "another", "register tile"]


def test_what_is_kept_of_a_file_does_not_need_it(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    options = {"techniques": str(file), "candidates": 2}
    strategy = strategy_named("autonomous", options)
    kept = strategy.kept(options)
    file.unlink()
    assert strategy_named("autonomous", kept) == strategy
    assert kept["candidates"] == 2
    assert strategy.kept({}) == {}


async def test_a_session_keeps_the_techniques_and_not_the_name_of_their_file(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text(OWN)
    options = SessionOptions(strategy="one_prompt", strategy_options={"techniques": str(file)}, llm="none")
    parts = await choose_for(MATMUL, options, Settings(), GivenObjects(backend=Script([])))
    (technique,) = parts.options.strategy_options["techniques"]
    assert technique["id"] == "my_swizzle"


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (OWN.replace('when = ["l1"]', ""), SettingsError, "'my_swizzle' does not say in `when`"),
        (OWN.replace('"l1"', '"bandwidth"'), ProblemError, "'bandwidth'|input should be"),
        (OWN.replace("$name", "$nme"), ProblemError, "which nothing fills"),
        (None, ProblemError, "own.toml"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_with_its_place(tmp_path: Path, text, error, words):
    file = tmp_path / "own.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(error) as raised:
        strategy_named("autonomous", {"techniques": str(file)})
    assert any(word in str(raised.value) or word in str(raised.value.file) for word in words.split("|"))


def test_techniques_from_python_are_steps():
    own = TuningStep(id="mine", prompt_template="Do it.", when=["tail"])
    assert AutonomousStrategy(techniques=[own]).techniques == [own]
