"""The best as files for one's own program, and all that was measured as other programs read it."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from kernel_tuner import tune_kernel
from kernel_tuner.file_utils import output_file_schema

from tests.evaluate.test_bottleneck import H200
from tests.session.fakes import new_run
from tui_tuner.errors import JournalError, ProblemError
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.evaluate.results import Determinism
from tui_tuner.exports import ToldRun, summary_lines, told_run
from tui_tuner.exports.blocks import as_markdown
from tui_tuner.exports.launch_header import launch_header
from tui_tuner.exports.measurements import cache_file, csv_file, t4_file
from tui_tuner.exports.patch import apply_patch, patch_text
from tui_tuner.exports.run_report import report_blocks, roofline_of
from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Launch, Work
from tui_tuner.report import best_text
from tui_tuner.session.events import CandidateProposed

LAUNCHES = (
    Launch(problem_size=["n", "m"], grid_div_x=["block_size_x", "tile"], grid_div_y=["2"]),
    Launch(
        grid=["ceil(n / block_size_x)", "max(n // 7, m % 5 + 1, 2)", "3 if wide else 1"],
        block_size=["block_size_x", "min(m, 4)"],
        shared_memory="4 * block_size_x ** 2 if n >= 100 and not layout == 'row' else 0",
    ),
    Launch(
        grid=["abs(n - 2 * m) + 1"],
        block_size=["block_size_x // 3"],
        shared_memory="ceil_div(n, tile) * 4 if m in (1, 2) else 8",
    ),
)
VALUES = {"block_size_x": 48, "tile": 4, "wide": True, "layout": "column"}
SIZES = {"n": 1000, "m": 333}


def test_the_kernel_to_paste_says_what_was_measured_where_and_says_it_once(told: ToldRun) -> None:
    text = best_text(told.run.problem, told.best, told.outcome)

    assert text == (told.run.path / "best.cu").read_text()
    assert text.startswith("// Tuned by tuner-tui ")
    head = text[: text.index("#ifndef")]
    for part in ("Fake GPU", "n = 4096", "over the kernel as given", "grid (4, 1, 1), block (128, 1, 1)"):
        assert part in head
    assert "#define work_per_thread 8" in text
    again = told.best.model_copy(update={"source": text})
    assert best_text(told.run.problem, again, told.outcome).count("Tuned by") == 1


def test_a_guard_that_a_reply_had_around_a_tunables_value_is_not_left_empty(told: ToldRun) -> None:
    name, value = next(iter(told.outcome.best.configuration.items()))
    others = "#ifndef OTHER\n\n#endif\n"
    guarded = told.best.model_copy(update={"source": f"#ifndef {name}\n\n#endif\n{others}{told.best.source}"})
    text = best_text(told.run.problem, guarded, told.outcome)
    plain = best_text(told.run.problem, told.best, told.outcome)
    assert text == plain.replace(told.best.source, others + told.best.source)
    assert f"#ifndef {name}\n#define {name} {value}\n#endif\n" in text


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_header_compiles_and_launches_like_the_program(launch: Launch, tmp_path: Path) -> None:
    tunables = {name: [value] for name, value in VALUES.items()}
    kernel = Candidate(source="", kernel="ns::scale<float>", launch=launch, tunables=tunables)
    (tmp_path / "best.h").write_text(launch_header(kernel, VALUES, SIZES, ["a comment"]))
    lines = ["#include <best.h>", "using namespace tuned_ns_scale_float;"]
    for n, m in ((1000, 333), (7, 100000), (96, 2)):
        expected = geometry(launch, {"n": n, "m": m}, VALUES)
        lines.append(f'static_assert(shared_bytes({n}, {m}) == {expected.shared_bytes}, "");')
        for name, numbers in (("grid", expected.grid), ("block", expected.block)):
            for axis, number in zip("xyz", numbers, strict=True):
                lines.append(f'static_assert({name}_{axis}({n}, {m}) == {number}, "");')
    lines += ['static_assert(tile == 4 && block_size_x == 48, "");', "int main() {}"]
    (tmp_path / "main.cpp").write_text("\n".join(lines))
    compiler = shutil.which("g++") or pytest.skip("there is no g++")
    options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-isystem", tmp_path]
    done = subprocess.run([compiler, *options, tmp_path / "main.cpp"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def copied(
    told: ToldRun, directory: Path, *, ends: bytes = b"\n", bom: bytes = b"", is_drafted: bool = False
) -> ToldRun:
    """The same run about files that are elsewhere, with other line ends; without the problem's where it was drafted."""
    problem = told.run.problem.model_copy(update={"directory": directory})
    for name, text in (("scale.cu", problem.source_text), ("scale.toml", told.run.problem_text)):
        (directory / name).write_bytes(bom + text.encode().replace(b"\n", ends))
    if is_drafted:
        (directory / "scale.toml").unlink()
    return dataclasses.replace(told, run=dataclasses.replace(told.run, problem=problem))


