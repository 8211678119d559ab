"""A user's own files of valid values."""

from __future__ import annotations

import pytest

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.knowledge.valid_values import table_for, tables


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
