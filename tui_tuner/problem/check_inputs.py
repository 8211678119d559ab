"""Checks of what arrays hold: the fills of arguments, and the inputs and sizes of tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.check_launch import all_tests
from tui_tuner.problem.compared import is_neutral
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.expression_nodes import INTEGER_LIMIT
from tui_tuner.problem.expressions import ExpressionError, check_expression, evaluate
from tui_tuner.problem.inputs import BOUNDED, bounds_of, check_value, fill_of, filled_member, poisoned
from tui_tuner.problem.model import Argument, InputFill, Problem, Test
from tui_tuner.problem.toml_file import KeyLocations, KeyPath
from tui_tuner.text import suggestion


@dataclass(frozen=True)
class FillFault:
    """What is wrong with a fill: at which key, why, and the way out."""

    key: str
    message: str
    hint: str


def fill_fault(argument: Argument) -> FillFault | None:
    """The first mistake in `fill`, `low` and `high`, as far as it does not depend on sizes."""
    if argument.holds_structures:
        return next(filter(None, map(_fault_of_one, map(filled_member, argument.members or []))), None)
    return _fault_of_one(argument)


def _fault_of_one(argument: Argument) -> FillFault | None:
    is_float = argument.members is None and is_floating(dtype_named(argument.dtype))
    how = fill_of(argument) if argument.members is None else None
    if argument.shape is None:
        if argument.fill is not None or argument.function is not None:
            key = "function" if argument.fill is None else "fill"
            what = "a scalar" if argument.members is None else "a structure that is passed by value"
            what = what if argument.local is None else "local memory"
            return FillFault(key, f"{what} has no {key}", f"take {key} out")
    elif argument.fill is not None and argument.function is not None:
        return FillFault("function", "the array has a fill and a function that makes it", "take one of them out")
    elif how in ("normal", "uniform") and not is_float:
        message = f"fill = '{argument.fill}' makes fractions, {argument.dtype} holds none"
        return FillFault("fill", message, 'use fill = "integers" with low and high')
    elif how == "offsets" and dtype_named(argument.dtype).kind not in "iu":
        return FillFault("fill", f"offsets are whole numbers, {argument.dtype} is none", 'use fill = "integers"')
    elif how == "offsets" and argument.high is None:
        return FillFault(
            "fill", "the last of offsets is not given", "add high = ..., the number of elements they divide"
        )
    for key in ("low", "high"):
        if getattr(argument, key) is not None and (argument.members is not None or fill_of(argument) not in BOUNDED):
            return FillFault(key, f"'{key}' bounds only those fills", 'add fill = "uniform" or fill = "integers"')
    for key, what, fills in (("infinities", "infinities", ("normal",)), ("nans", "NaN", ("normal", "uniform"))):
        if getattr(argument, key) and (argument.shape is None or fill_of(argument) not in fills):
            message = f"only an array of floats that is filled {' or '.join(fills)} may hold {what}"
            return FillFault(key, message, f'take {key} out, or set fill = "normal"')
    return None


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
        elif is_neutral(arguments[name]):
            message = f"the output '{name}' starts with what changes nothing of its {arguments[name].compare}"
            yield TestFault(("inputs", name), message, "take it out, or give it a fill in [[arguments]]")
        else:
            yield from _fill_faults(filled[name], fill, at)


def _fill_faults(argument: Argument, fill: InputFill, at: Problem) -> Iterator[TestFault]:
    path: KeyPath = ("inputs", argument.name)
    if fault := fill_fault(argument):
        yield TestFault((*path, fault.key), f"'{argument.name}': {fault.message}", fault.hint)
        return
    try:
        check_expression(0 if fill.high is None else fill.high, at.sizes)
    except ExpressionError as error:
        yield TestFault((*path, "high"), str(error), "bounds may use the names of [sizes]")
        return
    if fill_of(argument) in BOUNDED:
        try:
            bounds_of(argument, at.sizes)
        except ExpressionError as error:
            yield TestFault(path, f"'{argument.name}': {error}", at_sizes(at.sizes))


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
            yield TestFault(("sizes",), f"argument '{argument.name}': {error}", at_sizes(at.sizes))
    try:
        geometry(at.launch, at.sizes, at.default_configuration)
    except ExpressionError as error:
        yield TestFault(("sizes",), f"the launch: {error}", at_sizes(at.sizes))
    for amount in () if at.work is None else (at.work.flops, at.work.bytes):
        try:
            value = evaluate(amount, at.sizes)
        except ExpressionError as error:
            yield TestFault(("sizes",), f"the work: {error}", at_sizes(at.sizes))
        else:
            if isinstance(value, str) or value < 0:
                yield TestFault(
                    ("sizes",), f"the work is {value!r}: an amount is a number from 0 up", at_sizes(at.sizes)
                )


def at_sizes(sizes: Mapping[str, int]) -> str:
    """Where something is wrong, in words."""
    return f"at the sizes {', '.join(f'{name} = {value}' for name, value in sizes.items()) or 'of the kernel'}"
