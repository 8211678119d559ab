"""Inputs with their expected results: what a launch is checked against."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.tolerance import (
    FLOOR_CAP,
    MARGIN,
    TIMED_MARGIN,
    Bound,
    Mismatch,
    OwnError,
    Verdict,
    bound,
    compare,
    magnitude,
    own_error,
)
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.model import Argument, InputFill, Problem, Test

CONSTANT_NEEDS = 8
"""Outputs with fewer elements may rightly be constant."""
FIRST_ELEMENTS = 2**16
"""What is compared before the whole output: nearly always a wrong element is among them."""

RunBaseline = Callable[[list[KernelArgument], int], dict[int, np.ndarray]]
"""Runs the kernel as given on arguments at a test's index; the outputs by argument index."""
CompareOutput = Callable[[int, np.ndarray, Bound], Verdict]
"""Compares the output at an argument's index with what is expected, within a bound."""


@dataclass(frozen=True)
class LaunchData:
    """Arguments of one launch with what it must compute.

    Attributes:
        index: of the test; the last one is the timed size.
        label: the sizes, and what inputs the test changes, in words.
        expected: output arrays by argument index.
        bounds: their allowed deviation.
    """

    index: int
    label: str
    arguments: list[KernelArgument]
    expected: dict[int, np.ndarray]
    bounds: dict[int, Bound]

    @property
    def arrays(self) -> frozenset[int]:
        """Indices of the array arguments."""
        return frozenset(i for i, a in enumerate(self.arguments) if isinstance(a, np.ndarray))

    def check(self, problem: Problem, compare: CompareOutput) -> tuple[float, str | None]:
        """Largest deviation relative to the allowed one, and what is wrong in words.

        Args:
            compare: compares the output at an argument's index with what is expected of it.
        """
        worst = 0.0
        for index, expected in self.expected.items():
            share, mismatch = compare(index, expected, self.bounds[index])
            worst = max(worst, share)
            if mismatch is not None:
                return worst, f"at {self.label}: {problem.arguments[index].name}{mismatch}"
        return worst, None


def test_sizes(problem: Problem) -> list[dict[str, int]]:
    """The sizes of each test and, last, those that are timed."""
    return [{**problem.sizes, **test.sizes} for test in problem.tests] + [dict(problem.sizes)]


def label_of(sizes: Mapping[str, int], inputs: Mapping[str, InputFill] | None = None) -> str:
    """The sizes in words, and the inputs of a test that has its own, "n=512, m=3, x zeros"."""
    words = [f"{name}={value}" for name, value in sizes.items()] or ["the only size"]
    words += [f"{name} {fill_in_words(fill.fill, fill)}" for name, fill in (inputs or {}).items()]
    return ", ".join(words)


def fill_in_words(name: str | None, bounds: InputFill | Argument) -> str:
    """A fill with the bounds that are given, "uniform from 0.5 below n"."""
    words = [f"{key} {value}" for key, value in (("from", bounds.low), ("below", bounds.high)) if value is not None]
    return " ".join([name or "poisoned", *words])


