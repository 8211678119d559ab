"""A session that cannot be put together gives its run back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.caches import write_cache
from tui_tuner.app import sessions
from tui_tuner.errors import SettingsError
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings


async def test_a_session_that_cannot_be_put_together_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise SettingsError("the memory cannot be used")

    monkeypatch.setattr(sessions, "memory_of", refused)
    recording = write_cache(tmp_path / "a.json.gz")
    options = SessionOptions(strategy="search", llm="none")
    with pytest.raises(SettingsError, match="the memory") as kept:  # its traceback holds what the journal was opened by
        await sessions.new_session(recording, options, Settings(), tmp_path / "run")
    assert kept.traceback
    assert not (tmp_path / "run").exists()
