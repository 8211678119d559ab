"""Checks of a problem: its arguments are those of the kernel, and have shapes and values at all sizes and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Field, Unknown, fields_of
from tui_tuner.problem.c_types import type_words
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.check_launch import all_tests, every_run
from tui_tuner.problem.expression_nodes import INTEGER_LIMIT
from tui_tuner.problem.expressions import ExpressionError, check_expression, evaluate
from tui_tuner.problem.inputs import BOUNDED, array_bytes, bounds_of, check_value, constants_of, fill_of, poisoned
from tui_tuner.problem.model import Argument, Expression, InputFill, Member, Problem, Test
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import code_only, declares_constant
from tui_tuner.problem.toml_file import KeyLocations, KeyPath
from tui_tuner.text import suggestion

MAX_BYTES = 2**40


def check_arguments(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Hold the arguments against the kernel's signature and evaluate them at all sizes.

    Raises:
        ProblemError: for the first that does not fit.
    """
    _check_constants(problem, place)
    _check_listing(problem, signature, place)
    parameters = iter(signature.parameters)
    for index, argument in enumerate(problem.arguments):
        parameter = None if argument.constant else next(parameters)
        if parameter is not None and _check_structure(argument, index, parameter, problem, place):
            parameter = None  # more than its members is not to be held against it
        found = None if parameter is None else _unlike(argument, parameter)
        if (
            parameter is not None
            and found is not None
            and not (found[0] == "dtype" and _may_be_bytes(parameter, problem))
        ):
            key, reason = found
            hint = f"the kernel has: {_declared(parameter)}"
            raise place.error(f"argument '{argument.name}' {reason}", "arguments", index, key, hint=hint)
        if fault := fill_fault(argument):
            raise place.error(fault.message, "arguments", index, fault.key, hint=fault.hint)
        _check_argument_names(argument, index, problem, place)
    if not any(argument.output for argument in problem.arguments):
        message = "no argument is an output, so nothing could be verified"
        raise place.error(message, "arguments", hint="add output = true to each array that the kernel writes")
    check_test_inputs(problem, place)
    _check_values(problem, place)


def _check_constants(problem: Problem, place: KeyLocations) -> None:
    """Whether the source has the constant memory that is to be filled."""
    for index, name in constants_of(problem).items():
        if problem.language != "cuda":
            message = f"argument '{name}': only CUDA has constant memory that the host fills"
            raise place.error(message, "arguments", index, "constant", hint="leave out constant = true")
        if not declares_constant(problem.source_text, name):
            message = f"the source has no __constant__ variable '{name}'"
            hint = f"declare it outside of functions, as in: __constant__ float {name}[16];"
            raise place.error(message, "arguments", index, "name", hint=hint)


