import random
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import product
from math import prod
from typing import Any

import pytest
import yaml

from tests.tensile.document.public_layouts import LAYOUTS
from tests.tensile.document.samples import parsed
from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document import BenchmarkConfiguration, SizeGroup
from tui_tuner.tensile.document.editor import apply_edit
from tui_tuner.tensile.document.edits import (
    AddCandidate,
    AddIndependent,
    AddMultiplicative,
    EditRefused,
    RemoveCandidate,
    RemoveIndependent,
    RemoveMultiplicative,
    Setting,
    SpaceEdit,
)
from tui_tuner.tensile.knowledge.valid_values import tables
from tui_tuner.tensile.session import notices

_DEFAULTS: dict[str, list[Any]] = {
    "DepthU": [-1],
    "StaggerU": [32],
    "WorkGroup": [[16, 16, 1]],
    "KernelLanguage": ["x"],
}
"""Some of Tensile's; each has one value, so that none of them changes a count."""


def _size_groups(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "BenchmarkProblems" not in said:
        yield {key: said.get(key) for key in ("BenchmarkCommonParameters", "ForkParameters")}
        return
    for problem in said["BenchmarkProblems"]:
        yield from problem[1:] or [{}]


def _tensile_permutations(group: dict[str, Any]) -> list[dict[str, Any]]:
    """Every permutation of a size group by the rules of Tensile's BenchmarkStructs, over what PyYAML reads."""
    flat = [
        {name: values for entry in group.get(section) or [] for name, values in entry.items()}
        for section in ("BenchmarkCommonParameters", "ForkParameters")
    ]
    groups = flat[1].pop("Groups", [])
    parameters = {**_DEFAULTS, **flat[0], **flat[1]}
    single = {name: values[0] for name, values in parameters.items() if len(values) == 1}
    several = {name: values for name, values in parameters.items() if len(values) > 1}
    if prod(map(len, [*several.values(), *groups])) > 20_000:
        raise AssertionError("too many to list")
    found = []
    for chosen in product(*several.values(), *groups):
        forked = dict(zip(several, chosen[: len(several)], strict=True))
        for alternative in chosen[len(several) :]:
            forked |= alternative
        found.append({**single, **forked})
    return found


def _said(text: str) -> dict[str, Any]:
    said: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)  # Tensile's loader, a safe one
    return said


def _check_counts(configuration: BenchmarkConfiguration) -> None:
    for ours, theirs in zip(configuration.size_groups, _size_groups(_said(configuration.text)), strict=True):
        assert ours.permutations == len(_tensile_permutations(theirs)), configuration.text


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_public_layout_counts_as_tensile_counts_it(name: str) -> None:
    _check_counts(parsed(LAYOUTS[name]))


def _edits(group: SizeGroup, draw: random.Random) -> Iterator[SpaceEdit]:
    """One edit of each kind that makes sense for a size group."""
    here: dict[str, Any] = {"size_group": group.number, "reason": "r"}
    new = Setting(parameter="New", value=draw.choice([1, [1, 2], "a b", True, 0.5]))
    yield AddMultiplicative(parameter="Fresh", values=draw.sample([1, 2, "w", [3, 4], 0.25, False], 3), **here)
    yield AddIndependent(alternatives=[[new], [Setting(parameter="New", value=-7)]], **here)
    for name in draw.sample(list(group.parameters), min(4, len(group.parameters))):
        values = group.parameters[name]
        yield RemoveMultiplicative(parameter=name, **here)
        yield AddCandidate(parameter=name, value=draw.choice([77, [7, 7], "seven"]), **here)
        flat = [value for value in values if not isinstance(value, list) or not any(isinstance(v, list) for v in value)]
        if len(values) > 1 and flat:
            yield RemoveMultiplicative(parameter=name, keep=draw.choice(flat), **here)
            yield RemoveCandidate(parameter=name, value=draw.choice(flat), **here)
        if len(values) == 1 and flat:
            yield AddMultiplicative(parameter=name, values=[flat[0], 99], **here)
    for number, alternatives in enumerate(group.groups):
        added = [Setting(parameter=key, value=9) for key in alternatives[0]]
        yield AddIndependent(group=number, alternatives=[added], **here)
        if len(alternatives) > 1:
            gone = [Setting(parameter=key, value=value) for key, value in draw.choice(alternatives).items()]
            yield RemoveIndependent(group=number, alternative=gone, **here)


