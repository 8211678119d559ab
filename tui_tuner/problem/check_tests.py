"""Checks of a test: its sizes and inputs have known names, and arguments, launch and work have values there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_tuner.problem.argument_values import bounds_of, check_value, fill_of, poisoned
from tui_tuner.problem.check_names import all_tests
from tui_tuner.problem.expression_nodes import INTEGER_LIMIT
from tui_tuner.problem.expressions import ExpressionError, check, evaluate
from tui_tuner.problem.fills import fill_fault
from tui_tuner.problem.geometry import geometry
from tui_tuner.problem.model import Argument, InputFill, Problem, Test
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.positions import KeyPath


@dataclass(frozen=True)
class TestFault:
    """What is wrong with a test: where in it, why, and the way out."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    path: KeyPath
    message: str
    hint: str


def check_test_inputs(problem: Problem, place: KeyLocations) -> None:
    """Refuse `inputs` of tests that name no array or fill it with what it does not hold.

    Raises:
        ProblemError: for the first of them.
    """
    for path, base, test in all_tests(problem):
        for fault in input_faults(base, test):
            raise place.error(fault.message, *path, *fault.path, hint=fault.hint)


def faults_of_test(problem: Problem, test: Test) -> Iterator[TestFault]:
    """Why a test that no loader has checked cannot be run; nothing if it can."""
    named = [*_size_faults(problem, test), *input_faults(problem, test)]
    yield from named or _value_faults(problem.at(test))


def input_faults(problem: Problem, test: Test) -> Iterator[TestFault]:
    """What is wrong with the `inputs` of a test."""
    arguments = {argument.name: argument for argument in problem.arguments}
    arrays = [name for name, argument in arguments.items() if argument.shape is not None]
    at = problem.at(test)
    filled = {argument.name: argument for argument in at.arguments}
    for name, fill in test.inputs.items():
        if name not in arguments:
            hint = suggestion(name, arrays, "arrays")
            yield TestFault(("inputs", name), f"the kernel has no argument '{name}'", hint)
        elif name not in arrays:
            hint = f"only arrays are filled: {', '.join(arrays)}"
            yield TestFault(("inputs", name), f"the argument '{name}' is a scalar and has no fill", hint)
        elif poisoned(arguments[name]):
            message = f"the output '{name}' starts poisoned, so that what is not written is found"
            hint = "take it out; an array that the kernel also reads needs fill in [[arguments]]"
            yield TestFault(("inputs", name), message, hint)
        else:
            yield from _fill_faults(filled[name], fill, at)


def _fill_faults(argument: Argument, fill: InputFill, at: Problem) -> Iterator[TestFault]:
    path: KeyPath = ("inputs", argument.name)
    if fault := fill_fault(argument):
        yield TestFault((*path, fault.key), f"'{argument.name}': {fault.message}", fault.hint)
        return
    try:
        check(0 if fill.high is None else fill.high, at.sizes)
    except ExpressionError as error:
        yield TestFault((*path, "high"), str(error), "bounds may use the names of [sizes]")
        return
    if fill_of(argument) in ("uniform", "integers"):
        try:
            bounds_of(argument, at.sizes)
        except ExpressionError as error:
            yield TestFault(path, f"'{argument.name}': {error}", _at(at))


def _size_faults(problem: Problem, test: Test) -> Iterator[TestFault]:
    for name, value in test.sizes.items():
        if name not in problem.sizes:
            hint = suggestion(name, problem.sizes, "sizes")
            yield TestFault(("sizes", name), f"'{name}' is not in [sizes]", hint)
        elif not 1 <= value < INTEGER_LIMIT:
            yield TestFault(("sizes", name), f"'{name}' is not from 1 up, or has more than 63 bits", "change it")


def _value_faults(at: Problem) -> Iterator[TestFault]:
    """What has no value at the sizes of a test."""
    for argument in at.arguments:
        try:
            check_value(argument, at.sizes)
        except ExpressionError as error:
            yield TestFault(("sizes",), f"argument '{argument.name}': {error}", _at(at))
    try:
        geometry(at.launch, at.sizes, at.default_configuration)
    except ExpressionError as error:
        yield TestFault(("sizes",), f"the launch: {error}", _at(at))
    for amount in () if at.work is None else (at.work.flops, at.work.bytes):
        try:
            value = evaluate(amount, at.sizes)
        except ExpressionError as error:
            yield TestFault(("sizes",), f"the work: {error}", _at(at))
        else:
            if isinstance(value, str) or value < 0:
                yield TestFault(("sizes",), f"the work is {value!r}: an amount is a number from 0 up", _at(at))


def _at(at: Problem) -> str:
    return f"at the sizes {', '.join(f'{name} = {value}' for name, value in at.sizes.items()) or 'of the kernel'}"
