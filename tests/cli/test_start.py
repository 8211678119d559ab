"""A bare start: what comes of the command that is chosen on its screen."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tui_tuner.app import showing
from tui_tuner.app.showing import FrontEnd
from tui_tuner.cli import main, session_commands
from tui_tuner.errors import ExitCode, JournalError
from tui_tuner.journal.runs import last_run
from tui_tuner.tui.start import Attempt

SAMPLES = Path(__file__).parents[2] / "sample_kernels"


@pytest.mark.parametrize("words", [["attach", "gone"], ["replay", "gone"], ["resume", "gone"]])
@pytest.mark.parametrize("has_terminal", [True, False])
async def test_a_command_that_fails_goes_back_to_the_screen_as_long_as_there_is_a_terminal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], has_terminal: bool
) -> None:
    seen: list[Attempt | None] = []

    async def choose(_directory: Path, before: Attempt | None) -> list[str]:
        seen.append(before)
        return words if before is None else []

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(showing, "chosen_command", choose)
    monkeypatch.setattr(FrontEnd, "has_terminal", has_terminal)
    if not has_terminal:
        with pytest.raises(JournalError):
            await session_commands._start()
        return
    assert await session_commands._start() == 0
    first, second = seen
    assert first is None
    assert second is not None
    assert second.words == words
    assert "gone" in str(second.fault)


@pytest.mark.parametrize("command", ["attach", "watch"])
def test_a_run_that_is_watched_may_be_the_last_at_work_and_has_to_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command]) == ExitCode.USAGE
    assert "name a RUN, or --last for the one last at work" in capsys.readouterr().err
    for name in ("one-prompt", "autonomous"):
        run = tmp_path / "tuner-runs" / name
        run.mkdir(parents=True)
        shutil.copy(SAMPLES / f"recorded/{name.replace('-', '_')}-matmul/journal.jsonl", run)
    monkeypatch.setattr(FrontEnd, "has_terminal", True)
    assert main([command, "--last"]) == ExitCode.FAILED
    assert str(last_run(Path("tuner-runs"))) in capsys.readouterr().err
