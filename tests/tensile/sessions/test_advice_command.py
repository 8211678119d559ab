"""`tuner-tui tensile CONFIG --advice FILE`: advice and the edited file, without Tensile and without a screen."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import NoReturn

import pytest

from tests.end_to_end.program import ModelDouble
from tests.tensile.conftest import TuneHere
from tests.tensile.sessions.replies import BEST, DEEPER, INSTRUCTION, STOP, advice, drop, try_value
from tests.tensile.sessions.test_shapes import ALTERNATE, SEVERAL
from tests.tensile.sessions.world import SMALL_SPACE, A, B, World
from tui_tuner.llm.errors import ContextTooLong, KeyRefused, Service, TransportError

EDITED = SMALL_SPACE.replace("DepthU: [32]", "DepthU: [32, 64]")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A configuration, and no Tensile on PATH."""
    made = World(tmp_path)
    made.program.rename(tmp_path / "elsewhere")
    return made


def says(directory: Path, *replies: str) -> ModelDouble:
    """A model that gives the first reply, and another one where a reply was put back to it."""
    *others, last = replies
    return ModelDouble(directory / "model", [*((["cannot be used"], reply) for reply in others), ([], last)])


def test_advice_and_the_edited_file_are_written(tmp_path: Path, world: World, here: TuneHere) -> None:
    double = says(tmp_path, DEEPER).name
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--gpu", "MI210", "--llm", double)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == [
        "try DepthU 64: 2 -> 4 permutations. It may be faster.",
        "2 -> 4 permutations",
        "wrote advice.md and gemm.edited.yaml",
    ]
    assert (tmp_path / "gemm.edited.yaml").read_bytes() == EDITED.encode()
    text = (tmp_path / "advice.md").read_text()
    for line in ("# Advice for gemm.yaml", "It is bound by memory.", "A fifth more.", "2 -> 4 permutations"):
        assert line in text.splitlines()
    assert "Nothing of it was measured." in text
    assert world.file.read_text() == SMALL_SPACE
    assert world.runs == 0


def test_input_and_output_may_be_named_as_options(tmp_path: Path, world: World, here: TuneHere) -> None:
    files = ("-i", "gemm.yaml", "-o", "better.yaml", "--advice", "advice.md")
    assert here("tensile", *files, "--llm", says(tmp_path, DEEPER).name).code == 0
    assert (tmp_path / "better.yaml").read_bytes() == EDITED.encode()


def test_the_output_alone_asks_for_advice_and_missing_facts_are_told(
    tmp_path: Path, world: World, here: TuneHere
) -> None:
    double = says(tmp_path, DEEPER).name
    ended = here("tensile", "-i", "gemm.yaml", "-o", "better.yaml", "--llm", double)
    assert ended.code == 0, ended.err
    missing = (
        "the GPU is not named: the prompt has no facts of it; name one with --gpu, as in --gpu gfx942 or --gpu MI300X"
    )
    assert ended.out.splitlines()[0] == missing
    assert ended.out.splitlines()[-1] == "wrote better.advice.md and better.yaml"
    assert "The GPU is not named" in (tmp_path / "better.advice.md").read_text()


def test_what_is_not_known_of_a_gpu_is_told(tmp_path: Path, world: World, here: TuneHere) -> None:
    double = says(tmp_path, DEEPER).name
    ended = here("tensile", "-i", "gemm.yaml", "-o", "better.yaml", "--gpu", "H100", "--llm", double)
    assert ended.out.startswith("nothing is known of the GPU H100: the prompt has no facts of it; name one with --gpu")


def test_sizes_of_a_log_are_written_as_a_configuration(tmp_path: Path, here: TuneHere) -> None:
    (tmp_path / "app.log").write_text("./rocblas-bench -f gemm -r f32_r -m 64 -n 32 -k 16\n")
    printed = here("tensile", "sizes", "app.log")
    assert "- Exact: [64, 32, 1, 16, 64, 64, 64, 16] # 1 call" in printed.out
    written = here("tensile", "sizes", "app.log", "-o", "new.yaml")
    assert written.out.splitlines() == ["NN s to s, compute s: 1 call of 1 size", "wrote new.yaml"]
    assert (tmp_path / "new.yaml").read_text() == printed.out
    for arguments, words in (
        (("sizes", "app.log", "-o", "new.yaml"), "new.yaml is there already"),
        (("sizes",), "no log is named"),
        (("sizes", "gone.log"), "cannot be read"),
    ):
        ended = here("tensile", *arguments)
        assert (ended.code, words in ended.err) == (2, True), ended.err


