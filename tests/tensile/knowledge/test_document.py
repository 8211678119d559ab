"""The document on the three kinds of files: its examples load."""

from __future__ import annotations

import pytest

from tests.documents import ROOT, blocks
from tui_tuner.tensile.knowledge.known import gpu_facts, terminology
from tui_tuner.tensile.knowledge.valid_values import (
    LevelData,
    MatrixInstructionData,
    PairData,
    ParameterEntry,
    WorkGroupData,
    tables,
)

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
