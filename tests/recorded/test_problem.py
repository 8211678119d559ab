from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.caches import write_cache
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.recorded.problem import problem_beside, problem_of_recording
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.problem.load import Written, parse_problem

FIRST = {"block_size_x": 32, "tile": 1, "layout": "row"}
TUNABLES = """
[tunables]
block_size_x = [32, 64, 128]
tile = [1, 2]
layout = ["column", "row"]
"""


def written(tmp_path: Path, text: str | None, kernel: str = "a.toml") -> Written:
    recording = read_recording(write_cache(tmp_path / "a.json.gz"))
    if text is None:
        return problem_of_recording(recording, None)
    (tmp_path / "a.toml").write_text(text, "utf-8")
    return problem_of_recording(recording, tmp_path / kernel)


def parsed(it: Written) -> object:
    """The problem as a resumed run reads it, from texts alone."""
    directory = it.problem.directory
    return parse_problem(it.text, directory=directory, file=it.file, source_text=it.problem.source_text)


def test_a_header_is_a_problem_that_needs_no_launch(tmp_path):
    it = written(tmp_path, None)
    assert it.problem.language == "recorded"
    assert it.problem.kernel.name == "scale"
    assert it.problem.kernel.source == Path("a.json.gz")
    assert it.problem.source_text == ""
    assert it.problem.sizes == {"problem_size_x": 4096, "problem_size_y": 16}
    assert it.problem.tunables == {"block_size_x": [32, 64, 128], "tile": [1, 2], "layout": ["row", "column"]}
    assert it.problem.default_configuration == FIRST
    assert "launch" not in it.text
    assert parsed(it) == it.problem


def test_restrictions_beside_a_recording_are_all_that_its_file_needs_to_say(tmp_path):
    it = written(tmp_path, '# known\n[search]\nrestrictions = ["block_size_x * tile <= problem_size_y * 8"]\n')
    assert it.problem.search.restrictions == ["block_size_x * tile <= problem_size_y * 8"]
    assert it.problem.default_configuration == FIRST
    assert it.text.startswith("# known\n")
    assert parsed(it) == it.problem
    assert problem_beside(tmp_path / "a.json.gz") == tmp_path / "a.toml"
    assert problem_beside(tmp_path / "b.json.gz") is None


def test_the_default_obeys_the_restrictions_and_what_of_it_is_named(tmp_path):
    it = written(tmp_path, '[search]\nrestrictions = ["block_size_x >= 64"]\n[defaults]\nlayout = "column"\n')
    assert it.problem.default_configuration == {"block_size_x": 64, "tile": 1, "layout": "column"}
    assert parsed(it) == it.problem


def test_what_the_file_says_stands_before_what_the_recording_says(tmp_path):
    (tmp_path / "scale.cu").write_text("// the kernel\n", "utf-8")
    kernel = '[kernel]\nname = "mine"\nsource = "scale.cu"\nlanguage = "recorded"\n[sizes]\nn = 5\n'
    it = written(tmp_path, kernel + TUNABLES)
    assert (it.problem.kernel.name, it.problem.source_text) == ("mine", "// the kernel\n")
    assert it.problem.sizes == {"n": 5}
    assert it.problem.tunables["layout"] == ["column", "row"]
    assert it.problem.default_configuration == {**FIRST, "layout": "column"}
    assert parsed(it) == it.problem


def compiled(tmp_path: Path, tunables: str, kernel: str = "a.toml", source: str = "a.cu") -> Written:
    head = PROBLEM.replace("scale.cu", source).partition("[tunables]")[0]
    (tmp_path / source).write_text(SOURCE, "utf-8")
    return written(tmp_path, head + tunables, kernel)


@pytest.mark.parametrize("kernel", ["a.toml", "a.cu"])
def test_the_problem_file_of_a_kernel_that_could_run_works_as_well(tmp_path, kernel):
    it = compiled(tmp_path, TUNABLES, kernel)
    assert it.problem.language == "cuda"
    assert it.problem.source_text == SOURCE
    assert it.problem.default_configuration == {**FIRST, "layout": "column"}
    assert parsed(it) == it.problem


def test_the_default_of_such_a_kernel_is_another_where_its_own_was_never_timed(tmp_path):
    it = compiled(
        tmp_path, TUNABLES.replace("32, 64, 128", "512, 32, 64, 128").replace('"column", "row"', '"row", "column"')
    )
    assert it.problem.default_configuration == FIRST
    assert parsed(it) == it.problem


@pytest.mark.parametrize(
    ("tunables", "said"),
    [
        (TUNABLES + "depth = [1]\n", "there is no tunable 'depth' in a.json.gz"),
        (TUNABLES.replace("tile = [1, 2]\n", ""), "[tunables] lacks 'tile'"),
        (TUNABLES.replace("128]", "256]"), "block_size_x is never 256"),
        (TUNABLES.replace("64, 128", "64"), "block_size_x lacks the value 128"),
        (TUNABLES.replace("[1, 2]", "[1.0, 2.0]"), "tile is never 1.0"),
    ],
)
def test_tunables_that_are_not_those_of_the_recording_are_refused_with_the_difference(tmp_path, tunables, said):
    for make in (written, compiled):
        with pytest.raises(ProblemError) as caught:
            make(tmp_path, tunables)
        assert said in caught.value.message
        assert caught.value.line is not None
        assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[search]\nrestrictions = ["colour == 3"]\n', "colour"),
        ('[search]\nrestrictions = ["tile == 9"]\n', "no configuration that the restrictions allow has a time"),
        ("[defaults]\nblock_size_x = 128\ntile = 2\n", "no configuration with these values has a time"),
        ("[defaults]\ncolour = 128\n", "there is no tunable 'colour'"),
        ("[defaults]\nblock_size_x = 7\n", "no configuration with these values"),
        ("tunables = 3\n", "tunables"),
        ("kernel = 3\n", "kernel"),
        ("search = 3\n", "search"),
        ("[search]\nrestriction = []\n", "did you mean 'restrictions'"),
        ('[kernel]\nsource = "gone.cu"\nlanguage = "recorded"\n', "gone.cu: cannot be read"),
        ("not toml", "not TOML"),
    ],
)
def test_a_problem_file_with_a_mistake_is_refused_with_the_reason(tmp_path, text, said):
    with pytest.raises(ProblemError) as caught:
        written(tmp_path, text)
    assert said in str(caught.value)


def test_a_kernel_without_a_problem_file_is_told_how_to_get_one(tmp_path):
    (tmp_path / "b.cu").write_text(SOURCE, "utf-8")
    with pytest.raises(ProblemError, match="tuner-tui init"):
        problem_of_recording(read_recording(write_cache(tmp_path / "a.json.gz")), tmp_path / "b.cu")
