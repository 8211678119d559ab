"""Where Tensile is looked for and which version it says it is; an installed one is asked in a child process.

Here a package with the same entry points stands in for that one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.running.programs import python_program
from tests.tensile.stand_in import sample
from tests.waiting import is_running
from tui_tuner.errors import SettingsError
from tui_tuner.tensile.program import Acceptance, Tensile, check_installed, find_tensile

PACKAGE = """
import sys
from copy import deepcopy

validParameters = {{"DepthU": [32, 64], "GlobalSplitU": [1, 4], "MatrixInstruction": -1, "KernelLanguage": -1}}


def printExit(message):
    print("Tensile::FATAL: %s" % message)
    sys.exit(-1)


class Step:
    pass


class BenchmarkProcess:
    def __init__(self, problemTypeConfig, problemSizeGroupConfig{arguments}):
        print("# Filling in Parameters With Defaults")
        forks = {{}}
        for entry in problemSizeGroupConfig["ForkParameters"] or []:
            forks.update(entry)
        self.step = Step()
        self.step.paramGroups = forks.pop("Groups", [])
        for name, values in forks.items():
            if name not in validParameters:
                printExit("Invalid parameter name: %s\\nValid parameters are %s." % (name, sorted(validParameters)))
            if values == "hang":
                open({pid!r}, "w").write(str(__import__("os").getpid()))
                __import__("time").sleep(60)
        self.step.forkParams = {{name: values for name, values in forks.items() if len(values) > 1}}

    def __getitem__(self, index):
        return self.step


def constructForkPermutations(forkParams, paramGroups):
    count = 1
    for values in list(forkParams.values()) + paramGroups:
        count *= len(deepcopy(values))
    return [{{}}] * count
