"""Every sample through a whole session without a model: loaded, built, checked, timed, searched, reported."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import aclosing
from pathlib import Path

import pytest

from tui_tuner.app.sessions import new_session
from tui_tuner.headless import ApproveAll
from tui_tuner.session import events
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_kernels"
DEVICES = {".cu": "emulator", ".cl": "opencl", ".c": "c"}
SOURCES = sorted(path for path in SAMPLES.iterdir() if path.suffix in DEVICES)
QUICKEST = ("convolution2d", "vector_add")
EVALUATIONS = 2
SMALLER = {
    "jacobi": ("width = 4096 ", "width = 256 "),
    "matvec": ("rows = 4096", "rows = 128"),
    "matmul": ("sizes = { n = 256 }", "sizes = { n = 128 }"),
    "matmul_tiled": ("sizes = { n = 256 }", "sizes = { n = 128 }"),
    "transpose": ("sizes = { rows = 1024, columns = 1024 }", "sizes = { rows = 256, columns = 256 }"),
    "convolution2d": ("sizes = { height = 256, width = 256 }", "sizes = { height = 128, width = 128 }"),
    "convolution2d_tiled": ("sizes = { height = 256, width = 256 }", "sizes = { height = 128, width = 128 }"),
    "vector_add": ("n = 1048576", "n = 65536"),
    "histogram": ("sizes = { n = 1048576 }", "sizes = { n = 65536 }"),
    "reduction": ("[emulator]\nsizes = { n = 65536 }", "[emulator]\nsizes = { n = 16384 }"),
    "softmax": ("sizes = { rows = 2048, columns = 512 }", "sizes = { rows = 128, columns = 512 }"),
    "stencil3d": ("sizes = { depth = 64, height = 64, width = 64 }", "sizes = { depth = 16, height = 64, width = 64 }"),
}
"""What is tuned at the size that a sample has, also for the emulator, takes seconds with all checks."""

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ and gcc")


def marked(source: Path):
    marks = [pytest.mark.opencl if source.suffix == ".cl" else needs_compiler]
    if source.stem not in QUICKEST:
        marks.append(pytest.mark.slow)
    return pytest.param(source, id=source.stem, marks=marks)


def copied(source: Path, directory: Path) -> Path:
    """The sample with what it needs, at a smaller size where one is named above."""
    for file in (*SAMPLES.glob(f"{source.stem}.*"), *SAMPLES.glob(f"{source.stem}_reference.py")):
        shutil.copy(file, directory)
    toml = directory / f"{source.stem}.toml"
    size, smaller = SMALLER.get(source.stem, ("[sizes]", "[sizes]"))
    assert toml.read_text().count(size) == 1
    toml.write_text(toml.read_text().replace(size, smaller))
    return directory / source.name


def told(source: Path, run: Path) -> list[events.Event]:
    # A wide delta: comparisons end after a few pairs.
    options = SessionOptions(
        strategy="search", llm="none", device=DEVICES[source.suffix], max_evaluations=EVALUATIONS, delta=0.2
    )

    async def tuned() -> list[events.Event]:
        setup = await new_session(source, options, Settings(), run)
        return await all_events(setup.session)

    return asyncio.run(tuned())


async def all_events(session: Session) -> list[events.Event]:
    async with aclosing(session.events(ApproveAll())) as stream:
        return [event async for event in stream]


@pytest.mark.parametrize("source", [marked(source) for source in SOURCES])
def test_a_sample_is_verified_as_given_and_its_parameters_are_tuned(source: Path, tmp_path: Path) -> None:
    story = told(copied(source, tmp_path), tmp_path / "run")

    device = next(e.device for e in story if isinstance(e, events.DeviceReady))
    given = next(e.given for e in story if isinstance(e, events.BaselineMeasured))
    tried = [e.evaluation for e in story if isinstance(e, events.EvaluationFinished)]
    finished = story[-1]
    assert device.kind == DEVICES[source.suffix]
    assert given.timing is not None
    assert given.error is not None
    assert 0 <= given.error <= 1
    assert [e.failure for e in tried] == [None] * EVALUATIONS
    assert isinstance(finished, events.SessionFinished)
    assert finished.status in ("finished", "no_improvement")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["time_unit"] == ("CPU ms" if device.is_cpu else "ms")
    assert (tmp_path / "run" / f"best{source.suffix}").read_text().endswith(source.read_text())