@pytest.mark.parametrize(("ends", "bom"), [(b"\n", b""), (b"\r\n", b"\xef\xbb\xbf")])
def test_git_applies_the_patch_and_the_kernel_is_tuned_on_from_there(
    told: ToldRun, tmp_path: Path, ends: bytes, bom: bytes
) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for directory in (mine, theirs):
        directory.mkdir()
    patch = patch_text(copied(told, theirs, ends=ends, bom=bom))
    (tmp_path / "best.patch").write_bytes(patch.encode())
    subprocess.run(["git", "apply", "--whitespace=nowarn", tmp_path / "best.patch"], cwd=theirs, check=True)

    told_lines = [*apply_patch(copied(told, mine, ends=ends, bom=bom))]

    assert len(told_lines) == 2
    for name in ("scale.cu", "scale.toml"):
        assert (mine / name).read_bytes() == (theirs / name).read_bytes()
        assert (mine / name).read_bytes().startswith(bom)
        assert (mine / name).read_bytes().count(b"\n") == (mine / name).read_bytes().count(ends)
    problem = load_problem(mine / "scale.cu")
    assert problem.default_configuration == told.outcome.best.configuration
    assert problem.tunables == told.best.tunables
    assert geometry(problem.launch, problem.sizes, problem.default_configuration).grid == (4, 1, 1)


def test_a_problem_that_was_drafted_comes_with_the_patch(told: ToldRun, tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    for directory in (mine, theirs):
        directory.mkdir()
    patch = patch_text(copied(told, theirs, is_drafted=True))
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=theirs, check=True)

    lines = [*apply_patch(copied(told, mine, is_drafted=True))]

    assert len(lines) == 2
    assert (mine / "scale.toml").read_bytes() == (theirs / "scale.toml").read_bytes()
    problem = load_problem(theirs / "scale.cu")
    assert problem.default_configuration == told.outcome.best.configuration
    assert problem.tunables == told.best.tunables


def test_a_last_line_without_an_end_is_patched_too(told: ToldRun, tmp_path: Path) -> None:
    changed = copied(told, tmp_path)
    bare = changed.run.problem.source_text.rstrip("\n")
    problem = changed.run.problem.model_copy(update={"source_text": bare})
    (tmp_path / "scale.cu").write_text(bare)
    patch = patch_text(dataclasses.replace(changed, run=dataclasses.replace(changed.run, problem=problem)))

    assert "\\ No newline at end of file" in patch
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    assert "#define work_per_thread 8" in (tmp_path / "scale.cu").read_text()


def test_a_file_that_was_changed_meanwhile_is_not_written(told: ToldRun, tmp_path: Path) -> None:
    changed = copied(told, tmp_path)
    (tmp_path / "scale.toml").write_text("# mine\n" + told.run.problem_text)
    before = (tmp_path / "scale.cu").read_bytes()

    with pytest.raises(ProblemError, match=r"scale.toml: the file is not what it was when the run began"):
        [*apply_patch(changed)]
    assert (tmp_path / "scale.cu").read_bytes() == before


def test_a_run_is_told_in_lines(told: ToldRun) -> None:
    lines = [*summary_lines(told)]

    assert lines[0] == f"scale.cu on Fake GPU: finished ({told.outcome.reason})"
    text = "\n".join(lines)
    for part in ("as given  ", "best      ", "speed-up  ", "step 1 ", "2 launch failure", "1 model call", told.best.id):
        assert part in text, part


