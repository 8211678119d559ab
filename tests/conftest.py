from __future__ import annotations

import asyncio
import os
from functools import cache
from pathlib import Path

import pytest

from tui_tuner.evaluate.devices.probe import probe_devices

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY", "OLLAMA_HOST")


@cache
def why_no_gpu() -> str:
    return asyncio.run(probe_devices()).no_cuda


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("gpu") and why_no_gpu():
            item.add_marker(pytest.mark.skip(reason=f"no CUDA GPU can be used here: {why_no_gpu()}"))


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the user's settings or keys, or reaches a proxy."""
    for name in (*KEYS, *(n for n in os.environ if n.lower().endswith("_proxy"))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(tmp_path / "no-settings.toml"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