def _expected(group: dict[str, Any], edit: SpaceEdit) -> int:
    """Permutations after an edit, from what it means and PyYAML's reading alone."""
    flat: dict[str, Any] = {}
    for section in ("BenchmarkCommonParameters", "ForkParameters"):
        for entry in group.get(section) or []:
            flat |= entry
    groups = [list(entry) for entry in flat.pop("Groups", [])]
    match edit:
        case AddMultiplicative():
            flat[edit.parameter] = edit.values
        case RemoveMultiplicative():
            flat[edit.parameter] = [edit.keep]
        case AddCandidate():
            flat[edit.parameter] = [*flat[edit.parameter], edit.value]
        case RemoveCandidate():
            flat[edit.parameter] = [value for value in flat[edit.parameter] if value != edit.value]
        case AddIndependent(group=None):
            groups.append(list(edit.added))
        case AddIndependent(group=number) if number is not None:
            groups[number] += edit.added
        case RemoveIndependent():
            groups[edit.group].remove(edit.removed)
    return prod(len(values) for values in flat.values() if len(values) > 1) * prod(map(len, groups))


def _own_comments(text: str) -> list[str]:
    """Comments with a line of their own."""
    return [line for line in text.splitlines() if line.lstrip().startswith("#")]


def _check_nothing_else(before: str, after: str, edit: SpaceEdit) -> None:
    """Whether all lines that an edit is not about are the same, byte for byte."""
    lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    gone = sum(
        stop - begin
        for kind, begin, stop, _, _ in SequenceMatcher(None, *lines, False).get_opcodes()
        if kind != "equal"
    )
    whole = isinstance(edit, RemoveMultiplicative) or "- WorkGroup:\n" in before  # a list of lines goes as a whole
    assert whole or gone <= (1 if isinstance(edit, AddCandidate | AddIndependent | AddMultiplicative) else 3)
    comments = _own_comments(before), _own_comments(after)
    assert comments[0] == comments[1] or (whole and set(comments[1]) < set(comments[0]))
    assert _apart_from_space(before) == _apart_from_space(after)


def _apart_from_space(text: str) -> dict[str, Any]:
    said = _said(text)
    for group in [said, *_size_groups(said)]:
        for section in ("BenchmarkCommonParameters", "ForkParameters"):
            group.pop(section, None)
    if said.get("BenchmarkProblems"):
        said["BenchmarkProblems"] = [[part for part in problem if part] for problem in said["BenchmarkProblems"]]
    return said


MAY_REFUSE = {"anchors that are used elsewhere", "all on one line"}
"""Layouts in which an edit may be refused, with words, where it would change more than it means to."""


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
def test_every_edit_of_a_public_layout_is_made_in_place(name: str, seed: int) -> None:
    configuration = parsed(LAYOUTS[name])
    draw = random.Random(seed)  # noqa: S311
    for group in configuration.size_groups:
        for edit in _edits(group, draw):
            before = list(_size_groups(_said(configuration.text)))[group.number]
            try:
                after = apply_edit(configuration, edit)
            except EditRefused:
                assert name in MAY_REFUSE, edit.words()
                continue
            groups = list(_size_groups(_said(after.text)))
            assert len(_tensile_permutations(groups[group.number])) == _expected(before, edit), after.text
            _check_counts(after)
            _check_nothing_else(configuration.text, after.text, edit)


def _size_group(lines: str, problem_type: str = "{DataType: s}") -> str:
    return f"BenchmarkProblems:\n- - {problem_type}\n{lines}"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        (_size_group("  - # all of it is a comment\n"), "must have keys, it is empty", None),
        (_size_group("  - ForkParameters:\n    - Groups:\n"), "Groups must be a list of groups, it is empty", 4),
        (_size_group("  - BenchmarkFinalParameters:\n"), "must begin with ProblemSizes", 3),
        (_size_group("  - BenchmarkFinalParameters:\n    - BiasTypeArgs: [s]\n"), "must begin with ProblemSizes", 4),
        (_size_group("  - BenchmarkFinalParameters:\n    - ProblemSizes:\n    - s\n"), "must have keys and values", 5),
        ("GlobalParameters: [1]\n" + _size_group("  - {}\n"), "GlobalParameters must have keys", 1),
        ("ProblemType: GEMM\nForkParameters:\n", "ProblemType must have keys", 1),
        (_size_group("  - &a {<<: *a, ForkParameters: [{A: 1}]}\n"), "list of values", 3),
    ],
)
def test_what_tensile_would_stumble_over_is_told_with_its_place(text: str, message: str, line: int | None) -> None:
    with pytest.raises(ProblemError, match=message) as raised:
        parsed(text)
    assert line is None or raised.value.line == line


