from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.fakes import FakeEvaluator, write_problem
from tui_tuner.app import sessions


@pytest.fixture
def evaluators(monkeypatch: pytest.MonkeyPatch) -> list[FakeEvaluator]:
    """A made-up machine in place of the device; every session's one is added to the list."""
    made: list[FakeEvaluator] = []

    def make(problem: object, _: object) -> FakeEvaluator:
        made.append(FakeEvaluator(problem))
        return made[-1]

    monkeypatch.setattr(sessions, "LocalEvaluator", make)
    return made


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evaluators: list[FakeEvaluator]) -> Path:
    """`scale.cu` with its problem file, for the made-up machine; runs without a place of their own go beside it."""
    monkeypatch.chdir(tmp_path)
    return write_problem(tmp_path).with_suffix(".cu")
