"""The time of a library, with torch where there is one, and what is said where there is none."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.library import LibraryTime, NamedLibrary
from tui_tuner.evaluate.library_child import TorchLibrary
from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem
from tui_tuner.resources import samples_directory

TABLES = """
[[tests]]
sizes = { n = 1000 }
[reference]
python = "same.py:reference"
[library]
python = "same.py:by_torch"
"""
FOUND = LibraryTime(name="torch 2", function="same.py:by_torch", median=0.5, low=0.49, high=0.51, checked=True)


class Tensor(np.ndarray):
    """An array of this process that answers to what is asked of a tensor on a device."""

    def cuda(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return np.asarray(self)


def problem_with(directory: Path, function: str) -> Problem:
    (directory / "scale.cu").write_text(SOURCE)
    (directory / "scale.toml").write_text(PROBLEM + TABLES)
    (directory / "same.py").write_text(f"def reference(y, x, n):\n    return 2 * x\n\n{function}\n")
    return load_problem(directory / "scale.toml")


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    there = SimpleNamespace(__version__="2", Tensor=Tensor, from_numpy=lambda array: array.view(Tensor))
    monkeypatch.setitem(sys.modules, "torch", there)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    "function",
    [
        "def by_torch(y, x, n):\n    return x + x",
        "def by_torch(y, x, n):\n    y[...] = 2 * x",
        "def by_torch(y, x, n):\n    return {'y': 2 * x}",
        "def by_torch(y, x, n):\n    return (2 * x,)",
    ],
)
def test_what_a_library_computes_is_compared_with_the_reference(tmp_path: Path, function: str) -> None:
    assert TorchLibrary(problem_with(tmp_path, function)).check()


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("def by_torch(y, x, n):\n    return 3 * x", "it computes something else at n=1000: y"),
        ("def by_torch(y, x, n):\n    return x[:5]", r"the library by_torch\(\) returns 'y' of shape \(5,\)"),
        ("def by_torch(y, x, n):\n    return x / 'one'", r"the library by_torch\(\) failed"),
    ],
)
def test_a_library_that_computes_something_else_is_not_timed(tmp_path: Path, function: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        TorchLibrary(problem_with(tmp_path, function)).check()


def test_a_function_that_is_not_there_is_told_when_the_problem_is_read(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="the library has no function 'by_torch'"):
        problem_with(tmp_path, "def by_cupy(y, x, n):\n    return 2 * x")


async def _time_of(problem: Problem, log: Path) -> tuple[LibraryTime | None, str]:
    library = NamedLibrary(log)
    await library.begin()
    return await library.time(problem, "cuda:0")


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
async def test_a_missing_torch_is_said(tmp_path: Path) -> None:
    problem = problem_with(tmp_path, "def by_torch(y, x, n):\n    return 2 * x")
    found, why = await _time_of(problem, tmp_path / "log")
    assert found is None
    assert why == "the library cannot be timed: torch is not installed"


async def test_a_library_whose_end_is_not_waited_for_leaves_no_pipe_open(tmp_path: Path) -> None:
    library = NamedLibrary(tmp_path / "log")
    await library.begin()
    child = library._child
    assert child is not None
    closing = asyncio.create_task(library.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert child.input is not None
    assert child.input.is_closing()
    await child.wait()


def test_the_best_beside_the_library_in_words() -> None:
    timing = Timing(median=0.25, low=0.24, high=0.26, samples=9)
    best = Evaluation(candidate="c", configuration={}, timing=timing)
    assert FOUND.against(best) == "torch 2 0.5 ms; the best is 2 times as fast"
    unchecked = FOUND.model_copy(update={"checked": False})
    assert unchecked.in_words == "torch 2 0.5 ms, not checked against a reference"


@pytest.mark.gpu
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
async def test_torch_multiplies_matrices(tmp_path: Path) -> None:
    found, why = await _time_of(load_problem(samples_directory() / "matmul.toml"), tmp_path / "log")
    assert found is not None, why
    assert found.checked
    assert 0 < found.low <= found.median <= found.high
