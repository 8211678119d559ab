"""What Tensile takes, decided from the tables that ship with the program, and from a user's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.knowledge.valid_values import ValidValues, installed_values, table_for, tables

TENSILELITE, TENSILE = tables()
BOTH = pytest.mark.parametrize("table", [TENSILELITE, TENSILE], ids=lambda table: table.name)
DEFAULTS_OUTSIDE_TENSILES_OWN_TABLE = {"AssertMinApproxSize", "MemoryModifierFormat"}


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("DepthU", [-1, 2, 3, 1024, 16.0]),
        ("GlobalReadPerMfma", [0.01, 0.07, 0.29, 1, 31.99]),
        ("LocalWritePerMfma", [-1, 0.57]),
        ("GlobalSplitU", [-1, 0, 1024]),
        ("ExtraLatencyForLR", [0, 16, -80, -10]),
        ("StreamKXCCMapping", [0, 2, 8]),
        ("LdsBlockSizePerPadA", [0, 96, 2048, 2176, 8192]),
        ("ThreadTile", [[1, 16], [20, 252]]),
        ("MacroTile", [[768, 6]]),
        ("ClusterDim", [[16, 1], [4, 4]]),
        ("WorkGroup", [[16, 16, 1], [1, 1, 32], [32, 8, 4], [7, 32, 1]]),
        ("MatrixInstruction", [[], [-1], [16, 16, 16, 1], [16, 16, 16, 1, 1, 32, 32, 4, 4]]),
        ("MatrixInstruction", [[4, 4, 4, 16, 16, 1, 1, 1, 1], [32, 32, 1, 2, 2, 4, 1, 2, 2]]),
        ("SpaceFillingAlgo", [[], [0], [5, 0, 1]]),
        ("SFCWGM", [[], [[1, 255]], [[1, 1], [0, 0]]]),
        ("ISA", [[9, 0, 10]]),
        ("AssertAIGreaterThanEqual", [-1, 3.5]),
        ("GlobalSplitUAlgorithm", ["MultipleBufferSingleKernel"]),
    ],
)
def test_tensilelite_takes(parameter, values):
    assert [TENSILELITE.fault(parameter, value) for value in values] == [None] * len(values)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("DepthU", [0, 1, 1025, 2.5, "16", [16], float("nan"), float("inf"), 10**400, True]),
        ("GlobalReadPerMfma", [0, 0.005, 32, 0.015]),
        ("ExtraLatencyForLR", [-5, 3, 18]),
        ("StreamKXCCMapping", [1, 9]),
        ("LdsBlockSizePerPadA", [2112, 8193]),
        ("ThreadTile", [[0, 1], [17, 1], [1], [1, 1, 1], 4]),
        ("ClusterDim", [[16, 2], [0, 4]]),
        ("WorkGroup", [[16, 16], [16, 15, 1], [16, 16, 3], [-16, -16, 1], [64, 32, 1], [16, "16", 1]]),
        ("MatrixInstruction", [[16, 16], [16, 16, 17, 1], [32, 32, 64, 1, 2, 1, 1, 1, 1], "mfma"]),
        ("MatrixInstruction", [[16, 16, 16, 1, 1, 33, 1, 1, 1], [16, 16, 16, 1, 1, 0, 1, 1, 1]]),
        ("MatrixInstruction", [[16, 16, 16, 1, 1, 1, 1, 3, 1], [4, 4, 4, 16, 3, 1, 1, 1, 1]]),
        ("SpaceFillingAlgo", [0, [6], [0, 0, 0, 0]]),
        ("SFCWGM", [[1, 1], [[1, 256]], [[1]], [[1, 1], [1, 1], [1, 1]]]),
        ("BufferLoad", [2, "True"]),
    ],
)
def test_tensilelite_does_not_take(parameter, values):
    for value in values:
        assert TENSILELITE.fault(parameter, value) is not None, value


def test_equality_is_pythons_as_in_tensile():
    assert TENSILELITE.fault("DirectToLds", True) is None
    assert TENSILELITE.fault("BufferLoad", 1) is None
    assert TENSILELITE.fault("StaggerU", 2.0) is None


def test_a_value_is_written_with_the_type_of_the_table_which_newer_states_insist_on():
    assert repr(TENSILELITE.written("DirectToLds", True)) == "1"
    assert repr(TENSILELITE.written("BufferLoad", 1)) == "True"
    assert repr(TENSILELITE.written("GlobalReadPerMfma", 1)) == "1.0"
    assert repr(TENSILELITE.written("DepthU", 16.0)) == "16"
    assert TENSILELITE.written("SwInstructionPrefetch", True) is True
    assert TENSILELITE.written("ThreadTile", [4, 4]) == [4, 4]


def test_wave_tiles_reach_64_in_tensile_and_32_in_tensilelite():
    value = [16, 16, 16, 1, 1, 64, 1, 1, 1]
    assert TENSILE.fault("MatrixInstruction", value) is None
    fault = TENSILELITE.fault("MatrixInstruction", value)
    assert fault is not None
    assert fault.endswith("near: [16, 16, 16, 1, 1, 32, 1, 1, 1]")


@pytest.mark.parametrize(
    ("parameter", "value", "near"),
    [
        ("DepthU", 1, "-1 or 2"),
        ("DepthU", 5000, "1024"),
        ("StaggerU", 3, "2 or 4"),
        ("GlobalReadPerMfma", 0.015, "0.01 or 0.02"),
        ("GlobalSplitUAlgorithm", "MultiBuffer", '"MultipleBuffer"'),
        ("ThreadTile", [18, 4], "[16, 4]"),
        ("MatrixInstruction", [16, 16, 17, 1], "[16, 16, 16, 1]"),
    ],
)
def test_a_fault_names_the_nearest_valid_values(parameter, value, near):
    fault = TENSILELITE.fault(parameter, value)
    assert fault is not None
    assert fault.endswith(f"; near: {near}")


def test_a_fault_says_what_is_valid():
    assert TENSILELITE.fault("StaggerU", 3) == "StaggerU cannot be 3: 0, 2, 4, 8, 16, 32, 64; near: 2 or 4"


def test_an_unknown_name_gets_the_nearest_known_one():
    assert TENSILELITE.fault("DeptU", 16) == "tensilelite knows no parameter DeptU; did you mean DepthU?"
    assert TENSILELITE.fault("Zzz", 16) == "tensilelite knows no parameter Zzz"


def test_a_dead_key_is_told_apart_from_a_misspelt_name():
    fault = TENSILELITE.fault("GroupForkParameters", 1)
    assert fault == "GroupForkParameters is no parameter of a solution: dead: read nowhere, no effect"


def test_what_only_older_states_take_is_taken_but_not_offered():
    assert TENSILELITE.fault("StreamK", 2) is None
    assert TENSILELITE.words("StreamK") == "0, 3, 4, 5"
    assert TENSILELITE.fault("MaxVgprNumber", 128) is None
    assert "MaxVgprNumber" not in TENSILELITE.names
    assert TENSILELITE.knows("MaxVgprNumber")


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("PrefetchGL2", "0, 1, 2"),
        ("MaxOccupancy", "1 to 64"),
        ("DepthU", "-1, 2 to 1024"),
        ("AssertAILessThanEqual", "free"),
        ("GlobalReadPerMfma", "0.01 to 31.99 in steps of 0.01"),
        ("StaggerUMapping", "0 to 4"),
        ("BufferLoad", "False, True"),
        ("ThreadTile", "[a, b], each of 1 to 16, 20 to 252 in steps of 4"),
        ("ClusterDim", "[a, b], each of 1 to 16, a x b at most 16"),
        ("SFCWGM", "a list of at most 2, each a list of 2 numbers, 0 to 255"),
        ("NoSuchName", ""),
    ],
)
def test_valid_values_in_words(parameter, words):
    assert TENSILELITE.words(parameter) == words


def test_defaults():
    assert TENSILELITE.default("DepthU") == -1
    assert TENSILELITE.default("MatrixInstruction") == []
    assert TENSILELITE.default("BufferLoad") is True
    assert TENSILE.default("KernelLanguage") == "Source"
    assert TENSILELITE.default("WorkGroup") == [16, 16, 1]


def test_a_default_that_is_no_plain_value_is_not_given():
    for table, parameter in ((TENSILELITE, "SFCWGM"), (TENSILE, "AssertSizeEqual")):
        assert table.table.parameters[parameter].default is not None
        assert table.default(parameter) is None


def test_what_tensile_sets_nothing_for_has_no_default():
    assert TENSILELITE.default("MacroTile") is None
    assert TENSILELITE.default("NoSuchName") is None


@BOTH
def test_every_default_is_valid_but_for_two_of_tensiles_own(table: ValidValues):
    faults = {
        name
        for name, entry in table.table.parameters.items()
        if "default" in entry.model_fields_set and table.fault(name, entry.default)
    }
    assert faults == (DEFAULTS_OUTSIDE_TENSILES_OWN_TABLE if table is TENSILE else set())


@BOTH
def test_every_value_in_words_is_short_enough_for_a_prompt(table: ValidValues):
    for name in table.names:
        assert 0 < len(table.words(name)) < 600, name


def test_unchecked_parameters():
    assert [name for name in TENSILELITE.names if TENSILELITE.is_unchecked(name)] == [
        "CustomKernel",
        "AssertAIGreaterThanEqual",
        "AssertAILessThanEqual",
    ]
    assert not TENSILELITE.is_unchecked("NoSuchName")


def test_a_table_says_where_it_was_read():
    assert len(TENSILELITE.names) == 175
    assert len(TENSILE.names) == 157
    assert "rocm-libraries" in TENSILELITE.source
    assert "commit 010ebbbd" in TENSILE.source


def test_the_table_for_a_file_is_the_one_that_knows_most_of_its_parameters():
    known = [TENSILELITE, TENSILE]
    assert table_for(["DepthU", "EdgeType", "VectorWidth"], known) is TENSILE
    assert table_for(["DepthU", "VectorWidthA", "EdgeType", "1LDSBuffer", "NonTemporalE"], known) is TENSILELITE
    assert table_for(["DepthU"], known) is TENSILELITE
    assert table_for([], known) is TENSILELITE


def test_an_installed_tensile_has_the_last_word_and_the_user_s_own_files_stay(tmp_path: Path) -> None:
    told = {
        "DepthU": {"values": [-1], "ranges": [[2, 1024, 1]], "default": 16},
        "MatrixInstruction": {"shape": True},
        "StaggerU": {"values": [0, 32], "ranges": []},
        "Novel": {"any": True},
    }
    (tmp_path / "own.toml").write_text('name = "tensile"\n[parameters]\nStaggerU = { values = [0, 5] }\n')
    table = installed_values(told, tables(tmp_path), "4.44.0")
    assert (table.name, table.source) == ("tensile", "the installed Tensile 4.44.0")
    assert table.names == ("DepthU", "MatrixInstruction", "StaggerU", "Novel")
    assert (table.words("DepthU"), table.default("DepthU"), table.is_unchecked("Novel")) == ("-1, 2 to 1024", 16, True)
    assert table.words("StaggerU") == "0, 5"
    assert table.fault("MatrixInstruction", [16, 16, 16, 1, 1, 2, 2, 2, 2]) is None
    assert table.fault("MatrixInstruction", [16, 16, 17, 1]) is not None


@pytest.mark.parametrize(
    ("version", "name"), [("4.44.0", "tensile"), ("4.33.0", "tensilelite"), ("5.1", "tensilelite"), ("", "tensilelite")]
)
def test_the_version_decides_where_both_know_as_much(version: str, name: str) -> None:
    assert table_for(["DepthU", "GlobalSplitU"], tables(), version).name == name


def written(directory, text, name="mine.toml"):
    (directory / name).write_text(text, "utf-8")
    return directory


def mistake(directory, text):
    with pytest.raises(SettingsError) as caught:
        tables(written(directory, text))
    assert caught.value.file == directory / "mine.toml"
    return caught.value


def test_without_files_the_tables_are_those_of_the_program(tmp_path):
    assert tables(tmp_path) == tables(tmp_path / "nothing") == tables()


def test_a_file_adds_a_parameter_and_replaces_another(tmp_path):
    text = 'name = "tensilelite"\n[parameters]\nNewOne = { values = [1, 2], default = 1 }\nStaggerU = { any = true }\n'
    tensilelite, _ = tables(written(tmp_path, text))
    assert tensilelite.fault("NewOne", 2) is None
    assert tensilelite.default("NewOne") == 1
    assert tensilelite.is_unchecked("StaggerU")
    assert tensilelite.fault("DepthU", 1) is not None
    assert len(tensilelite.names) == 176


def test_another_name_is_another_table(tmp_path):
    text = 'name = "mine"\nsource = "my branch"\n[parameters]\nA = { values = [1] }\nB = { ranges = [[1, 9, 2]] }\n'
    known = tables(written(tmp_path, text))
    mine = table_for(["A", "B"], known)
    assert (mine.name, mine.source) == ("mine", "my branch")
    assert mine.words("B") == "1 to 9 in steps of 2"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A = { value = [1] }", "parameters.A.value: unknown key"),
        ("A = { values = [1], any = true }", "parameters.A: exactly one of these says what is valid"),
        ("A = { default = 1 }", "parameters.A: exactly one of these says what is valid"),
        ("A = { ranges = [[1, 2]] }", "parameters.A.ranges.0"),
        ("A = { work_group = { threads = [1, 2, 1] } }", "parameters.A.work_group.splits: Field required"),
        ('A = { any = "perhaps" }', "parameters.A.any: Input should be a valid boolean"),
    ],
)
def test_a_mistake_names_file_key_and_line(tmp_path, line, message):
    error = mistake(tmp_path, f'name = "tensilelite"\n\n[parameters]\n{line}\n')
    assert error.message.startswith(message)
    assert error.line == 4


def test_a_family_that_is_missing_is_named(tmp_path):
    text = """
name = "mine"
[parameters.MatrixInstruction.matrix_instruction]
families = { half = [[16, 16, 16, 1]] }
short = ["half"]
long = ["single"]
listed = [[]]
wave_tiles = [1, 8, 1]
waves = [1, 2]
"""
    assert mistake(tmp_path, text).message.endswith("there is no family single")


def test_a_file_without_a_name_and_one_that_is_no_toml(tmp_path):
    assert mistake(tmp_path, "[parameters]\n").message == "name: Field required"
    error = mistake(tmp_path, 'name = "mine"\n[parameters\n')
    assert error.message.startswith("this is not TOML")
    assert error.line == 2


def test_an_unknown_key_of_the_file_gets_the_nearest(tmp_path):
    assert mistake(tmp_path, 'name = "mine"\n[parameter]\n').hint == "did you mean 'parameters'?"
