"""Sessions run the stand-in out of a process that has loaded it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.tensile.stand_in.warm import WarmStart


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmStart]:
    made = WarmStart()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _warm_stand_in(warm: WarmStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tuner.tensile.measure.start", warm.start)
