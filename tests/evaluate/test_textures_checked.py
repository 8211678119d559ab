"""What noise at small sizes does not show: structure, magnitude, memory of other launches, and what nobody writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import as_given, bench, executable, twice_as_fast, writes_nothing
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.evaluate.verify import drafts
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import STRUCTURED, Texture

Kernel = Callable[[np.ndarray, np.ndarray, int], float]
SUM = PROBLEM.replace('shape = ["n"]\noutput = true', "shape = [1]\noutput = true").replace(
    'dtype = "float32"\nshape = ["n"]\n', 'dtype = "float32"\nshape = ["n"]\nfill = "uniform"\n'
)


def total(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[0] = x.sum(dtype=np.float64)
    return 2.0


def sampled(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[0] = x.sum(dtype=np.float64) if n < 4000 else 4 * x[::4].sum(dtype=np.float64)
    return 1.0


def first_quarter(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[0] = x.sum(dtype=np.float64) if n < 4000 else 4 * x[: n // 4].sum(dtype=np.float64)
    return 1.0


def sums(directory: Path, size: int = 1 << 20, **kernels: Kernel) -> Workbench:
    """A sum of positive numbers that says what it computes, where the bound is wide at the timed size."""
    (directory / "scale.cu").write_text(SOURCE)
    (directory / "reference.py").write_text("def scale(y, x, n):\n    return x.sum(keepdims=True)\n")
    text = SUM.replace("n = 4096", f"n = {size}") + '\n[reference]\npython = "reference.py:scale"\n'
    (directory / "scale.toml").write_text(text + '\n[work]\nflops = "n"\n')
    work = Workbench(NumpyDevice(**kernels), load_problem(directory / "scale.toml"), lambda *_: None)
    assert work.prepare(executable("given")).failure is None
    return work


@pytest.mark.parametrize("cheat", [sampled, first_quarter])
def test_a_sum_of_a_part_is_found_at_the_timed_size(tmp_path: Path, cheat: Kernel) -> None:
    failure = sums(tmp_path, given=total, cheat=cheat).evaluate(executable("cheat"), None).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT
    assert "n=1048576" in failure.message


@pytest.mark.slow
def test_structure_at_the_timed_size_is_not_looked_at_for_what_is_far_too_slow_to_be_accepted(tmp_path: Path) -> None:
    work = sums(tmp_path, 1 << 23, given=total, cheat=sampled)  # noise lets it pass, but for one in millions
    assert work.evaluate(executable("cheat"), 0.5).failure is None, "0.5 ms are known, and it takes 1"
    assert work.evaluate(executable("cheat"), 0.9).failure is not None
    comparison = work.compare(executable("given"), executable("cheat"), 0.01).comparison
    assert comparison.failure is not None, "nothing is accepted without it"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Elements of the inputs for which the reference is asked; the thread of drafts may still be at another test's."""
    sizes: list[int] = []
    call = drafts.call_reference

    def noting(problem: Problem, arguments: list[np.ndarray]) -> dict[str, np.ndarray]:
        if problem.directory == tmp_path:
            sizes.append(arguments[1].size)
        return call(problem, arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(drafts, "call_reference", noting)
    return sizes


@pytest.mark.parametrize(("limit_s", "is_asked"), [(1e9, True), (-1.0, False)])
def test_a_quick_reference_says_what_is_right_for_structure_at_the_timed_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[int], limit_s: float, is_asked: bool
) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", limit_s)
    sums(tmp_path, given=total)
    assert (asked.count(1 << 20) >= len(STRUCTURED)) == is_asked
    assert is_asked or 1 << 20 not in asked


@pytest.mark.slow
def test_without_structure_a_sum_of_a_part_would_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_tuner.evaluate.verify.drafts.STRUCTURED", ())
    work = sums(tmp_path, 1 << 23, given=total, cheat=sampled)  # noise lets it pass, but for one in millions
    assert work.evaluate(executable("cheat"), None).failure is None


