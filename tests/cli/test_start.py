"""A bare start: what comes of the command that is chosen on its screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.app import showing
from tui_tuner.app.showing import FrontEnd
from tui_tuner.cli import session_commands
from tui_tuner.errors import JournalError
from tui_tuner.tui.start import Attempt


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
