"""Inputs and what the reference says of them: on a GPU made ahead, and the same as when they are made on demand."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import KEPT, as_given, bench, executable, twice_as_fast
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.evaluate.verify import drafts
from tui_tuner.evaluate.verify.drafts import BESIDE, Drafts
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import STRUCTURED, Texture, occurring

TIMED, TIMED_SIZE = 2, 4096
"""The index of the timed size, behind those of the two tests, and its elements."""


def problem(directory: Path, reference: str = "2 * x") -> Problem:
    bench(directory, NumpyDevice(), reference)
    return load_problem(directory / "scale.toml")


@pytest.mark.parametrize("beside", [False, True])
def test_a_draft_has_the_inputs_of_its_texture_and_what_the_reference_says(tmp_path: Path, beside: bool) -> None:
    noise, spikes = Drafts(problem(tmp_path), beside=beside).take(0, [Texture.SPIKES])
    for draft in (noise, spikes):
        arguments, expected = draft.arguments(), draft.expected()
        assert arguments is not None
        assert expected is not None
        x = arguments[1]
        assert isinstance(x, np.ndarray)
        np.testing.assert_array_equal(expected["y"], 2 * x.astype(np.float64))
    assert np.max(np.abs((spikes.arguments() or [])[1])) > np.max(np.abs((noise.arguments() or [])[1]))


def test_what_is_announced_is_what_is_taken_and_once_only(tmp_path: Path) -> None:
    made = Drafts(problem(tmp_path), beside=True)
    assert made.announce(0, [Texture.SPIKES]) == [Texture.SPIKES]
    assert made.announce(0, [Texture.ZEROS]) == [Texture.SPIKES], "what is begun is taken"
    (first, _), (second, _) = made.take(0, [Texture.SPIKES]), made.take(0, [Texture.SPIKES])
    assert first.arguments() is not second.arguments()
    made.announce(0, [Texture.SPIKES])
    assert [draft.texture for draft in made.take(0, [Texture.ZEROS])] == [Texture.NOISE, Texture.ZEROS]


def test_where_kernels_run_on_the_same_processors_nothing_is_made_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_threads: list[object] = []
    by_whom: list[threading.Thread] = []
    make = drafts.make_arguments

    def noted(*arguments: Any) -> Any:
        by_whom.append(threading.current_thread())
        return make(*arguments)

    monkeypatch.setattr(drafts.BESIDE, "soon", by_threads.append)
    monkeypatch.setattr(drafts, "make_arguments", noted)
    made = Drafts(problem(tmp_path))
    made.announce_checks()
    (noise,) = made.take(0, ())
    assert (by_threads, by_whom) == ([], [])
    noise.arguments()
    assert (by_threads, by_whom) == ([], [threading.current_thread()])


def test_large_arrays_are_not_made_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Drafts(problem(tmp_path), beside=True)
    monkeypatch.setattr(drafts, "AHEAD_BYTES", 7 * 8 * 1000)
    made.announce_checks()
    assert tuple(made.announce(0, ())) == tuple(occurring(made.problem)), "seven drafts of 1000 elements have room"
    assert made.announce(TIMED, ()) == ()


@pytest.mark.parametrize("beside", [False, True])
def test_a_reference_that_fails_says_so_where_the_result_is_needed(tmp_path: Path, beside: bool) -> None:
    made = Drafts(problem(tmp_path, "1 / 0"), beside=beside)
    made.announce_checks()
    (noise,) = made.take(0, ())
    assert noise.arguments() is not None
    with pytest.raises(ProblemError, match="ZeroDivisionError"):
        noise.expected()


def test_after_a_doubt_what_was_made_without_the_reference_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", float("inf"))
    made = Drafts(problem(tmp_path), beside=True)
    made.announce_checks()
    made.doubt()
    assert made.announce(TIMED, ()) == (), "nothing is begun"
    assert made.take(TIMED, STRUCTURED)[1].expected() is not None


def test_a_workbench_takes_what_was_begun_before_there_was_a_kernel(tmp_path: Path) -> None:
    given = problem(tmp_path)
    begun = Drafts(given, beside=True)
    begun.announce_checks()
    (noise, *_) = begun._announced[0]
    device = NumpyDevice(given=as_given, fast=twice_as_fast)
    work = Workbench(device, given, lambda *_: None, drafts=begun)
    assert work.prepare(executable("given")).failure is None
    assert work.small_data[0].arguments is noise.arguments()
    assert device.alive == KEPT


@pytest.mark.parametrize(("is_cpu", "ahead"), [(False, {0, 1, TIMED}), (True, set())])
def test_between_comparisons_the_inputs_of_the_next_are_made(tmp_path: Path, is_cpu: bool, ahead: set[int]) -> None:
    device = NumpyDevice(given=as_given, fast=twice_as_fast)
    device.info = DeviceInfo(kind="cuda", name="NumPy", backend="numpy", is_cpu=is_cpu)
    work = bench(tmp_path, device)
    work.prepare(executable("given"))
    begun = dict(work._drafts._announced)
    assert set(begun) == ahead
    assert work.compare(executable("given"), executable("fast"), 0.01).comparison.failure is None
    assert set(work._drafts._announced) == ahead
    assert all(work._drafts._announced[index] is not drafts_ for index, drafts_ in begun.items()), "each once only"


def test_what_is_being_made_is_waited_for_and_nothing_more_is_made_at_rest(tmp_path: Path) -> None:
    made = Drafts(problem(tmp_path), beside=True)
    began, may_end = threading.Event(), threading.Event()
    seen: list[str] = []

    def slow() -> None:
        began.set()
        may_end.wait()
        seen.append("made")

    first = made._soon(slow)
    began.wait()
    second = made._soon(lambda: seen.append("made next"))

    def let_it_end() -> None:
        while BESIDE.may_work.is_set():
            time.sleep(0.001)
        may_end.set()

    ending = threading.Thread(target=let_it_end)
    ending.start()
    with BESIDE.at_rest():
        seen.append("rested")
    second()
    first()
    ending.join()
    assert seen == ["made", "rested", "made next"]


def test_one_thread_makes_the_drafts_of_all(tmp_path: Path) -> None:
    """The user's functions need not bear several, and what rests is all of it."""
    given = problem(tmp_path)
    makers = {Drafts(given, beside=True)._soon(threading.get_ident)() for _ in range(3)}
    assert len(makers) == 1
    assert threading.get_ident() not in makers


