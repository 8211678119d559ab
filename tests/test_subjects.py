"""Subjects: each is joined to the program at one place, and none of its parts is loaded before it is used."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_tuner import subjects as registry
from tui_tuner.app.named import check_kernel
from tui_tuner.errors import ProblemError, SettingsError
from tui_tuner.session.events import Event
from tui_tuner.settings import Settings, load_settings, settings_text
from tui_tuner.story import Story
from tui_tuner.subjects import KERNEL, Subject, loaded, subject_of, subjects
from tui_tuner.tui.subject import SubjectView

ALL = [KERNEL, *subjects().values()]
each_subject = pytest.mark.parametrize("subject", ALL, ids=[subject.name for subject in ALL])


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is registered beside kernels."""
    monkeypatch.setattr(registry, "_ROOMS", ())
    subjects.cache_clear()
    yield
    subjects.cache_clear()


@each_subject
def test_every_part_that_a_subject_names_is_there(subject: Subject) -> None:
    named = [subject.screen, subject.story, subject.resume, subject.replay, subject.settings, subject.findings]
    parts = [part for part in (*named, *(command.adder for command in subject.commands)) if part]
    assert all(callable(loaded(part)) for part in parts)
    assert all(issubclass(event, Event) for event in (loaded(subject.events) if subject.events else ()))


@each_subject
def test_the_parts_that_show_it_are_what_screen_and_story_ask(subject: Subject) -> None:
    view = loaded(subject.screen)()
    assert isinstance(view, SubjectView)
    assert view.noun
    assert Story(loaded(subject.story)()).result


def test_naming_the_subjects_loads_none_of_their_parts() -> None:
    program = (
        "import json, sys\n"
        "from tui_tuner.subjects import subjects\n"
        "subjects()\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('tui_tuner') or name == 'pydantic']))"
    )
    names = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
    rooms = {place.partition(":")[0] for place in registry._ROOMS}
    assert set(json.loads(names)) == {"tui_tuner", "tui_tuner.subjects", "tui_tuner.options", *rooms}


@pytest.mark.parametrize("header", [{}, {"kind": "kernel"}, {"kind": "nobody's"}, {"kind": ["tensile"]}])
def test_a_journal_that_names_no_other_subject_is_a_kernels(header: dict[str, object]) -> None:
    assert subject_of(header) is KERNEL


def test_a_journal_names_its_subject() -> None:
    assert [subject_of({"kind": name}).name for name in subjects()] == [*subjects()]


def test_settings_have_a_table_of_every_subject_and_config_prints_it(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    for name in (name for name, subject in subjects().items() if subject.settings):
        assert f"[{name}]" in settings_text(Settings())
        file.write_text(f"[{name}]\nnothing_of_that_name = 1\n")
        with pytest.raises(SettingsError, match=rf"{name}\.nothing_of_that_name: unknown key"):
            load_settings(file)


def test_a_table_of_nobodys_is_an_unknown_key(tmp_path: Path, alone: None) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[tensile]\nmax_rounds = 2\n")
    with pytest.raises(SettingsError, match="tensile: unknown key"):
        load_settings(file)


def test_files_of_a_subjects_are_told_from_missing_kernels() -> None:
    for subject in subjects().values():
        for suffix in subject.suffixes:
            with pytest.raises(ProblemError, match=f"is no kernel\n.*tuner-tui {subject.commands[0].name} "):
                check_kernel(Path(f"some{suffix}"))


def test_without_subjects_such_a_file_is_a_kernel_that_is_missing(alone: None) -> None:
    with pytest.raises(ProblemError, match="there is no kernel file"):
        check_kernel(Path("some.yaml"))
