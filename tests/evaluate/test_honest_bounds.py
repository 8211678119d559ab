"""What only rounds in another way than the kernel as given passes; who ignores a scalar does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.evaluate.numpy_device import Kernel, NumpyDevice
from tests.evaluate.test_workbench import executable
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.problem.load import load_problem

EPS = 1e-5
NORMALISED = f"(x - x.mean()) / np.sqrt(x.var() + {EPS})"
ADDED = "np.bincount(place, x, len(y))"
PLACE = '[[arguments]]\nname = "place"\ndtype = "int32"\nshape = ["n"]\nfill = "integers"\nhigh = "n"\n'
ALPHA = '[[arguments]]\nname = "alpha"\ndtype = "float32"\nvalue = 1.0\n'


def bench(
    directory: Path,
    reference: str,
    argument: str = "",
    declared: str = "",
    element: tuple[str, str] = ("float", "float32"),
    **kernels: Kernel,
) -> Workbench:
    """A problem with one test, whose kernel may have one argument more, before the size."""
    (directory / "scale.cu").write_text(SOURCE.replace("int n)", f"{declared} int n)").replace("float", element[0]))
    text = (
        PROBLEM.partition("[[tests]]")[0]
        .replace("float32", element[1])
        .replace('[[arguments]]\nname = "n"', f'{argument}[[arguments]]\nname = "n"')
    )
    taken = "y, x, n" if not argument else f"y, x, {declared.rstrip(', ').split()[-1].strip('*')}, n"
    (directory / "reference.py").write_text(f"import numpy as np\n\ndef scale({taken}):\n    return {reference}\n")
    text += '[[tests]]\nsizes = { n = 4001 }\n\n[reference]\npython = "reference.py:scale"\n'
    (directory / "scale.toml").write_text(text)
    work = Workbench(NumpyDevice(**kernels), load_problem(directory / "scale.toml"), lambda *_: None)
    assert work.prepare(executable("given")).failure is None
    return work


def normalised(share: float) -> Kernel:
    """A vector less its mean, which is off by a share, over its deviation, which is nothing where all are equal."""

    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        away = x - np.float32(x.mean(dtype=np.float64)) * np.float32(1 + share)
        y[...] = away / np.float32(np.sqrt(np.square(away, dtype=np.float64).mean() + EPS))
        return 1.0

    return kernel


def added(share: float) -> Kernel:
    """Numbers added up at their places, each sum off by a share."""

    def kernel(y: np.ndarray, x: np.ndarray, place: np.ndarray, n: int) -> float:
        y[...] = np.bincount(place, x, len(y)) * (1 + share)
        return 1.0

    return kernel


@pytest.mark.parametrize(
    ("kernel", "problem", "rounding", "wrong"),
    [
        (normalised, (NORMALISED,), 2**-22, 2**-12),
        (added, (ADDED, PLACE, "const int *place,"), 2e-6, 2e-4),
    ],
    ids=["a mean by the inverse of the size, where all are equal", "sums in another order, where all go to two places"],
)
def test_rounding_in_another_way_is_no_fault(
    tmp_path: Path, kernel: Callable[[float], Kernel], problem: tuple[str, ...], rounding: float, wrong: float
) -> None:
    work = bench(tmp_path, *problem, given=kernel(0), rounds=kernel(rounding), wrong=kernel(wrong))
    assert work.evaluate(executable("rounds"), None).failure is None
    failure = work.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert failure.kind is FailureKind.WRONG_RESULT


def test_where_rounding_makes_another_result_nobody_is_checked_and_that_is_said(tmp_path: Path) -> None:
    def given(y: np.ndarray, x: np.ndarray, n: int) -> float:
        away = x - np.float32(x.mean(dtype=np.float64))
        y[...] = away / (np.abs(away).max() + np.float32(1e-30))
        return 1.0

    def rounds(y: np.ndarray, x: np.ndarray, n: int) -> float:
        away = x - np.float32(x.mean(dtype=np.float64)) * np.float32(1 + 2**-22)
        y[...] = away / (np.abs(away).max() + np.float32(1e-30))
        return 1.0

    work = bench(tmp_path, "(x - x.mean()) / (np.abs(x - x.mean()).max() + 1e-30)", given=given, rounds=rounds)
    assert "n=4001, inputs with equal values: y is made of rounding" in work._datasets.left_out
    assert work.evaluate(executable("rounds"), None).failure is None


BFLOAT16 = ("__nv_bfloat16", "bfloat16")


def root_mean_square(x: np.ndarray) -> np.ndarray:
    single = x.astype(np.float32)
    return np.asarray(single / np.sqrt(np.square(single).mean() + np.float32(EPS)))


def test_equal_values_of_bfloat16_are_checked_though_one_step_of_them_is_as_far_as_results_may_be_off(
    tmp_path: Path,
) -> None:
    def given(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = root_mean_square(x)
        return 1.0

    def other_way(y: np.ndarray, x: np.ndarray, n: int) -> float:
        given(y, x, n)
        y[...] = np.nextafter(y, -y)
        return 1.0

    def wrong(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = root_mean_square(x) * (1.04 if x.min() == x.max() else 1)
        return 1.0

    reference = f"x / np.sqrt(np.square(x).mean() + {EPS})"
    work = bench(tmp_path, reference, element=BFLOAT16, given=given, other_way=other_way, wrong=wrong)
    assert not [one for one in work._datasets.left_out if "equal values" in one]
    assert work.evaluate(executable("other_way"), None).failure is None
    failure = work.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert "inputs with equal values: y[0] is " in failure.message


def test_what_is_made_of_rounding_alone_is_found_in_bfloat16_too(tmp_path: Path) -> None:
    def given(y: np.ndarray, x: np.ndarray, n: int) -> float:
        away = x.astype(np.float32) - x.mean(dtype=np.float64).astype(np.float32)
        y[...] = away / (np.abs(away).max() + np.float32(1e-30))
        return 1.0

    reference = "(x - x.mean()) / (np.abs(x - x.mean()).max() + 1e-30)"
    work = bench(tmp_path, reference, element=BFLOAT16, given=given)
    assert "n=4001, inputs with equal values: y is made of rounding" in work._datasets.left_out


def test_who_takes_a_limit_for_one_that_is_excluded_is_found_before_it_is_accepted(tmp_path: Path) -> None:
    def given(y: np.ndarray, x: np.ndarray, alpha: np.float32, n: int) -> float:
        y[...] = np.where(x >= alpha, x, 0)
        return 2.0

    def excludes(y: np.ndarray, x: np.ndarray, alpha: np.float32, n: int) -> float:
        y[...] = np.where(x > alpha, x, 0)
        return 1.0

    argument = ALPHA.replace("1.0", "0.3")
    problem = "np.where(x >= alpha, x, 0)", argument, "float alpha,"
    work = bench(tmp_path, *problem, given=given, excludes=excludes)
    failure = work.compare(executable("given"), executable("excludes"), 0.01).comparison.failure
    assert failure is not None
    assert "inputs with other scalars: " in failure.message


def test_a_scalar_that_is_written_into_the_code_is_found_before_it_is_accepted(tmp_path: Path) -> None:
    def given(y: np.ndarray, x: np.ndarray, alpha: np.float32, n: int) -> float:
        y[...] = alpha * x
        return 2.0

    def frozen(y: np.ndarray, x: np.ndarray, alpha: np.float32, n: int) -> float:
        y[...] = x
        return 1.0

    work = bench(tmp_path, "alpha * x", ALPHA, "float alpha,", given=given, frozen=frozen)
    assert work.evaluate(executable("frozen"), None).failure is None, "it is right at the one value that is declared"
    assert work.compare(executable("given"), executable("given"), 0.01).comparison.failure is None
    failure = work.compare(executable("given"), executable("frozen"), 0.01).comparison.failure
    assert failure is not None
    assert "at n=4001, inputs with other scalars: " in failure.message
