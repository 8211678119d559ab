from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tensile.document.samples import ALTERNATE, GROUPS, PLAIN, parsed
from tests.tensile.real import DATA, needs_data
from tests.tensile.sessions.world import SMALL_SPACE
from tui_tuner.app.overview import files_in
from tui_tuner.errors import ProblemError
from tui_tuner.tensile import TENSILE, is_configuration
from tui_tuner.tensile.document import SizeFault, problem_sizes
from tui_tuner.tensile.document.reading import parse_configuration, parse_sizes, read_configuration
from tui_tuner.tensile.knowledge.valid_values import table_for, tables
from tui_tuner.tensile.session import notices
from tui_tuner.tui.start import GivenFile


def _forked(lines: str) -> str:
    return f"BenchmarkProblems:\n- - {{DataType: s}}\n  - ForkParameters:\n{lines}"


def test_values_and_alternatives_multiply() -> None:
    group = parsed(PLAIN).size_groups[0]
    assert group.permutations == 2 * 2 * 3
    assert group.sizes.listed == ((256, 128, 1, 4096), (512, 512, 1, 1024))
    assert group.arguments == 2
    assert group.runs == 12 * 2 * 2
    assert parsed(GROUPS).size_groups[0].permutations == 3 * 3 * 2 * 2 * 2


def test_single_values_are_constants_and_nothing_is_one_permutation() -> None:
    configuration = parsed(GROUPS)
    assert configuration.size_groups[1].permutations == 1
    assert parsed(PLAIN).size_groups[0].constants["PrefetchGlobalRead"] == 2
    assert configuration.size_groups[1].constants == {"KernelLanguage": "Assembly"}


@pytest.mark.parametrize(
    ("lines", "permutations"),
    [
        ("    - A: [1, 2, 3]\n    - A: [1, 2]\n", 2),  # the last one wins
        ("    - A: [1, 1, 1]\n", 3),  # duplicates count
        ("    - A: []\n    - B: [1, 2]\n", 2),  # an empty list vanishes
        ("    - Groups: [[]]\n    - B: [1, 2]\n", 0),  # an empty group leaves nothing
        ("    - A: [1, 2]\n    - Groups: [[{A: 3}, {A: 4}]]\n", 4),  # the group wins, the fork only duplicates
        ("    - Groups: [[{A: 3}, {B: 4}, {A: 1, B: 2}]]\n", 3),  # alternatives may differ in what they set
        ("    - Groups: [[{A: 1}, {A: 2}], [{B: 1}, {B: 2}, {B: 3}]]\n", 6),  # two groups multiply
    ],
)
def test_permutations_count_as_tensile_counts_them(lines: str, permutations: int) -> None:
    assert parsed(_forked(lines)).permutations == permutations


def test_forks_win_over_common_parameters_and_common_ones_fork_too() -> None:
    text = (
        "BenchmarkProblems:\n- - {DataType: s}\n  - BenchmarkCommonParameters:\n    - A: [1, 2]\n    - B: [1, 2]\n"
        "    ForkParameters:\n    - A: [7]\n"
    )
    group = parsed(text).size_groups[0]
    assert (dict(group.constants), dict(group.forked)) == ({"A": 7}, {"B": (1, 2)})


