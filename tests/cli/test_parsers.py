"""The parsers: names, defaults and values in help are the models' own, mistakes take few lines."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recorded.caches import write_cache
from tui_tuner import subjects
from tui_tuner.cli import COMMANDS, TUNE, CommandLine, main
from tui_tuner.cli.config_command import default_settings_text
from tui_tuner.options import Option
from tui_tuner.search import ROUND_OPTIONS
from tui_tuner.session_options import RoundOptions, SessionOptions
from tui_tuner.settings import Settings, load_settings, settings_text
from tui_tuner.subjects import KERNEL, Command, loaded, settings_model, subjects_with_settings

EVERY = ["tune", *COMMANDS.split(", ")]


def actions() -> Iterator[tuple[str, argparse.Action]]:
    line = CommandLine()
    for name in EVERY:
        yield from ((name, action) for action in line.parser(name)._actions)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as end:
        code = int(end.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_options_known_as_plain_data_are_those_of_their_models() -> None:
    tables: list[tuple[tuple[Option, ...], type]] = [(ROUND_OPTIONS, RoundOptions)]
    tables += [(loaded(subject.options), settings_model(name)) for name, subject in subjects_with_settings().items()]
    for options, model in tables:
        assert [option.name for option in options] == [*model.model_fields]
        for option in options:
            field = model.model_fields[option.name]
            assert (field.default, field.description) == (option.default, option.help)
            assert (field.annotation is bool) == (option.value == ""), "a switch takes no value"


def test_the_settings_without_a_file_are_the_defaults_of_the_models() -> None:
    assert default_settings_text() == settings_text(Settings())


def test_the_defaults_that_help_tells_of_a_session_are_those_of_its_options() -> None:
    own = {command: [one for name, one in actions() if name == command] for command in ("tune", "resume")}
    names = {action.dest: action for action in own["tune"] if action.dest in SessionOptions.model_fields}
    found = {
        name: re.search(r"\(default (\S+)\)|(\w+) \(default\)", action.help or "") for name, action in names.items()
    }
    defaults = {name: match[1] or match[2] for name, match in found.items() if match and name != "search"}
    assert defaults.keys() >= {"max_evaluations", "max_calls", "seed", "strategy", "device", "llm"}
    for name, default in defaults.items():
        assert str(getattr(SessionOptions(), name)) == default, name
    told = {action.dest: action.help or "" for action in own["resume"]}
    assert all("as before" in told[name] for name in ("max_evaluations", "max_calls")), "a run's own, and no default"


def test_no_value_is_called_value_and_every_argument_is_explained() -> None:
    for command, action in actions():
        assert action.help, (command, action.dest)
        if action.option_strings and action.nargs != 0 and not action.choices:
            assert action.metavar, (command, action.dest)
            assert action.metavar != "VALUE"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["scale.cu", "--sead", "3"], "did you mean --seed?"),
        (["tensile", "c.yaml", "--model", "llama3.1:8b"], "did you mean --llm PROVIDER:MODEL, as in --llm ollama:"),
        (["tensile", "-i", "c.yaml", "--output", "d.yaml"], "a file is named with -o"),
        (["scale.cu", "--max-evals", "many"], "--max-evals: invalid int value: 'many'"),
        (["scale.cu", "other.cu", "third.cu"], "unrecognized arguments: other.cu third.cu"),
        (["resume"], "RUN"),
        (["strategy", "lost"], "'lost'"),
        (["memory", "list", "--kernel", "x"], "list takes nothing but --replies"),
        (["completion", "csh"], "'csh'"),
        (["rusume"], "did you mean 'resume'?"),
        (["help", "rsume"], "did you mean 'resume'?"),
        (["runs", "\x1b[2J", "x\ny"], "unrecognized"),
    ],
)
def test_wrong_usage_is_told_in_three_lines_at_most(
    capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    code, out, err = told(capsys, *arguments)

    assert (code, out) == (2, "")
    assert named in err
    assert err.count("\n") <= 3
    assert "\x1b" not in err


@pytest.mark.parametrize("name", EVERY)
def test_help_of_a_command_is_the_same_in_both_ways(capsys: pytest.CaptureFixture[str], name: str) -> None:
    first = told(capsys, "help", name)
    assert first == told(capsys, name, "--help")
    assert first[0] == 0


def test_help_alone_is_that_of_the_program_and_of_its_default_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "help") == told(capsys, "--help") == told(capsys, TUNE.name, "--help")


def test_a_first_word_that_is_no_command_is_a_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = CommandLine()
    for words in (["kernel.cu", "--seed", "3"], ["--seed", "3", "kernel.cu"], ["tune", "kernel.cu", "--seed", "3"]):
        chosen = line.parse(words)
        assert (chosen.kernel, chosen.seed) == (Path("kernel.cu"), 3)
    assert line.parse(["resume", "kernel.cu"]).run == Path("kernel.cu")
    assert line.parse(["tune", "resume"]).kernel == Path("resume")


def test_a_command_that_a_subject_registers_is_one_of_the_program() -> None:
    commands = [command for subject in subjects.subjects().values() for command in subject.commands]
    assert {command.name for command in commands} <= set(EVERY)
    for command in commands:
        assert callable(loaded(command.adder))


def test_a_subject_that_is_registered_has_a_table_in_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rounds = "tui_tuner.session_options:RoundOptions"
    table = "tui_tuner.search:ROUND_OPTIONS"
    other = KERNEL._replace(name="other", settings=rounds, options=table, commands=(Command("other", "Try.", "x:y"),))
    monkeypatch.setitem(subjects.subjects(), "other", other)
    assert Settings().table("other") == RoundOptions()
    assert "[other]\ninitial_batch_size = 25\n" in default_settings_text()

    (tmp_path / "mine.toml").write_text("[other]\npatience = 7\n", "utf-8")
    assert load_settings(tmp_path / "mine.toml").table("other").patience == 7


def test_a_session_is_made_and_run_in_one_event_loop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    recording = write_cache(Path("small.json.gz"))
    loops = []
    new_loop = asyncio.new_event_loop
    monkeypatch.setattr(asyncio.events, "new_event_loop", lambda: loops.append(new_loop()) or loops[-1])

    assert main([str(recording), "--auto", "--llm", "none", "--run-dir", "run"]) == 0
    assert len(loops) == 1
    assert main(["resume", "run", "--auto"]) == 0
    assert main(["replay", "run", "--auto"]) == 0
    assert len(loops) == 3


def test_a_setting_is_kept_beside_comments_and_nothing_is_written_that_would_not_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\n[session]\nseed = 3 # three\n")
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(file))
    assert told(capsys, "config", "set", "session.device", "emulator")[0] == 0
    kept = '# mine\n[session]\nseed = 3 # three\ndevice = "emulator"\n'
    assert file.read_text() == kept
    for wrong in (("session.seed", "many"), ("session.nope", "1"), ("session.seed.x", "1"), ("session", "1")):
        code, _, err = told(capsys, "config", "set", *wrong)
        assert (code, str(file) in err) == (2, True)
    for word, key in {"llm": "session.llm", "max_evals": "session.max_evaluations", "theme": "screen.theme"}.items():
        assert f"did you mean '{key}'?" in told(capsys, "config", "set", word, "1")[2]
    assert told(capsys, "config", "set")[0] == 2
    assert [each.name for each in tmp_path.iterdir()] == ["config.toml"]
    assert file.read_text() == kept
