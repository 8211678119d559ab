"""The terminology: every parameter has an entry, a user's file adds to it; and the examples of its document load."""

from __future__ import annotations

import pytest

from tests.documents import ROOT, blocks
from tui_tuner.errors import SettingsError
from tui_tuner.tensile.knowledge.known import gpu_facts, terminology
from tui_tuner.tensile.knowledge.valid_values import (
    LevelData,
    MatrixInstructionData,
    PairData,
    ParameterEntry,
    WorkGroupData,
    tables,
)


def test_every_parameter_of_every_table_is_explained_and_nothing_else():
    known = {name for one in tables() for name in (*one.table.parameters, *one.table.former)}
    assert set(terminology().parameters) == known


@pytest.mark.parametrize(
    "term", ["macro tile", "wave tile", "problem size", "solution", "size group", "winner", "GFlops"]
)
def test_general_terms_are_explained_whatever_their_case(term):
    assert terminology().explain(term) == terminology().explain(term.upper()) == terminology().terms[term]


def test_an_explanation_is_a_line_or_two_and_refers_only_to_what_is_there():
    words = terminology()
    for name, text in words.parameters.items():
        assert 5 < len(text) < 450, name
        assert text.endswith("."), name
        if text.startswith("As ") and text.split(" ", 2)[1].strip(",.").isalnum():
            assert text.split(" ", 2)[1].strip(",.") in words.parameters, name


def test_an_unknown_name_is_not_explained():
    assert terminology().explain("NoSuchName") is None
    assert terminology().explain("depthu") is None


def test_a_users_file_adds_and_replaces(tmp_path):
    file = tmp_path / "terminology.toml"
    file.write_text('[parameters]\nDepthU = "My words."\nNewOne = "New."\n[terms]\n"my term" = "Mine."\n', "utf-8")
    assert terminology(file).explain("DepthU") == "My words."
    assert terminology(file).explain("NewOne") == "New."
    assert terminology(file).explain("My Term") == "Mine."
    assert terminology(file).explain("StaggerU") == terminology().explain("StaggerU")
    assert terminology(tmp_path / "nothing.toml").explain("DepthU") == terminology().explain("DepthU")


def test_a_mistake_in_it_names_file_key_and_line(tmp_path):
    file = tmp_path / "terminology.toml"
    file.write_text('[parameters]\nDepthU = "My words."\nStaggerU = 3\n', "utf-8")
    with pytest.raises(SettingsError) as caught:
        terminology(file)
    assert (caught.value.file, caught.value.line) == (file, 3)
    assert caught.value.message == "parameters.StaggerU: Input should be a valid string"


DOCUMENT = (ROOT / "docs/tensile-knowledge.md").read_text("utf-8")
VALID_VALUES, TERMINOLOGY, GPUS = blocks(DOCUMENT, "toml")


def test_the_example_of_valid_values_replaces_single_parameters(tmp_path):
    (tmp_path / "mine.toml").write_text(VALID_VALUES, "utf-8")
    tensilelite, _ = tables(tmp_path)
    assert tensilelite.words("StaggerU") == "0, 2, 4, 8"
    assert tensilelite.fault("StreamK", 2) is None
    assert tensilelite.fault("ThreadTile", [16, 8]) is not None
    assert tensilelite.fault("MatrixInstruction", [16, 16, 16, 1, 1, 2, 2, 2, 2]) is None
    assert tensilelite.fault("MatrixInstruction", [16, 16, 32, 1]) is not None
    assert tensilelite.words("BufferLoad") == "False, True"


def test_the_example_of_terminology_is_taken(tmp_path):
    file = tmp_path / "terminology.toml"
    file.write_text(TERMINOLOGY, "utf-8")
    assert terminology(file).explain("DepthU") == "How far along K one pass of the loop goes."


def test_the_example_of_gpus_is_taken(tmp_path):
    file = tmp_path / "gpus.toml"
    file.write_text(GPUS, "utf-8")
    found = gpu_facts("MI300X", file)
    assert found is not None
    assert found.architecture.note == "anything else that matters"
    assert found.products["Instinct MI300X"].xcds == 8


@pytest.mark.parametrize("model", [ParameterEntry, PairData, WorkGroupData, LevelData, MatrixInstructionData])
def test_every_key_of_a_parameter_is_in_the_document(model):
    assert [key for key in model.model_fields if f"{key} =" not in VALID_VALUES and f"`{key}`" not in DOCUMENT] == []