"""
MORE = """
validParameters = {
    "DepthU": [-1, *range(2, 1025)],
    "PerMfma": [i / 100 for i in range(1, 3200)],
    "Algorithm": ["SingleBuffer", "MultipleBuffer"],
    "Widths": [-1, 1, 2, 4],
    "ISA": [(9, 0, 10), (9, 4, 2)],
    "MatrixInstruction": [[i, 16, 16, 1] for i in range(100)],
    "CustomKernelName": -1,
    "AssertSizeMultiple": -1,
}
defaultBenchmarkCommonParameters = [{"DepthU": [16]}, {"PerMfma": [1]}, {"MatrixInstruction": [[]]}]
"""
NEWER, OLDER = ", printIndexAssignmentInfo: bool", ""


def checkout(directory: Path, arguments: str = NEWER) -> Tensile:
    """A checkout with Tensile/bin/Tensile and the package beside it."""
    program = python_program(directory / "Tensile" / "bin", "")
    (directory / "Tensile" / "__init__.py").write_text("print('loaded')\n")
    package = PACKAGE.format(arguments=arguments, pid=str(directory / "pid"))
    (directory / "Tensile" / "BenchmarkStructs.py").write_text(package)
    return Tensile((str(program),), "4.33.0")


@pytest.mark.parametrize("arguments", [NEWER, OLDER])
async def test_a_configuration_that_is_taken_comes_with_its_permutations(tmp_path: Path, arguments: str) -> None:
    verdict = await check_installed(checkout(tmp_path, arguments), sample.configuration())
    assert (verdict.standing, verdict.permutations, verdict.message) == (Acceptance.TAKEN, (16,), "")
    assert not verdict.table


async def test_it_tells_its_parameters_with_their_values_and_defaults(tmp_path: Path) -> None:
    tensile = checkout(tmp_path)
    structs = tmp_path / "Tensile" / "BenchmarkStructs.py"
    structs.write_text(structs.read_text() + MORE)
    table = (await check_installed(tensile, sample.configuration(), table=True)).table
    assert table == {
        "DepthU": {"values": [-1], "ranges": [[2, 1024, 1]], "default": 16},
        "PerMfma": {"values": [], "ranges": [[0.01, 31.99, 0.01]], "default": 1},
        "Algorithm": {"values": ["SingleBuffer", "MultipleBuffer"], "ranges": []},
        "Widths": {"values": [-1, 1, 2, 4], "ranges": []},
        "ISA": {"values": [[9, 0, 10], [9, 4, 2]], "ranges": []},
        "MatrixInstruction": {"shape": True, "default": []},
        "CustomKernelName": {"any": True},
        "AssertSizeMultiple": {"any": True},
    }


@pytest.mark.parametrize("mark", ["Tensile::FATAL: ", ""], ids=["marked", "newer"])
async def test_a_refusal_comes_in_its_own_words(tmp_path: Path, mark: str) -> None:
    tensile = checkout(tmp_path)
    structs = tmp_path / "Tensile" / "BenchmarkStructs.py"
    structs.write_text(structs.read_text().replace("Tensile::FATAL: ", mark))
    verdict = await check_installed(tensile, sample.configuration().replace("- DepthU", "- DepthX"))
    assert verdict.standing is Acceptance.REFUSED
    assert verdict.message.startswith("Invalid parameter name: DepthX\nValid parameters are ['DepthU',")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("DepthU: [32, 64]", "DepthU:", "it ends by a Python exception: TypeError"),
        ("ForkParameters", "Forks", "KeyError: 'ForkParameters'"),
        ("DepthU: [32", "DepthU: {32", "it is not valid YAML"),
    ],
)
async def test_what_makes_tensile_stumble_is_a_refusal(tmp_path: Path, old: str, new: str, words: str) -> None:
    verdict = await check_installed(checkout(tmp_path), sample.configuration().replace(old, new))
    assert verdict.standing is Acceptance.REFUSED
    assert words in verdict.message


async def test_the_alternate_format_is_asked_about_as_tensile_rewrites_it(tmp_path: Path) -> None:
    groups = "Groups: [[{GlobalSplitU: 1}, {GlobalSplitU: 4}]]"
    text = f"ProblemType: {{Batched: true}}\nForkParameters:\n- DepthU: [32, 64]\n- {groups}\n"
    verdict = await check_installed(checkout(tmp_path), text, "- Exact: [64, 64, 1, 64]")
    assert (verdict.standing, verdict.permutations) == (Acceptance.TAKEN, (4,))


@pytest.mark.slow
async def test_a_space_too_large_to_list_is_counted(tmp_path: Path) -> None:
    text = sample.configuration().replace("DepthU: [32, 64]", f"DepthU: {list(range(100_000))}")
    verdict = await check_installed(checkout(tmp_path), text)
    assert verdict.permutations == (800_000,)


@pytest.mark.slow
async def test_an_answer_that_takes_too_long_is_not_waited_for(tmp_path: Path) -> None:
    text = sample.configuration().replace("DepthU: [32, 64]", "DepthU: hang")
    verdict = await check_installed(checkout(tmp_path), text, limit_s=2.0)
    assert (verdict.standing, verdict.message) == (Acceptance.NOT_ASKED, "it gave no answer within 2 s")
    assert not is_running(int((tmp_path / "pid").read_text()))


async def test_where_it_cannot_be_asked_the_reason_is_told(tmp_path: Path) -> None:
    shell = tmp_path / "Tensile.sh"
    shell.write_text("#!/bin/sh\nexec true\n")
    elsewhere = python_program(tmp_path / "bin", "")
    newer = checkout(tmp_path / "newer", f"{NEWER}, backend")
    broken = checkout(tmp_path / "broken")
    (tmp_path / "broken" / "Tensile" / "__init__.py").write_text("import os; os.abort()")
    for program, words in (
        (shell, "is no Python script"),
        (tmp_path / "gone", "is no Python script"),
        (elsewhere, "its Python cannot load Tensile.BenchmarkStructs: ModuleNotFoundError"),
        (newer.program, "this version's BenchmarkProcess wants backend"),
        (broken.program, "the program that asks it died"),
    ):
        verdict = await check_installed(Tensile((str(program),), ""), sample.configuration())
        assert verdict.standing is Acceptance.NOT_ASKED
        assert words in verdict.message


BANNER = 'print("\\n####\\n#  Tensile v4.9.9\\nTensile 4.33.0")'


@pytest.mark.parametrize("inside", ["bin", "Tensile/bin", "tensilelite/Tensile/bin"])
def test_a_checkout_holds_the_program(tmp_path: Path, inside: str) -> None:
    program = python_program(tmp_path / inside, BANNER)
    found = find_tensile(tmp_path)
    assert (found.program, found.version) == (program, "4.33.0")


@pytest.mark.parametrize("name", ["Tensile", "tensile"])
def test_it_is_found_on_path_under_the_names_that_it_is_installed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    program = python_program(tmp_path, BANNER, name)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_tensile(None).program == program


def test_without_one_the_way_out_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="no Tensile on PATH") as caught:
        find_tensile(None)
    assert "--advice" in str(caught.value.hint)


def test_what_is_none_is_refused_with_the_reason(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    for path, words in ((tmp_path, "no checkout"), (tmp_path / "gone", "there is no"), (plain, "cannot be executed")):
        with pytest.raises(SettingsError, match=words):
            find_tensile(path)


@pytest.mark.parametrize("body", ["raise SystemExit(3)", "print('no number')", "print('\\udcff'.encode())"])
def test_a_program_that_tells_no_version_is_taken_all_the_same(tmp_path: Path, body: str) -> None:
    assert find_tensile(python_program(tmp_path, body)).version == ""


def test_a_program_that_hangs_when_asked_for_its_version_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.tensile.program._VERSION_LIMIT_S", 0.3)
    assert find_tensile(python_program(tmp_path, "import time; time.sleep(60)")).version == ""