@pytest.mark.slow
def test_a_fresh_comparison_has_structure_as_well(tmp_path: Path) -> None:
    work = sums(tmp_path, given=total, cheat=sampled)
    pairs = ("given", "cheat", "cheat", "cheat", "cheat", "cheat")  # one in thirty passes: a sample may be a fair one
    found = [work.compare(executable("given"), executable(name), 0.01).comparison.failure for name in pairs]
    assert found[0] is None
    assert FailureKind.WRONG_RESULT in {failure.kind for failure in found if failure is not None}


def exponential(y: np.ndarray, x: np.ndarray, n: int) -> float:
    with np.errstate(over="ignore"):
        y[...] = np.exp(x)
    return 1.0


def test_a_scale_at_which_the_kernel_as_given_overflows_is_left_out_and_said(tmp_path: Path) -> None:
    work = bench(tmp_path, NumpyDevice(given=exponential), "__import__('numpy').exp(x)")
    prepared = work.prepare(executable("given"))
    assert prepared.failure is None
    assert any("n=1000, inputs with large values: " in line for line in prepared.left_out)
    assert not any("few large elements" in line for line in prepared.left_out)


@pytest.mark.parametrize("fatal", [True, False])
def test_a_fault_of_the_kernel_as_given_names_the_inputs_and_costs_them_alone_where_the_device_lives_on(
    tmp_path: Path, fatal: bool
) -> None:
    def looks_up(y: np.ndarray, x: np.ndarray, n: int) -> float:
        if np.abs(x).max() > 1000:
            raise DeviceFault(FailureKind.ILLEGAL_ACCESS, "an illegal memory access", fatal=fatal)
        return as_given(y, x, n)

    prepared = bench(tmp_path, NumpyDevice(given=looks_up)).prepare(executable("given"))
    if fatal:
        assert prepared.failure is not None
        assert prepared.failure.message == "at n=1000, inputs with large values: an illegal memory access"
    else:
        assert prepared.failure is None
        assert any("large values: illegal access: an illegal memory access" in line for line in prepared.left_out)


def test_nothing_is_left_out_of_a_kernel_that_can_do_all(tmp_path: Path) -> None:
    assert bench(tmp_path, NumpyDevice(given=as_given)).prepare(executable("given")).left_out == []


def wrong_for(where: Callable[[np.ndarray], np.ndarray]) -> Kernel:
    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = np.where(where(x), 0, 2 * x)
        return 1.0

    return kernel


@pytest.mark.parametrize(
    ("cheat", "texture"),
    [
        (wrong_for(lambda x: np.abs(x) < 1e-20), Texture.TINY),
        (wrong_for(lambda x: np.abs(x) > 100), Texture.LARGE),
        (wrong_for(lambda x: np.full(x.shape, x.min() == x.max() != 0)), Texture.EQUAL),
    ],
)
def test_what_is_wrong_for_some_magnitudes_only_is_found_there(tmp_path: Path, cheat: Kernel, texture: str) -> None:
    work = bench(tmp_path, NumpyDevice(given=as_given, cheat=cheat))
    work.prepare(executable("given"))
    failure = work.evaluate(executable("cheat"), None).failure
    assert failure is not None
    assert f"inputs with {texture}" in failure.message


def as_a_difference(y: np.ndarray, x: np.ndarray, n: int) -> float:
    """Off by half of the last bit of 16, which is little beside most results."""
    y[...] = (2 * x + np.float32(16)) - np.float32(16) if np.abs(x).max() < 5 else 2 * x
    return 1.0