def test_a_packed_log_is_read_and_what_is_left_out_goes_beside_the_configuration(
    tmp_path: Path, here: TuneHere
) -> None:
    calls = "rocblas-bench -f gemm -r f32_r -m 64 -n 32 -k 16\nrocblas-bench -f trsm -r f32_r -m 4\n"
    text = f"{calls}rocblas-bench -f gemm -r q9 -m 4 -n 4 -k 4\n".encode()
    (tmp_path / "app.log.gz").write_bytes(gzip.compress(text))
    ended = here("tensile", "sizes", "app.log.gz")
    assert "- Exact: [64, 32, 1, 16, 64, 64, 64, 16] # 1 call" in ended.out
    assert ended.err.splitlines() == [
        "passed over, no matrix multiplication: trsm (1)",
        "1 call not understood:",
        "line 3: the data type 'q9' is not known",
    ]
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(text)[:-12])
    ended = here("tensile", "sizes", "cut.log.gz")
    assert (ended.code, "cut.log.gz: cannot be read: what is packed in it is not whole" in ended.err) == (2, True)


def test_with_the_option_for_the_input_the_sizes_stand_alone(tmp_path: Path, here: TuneHere) -> None:
    (tmp_path / "base.yaml").write_text(ALTERNATE)
    (tmp_path / "sizes.yaml").write_text(f"- Exact: {list(A)}\n- Exact: {list(B)}\n")
    double = says(tmp_path, DEEPER)
    ended = here("tensile", "-i", "base.yaml", "sizes.yaml", "--advice", "advice.md", "--llm", double.name)
    assert ended.code == 0, ended.err
    assert "2 problem sizes: 256x128x1x4096, 512x512x1x1024" in double.prompts[0]
    assert (tmp_path / "base.edited.yaml").read_text() == ALTERNATE.replace("[32]", "[32, 64]")
    twice = here("tensile", "-i", "base.yaml", "base.yaml", "sizes.yaml", "--advice", "other.md")
    assert (twice.code, twice.err.splitlines()[0]) == (2, "tuner-tui: the configuration is named twice")


@pytest.mark.slow
def test_results_of_an_earlier_run_are_told_and_its_best_is_kept(tmp_path: Path, here: TuneHere) -> None:
    world = World(tmp_path)
    subprocess.run([world.program, world.file, tmp_path / "out"], check=True, capture_output=True)
    double = says(tmp_path, DEEPER, advice(drop(INSTRUCTION, BEST)))
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--results", "out", "--llm", double.name)
    assert ended.code == 0, ended.err
    first, second = double.prompts
    assert "1. 40000 GFLOP/s: MatrixInstruction [16, 16, 16, 1, 1, 4, 4, 2, 2]" in first
    assert "the best so far at 256x128x1x4096, 512x512x1x1024 would no longer be measured" in second
    assert (tmp_path / "gemm.edited.yaml").read_bytes() == EDITED.encode()


def test_results_of_problems_with_the_same_sizes_are_told_apart(tmp_path: Path, here: TuneHere) -> None:
    world = World(tmp_path, SEVERAL)
    subprocess.run([world.program, world.file, tmp_path / "out"], check=True, capture_output=True)
    double = says(tmp_path, advice(try_value("DepthU", 64)))
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--results", "out", "--llm", double.name)
    assert ended.code == 0, ended.err
    told = [line for line in double.prompts[0].splitlines() if "solutions timed" in line or line.startswith("  1. ")]
    assert [line.split(":")[0] for line in told] == [
        "size group 0, 256x128x1x4096",
        "  1. 40000 GFLOP/s",
        "size group 1, 512x512x1x1024",
        "  1. 60000 GFLOP/s",
        "size group 2, 256x128x1x4096",
        "  1. 60000 GFLOP/s",
    ]


def test_results_that_are_none_are_refused_before_the_model_is_asked(
    tmp_path: Path, world: World, here: TuneHere
) -> None:
    double = says(tmp_path, DEEPER)
    for place in ("nowhere", "model"):
        ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--results", place, "--llm", double.name)
        assert ended.code == 1
        assert ended.err.startswith(f"tuner-tui: {place}: Tensile left no results")
    assert double.prompts == []