@pytest.mark.slow
def test_what_holds_the_best_back_is_told_where_it_is_known(told: ToldRun) -> None:
    work = Work.model_validate({"flops": "n", "bytes": "8 * n"})
    problem = told.run.problem.model_copy(update={"work": work})
    outcome = told.outcome.model_copy(update={"device": H200})
    known = dataclasses.replace(told, outcome=outcome, run=dataclasses.replace(told.run, problem=problem))

    assert not [line for line in summary_lines(told) if line.startswith("held by")]
    assert [line for line in summary_lines(known) if line.startswith("held by   The grid has ")]
    text = as_markdown("", [*report_blocks(known)])
    assert "What holds the best back: The grid has " in text
    assert "\n- launch: " in text
    assert "in float32: 4000 GB/s (the measured bandwidth of a copy) and 60 TFLOP/s" in captioned(known)
    halves = work.model_copy(update={"dtype": "float16"})
    halved = dataclasses.replace(known.run, problem=problem.model_copy(update={"work": halves}))
    assert "on tensor cores)" in captioned(dataclasses.replace(known, run=halved))


def captioned(told: ToldRun) -> str:
    plot = roofline_of(told)
    assert plot is not None
    return plot.caption


@pytest.mark.slow
def test_whether_the_best_computes_the_same_bits_each_time_is_told_where_it_is_known(told: ToldRun) -> None:
    assert told.outcome.comparison is not None
    varying = Determinism(launches=5, differing=3, elements=8)
    comparison = told.outcome.comparison.model_copy(update={"determinism": varying})
    known = dataclasses.replace(told, outcome=told.outcome.model_copy(update={"comparison": comparison}))

    assert not [line for line in summary_lines(told) if line.startswith("bits")]
    assert "bits      differs from launch to launch in up to 3 of 8 elements" in summary_lines(known)
    assert "the best: differs from launch to launch in up to 3 of 8" in as_markdown("", [*report_blocks(known)])


async def test_a_run_that_found_nothing_says_how_to_go_on(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    run.journal.close()
    with pytest.raises(JournalError, match="found nothing yet\n  tuner-tui resume"):
        await told_run(run.path)
    (run.path / "result.json").write_text('{"format": 1}')
    with pytest.raises(JournalError, match=r"result.json: cannot be read"):
        await told_run(run.path)


HOST = """
#include <cstdio>

static void said(int n) { std::printf("%d\\n", n); }
"""
MAIN = """
int main()
{
    scale<<<16, 256>>>(nullptr, nullptr, 1.0f, 4096);
    said(1);
}
"""


def beside_host_code(told: ToldRun, directory: Path, more: str = "") -> ToldRun:
    """The run about a kernel whose file has a host's code around it."""
    problem = told.run.problem
    text = HOST + more + problem.source_text + MAIN
    (directory / "scale.cu").write_text(text)
    problem = problem.model_copy(update={"directory": directory, "source_text": text})
    return dataclasses.replace(told, run=dataclasses.replace(told.run, problem=problem))


def test_host_code_in_the_file_of_the_kernel_stays(told: ToldRun, tmp_path: Path) -> None:
    [*apply_patch(beside_host_code(told, tmp_path))]

    text = (tmp_path / "scale.cu").read_text()
    assert HOST.strip() in text
    assert MAIN.strip() in text
    assert text.count("__global__") == 1
    assert "#define work_per_thread 8" in text
    assert "are yours to change" in text


@pytest.mark.parametrize(
    "more",
    [
        "static int work_per_thread = 1;\n",
        "static int width() { int work_per_thread = 1; return work_per_thread; }\n",
        "namespace mine { static int width() { return 1; }\n__global__ void scale(float *y) { *y = 1; } }\n",
    ],
)
def test_host_code_that_would_not_stay_what_it_is_is_not_touched(told: ToldRun, tmp_path: Path, more: str) -> None:
    clashing = beside_host_code(told, tmp_path, more)

    with pytest.raises(ProblemError, match=r"cannot keep[\s\S]*tuner-tui best RUN"):
        patch_text(clashing)


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


def test_a_problem_size_over_tunables_is_text_in_a_cache_file_as_kernel_tuner_has_it(told: ToldRun) -> None:
    launch = told.best.launch.model_copy(update={"problem_size": ["n // work_per_thread", "2 * n"]})
    head = json.loads(cache_file(told, told.best.model_copy(update={"launch": launch})))

    assert head["problem_size"] == ["4096 // work_per_thread", 8192]


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
