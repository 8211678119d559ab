"""The log: one JSON object a line, set aside when full, never a key, never in the way; and the report made of it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tui_tuner import log
from tui_tuner.app import inventory as reports
from tui_tuner.app.inventory import Finding
from tui_tuner.cli import main
from tui_tuner.errors import ExitCode
from tui_tuner.settings import Layered, layered_settings

LOGGER = logging.getLogger("tui_tuner.tests")
KEY = "no-key-by-its-looks-1234"


@pytest.fixture(autouse=True)
def _own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def entries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.log_file().read_text().splitlines()]


def test_an_entry_is_one_object_without_keys_and_only_its_user_reads_it() -> None:
    log.hide("kept-in-the-keyring")
    with log.writing("info"):
        LOGGER.info(
            "said %s\nand sk-abcdefghijklmnop0123", KEY, extra=log.fields(words=[KEY, "kept-in-the-keyring"], n=2)
        )
        LOGGER.debug("not of this level")
        try:
            raise ValueError(KEY)
        except ValueError:
            LOGGER.exception("failed", extra=log.fields(text="x" * 9000))
    LOGGER.info("nobody listens any more")
    said, failed = entries()
    assert (said["message"], said["words"], said["n"]) == ("said [key]\nand [key]", ["[key]", "[key]"], 2)
    assert (said["level"], said["part"], said["process"]) == ("info", "tests", os.getpid())
    assert failed["traceback"].endswith("ValueError: [key]")
    assert len(failed["text"]) < 3000
    assert log.log_file().stat().st_mode & 0o077 == 0


def test_a_full_log_is_set_aside_and_the_oldest_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "_LARGEST", 2000)
    with log.writing("info"):
        for number in range(100):
            LOGGER.info("x" * 100, extra=log.fields(number=number))
    files = sorted(file.name for file in log.log_file().parent.iterdir())
    assert files == ["tuner-tui.log", *(f"tuner-tui.log.{number}" for number in (1, 2, 3))]
    assert entries()[-1]["number"] == 99
    assert all(file.stat().st_size <= 2000 for file in log.log_file().parent.iterdir())


@pytest.mark.parametrize("obstacle", ["a file", "a full disk", "off"])
def test_a_log_that_cannot_be_written_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], obstacle: str
) -> None:
    if obstacle == "a file":
        (tmp_path / "state").touch()
    if obstacle == "a full disk":
        monkeypatch.setattr(log, "log_file", lambda: Path("/dev/full"))
    with log.writing("off" if obstacle == "off" else "info"):
        LOGGER.warning("lost")
        assert not log.is_written()
    assert capsys.readouterr().err == ""


def test_a_command_that_fails_stands_in_the_log_with_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["none.cu", "--auto", "--llm", f"command:{KEY}"]) == ExitCode.FAILED
    assert main(["none.cu", "--auto", "--log-level", "error"]) == ExitCode.FAILED
    begins, failed = entries()
    assert (begins["message"], begins["words"][-1]) == ("begins", "command:[key]")
    assert (failed["level"], failed["message"]) == ("warning", "there is no kernel file none.cu")
    assert "there is no kernel file none.cu" in capsys.readouterr().err


def test_the_level_is_that_of_flag_variable_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("[log]\nlevel = 'off'\n")
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(tmp_path / "mine.toml"))
    main(["none.cu", "--auto"])
    assert not log.log_file().exists()
    monkeypatch.setenv("TUNER_TUI_LOG_LEVEL", "warning")
    main(["none.cu", "--auto"])
    assert [entry["level"] for entry in entries()] == ["warning"]
    main(["none.cu", "--auto", "--log-level", "info"])
    assert [entry["level"] for entry in entries()] == ["warning", "info", "warning"]


def test_a_fault_of_the_program_is_logged_and_says_how_to_report_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(layered: Layered) -> dict[str, Any]:
        raise ZeroDivisionError(KEY)

    monkeypatch.setattr(reports, "bug_report", broken)
    with pytest.raises(ZeroDivisionError):
        main(["doctor", "--json"])
    assert "`tuner-tui doctor --json` prints what a report of it needs" in capsys.readouterr().err
    assert entries()[-1]["level"] == "critical"
    assert "ZeroDivisionError: [key]" in entries()[-1]["traceback"]


async def test_a_bug_report_has_versions_settings_and_the_log_and_no_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def findings(_: object) -> AsyncIterator[Finding]:
        yield Finding("device", f"none, {KEY}")

    monkeypatch.setattr(reports, "findings", findings)
    (tmp_path / "mine.toml").write_text("[model]\nbase_url = 'http://me:pass@host/v1'\n")
    monkeypatch.setenv("TUNER_TUI_MAX_EVALS", "9")
    with log.writing("info"):
        LOGGER.info("before it %s", KEY)
    report = await reports.bug_report(layered_settings(tmp_path / "mine.toml"))
    assert report["settings"] == [
        {"key": "model.base_url", "value": "http://host/v1", "from": f"{tmp_path}/mine.toml:2"},
        {"key": "session.max_evaluations", "value": 9, "from": "TUNER_TUI_MAX_EVALS"},
    ]
    assert report["findings"] == [{"name": "device", "text": "none, [key]", "stops": False}]
    assert report["environment"]["ANTHROPIC_API_KEY"] == "is set"
    assert report["packages"]["textual"]
    assert report["log"]["last"][-1]["message"] == "before it [key]"
    assert KEY not in json.dumps(report)
