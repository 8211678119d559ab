"""The terminology: every parameter has an entry, a user's file adds to it."""

from __future__ import annotations

import pytest

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.knowledge.known import terminology
from tui_tuner.tensile.knowledge.valid_values import tables


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