def test_times_are_taken_while_nothing_is_made(tmp_path: Path) -> None:
    device, resting = NumpyDevice(), list[bool]()
    work = bench(tmp_path, device)

    def noting(y: np.ndarray, x: np.ndarray, n: int) -> float:
        if n == TIMED_SIZE:
            resting.append(not BESIDE.may_work.is_set())
        return as_given(y, x, n)

    device.kernels = {"given": noting, "fast": noting}
    work.prepare(executable("given"))
    work.compare(executable("given"), executable("fast"), 0.01)
    assert resting.count(True) > 2 * 10
    assert resting.count(False) < 20, "launches that are checked and not timed"


@pytest.mark.parametrize("fill", ["arange", "offsets"])
def test_what_is_about_to_be_accepted_has_a_long_part_at_the_timed_size_where_there_are_parts(
    tmp_path: Path, fill: str
) -> None:
    one = problem(tmp_path)
    parts = one.arguments[1].model_copy(update={"name": "p", "dtype": "int32", "fill": fill, "high": "n"})
    made = Drafts(one.model_copy(update={"arguments": [*one.arguments, parts]}))
    rest = made.rest({Texture.NOISE, Texture.SPIKES, Texture.TINY})
    assert rest == ([Texture.LONE] if fill == "offsets" else []) + [Texture.TINY]
    (lone,) = (draft for draft in made.take(TIMED, [Texture.LONE]) if draft.texture is Texture.LONE)
    offsets = (lone.arguments() or [])[-1]
    assert isinstance(offsets, np.ndarray)
    assert bool(np.diff(offsets).max() >= TIMED_SIZE // 2 - 1) == (fill == "offsets")
