"""From what the user writes behind `--strategy` to a strategy, or one message with the way out."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tui_tuner.app.inventory import strategy_lines
from tui_tuner.errors import SettingsError
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies import PLACES
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.choose import installed_strategies, spec_of, strategy_named

MINE = '''\
from __future__ import annotations
from pathlib import Path
from tui_tuner import Effects, Strategy

class Mine(Strategy):
    """Does little."""
    where: Path = Path("here")
    often: int

    async def run(self, session: Effects) -> None:
        session.note(str(self.where))

class Unfinished(Strategy):
    """Has no run."""

def factory(): ...
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def refusal(spec: str, options: dict[str, object] | None = None) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        strategy_named(spec, options)
    return caught.value


@pytest.mark.parametrize("spec", ["one_prompt", "one-prompt"])
def test_a_built_in_strategy_is_found_by_its_name(spec: str) -> None:
    assert strategy_named(spec).name == "one_prompt"


@pytest.mark.parametrize("name", PLACES)
def test_the_name_of_a_built_in_strategy_is_where_its_place_is(name: str) -> None:
    assert spec_of(strategy_named(name)) == strategy_named(name).name == name


def test_the_first_strategy_is_the_default() -> None:
    assert SessionOptions().strategy == next(iter(PLACES))


def test_options_are_the_fields_of_the_strategy() -> None:
    assert strategy_named("autonomous", {"max_replanning": 7}) == AutonomousStrategy(max_replanning=7)


def test_a_class_in_a_file_is_found_with_annotations_that_are_read_late(mine: Path) -> None:
    strategy = strategy_named(f"{mine}:Mine", {"often": 2, "where": "there"})
    assert (strategy.name, strategy.model_dump()) == ("Mine", {"where": Path("there"), "often": 2})


@pytest.mark.parametrize(
    ("spec", "options", "message", "hint"),
    [
        ("absent.py:Mine", {}, "there is no such file", "tuner-tui strategy new"),
        ("mine.py:Mne", {}, "there is no class 'Mne' in it", "it has: Mine, Unfinished"),
        ("mine.py", {}, "which class of it? Write mine.py:Class", "it has: Mine, Unfinished"),
        ("mine.py:", {}, "which class of it? Write mine.py:Class", "it has: Mine, Unfinished"),
        ("mine.py:Effects", {}, "is no strategy", "derive it from tui_tuner.Strategy"),
        ("mine.py:factory", {}, "is no strategy", "derive it from tui_tuner.Strategy"),
        ("mine.py:Unfinished", {}, "is no strategy", "give it `run`"),
        ("mine.py:Mine", {}, "often: Field required", "its options: where, often"),
        ("mine.py:Mine", {"often": 1, "seldom": 1}, "seldom: Extra inputs are not permitted", "where, often"),
        ("mine.py:Mine", {"often": "x"}, "often: Input should be a valid integer", "where, often"),
        ("autonomos", {}, "unknown strategy 'autonomos'; did you mean 'autonomous'?", "or your own as file.py:Class"),
        ("python:my.module:Mine", {}, "an object of the class my.module:Mine", "tui_tuner.tune("),
    ],
)
def test_what_cannot_be_found_or_used_is_one_message_with_the_way_out(
    mine: Path, monkeypatch: pytest.MonkeyPatch, spec: str, options: dict[str, object], message: str, hint: str
) -> None:
    monkeypatch.chdir(mine.parent)
    error = refusal(spec, options)
    assert message in error.message
    assert hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "told", "line"),
    [
        ("class Mine:\n    def run(self)\n", "SyntaxError: expected ':'", 2),
        ("import json\n\njson.loads('{')\n", "JSONDecodeError: Expecting property name", 3),
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'", 1),
        ("def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError: division by zero", 2),
    ],
)
def test_a_file_that_does_not_run_is_named_with_the_line(tmp_path: Path, text: str, told: str, line: int) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    error = refusal(f"{file}:Mine")
    assert told in error.message
    assert (error.file, error.line) == (file, line)
    assert "tuner_tui_strategy_broken" not in sys.modules


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package on the path that offers one strategy that works and two that do not."""
    (tmp_path / "their_tuner.py").write_text(MINE.replace("often: int", "often: int = 4"))
    (tmp_path / "their_broken.py").write_text("raise RuntimeError('not today')\n")
    info = tmp_path / "their_tuner-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-tuner\nVersion: 1.0\n")
    points = "theirs = their_tuner:Mine\nbroken = their_broken:Mine\nabstract = their_tuner:Unfinished\n"
    (info / "entry_points.txt").write_text(f"[tui_tuner.strategies]\n{points}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "their_tuner", raising=False)


@pytest.mark.usefixtures("installed")
def test_a_strategy_of_an_installed_package_is_found_by_its_name_and_found_again() -> None:
    strategy = strategy_named("theirs", {"often": 5})
    assert strategy.model_dump()["often"] == 5
    assert installed_strategies()["theirs"] == "their_tuner:Mine"
    assert spec_of(strategy) == "theirs"


@pytest.mark.usefixtures("installed")
def test_a_package_that_does_not_work_is_named_and_hides_none_of_the_others() -> None:
    assert "entry point 'broken' (their_broken:Mine) cannot be used: RuntimeError" in refusal("broken").message
    assert "entry point 'abstract' (their_tuner:Unfinished) is no strategy" in refusal("abstract").message
    lines = list(strategy_lines())
    assert "theirs: Does little." in lines
    assert "broken: entry point 'broken' (their_broken:Mine) cannot be used: RuntimeError: not today" in lines
    assert any(line.startswith("autonomous: ") for line in lines)


def test_each_line_of_the_list_gives_an_option_as_set_takes_it() -> None:
    from tui_tuner.cli.flags import name_and_value

    lines = list(strategy_lines())
    at = next(number for number, line in enumerate(lines) if line.startswith("autonomous: "))
    options = dict(name_and_value(line.removeprefix("  --set ").strip("'")) for line in lines[at + 1 : at + 7])
    assert strategy_named("autonomous", options) == AutonomousStrategy()