def _check_listing(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Refuse arguments with other names, or in another order; a parameter without a name may have any."""
    places = [index for index, argument in enumerate(problem.arguments) if not argument.constant]
    given = [problem.arguments[index].name for index in places]
    expected = [p.name or name for p, name in zip(signature.parameters, given, strict=False)]
    expected += [parameter.name for parameter in signature.parameters[len(given) :]]
    if given == expected:
        return
    hint = f"the kernel has: {', '.join(_declared(parameter) for parameter in signature.parameters)}"
    for index, name in enumerate(given):
        if name in given[:index]:
            raise place.error(f"argument '{name}' is given twice", "arguments", places[index], "name", hint=hint)
        if name not in expected:
            near = f"{suggestion(name, expected, 'arguments')} " if expected else ""
            message = f"the kernel has no argument '{name}'"
            raise place.error(message, "arguments", places[index], "name", hint=near + hint)
    if missing := [name for name in expected if name not in given]:
        message = f"the kernel's argument '{missing[0]}' is missing"
        raise place.error(message, "arguments", hint=f"add a table [[arguments]] for it; {hint}")
    index = next(i for i, name in enumerate(given) if name != expected[i])
    message = f"the arguments are not in the kernel's order: '{given[index]}' stands for '{expected[index]}'"
    raise place.error(message, "arguments", places[index], "name", hint=hint)


def _declared(parameter: KernelParameter) -> str:
    return f"{parameter.type_text} {parameter.name}".strip()


def _unlike(argument: Argument, parameter: KernelParameter) -> tuple[str, str] | None:
    """The key that does not fit the parameter, and why."""
    kind = "shape" if argument.shape is not None else "value" if argument.local is None else "local"
    if reason := why_not_passable(parameter):
        return "name", reason
    if parameter.local and kind != "local":
        return kind, f"is a __local pointer in the kernel: it needs local, its elements in a work-group, not {kind}"
    if kind == "local" and not parameter.local:
        return kind, "is no __local pointer in the kernel"
    if parameter.pointer and kind == "value":
        return kind, "is a pointer in the kernel: it needs shape, not value"
    if not parameter.pointer and kind == "shape":
        return kind, "is a scalar in the kernel: it needs value, not shape"
    if parameter.dtype is not None and parameter.dtype != argument.dtype:
        return "dtype", f"is {parameter.dtype} in the kernel, not {argument.dtype}"
    if argument.output and parameter.const:
        return "output", "is const in the kernel and cannot be an output"
    return None


def _check_structure(
    argument: Argument, index: int, parameter: KernelParameter, problem: Problem, place: KeyLocations
) -> bool:
    """Whether it is a structure that is passed by value, whose members are those that the source declares.

    Raises:
        ProblemError: they are not, or only one of the two is a structure.
    """
    by_value = not parameter.pointer and "&" not in parameter.type_text
    fields = fields_of(parameter.type_text, code_only(problem.source_text), problem.language) if by_value else None
    if argument.members is None:
        if fields is None or not by_value:
            return False
        message = f"argument '{argument.name}' is a {' '.join(type_words(parameter.type_text))} by value"
        if isinstance(fields, Unknown):
            message += f", and {fields.words()}: take a pointer, or scalars"
        else:
            message += f': it needs dtype = "struct" with members {", ".join(one.name for one in fields)}'
        raise place.error(message, "arguments", index, "dtype", hint=f"the kernel has: {_declared(parameter)}")
    message = f"argument '{argument.name}' is no structure in the kernel that is passed by value"
    if not by_value or (fields is None and parameter.dtype is not None):
        raise place.error(message, "arguments", index, "members", hint=f"the kernel has: {_declared(parameter)}")
    if isinstance(fields, Unknown):
        message = f"argument '{argument.name}': {fields.words()}"
        raise place.error(message, "arguments", index, "members", hint="only numbers, arrays and vectors can be passed")
    given = [_as_field(member) for member in argument.members]
    if fields is not None and given != list(fields):  # None: it is declared in a header
        first = next((i for i, one in enumerate(given) if i >= len(fields) or one != fields[i]), len(fields) - 1)
        message = f"the members of '{argument.name}' are not those of {' '.join(type_words(parameter.type_text))}"
        hint = f"the source declares: {', '.join(one.words() for one in fields)}"
        raise place.error(message, "arguments", index, "members", min(first, len(given) - 1), hint=hint)
    return True


def _as_field(member: Member) -> Field:
    count = len(member.value) if isinstance(member.value, list) else None
    return Field(member.name, member.dtype, count, member.alignment)


def _may_be_bytes(parameter: KernelParameter, problem: Problem) -> bool:
    """Whether it points to a structure that is no vector, whose bytes a problem file may call what it likes."""
    kind = (type_words(parameter.type_text) or [""])[-1]
    is_vector = parameter.width in (2, 4, 8, 16)
    return parameter.pointer and not is_vector and kind in structures(code_only(problem.source_text))


def why_not_passable(parameter: KernelParameter) -> str | None:
    """Why a launch cannot give this parameter a value, in words; None if it can."""
    written = parameter.type_text
    if "&" in written:
        return "is a reference in the kernel: only values and pointers can be passed"
    if written.count("*") > 1 or "( *" in written:
        return "is a pointer to something that is no plain array"
    if not parameter.pointer and parameter.width > 1:
        return "is a vector passed by value: pass its elements, or a pointer"
    if type_words(written)[:1] and type_words(written)[0].startswith(("image", "sampler")):
        return "is an image or a sampler: only arrays and scalars can be passed"
    return None


def _check_argument_names(argument: Argument, index: int, problem: Problem, place: KeyLocations) -> None:
    expressions: list[tuple[str, int, Expression | float]]
    expressions = [("shape", i, e) for i, e in enumerate(argument.shape or [])]
    expressions += [(key, 0, value) for key in ("value", "high") if (value := getattr(argument, key)) is not None]
    for number, member in enumerate(argument.members or []):
        values = member.value if isinstance(member.value, list) else [member.value]
        expressions += [("members", number, value) for value in values]
    for key, position, expression in expressions:
        try:
            check_expression(expression, problem.sizes)
        except ExpressionError as error:
            hint = "shapes, values and bounds may use the names of [sizes]"
            raise place.error(str(error), "arguments", index, key, position, hint=hint) from None


def _check_values(problem: Problem, place: KeyLocations) -> None:
    for path, at in every_run(problem):
        for index, argument in enumerate(at.arguments):
            try:
                check_value(argument, at.sizes)
            except ExpressionError as error:
                raise _at_sizes(str(error), argument, index, at.sizes, place) from None
        if (needed := array_bytes(at, {})) > MAX_BYTES:
            message = f"the arrays need {needed / 2**30:.0f} GiB in all at {at.sizes}"
            raise place.error(message, *path, hint="choose smaller sizes or correct the shapes")


def _at_sizes(message: str, argument: Argument, index: int, sizes: dict[str, int], place: KeyLocations) -> ProblemError:
    key = "shape" if argument.shape is not None else "value" if argument.members is None else "members"
    return place.error(f"argument '{argument.name}': {message}", "arguments", index, key, hint=_at(sizes))


@dataclass(frozen=True)
class FillFault:
    """What is wrong with a fill: at which key, why, and the way out."""

    key: str
    message: str
    hint: str


def fill_fault(argument: Argument) -> FillFault | None:
    """The first mistake in `fill`, `low` and `high`, as far as it does not depend on sizes."""
    is_float = argument.members is None and np.issubdtype(np.dtype(argument.dtype), np.floating)
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
    elif how == "offsets" and np.dtype(argument.dtype).kind not in "iu":
        return FillFault("fill", f"offsets are whole numbers, {argument.dtype} is none", 'use fill = "integers"')
    elif how == "offsets" and argument.high is None:
        return FillFault(
            "fill", "the last of offsets is not given", "add high = ..., the number of elements they divide"
        )
    for key in ("low", "high"):
        if getattr(argument, key) is not None and (argument.members is not None or fill_of(argument) not in BOUNDED):
            return FillFault(key, f"'{key}' bounds only those fills", 'add fill = "uniform" or fill = "integers"')
    if argument.infinities and (argument.shape is None or fill_of(argument) != "normal"):
        message = "only an array of floats that is filled normal may hold infinities"
        return FillFault("infinities", message, 'take infinities out, or set fill = "normal"')
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
            yield TestFault(path, f"'{argument.name}': {error}", _at(at.sizes))


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
            yield TestFault(("sizes",), f"argument '{argument.name}': {error}", _at(at.sizes))
    try:
        geometry(at.launch, at.sizes, at.default_configuration)
    except ExpressionError as error:
        yield TestFault(("sizes",), f"the launch: {error}", _at(at.sizes))
    for amount in () if at.work is None else (at.work.flops, at.work.bytes):
        try:
            value = evaluate(amount, at.sizes)
        except ExpressionError as error:
            yield TestFault(("sizes",), f"the work: {error}", _at(at.sizes))
        else:
            if isinstance(value, str) or value < 0:
                yield TestFault(("sizes",), f"the work is {value!r}: an amount is a number from 0 up", _at(at.sizes))


def _at(sizes: Mapping[str, int]) -> str:
    return f"at the sizes {', '.join(f'{name} = {value}' for name, value in sizes.items()) or 'of the kernel'}"
