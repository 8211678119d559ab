"""Outputs of which not each element for itself is compared: partial results, and what is found in any order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluate.numpy_device import NumpyDevice
from tests.evaluate.test_workbench import executable
from tests.session.fakes import PROBLEM
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.runner.workbench import Workbench
from tui_tuner.problem.compared import compared, neutral_number
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.reference import call_reference
from tui_tuner.prompts import argument_facts, fill_facts

SOURCE = "__global__ void parts(float *y, const float *x, int n) { y[blockIdx.x] = x[threadIdx.x]; }\n"
TESTS = "[[tests]]\nsizes = { n = 1000 }\n\n[[tests]]\nsizes = { n = 33 }\n"


def problem_of(directory: Path, compare: str, reference: str | None = None, more: str = "") -> Problem:
    (directory / "parts.cu").write_text(SOURCE)
    text = PROBLEM.partition("[[tests]]")[0].replace("scale", "parts") + TESTS + more
    text = text.replace('shape = ["n"]\noutput = true', f'shape = [16]\noutput = true\ncompare = "{compare}"')
    if reference is not None:
        (directory / "reference.py").write_text(f"def parts(y, x, n):\n    return {reference}\n")
        text += '\n[reference]\npython = "reference.py:parts"\n'
    (directory / "parts.toml").write_text(text)
    return load_problem(directory / "parts.toml")


def in_blocks(count: int, combine: Any = np.sum) -> Any:
    """A kernel of so many blocks, each of which leaves one partial result."""

    def kernel(y: np.ndarray, x: np.ndarray, n: int) -> float:
        for block, part in enumerate(np.array_split(x, count)):
            y[block] = combine(part)
        return 1.0

    return kernel


def without_one(y: np.ndarray, x: np.ndarray, n: int) -> float:
    y[:4] = [part.sum() for part in np.array_split(x[1:], 4)]
    return 1.0


def nothing(y: np.ndarray, x: np.ndarray, n: int) -> float:
    return 0.001


@pytest.mark.parametrize("reference", [None, "x.sum()", "np.array([x.sum()])", "np.add.reduceat(x, [0, 5])"])
def test_how_many_partial_sums_there_are_is_the_matter_of_a_configuration(
    tmp_path: Path, reference: str | None
) -> None:
    if reference is not None and "reduceat" in reference:
        reference = "np.pad(np.add.reduceat(x, [0, 5]), (0, 14))"
    reference = None if reference is None else reference.replace("np.", "__import__('numpy').")
    device = NumpyDevice(given=in_blocks(8), other=in_blocks(3), wrong=without_one)
    workbench = Workbench(device, problem_of(tmp_path, "sum", reference), lambda *_: None)
    assert workbench.prepare(executable("given")).failure is None
    assert workbench.evaluate(executable("other"), None).failure is None
    assert workbench.compare(executable("given"), executable("other"), 0.01).comparison.failure is None
    failure = workbench.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert re.match(r"at n=1000(, inputs with [a-z ]+)?: sum\(y\)\[0\] is", failure.message), (
        "of noise, unless that one element was next to nothing"
    )


@pytest.mark.parametrize(("compare", "combine"), [("min", np.min), ("max", np.max)])
def test_partial_results_that_are_not_written_change_no_extreme(tmp_path: Path, compare: str, combine: Any) -> None:
    device = NumpyDevice(given=in_blocks(8, combine), other=in_blocks(3, combine), wrong=in_blocks(3, np.median))
    workbench = Workbench(device, problem_of(tmp_path, compare), lambda *_: None)
    assert workbench.prepare(executable("given")).failure is None
    assert workbench.evaluate(executable("other"), None).failure is None
    assert workbench.evaluate(executable("wrong"), None).failure is not None


@pytest.mark.parametrize("compare", ["sum", "min", "max"])
def test_a_kernel_that_leaves_no_partial_result_is_refused(tmp_path: Path, compare: str) -> None:
    workbench = Workbench(NumpyDevice(given=nothing), problem_of(tmp_path, compare), lambda *_: None)
    with pytest.raises(ProblemError, match="a kernel that computes nothing would pass the check of 'y'"):
        workbench.prepare(executable("given"))


def test_what_is_found_in_any_order_is_right_in_every_order(tmp_path: Path) -> None:
    random = np.random.default_rng(1)

    def shuffled(y: np.ndarray, x: np.ndarray, n: int) -> float:
        y[...] = random.permutation(x[:16])
        return 1.0

    def twice(y: np.ndarray, x: np.ndarray, n: int) -> float:
        shuffled(y, x, n)
        y[0] = y[1]
        return 1.0

    workbench = Workbench(NumpyDevice(given=shuffled, wrong=twice), problem_of(tmp_path, "sorted"), lambda *_: None)
    assert workbench.prepare(executable("given")).failure is None
    failure = workbench.evaluate(executable("wrong"), None).failure
    assert failure is not None
    assert "sorted(y)[" in failure.message


def argument(compare: str, dtype: str = "float32", *shape: int) -> Argument:
    content = {"name": "y", "dtype": dtype, "shape": list(shape or (4,)), "output": True, "compare": compare}
    return Argument.model_validate(content)


def test_sums_are_along_the_first_extent_and_wide_enough() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert compared(argument("sum", "float32", 3, 2), rows).tolist() == [6, 9]
    assert compared(argument("sum"), np.array([1e8, 1, 1, -1e8], np.float32)).tolist() == [2]
    assert compared(argument("sum", "int32"), np.array([2**31 - 1, 1, 0, 0], np.int32)).tolist() == [2**31]
    assert compared(argument("sum", "uint64"), np.array([2**63, 2, 0, 0], np.uint64)).tolist() == [2**63 + 2]
    assert compared(argument("max", "int32", 3, 2), rows.astype(np.int32)).tolist() == [4, 5]
    assert compared(argument("sorted"), np.array([3, 1, 2, 1])).tolist() == [1, 1, 2, 3]
    assert compared(argument("sum", "float32", 3, 2), np.array([6, 9])).tolist() == [6, 9]  # combined already


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "float8_e4m3fn", "float32"])
@pytest.mark.parametrize("compare", ["sum", "min", "max", "sorted"])
def test_what_is_not_written_fits_into_its_type_and_changes_nothing(compare: str, dtype: str) -> None:
    kind = dtype_named(dtype)
    one = argument(compare, dtype)
    held = np.full(4, neutral_number(one, kind), kind)
    changed = held.copy()
    changed[2] = 1
    result = compared(one, changed)
    assert float(result[-1]) == (1 if compare != "min" or dtype != "bool" else float(changed.min()))


def test_a_reference_gives_all_parts_or_what_they_come_to(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "sum", "x[:3]")
    x = np.arange(1000, dtype=np.float32)
    with pytest.raises(ProblemError, match=r"returns 'y' of shape \(3,\) instead of \(16,\)"):
        call_reference(problem, [np.zeros(16, np.float32), x, np.int32(1000)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("output = true\n", ""), "'y' is no output of numbers"),
        (
            ('dtype = "float32"\nshape = [16]', 'dtype = "float32"\naddresses = true\nshape = [4, 4]'),
            "'y' is no output",
        ),
        (('compare = "sum"', 'compare = "mean"'), "input should be 'sum', 'min', 'max' or 'sorted'"),
    ],
)
def test_what_cannot_be_compared_so_is_refused(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    problem_of(tmp_path, "sum")
    file = tmp_path / "parts.toml"
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(ProblemError, match=message):
        load_problem(file)


def test_a_test_fills_no_array_that_starts_neutral(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="'y' starts with what changes nothing of its sum"):
        problem_of(tmp_path, "sum", more='inputs = { y = { fill = "normal" } }\n')


def test_a_model_is_told_what_is_compared(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, "sum")
    assert fill_facts(problem) == "x: float32 array, filled normal"
    told = "argument y: float32 array of shape (16), output; partial results: their sum along the first extent"
    assert argument_facts(problem)[0].startswith(told)