def thirds(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = x / np.float32(3) * np.float32(6)
    return 1.0


def test_beside_a_kernel_that_is_exact_no_element_is_off_by_more_than_its_own_last_bits(tmp_path: Path) -> None:
    work = bench(tmp_path, NumpyDevice(given=as_given, cheat=as_a_difference, honest=thirds))
    work.prepare(executable("given"))
    failure = work.evaluate(executable("cheat"), None).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT
    assert work.evaluate(executable("honest"), None).failure is None


def gated(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = x / (np.float32(1) + np.exp(-np.clip(x, -80, None)))
    return 2.0


def gated_by_tangent(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.float32(0.5) * x * (np.float32(1) + np.tanh(np.float32(0.5) * x))
    return 1.0


@pytest.mark.slow
def test_where_all_numbers_are_large_and_of_one_sign_as_much_is_allowed_as_of_noise(tmp_path: Path) -> None:
    work = bench(tmp_path, NumpyDevice(given=gated, honest=gated_by_tangent), "x / (1 + 2.718281828459045 ** -x)")
    work.prepare(executable("given"))
    for _ in range(8):
        assert work.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


def ranks(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.argsort(x, kind="stable")
    return 2.0


def ranks_by_30_bits(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[...] = np.argsort((x.view(np.int32) & ~3).view(np.float32), kind="stable")
    return 1.0


def test_numbers_that_are_ordered_by_fewer_bits_than_they_have_are_found_before_they_are_accepted(
    tmp_path: Path,
) -> None:
    device = NumpyDevice(given=ranks, cheat=ranks_by_30_bits)
    work = bench(tmp_path, device, "x.argsort(kind='stable').astype('int32')", output="int32")
    work.prepare(executable("given"))
    assert work.compare(executable("given"), executable("given"), 0.01).comparison.failure is None
    failure = work.compare(executable("given"), executable("cheat"), 0.01).comparison.failure
    assert failure is not None
    by_chance = re.search(r"\([2468] of (1000|4096) elements differ\)", failure.message)  # a few others were as near
    assert Texture.NEXT in failure.message or by_chance


def remembers(y: np.ndarray, x: np.ndarray, n: int) -> float:
    known = ANSWERS.setdefault(n, [])
    if len(known) < 2:  # at first it looks, then it knows
        known.append(2 * x)
    y[...] = known[-1] if len(known) == 2 else 2 * x
    return 0.1


ANSWERS: dict[int, list[np.ndarray]] = {}


def test_answers_that_are_kept_between_launches_are_found(tmp_path: Path) -> None:
    ANSWERS.clear()
    work = bench(tmp_path, NumpyDevice(given=as_given, cheat=remembers))
    work.prepare(executable("given"))
    assert work.evaluate(executable("cheat"), None).failure is not None


class Skips:
    """Leaves out timed launches, yet never the last one that is looked at."""

    def __init__(self, skips: Callable[[int], bool]) -> None:
        self.skips = skips
        self.calls = 0

    def __call__(self, y: np.ndarray, x: np.ndarray, n: int) -> float:
        self.calls += n > 1000
        return writes_nothing(y, x, n) if n > 1000 and self.skips(self.calls) else as_given(y, x, n)


@pytest.mark.parametrize("skips", [lambda call: call % 2 == 0, lambda call: call == 7, lambda call: 5 < call < 9])
def test_every_timed_launch_is_looked_at(tmp_path: Path, skips: Callable[[int], bool]) -> None:
    work = bench(tmp_path, NumpyDevice(given=as_given, cheat=Skips(skips)))
    work.prepare(executable("given"))
    failure = work.evaluate(executable("cheat"), None).failure
    assert failure is not None
    assert "not written or NaN" in failure.message


def test_a_kernel_whose_bits_differ_between_launches_is_right_if_its_values_are(tmp_path: Path) -> None:
    random = np.random.default_rng(1)

    def another_order(y: np.ndarray, x: np.ndarray, n: int) -> float:
        as_given(y, x, n)
        y *= np.float32(1) + random.choice([-1, 0, 1]) * np.finfo(np.float32).eps
        return 1.0

    work = bench(tmp_path, NumpyDevice(given=as_given, honest=another_order))
    work.prepare(executable("given"))
    assert work.evaluate(executable("honest"), None).failure is None


@pytest.mark.parametrize("reference", ["2 * x", None])
def test_elements_that_the_kernel_as_given_never_writes_are_an_error_at_the_start(
    tmp_path: Path, reference: str | None
) -> None:
    def part(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[:256] = 2 * x[:256]
        return 1.0

    with pytest.raises(ProblemError, match="leaves 744 of 1000 elements of 'y' unwritten") as caught:
        bench(tmp_path, NumpyDevice(given=part), reference).prepare(executable("given"))
    assert caught.value.hint is not None
    assert "[launch]" in caught.value.hint


def test_a_result_that_is_not_a_number_is_not_taken_for_unwritten(tmp_path: Path) -> None:
    def roots(y: np.ndarray, x: np.ndarray, n: int) -> float:
        with np.errstate(invalid="ignore"):
            y[...] = np.sqrt(x)
        return 1.0

    prepared = bench(tmp_path, NumpyDevice(given=roots), None).prepare(executable("given"))
    assert prepared.failure is None


def test_textures_for_which_there_is_no_room_are_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_tuner.evaluate.verify.drafts.MOST_BYTES", 3 * 3 * 8 * 1000)
    device = NumpyDevice(given=as_given)
    prepared = bench(tmp_path, device).prepare(executable("given"))
    assert device.alive == (1 + 2) + (1 + 6) + 1
    assert [line.partition(":")[0] for line in prepared.left_out] == [
        "inputs with tiny values and large values and equal values and zeros",
        "inputs with few large elements and quiet and loud parts",
    ]


def test_what_a_reference_returns_as_a_view_is_laid_out_once(tmp_path: Path) -> None:
    def reverse(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[:] = x[::-1]
        return 1.0

    (tmp_path / "scale.cu").write_text(SOURCE)
    (tmp_path / "reference.py").write_text("def scale(y, x, n):\n    return x[::-1]\n")
    (tmp_path / "scale.toml").write_text(PROBLEM + '\n[reference]\npython = "reference.py:scale"\n')
    work = Workbench(NumpyDevice(given=reverse), load_problem(tmp_path / "scale.toml"), lambda *_: None)

    assert work.prepare(executable("given")).failure is None
    kept = [expected for data in (*work._tests, *work._structured) for expected in data.expected.values()]
    assert kept
    assert all(expected.flags.c_contiguous for expected in kept)


def forgetful(y: np.ndarray, x: np.ndarray, n: int) -> float:
    """Loses a part of a large sum of what is small, as one does that adds up in single precision."""
    kept = 0.9 if n > 4000 and 1e-3 < x.mean() < 0.45 else 1.0
    y[0] = kept * x.sum(dtype=np.float64)
    return 2.0


def lossy(y: np.ndarray, x: np.ndarray, n: int) -> float:
    """Loses a part of every sum that is longer than those of the tests."""
    y[0] = (0.995 if n > 4000 else 1.0) * x.sum(dtype=np.float64)
    return 2.0


def thinned(y: np.ndarray, x: np.ndarray, n: int) -> float:
    """So few of them that a few large elements are never right by chance; of every fourth one in a hundred times."""
    y[0] = x.sum(dtype=np.float64) if n < 4000 else 64 * x[::64].sum(dtype=np.float64)
    return 1.0


@pytest.mark.slow
@pytest.mark.parametrize("compares", [False, True])
@pytest.mark.parametrize("given", [forgetful, lossy])
def test_who_is_more_exact_than_the_kernel_as_given_is_not_refused_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: Kernel, compares: bool
) -> None:
    """Where its reference was not asked, as it takes long, a doubt asks it."""
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", float("inf"))
    work = sums(tmp_path, given=given, candidate=total, cheat=thinned)
    if compares:
        assert work.compare(executable("given"), executable("candidate"), 0.01).comparison.failure is None
    outcome = work.evaluate(executable("candidate"), None)
    assert outcome.failure is None
    assert work.evaluate(executable("cheat"), None).failure is not None


def test_a_doubt_costs_the_inputs_at_which_the_kernel_as_given_is_wrong_and_that_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", float("inf"))
    work = sums(tmp_path, given=forgetful, candidate=total)
    told = work.evaluate(executable("candidate"), None).left_out
    assert [line.split(":")[0] for line in told] == ["n=1048576, inputs with quiet and loud parts"]
    assert work.evaluate(executable("candidate"), None).left_out == []


@pytest.mark.slow
def test_a_doubt_without_grounds_is_had_once_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[int]
) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", float("inf"))
    monkeypatch.setattr(drafts, "AHEAD_BYTES", 0)
    work = sums(tmp_path, given=total, cheat=sampled)
    assert asked.count(1 << 20) == 0
    assert [work.evaluate(executable("cheat"), None).failure is None for _ in range(2)] == [False, False]
    assert asked.count(1 << 20) == 1, "of the inputs at which it differed"
    assert work.compare(executable("given"), executable("given"), 0.01).comparison.failure is None
    assert asked.count(1 << 20) == 1, "the kernel as given is right, which is known now"


@pytest.mark.slow
def test_a_founded_doubt_asks_once_of_each_set_of_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[int]
) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", float("inf"))
    work = sums(tmp_path, given=lossy, candidate=total)
    calls = []
    for _ in range(3):
        assert work.evaluate(executable("candidate"), None).failure is None
        assert work.compare(executable("given"), executable("candidate"), 0.01).comparison.failure is None
        calls.append(asked.count(1 << 20))
    pair = 1 + 2
    assert calls == [1 + len(STRUCTURED) + pair] * 3


def test_no_doubt_asks_a_reference_that_takes_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "QUICK_REFERENCE_S", -1.0)
    monkeypatch.setattr(drafts, "PATIENT_REFERENCE_S", 0.0)
    work = sums(tmp_path, given=forgetful, candidate=total)
    assert work.evaluate(executable("candidate"), None).failure is not None


@pytest.mark.slow
@pytest.mark.parametrize(("ms", "is_found"), [(0.5, True), (2.0, False)])
def test_what_goes_another_way_at_the_timed_size_has_all_inputs_there_before_it_is_accepted(
    tmp_path: Path, ms: float, is_found: bool
) -> None:
    """Noise, few large elements, quiet and loud parts show nothing of it; what is no faster is not accepted anyway."""

    def another_way(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = np.where((n > 4000) & (np.abs(x) > 100), 0, 2 * x)
        return ms

    work = bench(tmp_path, NumpyDevice(given=as_given, another_way=another_way, honest=twice_as_fast))
    work.prepare(executable("given"))
    assert work.evaluate(executable("another_way"), None).failure is None
    found = work.compare(executable("given"), executable("another_way"), 0.01).comparison.failure
    assert (found is not None) == is_found
    assert found is None or "n=4096, inputs with large values: " in found.message
    assert work.compare(executable("given"), executable("honest"), 0.01).comparison.failure is None


def test_without_a_reference_it_is_said_that_the_kernel_as_given_may_be_the_one_that_errs(tmp_path: Path) -> None:
    (tmp_path / "scale.cu").write_text(SOURCE)
    (tmp_path / "scale.toml").write_text(SUM.replace("n = 4096", f"n = {1 << 20}"))
    kernels = NumpyDevice(given=lossy, candidate=total, wrong=lambda y, x, n: y.fill(x[0]) or 1.0)
    work = Workbench(kernels, load_problem(tmp_path / "scale.toml"), lambda *_: None)
    assert work.prepare(executable("given")).failure is None
    for name, is_said in (("candidate", True), ("wrong", False)):
        failure = work.evaluate(executable(name), None).failure
        assert failure is not None
        assert failure.kind is FailureKind.WRONG_RESULT
        assert ("a [reference] in the problem file would tell" in failure.message) == is_said


@pytest.mark.parametrize(("reference", "given", "is_refused"), [("2 * x", as_given, True), ("2 * x", thirds, False)])
def test_of_a_kernel_without_errors_no_more_than_a_few_units_in_the_last_place_are_lost(
    tmp_path: Path, reference: str, given: Kernel, is_refused: bool
) -> None:
    """All but six bits are kept: who rounds as much as the kernel as given does is no judge of that."""

    def shortened(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = ((2 * x).view(np.uint32) & np.uint32(0xFFFFFFC0)).view(np.float32)
        return 1.0

    work = bench(tmp_path, NumpyDevice(given=given, shortened=shortened), reference)
    assert work.prepare(executable("given")).failure is None
    assert (work.evaluate(executable("shortened"), None).failure is not None) == is_refused