def test_a_model_without_a_usable_reply_is_an_error_and_nothing_is_written(
    tmp_path: Path, world: World, here: TuneHere
) -> None:
    double = says(tmp_path, advice())
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--llm", double.name)
    assert ended.code == 1
    assert "the model gave no usable advice in 3 calls: there is no edit" in ended.err
    assert len(double.prompts) == 3
    assert not (tmp_path / "advice.md").exists()
    assert not (tmp_path / "gemm.edited.yaml").exists()


@pytest.mark.parametrize(
    ("failure", "way_out"),
    [(ContextTooLong, "context_tokens"), (KeyRefused, "name another model with --llm")],
)
def test_a_model_that_fails_is_an_error_with_a_way_out(
    tmp_path: Path,
    world: World,
    here: TuneHere,
    monkeypatch: pytest.MonkeyPatch,
    failure: type[TransportError],
    way_out: str,
) -> None:
    async def fails(*_: object) -> NoReturn:
        raise failure("it went wrong", Service("fake", "model"))

    monkeypatch.setattr("tui_tuner.tensile.sessions.complete", fails)
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--llm", says(tmp_path, STOP).name)
    assert ended.code == 1
    assert "there is no advice: fake: it went wrong" in ended.err
    assert way_out in ended.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gemm.yaml", "--devices", "0,x"], "as in --devices 0,1"),
        (["size", "app.log"], "did you mean tuner-tui tensile sizes app.log?"),
    ],
)
def test_a_slip_of_the_pen_is_told_with_what_was_meant(
    world: World, here: TuneHere, arguments: list[str], words: str
) -> None:
    ended = here("tensile", *arguments, "--auto")
    assert ended.code == 2
    assert words in ended.err


def test_advice_to_change_nothing_is_advice_too(tmp_path: Path, world: World, here: TuneHere) -> None:
    ended = here("tensile", "gemm.yaml", "--advice", "advice.md", "--llm", says(tmp_path, STOP).name)
    assert ended.code == 0, ended.err
    assert "- none" in (tmp_path / "advice.md").read_text().splitlines()
    assert (tmp_path / "gemm.edited.yaml").read_bytes() == SMALL_SPACE.encode()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--advice", "there.md"], "there.md is there already"),
        (["--advice", "advice.md", "-o", "there.md"], "there.md is there already"),
        (["--advice", "advice.md", "-o", "gemm.yaml"], "gemm.yaml is there already"),
        (["--advice", "advice.md", "-o", "./advice.md"], "advice.md is named for the advice and for the configuration"),
        (["--advice", "nowhere/advice.md"], "there is no directory nowhere for advice.md"),
        (["--advice", "advice.md", "--llm", "none"], "a language model edits the configuration, and there is none"),
    ],
)
def test_nothing_is_written_over(
    tmp_path: Path, world: World, here: TuneHere, arguments: list[str], words: str
) -> None:
    (tmp_path / "there.md").write_text("mine")
    double = says(tmp_path, DEEPER)
    ended = here("tensile", "gemm.yaml", "--llm", double.name, *arguments)
    assert (ended.code, double.prompts) == (2, [])
    assert words in ended.err
    assert (tmp_path / "there.md").read_text() == "mine"
    assert world.file.read_text() == SMALL_SPACE


def test_a_configuration_of_json_is_one_of_yaml(tmp_path: Path, here: TuneHere) -> None:
    problem = {"OperationType": "GEMM", "DataType": "h", "Batched": True}
    group = {
        "ForkParameters": [{"DepthU": [32, 64]}],
        "BenchmarkFinalParameters": [{"ProblemSizes": [{"Exact": list(A)}]}],
    }
    (tmp_path / "gemm.json").write_text(json.dumps({"BenchmarkProblems": [[problem, group]]}))
    double = says(tmp_path, advice(try_value("DepthU", 128)))
    ended = here("tensile", "gemm.json", "--advice", "advice.md", "--llm", double.name)
    assert ended.code == 0, ended.err
    edited = json.loads((tmp_path / "gemm.edited.json").read_text())
    assert edited["BenchmarkProblems"][0][1]["ForkParameters"] == [{"DepthU": [32, 64, 128]}]