def test_without_final_parameters_the_sizes_are_those_of_tensile() -> None:
    alone = parsed("BenchmarkProblems:\n- - {DataType: s, Batched: True}\n- - {DataType: s}\n  - {}\n")
    batched, plain = (group.sizes for group in alone.size_groups)
    assert batched.listed == ((64, 64, 1, 64), (128, 128, 1, 128), (256, 256, 1, 256), (448, 448, 1, 448))
    assert plain.listed == ((64, 64, 64), (128, 128, 128), (256, 256, 256), (448, 448, 448))
    assert [group.permutations for group in alone.size_groups] == [1, 1]


def test_a_problem_with_nothing_but_its_type_gets_a_size_group() -> None:
    text = LAYOUTS["a problem with nothing but its type"]
    after = apply_edit(parsed(text), AddMultiplicative(parameter="DepthU", values=[16, 32], reason="r"))
    assert after.text == f"{text}    - ForkParameters:\n        - DepthU: [16, 32]\n"


def test_of_the_alternate_format_nothing_is_read_that_tensile_does_not_read() -> None:
    text = LAYOUTS["the alternate format"] + "InitialSolutionParameters: [{A: [1]}]\nCustomKernels: [one]\n"
    configuration = parsed(text + "GroupForkParameters: [1]\n")
    assert (configuration.permutations, configuration.size_groups[0].custom_kernels) == (16, 0)
    told = [text for text in notices(configuration, tables()[0]) if "read nowhere" in text]
    assert [text.split(":")[1].split()[0] for text in told] == [
        "InitialSolutionParameters",
        "CustomKernels",
        "GroupForkParameters",
    ]


SILENT = """\
  - InitialSolutionParameters:
    BenchmarkCommonParameters:
    - DepthU: [8]
    ForkParameters:
    - StaggerU: [0, 4]
    ForkParameters:
    - DepthU: [16, 16]
    - DepthU: [16, 32, 16]
    - StaggerU: []
    - Groups: [[], [{DepthU: 16}, {1LDSBuffer: 1}]]
    ForkParameter:
    - StreamK: [0, 3]
    GroupForkParameters: []
    InternalSupportParams: {KernArgsVersion: 2}
"""


@pytest.mark.parametrize(
    "words",
    [
        "line 8: ForkParameters stands more than once in its size group",
        "line 10: DepthU stands 2 times in ForkParameters: only this one counts",
        "line 5: DepthU stands in ForkParameters as well, which wins",
        "line 13: ForkParameter is read nowhere in Tensile",
        "line 15: GroupForkParameters is read nowhere in Tensile: put the alternatives into Groups",
        "InternalSupportParams needs CustomKernels",
        "line 10: DepthU has a value more than once",
        "line 11: StaggerU has an empty list: it vanishes, and its default with it",
        "line 12: group 0 is empty: it leaves no permutation",
        "DepthU is forked (16, 32, 16) and set by group 1, which wins",
        "alternatives of group 1 without 1LDSBuffer do not have the others' value",
        "there is no permutation at all",
    ],
)
def test_what_tensile_takes_without_a_word_is_told(words: str) -> None:
    found = notices(parsed(_size_group(SILENT)), tables()[0])
    assert any(words in text for text in found), "\n".join(found)


FAULTS = """\
  - ForkParameters:
    - DepthU: [32,
        7000]
    - DepthUU: [32, 64]
    - Groups:
      - - {GlobalSplitU: 1}
        - {GlobalSplitU: 1,
           NoSuchName: 4}
"""


def test_what_is_not_in_the_table_is_told_once_with_its_own_line() -> None:
    found = [text for text in notices(parsed(_size_group(FAULTS)), tables()[0]) if "not in the table" in text]
    assert [text.partition(":")[0] for text in found] == ["line 5", "line 6", "line 10"]
    assert ["7000" in found[0], "DepthUU" in found[1], "NoSuchName" in found[2]] == [True, True, True]
