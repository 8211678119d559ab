"""Runs of files as people have them, without a problem file: they replay to the figures of the documentation."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tui_tuner.exports import told_run
from tui_tuner.format import time_words

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "benchmarks/from_a_file"


@pytest.mark.parametrize("name", sorted(run.name for run in RUNS.iterdir()))
def test_a_run_of_a_file_alone_has_the_figures_of_the_documentation(name: str) -> None:
    told = asyncio.run(told_run(RUNS / name))
    outcome = told.outcome
    assert outcome.status == "finished"
    assert outcome.model_calls == 1
    assert all(one.dtype == "bfloat16" for one in told.problem.arguments if one.shape is not None)
    assert outcome.comparison is not None
    times = [time_words(one.median) for one in (outcome.comparison.incumbent, outcome.comparison.challenger)]
    (paragraph,) = (one for one in (ROOT / "docs/results.md").read_text("utf-8").split("\n\n") if f"`{name}`" in one)
    for figure in (*times, f"{outcome.speedup[0]:.2f}x"):
        assert figure in paragraph.replace("\n", " ")