class DataSets:
    """Makes data sets, always on a fresh secret seed; the kernel as given sets the allowed error.

    Args:
        draws: how often the data of a test are drawn before it is given up.
    """

    def __init__(self, problem: Problem, run_baseline: RunBaseline, *, draws: int = 1) -> None:
        self._problem = problem
        self._run_baseline = run_baseline
        self._draws = draws
        self._own_relative = 0.0

    def make(self, index: int) -> LaunchData:
        """Fresh data for one test, or for the timed size at the last index.

        Raises:
            ProblemError: the kernel as given fails its own reference, or the check could not fail.
        """
        for _ in range(self._draws - 1):
            with contextlib.suppress(ProblemError):
                return self._drawn(index)
        return self._drawn(index)

    def _drawn(self, index: int) -> LaunchData:
        timed = index == len(self._problem.tests)
        test = Test(sizes={}) if timed else self._problem.tests[index]
        at = self._problem.at(test)
        sizes = at.sizes
        arguments = make_arguments(at, {}, secrets.randbits(63))
        outputs = self._run_baseline(arguments, index)
        if self._problem.reference is None or (timed and self._problem.tests):
            expected = outputs
            bounds = {i: self._scaled_bound(i, output, sizes) for i, output in outputs.items()}
        else:
            expected, errors = self._from_reference(arguments, outputs, sizes)
            bounds = {i: self._bound(i, expected[i], sizes, errors[i]) for i in outputs}
        data = LaunchData(index, label_of(sizes, test.inputs), arguments, expected, bounds)
        self._refuse_weak(data)
        return data

    def _from_reference(
        self, arguments: list[KernelArgument], outputs: dict[int, np.ndarray], sizes: Mapping[str, int]
    ) -> tuple[dict[int, np.ndarray], dict[int, OwnError]]:
        by_name = call_reference(self._problem, arguments)
        expected = {i: by_name[self._problem.arguments[i].name] for i in outputs}
        errors = {i: own_error(outputs[i], expected[i]) for i in outputs}
        for i, output in outputs.items():
            loosest = Bound(FLOOR_CAP * magnitude(expected[i]), FLOOR_CAP)
            allowed = loosest if np.issubdtype(output.dtype, np.floating) else Bound(0.0, 0.0)
            if not self._has_own_tolerance:
                self._refuse_wrong_baseline(i, compare(output, expected[i], allowed)[1], sizes)
            if np.issubdtype(output.dtype, np.floating):
                self._own_relative = max(self._own_relative, errors[i].relative)
        return expected, errors

    @property
    def _has_own_tolerance(self) -> bool:
        tolerance = self._problem.tolerance
        return tolerance.absolute is not None or tolerance.relative is not None

    def _scaled_bound(self, index: int, expected: np.ndarray, sizes: Mapping[str, int]) -> Bound:
        """Where the kernel as given is the reference: from the error that it had at the tests, if they could tell."""
        if self._problem.reference is None:
            return self._bound(index, expected, sizes, None)
        own = OwnError(0.0, self._own_relative).scaled_to(expected)
        return self._bound(index, expected, sizes, own, TIMED_MARGIN)

    def _refuse_wrong_baseline(self, index: int, mismatch: Mismatch | None, sizes: Mapping[str, int]) -> None:
        if mismatch is None:
            return
        name = self._problem.arguments[index].name
        raise ProblemError(
            f"the kernel as given does not match its reference at {label_of(sizes)}: {name}{mismatch}",
            hint="correct the kernel, [launch], [[arguments]] or the reference; or set [tolerance]",
        )

    def _bound(
        self, index: int, expected: np.ndarray, sizes: Mapping[str, int], own: OwnError | None, margin: float = MARGIN
    ) -> Bound:
        dtype = np.dtype(self._problem.arguments[index].dtype)
        return bound(expected, dtype, self._operations(expected, sizes), self._problem.tolerance, own, margin)

    def _operations(self, expected: np.ndarray, sizes: Mapping[str, int]) -> float:
        work = self._problem.work
        if work is None or not work.flops:
            return 1024.0
        return float(evaluate(work.flops, sizes)) / max(1, expected.size)

    def _refuse_weak(self, data: LaunchData) -> None:
        for index, expected in data.expected.items():
            if not np.isfinite(expected).any():
                raise ProblemError(
                    f"at {data.label} no element of '{self._problem.arguments[index].name}' is a finite number",
                    hint="an output that the kernel also reads needs `fill` in its [[arguments]]",
                )
            constants = [np.zeros_like(expected)]
            if expected.size >= CONSTANT_NEEDS and np.issubdtype(expected.dtype, np.floating):
                constants.append(np.full_like(expected, np.mean(expected)))
            initial = np.asarray(data.arguments[index])
            for fake in (*constants, initial):
                if _would_pass(fake, expected, data.bounds[index]):
                    name = self._problem.arguments[index].name
                    raise ProblemError(
                        f"at {data.label} a kernel that computes nothing would pass the check of '{name}'",
                        hint="choose inputs ([[arguments]] fill, low, high) whose result differs from a constant",
                    )


def _would_pass(fake: np.ndarray, expected: np.ndarray, allowed: Bound) -> bool:
    fake, expected = fake.astype(expected.dtype, copy=False).reshape(-1), expected.reshape(-1)
    parts = (slice(FIRST_ELEMENTS), slice(None))
    return all(compare(fake[part], expected[part], allowed)[1] is None for part in parts)
