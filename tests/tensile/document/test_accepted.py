"""Public configurations that Tensile accepts, and what is special in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tensile.real import DATA, needs_data
from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document import value_text
from tui_tuner.tensile.document.reading import parse_configuration, read_configuration

TEXT = """\
BenchmarkProblems:
- - {DataType: s, Batched: true}
  - ForkParameters:
    - DepthU: [8, 16]
    - AssertSizeMultiple: [{0: 1}, {0: 8, 3: 32}, {}]
    - ISA: [[9, 0, 10]]
    BenchmarkFinalParameters:
    - ProblemSizes:
      - Exact: [64, 64, 1, 64]
      - Conv: {count: 2, n: 32, c: 128, h: 17, w: 17, k: 128, x: 1, y: 7}
"""


def test_maps_lists_of_lists_and_convolutions_are_taken() -> None:
    (group,) = parse_configuration(TEXT, Path("gemm.yaml")).size_groups
    assert group.permutations == 6
    assert [*map(value_text, group.parameters["AssertSizeMultiple"])] == ["{0: 1}", "{0: 8, 3: 32}", "{}"]
    assert group.constants["ISA"] == [9, 0, 10]
    assert (group.sizes.count, group.sizes.listed) == (2, ((64, 64, 1, 64),))
    assert group.sizes.convolutions == ("n32 c128 h17 w17 k128 x1 y7",)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{0: 1}", "{0: word}", "neither number, word, list of numbers nor map of them"),
        (
            "{count: 2, n: 32, c: 128, h: 17, w: 17, k: 128, x: 1, y: 7}",
            "[32, 128]",
            "Conv must map letters to numbers",
        ),
    ],
)
def test_what_is_no_map_of_numbers_is_refused(old: str, new: str, words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        parse_configuration(TEXT.replace(old, new), Path("gemm.yaml"))


LAUGHS = "A0: &a0 [1, 1, 1, 1]\n" + "".join(
    f"A{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]\n" for at in range(1, 12)
)


@pytest.mark.parametrize(("before", "values"), [("", "&own [8, *own]"), (LAUGHS, "[8, *a11]")])
def test_values_that_aliases_make_endless_are_refused_with_their_line(before: str, values: str) -> None:
    text = before + TEXT.replace("[8, 16]", values)
    with pytest.raises(ProblemError, match="DepthU has a value that aliases make endless, or larger") as told:
        parse_configuration(text, Path("gemm.yaml"))
    assert told.value.line is not None


@needs_data
def test_all_that_tensile_accepts_is_accepted_with_its_counts() -> None:
    folder = DATA / "accepted-by-tensile"
    counts = json.loads((folder / "counts.json").read_text())
    ours = {
        name: [
            {"permutations": group.permutations, "problem_sizes": group.sizes.count}
            for group in read_configuration(folder / name).size_groups
        ]
        for name in counts
    }
    assert ours == {name: told["groups"] for name, told in counts.items()}
    assert len(counts) == 38
