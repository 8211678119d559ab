"""Where Tensile's own modules can be loaded, they are asked about every edited configuration before it is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.sessions.replies import DEEPER, SPLIT, STOP, advice, drop
from tests.tensile.sessions.world import (
    SMALL_SPACE,
    A,
    World,
    measured,
    model,
    notes,
    played,
    prompts,
    states,
    steps,
    winners,
)
from tests.tensile.stand_in import write_program
from tui_tuner.strategies.steps import StepState

STRUCTS = """\
import itertools, sys

class Step:
    def __init__(self, forks):
        self.forkParams = {name: values for entry in forks for name, values in entry.items() if len(values) > 1}
        self.paramGroups = []

class BenchmarkProcess:
    def __init__(self, problem, group):
        self.step = Step(group["ForkParameters"])
        for value in self.step.forkParams.get("DepthU", []):
            if value > 32:
                print(f"Tensile::FATAL: Invalid parameter value: DepthU = {value}")
                sys.exit(-1)

    def __getitem__(self, number):
        return self.step

def constructForkPermutations(forks, groups):
    return list(itertools.product(*forks.values()))[COUNTED]
"""
SHALLOWER = advice(drop("DepthU", 64))
REFUSAL = "Invalid parameter value: DepthU = 64"


def install(world: World, counted: str = "") -> None:
    """A checkout whose modules take no DepthU above 32, and count a part of the permutations where that is given."""
    package = world.directory / "checkout" / "Tensile"
    world.program = write_program(package / "bin", measured=world.table)
    (package / "__init__.py").touch()
    (package / "BenchmarkStructs.py").write_text(STRUCTS.replace("[COUNTED]", counted))


@pytest.mark.slow
async def test_what_tensile_itself_refuses_is_told_to_the_model_and_not_measured(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(DEEPER, SPLIT, STOP)
    install(world)
    story = await played(world.begin(backend))
    assert f"round 1: Tensile itself refuses these edits: try DepthU 64: {REFUSAL}" in prompts(backend)[1]
    assert f"Tensile refuses the edited configuration: {REFUSAL}" in notes(story)
    assert states(story)["Round 1"] is StepState.ACCEPTED
    assert measured(story) == [(0, 2), (1, 4)]
    assert winners(story)[A] == (60_000, 1)


@pytest.mark.slow
async def test_a_second_refusal_costs_the_round(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(DEEPER, DEEPER, SPLIT, STOP)
    install(world)
    story = await played(world.begin(backend))
    assert steps(story)["Round 1"].reason == "the model failed: Tensile itself refuses the edited configuration"
    assert measured(story) == [(0, 2), (2, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("counted", "differ"), [("", False), ("[:3]", True)])
async def test_another_count_of_permutations_is_told(tmp_path: Path, counted: str, differ: bool) -> None:
    world = World(tmp_path)
    install(world, counted)
    story = await played(world.begin(model(SPLIT, STOP)))
    assert ("Tensile itself counts 3 permutations, this program 4" in notes(story)) is differ
    assert "parser is not asked" not in notes(story)


async def test_the_model_is_offered_what_is_installed_and_nothing_else(tmp_path: Path) -> None:
    world, backend = World(tmp_path), model(DEEPER, STOP)
    install(world)
    structs = tmp_path / "checkout" / "Tensile" / "BenchmarkStructs.py"
    known = {"DepthU": [16, 32], "GlobalSplitU": [1, 2, 4], "BrandNew": [7, 8, 9], "MatrixInstruction": "many"}
    structs.write_text(f"{STRUCTS.replace('[COUNTED]', '')}\nvalidParameters = {known}\n")
    story = await played(world.begin(backend))
    assert "valid values: tensilelite, the installed Tensile 4.33.0" in notes(story)
    asked = prompts(backend)[0]
    assert "BrandNew" in asked
    assert "ScheduleIterAlg" not in asked
    assert "DepthU cannot be 64: 16, 32" in prompts(backend)[1]
    assert notes(await played(world.replay())) == notes(story)


async def test_what_tensile_refuses_as_given_is_not_run_and_the_model_hears_why(tmp_path: Path) -> None:
    world, backend = World(tmp_path, SMALL_SPACE.replace("DepthU: [32]", "DepthU: [64, 32]")), model(SHALLOWER, STOP)
    install(world)
    story = await played(world.begin(backend))
    assert steps(story)["Benchmark the configuration as given"].reason == f"refused by Tensile: {REFUSAL}"
    assert REFUSAL in prompts(backend)[0]
    assert measured(story) == [(1, 2)]


async def test_where_it_cannot_be_asked_that_is_told_once(tmp_path: Path) -> None:
    story = await played(World(tmp_path).begin(model(DEEPER, SPLIT, STOP)))
    assert notes(story).count("Tensile's own parser is not asked about edits: ") == 1


async def test_a_small_context_gets_a_shorter_prompt_and_a_word_about_it(tmp_path: Path) -> None:
    backend = model(DEEPER, STOP)
    backend.context_tokens = 16_384 + 3_000
    story = await played(World(tmp_path).begin(backend))
    assert "left out of the prompt, for the model's context: the lower half of the rankings" in notes(story)
    assert "Not named in the file" not in prompts(backend)[0]
    assert winners(story)[A] == (48_000, 1)
