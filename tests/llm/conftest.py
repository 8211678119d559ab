from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.llm.server import ModelServer


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no proxy, no server of the user's own; stray calls end at a closed port."""
    for name in tuple(os.environ):
        if name.endswith(("_API_KEY", "_AUTH_TOKEN", "_BASE_URL")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OLLAMA_HOST", "http://127.0.0.1:9")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running
