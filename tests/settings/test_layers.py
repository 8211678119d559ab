"""The user's file, a project's, the environment and the command line, each over the one before, each with its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tui_tuner.cli import main
from tui_tuner.errors import SettingsError
from tui_tuner.options import flag_of
from tui_tuner.session_options import RoundOptions, SessionOptions
from tui_tuner.settings import layered_settings, load_settings, save_settings, settings_text
from tui_tuner.settings.layers import variables


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file, beside a project in k/."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    Path("k").mkdir()
    Path("mine.toml").write_text(
        "[session]\nseed = 1\nmax_evaluations = 11\ndelta = 0.5\n"
        "strategy_options = { keep_neutral = true }\n[strategies.autonomous]\nkeep_neutral = true\n"
    )
    Path("k/tuner-tui.toml").write_text(
        "[session]\nseed = 2\nmax_evaluations = 12\nstrategy_options = { max_replanning = 3 }\n"
        "[session.rounds]\npatience = 4\n[strategies.autonomous]\nmax_replanning = 2\n"
    )
    return Path("mine.toml")


@pytest.mark.usefixtures("own")
def test_each_source_is_over_the_one_before_and_every_value_knows_its_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TUNER_TUI_MAX_EVALS", "13")
    monkeypatch.setenv("TUNER_TUI_MAX_TIME", "20m")
    monkeypatch.setenv("TUNER_TUI_MODEL_MAX_TOKENS", "512")
    monkeypatch.setenv("TUNER_TUI_SEARCH", "")
    assert main(["config", "--", "k/a.cu", "--max-evals", "14", "--patience", "5", "--target", "2x"]) == 0
    printed = capsys.readouterr().out
    lines = set(printed.splitlines())
    assert {
        "# mine.toml", "# k/tuner-tui.toml", "delta = 0.5 # mine.toml:4", "seed = 2 # k/tuner-tui.toml:2",
        "max_seconds = 1200.0 # TUNER_TUI_MAX_TIME", "max_tokens = 512 # TUNER_TUI_MODEL_MAX_TOKENS",
        "max_evaluations = 14 # --max-evals", "patience = 5 # --patience", "target = 2.0 # --target",
        "keep_neutral = true # mine.toml:7", "max_replanning = 2 # k/tuner-tui.toml:8", "max_calls = 100",
        "# search is not set",
    } <= lines  # fmt: skip
    assert tomllib.loads(printed)["session"]["strategy_options"] == {"max_replanning": 3}, "one value, not a table"
    session = load_settings(beside=Path("k/a.cu")).session
    assert (session.seed, session.max_evaluations, session.rounds.patience, session.max_seconds) == (2, 13, 4, 1200.0)
    assert load_settings().session.seed == 1, "where no kernel is named there is no project"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (
            "TUNER_TUI_MODEL_API_KEY",
            "k",
            "there is no variable TUNER_TUI_MODEL_API_KEY\n  keys come from the environment, as OPENAI_API_KEY, ",
        ),
        ("TUNER_TUI_DEVISE", "c", "there is no variable TUNER_TUI_DEVISE\n  did you mean 'TUNER_TUI_DEVICE'?"),
        ("TUNER_TUI_SEED", "many", "TUNER_TUI_SEED: session.seed: Input should be a valid integer"),
        ("TUNER_TUI_MAX_TIME", "soon", "TUNER_TUI_MAX_TIME: 'soon' is no time"),
        ("TUNER_TUI_BUILD_JOBS", "0", "TUNER_TUI_BUILD_JOBS: build.jobs: "),
    ],
)
def test_a_variable_that_is_none_or_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as raised:
        load_settings()
    assert told in str(raised.value)


def test_every_setting_of_a_session_has_a_variable_that_is_called_like_its_flag() -> None:
    known = variables()
    for model, above in ((SessionOptions, ("session",)), (RoundOptions, ("session", "rounds"))):
        for name in model.model_fields.keys() - {"rounds", "strategy_options"}:
            assert known[f"TUNER_TUI_{flag_of(name)[2:].replace('-', '_').upper()}"] == (*above, name)
    assert len(set(known.values())) == len(known)
    assert not [path for path in known.values() if path[0] in ("screen", "projects", "strategies")]


def test_what_config_prints_says_nothing_of_defaults(own: Path) -> None:
    layered = layered_settings(own)
    assert settings_text(layered.settings, layered.origin).count(" # ") == 5
    assert layered.origin(["session", "device"]) is None


@pytest.mark.usefixtures("own")
def test_a_value_is_kept_in_the_project_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert save_settings({"session.device": "emulator"}, Path("k")) == Path("k/tuner-tui.toml")
    assert load_settings(beside=Path("k")).session.device == "emulator"
    with pytest.raises(SettingsError, match="there is no such directory"):
        save_settings({"session.seed": 1}, Path("nowhere/at/all"))
    before = Path("k/tuner-tui.toml").read_text()
    with pytest.raises(SettingsError, match="a project may not set this"):
        save_settings({"model.command": "sh"}, Path("k"))
    assert Path("k/tuner-tui.toml").read_text() == before
    assert main(["config", "set", "session.seed", "9", "--project"]) == 0
    assert Path("tuner-tui.toml").read_text() == "[session]\nseed = 9\n"
    with pytest.raises(SystemExit, match="2"):
        main(["config", "set", "--project", "session.seed", "9"])
    assert "'session.seed' is no directory; write --project last" in capsys.readouterr().err


def test_the_users_own_file_is_no_project(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own.rename("tuner-tui.toml")
    monkeypatch.setenv("TUNER_TUI_CONFIG", "tuner-tui.toml")
    Path("tuner-tui.toml").write_text("[session]\nmemory = true\n")
    assert load_settings(beside=Path()).session.memory


KEYS = "keys come from the environment, as OPENAI_API_KEY, or from the keyring, and from no file"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('model.api_key = "k"', f"model.api_key: unknown key\n  {KEYS}"),
        ('openai_api_key = "k"', f"openai_api_key: unknown key\n  {KEYS}"),
        ("session.max_evals = 5", "session.max_evals: unknown key\n  did you mean 'max_evaluations'?"),
        ("max_evals = 5", "max_evals: unknown key\n  did you mean 'session.max_evaluations'?"),
        ('model.base_url = "gate:8000"', "no address of a server\n  as in: http://127.0.0.1:8000/v1"),
        ('session.max_seconds = "20m"', "\n  write the number alone, without a unit, in seconds"),
        ('model.max_tokens = "8k"', "\n  write the number alone, without a unit"),
    ],
)
def test_a_mistake_in_the_file_is_told_with_what_to_write(own: Path, line: str, told: str) -> None:
    own.write_text(f"{line}\n")

    with pytest.raises(SettingsError) as caught:
        load_settings()

    assert str(caught.value).startswith("mine.toml:1: ")
    assert str(caught.value).endswith(told)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('llm = "opnai"', "mine.toml:2: session.llm: there is no model provider 'opnai'\n  did you mean 'openai'?"),
        ('llm = "none:m"', "mine.toml:2: session.llm: 'none' takes nothing behind it"),
        ('search = "genetc"', "mine.toml:2: session.search: unknown search method 'genetc'\n  methods: brute_force, "),
        (
            'strategy = "autonomus"',
            "mine.toml:2: session.strategy: unknown strategy 'autonomus'; did you mean 'autonomous'?",
        ),
    ],
)
def test_a_name_that_nothing_has_is_told_with_its_place(
    own: Path, line: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write_text(f"[session]\n{line}\n")
    assert main(["config"]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("own")
def test_a_name_that_nothing_has_is_told_of_a_variable_and_never_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "set", "session.llm", "opnai"]) == 2
    assert "opnai" not in Path("mine.toml").read_text()
    monkeypatch.setenv("TUNER_TUI_LLM", "opnai")
    assert main(["config"]) == 2
    assert "TUNER_TUI_LLM: session.llm: there is no model provider 'opnai'" in capsys.readouterr().err
