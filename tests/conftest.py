from __future__ import annotations

import os
from pathlib import Path

import pytest

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY", "OLLAMA_HOST")


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the user's settings or keys, or reaches a proxy."""
    for name in (*KEYS, *(n for n in os.environ if n.lower().endswith("_proxy"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(tmp_path / "no-settings.toml"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
