"""Checks of a problem: sizes, tunables and tests have possible names and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tui_tuner.problem.expressions import ExpressionError, evaluate
from tui_tuner.problem.model import Problem, Test, Value
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import Place
from tui_tuner.problem.positions import KeyPath
from tui_tuner.problem.reserved import why_no_size, why_no_tunable
from tui_tuner.problem.signature import KernelSignature


def check_names(problem: Problem, signature: KernelSignature, place: Place) -> None:
    """Refuse names that cannot be used, values that make no sense, and sizes nobody knows.

    Raises:
        ProblemError: for the first of them.
    """
    for name in problem.sizes:
        if reason := why_no_size(name):
            raise place.error(reason, "sizes", name, hint="choose another name for this size")
    for name, values in problem.tunables.items():
        _check_tunable_name(problem, name, signature, place)
        _check_values(name, values, place)
    for path, sizes in _other_sizes(problem):
        for name in sizes:
            if name not in problem.sizes:
                hint = suggestion(name, problem.sizes, "sizes")
                raise place.error(f"'{name}' is not in [sizes]", *path, name, hint=hint)


def _check_tunable_name(problem: Problem, name: str, signature: KernelSignature, place: Place) -> None:
    reason = why_no_tunable(name, problem.language)
    if name in problem.sizes:
        reason = f"'{name}' is a size and a tunable"
    elif name == signature.name:
        reason = f"'{name}' is the kernel's own name"
    elif name in {parameter.name for parameter in signature.parameters}:
        reason = f"'{name}' is an argument of the kernel"
    if reason is not None:
        raise place.error(
            reason, "tunables", name, hint="choose another name: a tunable becomes a macro for the compiler"
        )


def _check_values(name: str, values: list[Value], place: Place) -> None:
    seen: list[Value] = []
    for index, value in enumerate(values):
        path = ("tunables", name, index)
        if type(value) is not type(values[0]):
            hint = "write all of them as numbers of one kind (1.0, 2.5), all as text, or all as true and false"
            raise place.error(f"the values of '{name}' are of different kinds", *path, hint=hint)
        if value in seen:
            raise place.error(f"'{name}' has the value {value!r} twice", *path, hint="take one of them out")
        if isinstance(value, str) and not (value and value.isprintable()):
            raise place.error(f"'{name}' has a value that is no macro: {value!r}", *path, hint="use one line of text")
        _check_number(name, value, path, place)
        seen.append(value)


def _check_number(name: str, value: Value, path: KeyPath, place: Place) -> None:
    try:
        if not isinstance(value, str):
            evaluate(value, {})
    except ExpressionError as error:
        raise place.error(f"'{name}' has {error}", *path, hint="use a finite number of at most 63 bits") from None


def _other_sizes(problem: Problem) -> Iterator[tuple[KeyPath, Mapping[str, int]]]:
    """Every place that gives sizes new values."""
    yield from _tests(problem.tests, ())
    if problem.emulator is not None:
        yield ("emulator", "sizes"), problem.emulator.sizes
        yield from _tests(problem.emulator.tests or [], ("emulator",))


def _tests(tests: list[Test], within: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, int]]]:
    for index, test in enumerate(tests):
        yield (*within, "tests", index, "sizes"), test.sizes


def all_sizes(problem: Problem) -> Iterator[tuple[KeyPath, dict[str, int]]]:
    """Every set of sizes the kernel will run at, with the place that names it."""
    yield ("sizes",), dict(problem.sizes)
    emulated = {} if problem.emulator is None else problem.emulator.sizes
    for path, sizes in _other_sizes(problem):
        yield path, {**problem.sizes, **(emulated if path[0] == "emulator" else {}), **sizes}
