"""The tables of `python -m benchmarks.thesis.table`: figures from journals, and what is missing."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.thesis import measured as thesis
from benchmarks.thesis.measured import EIGHT, Measured, measured
from benchmarks.thesis.table import blocks, read_all
from tests.session.fakes import FakeEvaluator, ScriptedModel, milliseconds, new_run, reply, session_of
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.results import Comparison, Timing
from tui_tuner.exports.blocks import as_markdown
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.reading import FILE
from tui_tuner.resources import samples_directory


class _Timed(FakeEvaluator):
    """Tells the times of both kernels that it compares, which are slower together than alone."""

    async def compare(self, incumbent, challenger, delta):
        found = await super().compare(incumbent, challenger, delta)
        times = [1.1 * milliseconds(*one) for one in (incumbent, challenger)]
        old, new = (Timing(median=ms, low=ms * 0.99, high=ms * 1.02, samples=30) for ms in times)
        return Comparison(**{**found.model_dump(), "incumbent": old, "challenger": new})


async def _tuned(directory: Path) -> Path:
    run = new_run(directory)
    evaluator = _Timed(run.problem)
    evaluator.library = LibraryTime(name="torch 2", function="f", median=3.0, low=2.9, high=3.1, checked=True)
    session = session_of(run, evaluator, ScriptedModel(reply()))
    async with aclosing(session.events(ApproveAll())) as stream:
        async for _ in stream:
            pass
    return run.path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(_tuned(tmp_path_factory.mktemp("tuned")))


@pytest.fixture(scope="module")
def found(run: Path) -> Measured:
    return asyncio.run(measured(run))


def record(run: Path, line: int) -> dict:
    return json.loads((run / FILE).read_text("utf-8").splitlines()[line - 1])


def test_gain_and_times_are_of_one_comparison_with_the_baseline_that_was_tuned(run, found):
    (line,) = found.lines["baseline, best, gain"]
    compared = record(run, line)
    assert compared["kind"] == "compare"
    result = compared["result"]
    assert found.gain == (result["ratio"], result["low"], result["high"])
    assert found.baseline == tuple(result["incumbent"][key] for key in ("median", "low", "high"))
    assert found.best == tuple(result["challenger"][key] for key in ("median", "low", "high"))
    assert found.gain[0] == pytest.approx(found.baseline[0] / found.best[0])
    outcome = json.loads((run / "result.json").read_text())
    assert found.baseline[0] < outcome["comparison"]["incumbent"]["median"], "as given, not tuned"


def test_library_calls_and_tokens_stand_in_the_lines_that_are_named(run, found):
    (device,) = found.lines["device, ceilings, library"]
    assert record(run, device)["result"]["library"]["median"] == found.library.median
    assert found.library_share == found.library.median / found.alone[0]
    usages = [record(run, line)["result"]["usage"] for line in found.lines["replies"]]
    assert len(usages) == found.calls == 1
    assert found.tokens == (100, 50)


def test_a_journal_alone_tells_the_same(run, found, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("scale.cu", "scale.toml"):
        (tmp_path / name).write_text((run.parent / name).read_text())
    (copy / FILE).write_text((run / FILE).read_text())
    alone = asyncio.run(measured(copy))
    assert (alone.baseline, alone.best, alone.gain, alone.lines) == (
        found.baseline,
        found.best,
        found.gain,
        found.lines,
    )


def test_means_are_of_finished_runs_and_say_over_which(run, found):
    gains = {"matrix_add": [1.0, 3.0, 2.0], "sigmoid": [8.0], "mandelbrot": [1000.0], "top_k": [50.0]}
    runs = [
        replace(found, name=f"{kernel}-{number}", kernel=kernel, gain=(gain,) * 3, is_finished=kernel != "mandelbrot")
        for kernel, repeats in gains.items()
        for number, gain in enumerate(repeats)
    ]
    text = as_markdown("Results", [*blocks(runs, [])]).replace("\\", "")
    assert "Geometric mean of the gains over 2 of the eight (matrix_add, sigmoid): 4x." in text
    assert "Mean of the gains in per cent: 400 %." in text
    assert "| matrix_add | 3 | 3 | 1x, 2x, 3x | 2x |" in text
    assert "Not finished: mandelbrot-0." in text
    absent = [name for name in EIGHT if name not in gains]
    assert f"No run of the eight: {', '.join(absent)}." in text


async def test_what_cannot_be_read_is_named_with_the_reason(run, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / FILE).write_text("nonsense\n")
    runs, unread = await read_all([run, tmp_path])
    assert [each.name for each in runs] == [run.name]
    text = as_markdown("Results", [*blocks(runs, unread)])
    assert "broken says nothing: " in text
    assert "Of other kernels, and left out: run." in text
    assert "Made with another problem file than today's: run." in text
    assert "No ceilings of the device: run." in text


def test_a_run_of_todays_problem_file_is_told_from_one_of_another(run, monkeypatch):
    text = json.loads((run / FILE).read_text("utf-8").splitlines()[0])["problem"]
    kernels = run.parent / "kernels"
    kernels.mkdir()
    monkeypatch.setattr(thesis, "KERNELS", kernels)
    (kernels / "scale.toml").write_text(text, "utf-8")
    assert asyncio.run(measured(run)).is_todays
    (kernels / "scale.toml").write_text(f"{text}# longer\n", "utf-8")
    assert not asyncio.run(measured(run)).is_todays


@pytest.mark.slow
async def test_the_document_is_what_the_shipped_runs_say() -> None:
    found, unread = await read_all([samples_directory().parent / "benchmarks" / "thesis" / "recorded"])
    assert len(found) == 138
    assert unread == []
    assert [one.name for one in found if not one.is_finished] == [], "their replays end before they do"
    made = as_markdown("Results", [*blocks(found, unread)]).partition("\n")[2]
    assert (samples_directory().parent / "docs" / "results.md").read_text("utf-8").endswith(made)
