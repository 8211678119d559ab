"""Tensile sessions from the command line: begin, list, resume, replay; what is mistyped, missing or of another kind."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.end_to_end.program import ModelDouble, kinds
from tests.schemas import keep_to_the_schemas
from tests.tensile.conftest import TuneHere
from tests.tensile.sessions.replies import DEEPER, STOP
from tests.tensile.sessions.world import SMALL_SPACE, World, model, played

AUTO = ("--auto", "--repeats", "1", "--no-rehearse")
ANSWERS = [(["This is round 1 of"], DEEPER), (["There are no results yet."], DEEPER), (["This is round 2 of"], STOP)]


@pytest.fixture
def double(tmp_path: Path) -> ModelDouble:
    return ModelDouble(tmp_path / "model", ANSWERS)


@pytest.mark.slow
def test_a_session_is_told_in_lines_and_can_be_listed_resumed_and_replayed(
    tmp_path: Path, here: TuneHere, double: ModelDouble
) -> None:
    world = World(tmp_path, f"{SMALL_SPACE}LibraryLogic: {{ScheduleName: aldebaran, ArchitectureName: gfx90a}}\n")
    ended = here("tensile", "gemm.yaml", *AUTO, "--llm", double.name, "--run-dir", "runs/one")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "finished: the model sees nothing left that is worth a run"
    assert "256x128x1x4096  48,000 GFLOP/s  1.20x  round 1  " in ended.out
    assert "effort    8 permutations in 3 runs" in ended.out
    assert "round 1: 4 permutations x 2 sizes measured" in ended.err

    listed = here("runs", "runs")
    _, line = listed.out.splitlines()
    assert line.startswith("runs/one  gemm.yaml ")
    assert line.endswith("finished")
    assert {"tensile", "command:python"} <= {*line.split()}
    result = (tmp_path / "runs" / "one" / "best.yaml").read_bytes()
    resumed = here("resume", "runs/one", "--auto")
    assert (resumed.code, resumed.out.splitlines()[:-2]) == (0, ended.out.splitlines()[:-2])
    assert "resumed: gemm.yaml, strategy tensile" in resumed.err
    assert (world.runs, len(double.prompts)) == (3, 2)
    assert (tmp_path / "runs" / "one" / "best.yaml").read_bytes() == result

    (named,) = json.loads((tmp_path / "runs" / "one" / "result.json").read_text())["library_logic"]
    assert named in (tmp_path / "runs" / "one" / "report.md").read_text()
    explained = here("tensile", "logic", "runs/one")
    assert "256x128x1x4096  48,000 GFLOP/s" in explained.out
    assert explained.out.startswith(f"runs/one/{named}\n")

    world.program.unlink()
    replayed = here("replay", "runs/one", "--auto")
    assert (replayed.code, replayed.out.splitlines()[:-1]) == (0, ended.out.splitlines()[:-2])
    by_journal = here("replay", "runs/one/journal.jsonl", "--auto", "--output", "json")
    assert by_journal.code == 0
    types = [json.loads(line)["type"] for line in by_journal.out.splitlines()]
    assert (types[0], types[-1], types.count("benchmark_finished")) == ("session_started", "session_finished", 3)


@pytest.mark.slow
def test_every_event_is_a_line_of_json(tmp_path: Path, here: TuneHere, double: ModelDouble) -> None:
    World(tmp_path)
    ended = here("tensile", "gemm.yaml", *AUTO, "--llm", double.name, "--output", "json", "--gpu", "MI210")
    keep_to_the_schemas(ended.out.splitlines())
    told = [json.loads(line) for line in ended.out.splitlines()]
    assert told[0]["run"].startswith("tuner-runs/gemm-")
    assert told[1]["device"]["name"] == "MI210"
    (first, second, last) = [event["outcome"] for event in told if event["type"] == "benchmark_finished"]
    assert [size["ranked"][0]["gflops"] for size in second["sizes"]] == [48_000, 72_000]
    assert (first["device"], last["failure"]) == ("gfx90a", None)
    assert {"model_text", "benchmark_output"}.isdisjoint({event["type"] for event in told})
    assert told[-1]["status"] == "finished"


def test_a_session_without_any_result_fails_and_says_why(tmp_path: Path, here: TuneHere, double: ModelDouble) -> None:
    World(tmp_path, fault="fatal=Invalid parameter value: DepthU = 7")
    ended = here("tensile", "gemm.yaml", *AUTO, "--llm", double.name)
    assert ended.code == 1
    assert "failed: no run gave results; the last one: Invalid parameter value: DepthU = 7" in ended.out + ended.err


def test_no_gain_has_an_exit_code_of_its_own(tmp_path: Path, here: TuneHere) -> None:
    World(tmp_path)
    ended = here("tensile", "gemm.yaml", *AUTO, "--max-rounds", "0", "--llm", "none", "--run-dir", "run")
    assert ended.code == 3
    assert ended.out.startswith("no improvement: only the configuration as given was to be measured\n")
    assert here("resume", "run", "--auto").code == 3


def test_without_tensile_the_way_out_is_told(tmp_path: Path, here: TuneHere, double: ModelDouble) -> None:
    World(tmp_path).program.unlink()
    ended = here("tensile", "gemm.yaml", "--auto", "--llm", double.name)
    assert ended.code == 2
    assert ended.err.startswith("tuner-tui: there is no Tensile on PATH (Tensile, tensile, Tensile.sh)\n")
    assert "--tensile PATH" in ended.err
    assert "--advice FILE" in ended.err
    assert not (tmp_path / "tuner-runs").exists()
    elsewhere = here("tensile", "gemm.yaml", "--auto", "--llm", double.name, "--tensile", "nowhere/Tensile")
    assert (elsewhere.code, elsewhere.err.splitlines()[0]) == (2, "tuner-tui: there is no nowhere/Tensile")


def test_without_a_model_the_way_out_is_told(tmp_path: Path, here: TuneHere) -> None:
    world = World(tmp_path)
    ended = here("tensile", "gemm.yaml", "--auto", "--llm", "none")
    assert ended.code == 2
    assert "a language model edits the configuration, and there is none" in ended.err
    assert "--max-rounds 0" in ended.err
    assert not (tmp_path / "tuner-runs").exists()
    assert world.runs == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "no configuration is named"),
        (["nothing.yaml", "--auto"], "nothing.yaml: cannot be read: No such file"),
        (["gemm.yaml", "--auto", "--max-rounds", "-1"], "--max-rounds: "),
        (["gemm.yaml", "--auto", "--patience", "soon"], "--patience: "),
        (["gemm.yaml", "--auto", "--max-permutations", "0"], "--max-permutations: "),
        (["gemm.yaml", "--auto", "--max-run-seconds", "0"], "--max-run-seconds: "),
        (["gemm.yaml", "--auto", "--min-gain", "-0.1"], "--min-gain: "),
        (["gemm.yaml", "--auto", "--max-calls", "-1"], "--max-calls: "),
        (["gemm.yaml", "--auto", "--target", "0.5x"], "--target: "),
        (["gemm.yaml", "--auto", "--max-evals", "7"], "--max-evals"),
        (["gemm.yaml", "--output", "json"], "--output needs --auto"),
        (["gemm.yaml", "sizes.yaml", "--auto"], "gemm.yaml has its sizes in itself"),
        (["broken.yaml", "--auto"], "broken.yaml:2: this is not YAML"),
        (["dead.yaml", "--auto"], "BenchmarkJoinParameters is no longer supported by Tensile"),
        (["gemm.yaml", "--auto", "-o", "edited.yaml"], "--advice"),
        (["gemm.yaml", "--auto", "--results", "out"], "--advice"),
        (["gemm.yaml", "--auto", "--knowledge", "nowhere"], "nowhere"),
    ],
)
def test_what_is_mistyped_is_named(tmp_path: Path, here: TuneHere, arguments: list[str], named: str) -> None:
    world = World(tmp_path)
    (tmp_path / "sizes.yaml").write_text("- Exact: [1, 1, 1, 1]\n")
    (tmp_path / "broken.yaml").write_text("BenchmarkProblems: [\n")
    dead = SMALL_SPACE.replace("BenchmarkJoinParameters:", "BenchmarkJoinParameters: [MacroTile]")
    (tmp_path / "dead.yaml").write_text(dead)
    ended = here("tensile", *arguments)
    assert ended.code in {1, 2}
    assert named in ended.err
    assert world.runs == 0
    assert not (tmp_path / "tuner-runs").exists()


@pytest.mark.slow
def test_a_run_directory_is_not_taken_twice(tmp_path: Path, here: TuneHere, double: ModelDouble) -> None:
    World(tmp_path)
    for code in (0, 1):
        ended = here("tensile", "gemm.yaml", *AUTO, "--llm", double.name, "--run-dir", "run")
        assert ended.code == code
    assert "a run is there already" in ended.err
    assert len(double.prompts) == 2


@pytest.mark.slow
def test_a_session_is_gone_on_with_where_a_larger_budget_allows_it(
    tmp_path: Path, here: TuneHere, double: ModelDouble
) -> None:
    world = World(tmp_path)
    command = (
        "tensile",
        "gemm.yaml",
        "--auto",
        "--repeats",
        "0",
        "--no-rehearse",
        "--llm",
        double.name,
        "--run-dir",
        "run",
    )
    assert "the 0 model calls allowed are made" in here(*command, "--max-calls", 0).out
    ended = here("resume", "run", "--auto", "--max-calls", 5)
    assert ended.code == 0, ended.err
    assert world.runs == 2
    assert kinds(tmp_path / "run").count("benchmark") == 2


@pytest.fixture
async def recorded(tmp_path: Path) -> World:
    world = World(tmp_path)
    await played(world.begin(model(DEEPER, STOP)))
    return world


async def test_a_tensile_run_is_no_kernel_to_other_commands(recorded: World, here: TuneHere) -> None:
    exported = await asyncio.to_thread(here, "export-dataset", "run")  # a command has a loop of its own
    assert exported.code == 1
    assert "this is a run of `tuner-tui tensile`" in exported.err
    assert exported.out == ""


async def test_a_configuration_is_no_kernel(recorded: World, here: TuneHere) -> None:
    ended = await asyncio.to_thread(here, "gemm.yaml", "--auto", "--llm", "none")
    assert ended.code in {1, 2}
    assert "tuner-tui tensile gemm.yaml" in ended.err


@pytest.mark.slow
def test_a_run_is_gone_on_with_where_tensile_is_elsewhere_now(
    tmp_path: Path, here: TuneHere, double: ModelDouble
) -> None:
    world = World(tmp_path)
    command = (
        "tensile",
        "gemm.yaml",
        "--auto",
        "--repeats",
        "0",
        "--no-rehearse",
        "--llm",
        double.name,
        "--run-dir",
        "run",
    )
    here(*command, "--max-calls", 0, "--tensile", "bin/Tensile")
    (tmp_path / "bin").rename(tmp_path / "moved")
    lost = here("resume", "run", "--auto", "--max-calls", 5)
    assert (lost.code, lost.err.splitlines()[0]) == (2, "tuner-tui: there is no bin/Tensile")
    program = (tmp_path / "moved" / "Tensile").read_text().replace("bin/options.json", "moved/options.json")
    (tmp_path / "moved" / "Tensile").write_text(program)
    found = here("resume", "run", "--auto", "--max-calls", 5, "--tensile", "moved/Tensile")
    assert found.code == 0, found.err
    assert json.loads((world.path / "result.json").read_text())["tensile"] == "4.33.0"
    refused = here("resume", "nothing", "--auto")
    assert (refused.code, "no run is there" in refused.err) == (1, True)
