"""Checks of a problem: sizes, tunables and tests have possible names and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui_tuner.problem.model import Problem, Test, Value
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.positions import KeyPath
from tui_tuner.problem.reserved import why_no_size, why_no_tunable
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.tunable_values import value_faults


def check_names(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Refuse names that cannot be used, values that make no sense, and sizes nobody knows.

    Raises:
        ProblemError: for the first of them.
    """
    for name in problem.sizes:
        if reason := why_no_size(name):
            raise place.error(reason, "sizes", name, hint="choose another name for this size")
    for name, values in problem.tunables.items():
        check_tunable(problem, name, values, signature, place, ("tunables", name))
    for path, sizes in _other_sizes(problem):
        for name in sizes:
            if name not in problem.sizes:
                hint = suggestion(name, problem.sizes, "sizes")
                raise place.error(f"'{name}' is not in [sizes]", *path, name, hint=hint)


def check_tunable(
    problem: Problem, name: str, values: Sequence[Value], signature: KernelSignature, place: KeyLocations, path: KeyPath
) -> None:
    """Refuse a tunable with an impossible name or value; the path is that of its key.

    Raises:
        ProblemError: for the first mistake.
    """
    reason = why_no_tunable(name, problem.language)
    if name in problem.sizes:
        reason = f"'{name}' is a size and a tunable"
    elif name == signature.name:
        reason = f"'{name}' is the kernel's own name"
    elif name in {parameter.name for parameter in signature.parameters}:
        reason = f"'{name}' is an argument of the kernel"
    if reason is not None:
        raise place.error(reason, *path, hint="choose another name: a tunable becomes a macro for the compiler")
    for fault in value_faults(name, values):
        raise place.error(fault.message, *path, fault.index, hint=fault.hint)


def _other_sizes(problem: Problem) -> Iterator[tuple[KeyPath, Mapping[str, int]]]:
    """Every place that gives sizes new values."""
    if problem.emulator is not None:
        yield ("emulator", "sizes"), problem.emulator.sizes
    for path, _, test in all_tests(problem):
        yield (*path, "sizes"), test.sizes


def all_tests(problem: Problem) -> Iterator[tuple[KeyPath, Problem, Test]]:
    """Every test of the file: its place, the problem whose sizes it changes, and the test."""
    for index, test in enumerate(problem.tests):
        yield ("tests", index), problem, test
    if problem.emulator is not None:
        emulated = problem.on_emulator()
        for index, test in enumerate(problem.emulator.tests or []):
            yield ("emulator", "tests", index), emulated, test


def every_run(problem: Problem) -> Iterator[tuple[KeyPath, Problem]]:
    """The problem at all sizes it will run at, with the place that names them."""
    yield ("sizes",), problem
    for path, base, test in all_tests(problem):
        yield (*path, "sizes"), base.at(test)
    if problem.emulator is not None:
        yield ("emulator", "sizes"), problem.on_emulator()