def test_the_alternate_format_takes_its_sizes_from_a_file_of_its_own() -> None:
    text = "- Exact: [64, 64, 1, 64]\n- Range: [[64, 64, 128], [1], [1], [8]]\n"
    configuration = parse_configuration(ALTERNATE, Path("config.yaml"), parse_sizes(text, Path("sizes.yaml")))
    assert configuration.alternate
    assert configuration.permutations == 4
    assert configuration.sizes == 3
    assert parse_sizes("", Path("sizes.yaml")).count == 0


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("InitialSolutionParameters", 4),
        ("BenchmarkForkParameters", 4),
        ("JoinParameters", 4),
        ("BenchmarkJoinParameters", 4),
    ],
)
def test_dead_keys_are_refused_where_they_hold_something(key: str, line: int) -> None:
    text = f"BenchmarkProblems:\n- - {{DataType: s}}\n  - ForkParameters: []\n    {key}: [{{A: [1]}}]\n"
    with pytest.raises(ProblemError, match="no longer supported") as raised:
        parsed(text)
    assert raised.value.line == line
    assert parsed(text.replace("[{A: [1]}]", "")).permutations == 1


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: [1", "not YAML", 2),
        ("- 1\n", "no keys at its top", None),
        ("a: 1\n", "no Tensile benchmark configuration", None),
        ("BenchmarkProblems: []\n", "no size group", 1),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters:\n    - A: 3\n", "list of values", 4),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters:\n    - A:\n", "is empty", 4),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters:\n    - A: [null]\n", "neither number", 4),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters: {A: [1]}\n", "must be a list", 3),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters:\n    - A\n", "must be `Name", 4),
        ("BenchmarkProblems:\n- - {DataType: s}\n  - ForkParameters:\n    - Groups: [{A: 1}]\n", "list of alt", 4),
        ("GlobalParameters: !!python/object/apply:os.system [ls]\nBenchmarkProblems:\n- [{}, {}]\n", "constructor", 1),
        ("a: 1\n---\nb: 2\n", "not YAML", 2),
        ("a: " + "[" * 100_000, "nest(ed|ing)", None),
        ("- " * 100_000, "nest(ed|ing)", None),
    ],
)
def test_what_is_no_configuration_is_refused_with_its_place(text: str, message: str, line: int | None) -> None:
    with pytest.raises(ProblemError, match=message) as raised:
        parsed(text)
    assert line is None or raised.value.line == line


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="cannot be read"):
        read_configuration(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="is no text"):
        read_configuration(tmp_path / "binary.yaml")


def test_ranges_expand_as_in_tensile() -> None:
    sizes = problem_sizes([{"Range": [[16, 16, 48], [8, 32], 0, [5]]}, {"Exact": [1, 2, 3, 4]}, {"MinStride": [1]}])
    assert sizes.listed[:4] == ((16, 8, 16, 5), (32, 8, 32, 5), (48, 8, 48, 5), (16, 16, 16, 5))
    assert sizes.count == 3 * 4 + 1
    assert sizes.listed[-1] == (1, 2, 3, 4)
    growing = problem_sizes([{"Range": [[10, 1, 1, 20]]}]).listed
    assert growing == ((10,), (11,), (13,), (16,), (20,))
    assert problem_sizes([{"Exact": {"sizes": [7, 8], "stridesA": [1, 2]}}]).listed == ((7, 8),)


@pytest.mark.parametrize(
    "entry", [{"Exact": 5}, {"Exact": ["a"]}, {"Range": [[]]}, {"Range": [[1, 0, 5]]}, {"Other": [1]}, 3]
)
def test_sizes_that_tensile_could_not_read_are_refused(entry: object) -> None:
    with pytest.raises(SizeFault):
        problem_sizes([entry])


def test_custom_kernels_are_told_since_they_are_no_permutations() -> None:
    text = PLAIN.replace("      ForkParameters:", '      CustomKernels: ["One"]\n      ForkParameters:')
    table = table_for(["DepthU"], tables())
    assert any("CustomKernels are built" in notice for notice in notices(parsed(text), table))
    assert not notices(parsed(PLAIN), table)


IN_ALTERNATE_FORMAT = "ProblemType:\n  DataType: h\nForkParameters:\n  - DepthU: [16, 32]\n"
LOGIC = "- {MinimumRequiredVersion: 4.33.0}\n- aldebaran\n- gfx90a\n- [Device 0050]\n- OperationType: GEMM\n"


@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        (SMALL_SPACE, True),
        (SMALL_SPACE.replace("BenchmarkProblems:", '"BenchmarkProblems" :'), True),
        (
            "\ufeff" + SMALL_SPACE.partition("BenchmarkProblems")[1] + SMALL_SPACE.partition("BenchmarkProblems")[2],
            True,
        ),
        (SMALL_SPACE.replace("\n", "\r\n"), True),
        (IN_ALTERNATE_FORMAT, True),
        (IN_ALTERNATE_FORMAT.replace("ForkParameters", "JoinParameters"), False),
        (LOGIC, False),
        ("jobs:\n  BenchmarkProblems:\n    - 1\n", False),
        ("# BenchmarkProblems:\n", False),
        ("", False),
    ],
)
def test_a_configuration_is_known_by_the_keys_that_the_reader_asks_for(tmp_path: Path, text: str, is_own: bool) -> None:
    file = tmp_path / "some.yaml"
    file.write_bytes(text.encode())
    assert is_configuration(file) is is_own is is_read(text, file)


def is_read(text: str, file: Path) -> bool:
    try:
        parse_configuration(text, file)
    except ProblemError:
        return False
    return True


@needs_data
def test_all_that_a_real_tensile_accepts_is_known_and_nothing_that_it_wrote() -> None:
    given = [*DATA.glob("*.yaml"), *DATA.glob("accepted-by-tensile/*.yaml")]
    wrote = [file for file in DATA.glob("real-runs/*/**/*.yaml") if "3_LibraryLogic" in file.parts]
    assert len(given) > 30
    assert wrote
    assert [file.name for file in given if not is_configuration(file)] == []
    assert [file.name for file in wrote if is_configuration(file)] == []


def test_the_start_screen_lists_configurations_behind_the_kernels(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep.yml").write_text(IN_ALTERNATE_FORMAT)
    assert files_in(tmp_path) == [GivenFile(Path("below/deep.yml"), subject=TENSILE)]
    (tmp_path / "gemm.yaml").write_text(SMALL_SPACE)
    (tmp_path / "logic.yaml").write_text(LOGIC)
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "nowhere.yaml").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "secret.yaml").write_text(SMALL_SPACE)
    (tmp_path / "secret.yaml").chmod(0)
    (tmp_path / "a.cu").touch()
    listed = [file for file in files_in(tmp_path) if file.path.name != "secret.yaml"]  # which root may read
    assert listed == [GivenFile(Path("a.cu"), has_problem=False), GivenFile(Path("gemm.yaml"), subject=TENSILE)]
