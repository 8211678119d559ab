"""Where Tensile is looked for, and which version it says it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tensile.running.programs import python_program
from tui_tuner.errors import SettingsError
from tui_tuner.tensile.program import find_tensile

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
