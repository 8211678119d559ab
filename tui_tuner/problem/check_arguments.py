"""Checks of a problem: its arguments are those of the kernel, and have shapes and values at all sizes."""

from __future__ import annotations

from tui_tuner.errors import ProblemError
from tui_tuner.problem.argument_values import array_bytes, check_value
from tui_tuner.problem.c_types import type_words
from tui_tuner.problem.check_names import every_run
from tui_tuner.problem.check_tests import check_test_inputs
from tui_tuner.problem.expressions import ExpressionError, check
from tui_tuner.problem.fills import fill_fault
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.signature import KernelParameter, KernelSignature

MAX_BYTES = 2**40


def check_arguments(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Hold the arguments against the kernel's signature and evaluate them at all sizes.

    Raises:
        ProblemError: for the first that does not fit.
    """
    _check_listing(problem, signature, place)
    for index, (argument, parameter) in enumerate(zip(problem.arguments, signature.parameters, strict=True)):
        if found := _unlike(argument, parameter):
            key, reason = found
            hint = f"the kernel has: {_declared(parameter)}"
            raise place.error(f"argument '{argument.name}' {reason}", "arguments", index, key, hint=hint)
        if fault := fill_fault(argument):
            raise place.error(fault.message, "arguments", index, fault.key, hint=fault.hint)
        _check_names(argument, index, problem, place)
    if not any(argument.output for argument in problem.arguments):
        message = "no argument is an output, so nothing could be verified"
        raise place.error(message, "arguments", hint="add output = true to each array that the kernel writes")
    check_test_inputs(problem, place)
    _check_values(problem, place)


def _check_listing(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Refuse arguments with other names, or in another order; a parameter without a name may have any."""
    given = [argument.name for argument in problem.arguments]
    expected = [p.name or name for p, name in zip(signature.parameters, given, strict=False)]
    expected += [parameter.name for parameter in signature.parameters[len(given) :]]
    if given == expected:
        return
    hint = f"the kernel has: {', '.join(_declared(parameter) for parameter in signature.parameters)}"
    for index, name in enumerate(given):
        if name in given[:index]:
            raise place.error(f"argument '{name}' is given twice", "arguments", index, "name", hint=hint)
        if name not in expected:
            near = f"{suggestion(name, expected, 'arguments')} " if expected else ""
            message = f"the kernel has no argument '{name}'"
            raise place.error(message, "arguments", index, "name", hint=near + hint)
    if missing := [name for name in expected if name not in given]:
        message = f"the kernel's argument '{missing[0]}' is missing"
        raise place.error(message, "arguments", hint=f"add a table [[arguments]] for it; {hint}")
    index = next(i for i, name in enumerate(given) if name != expected[i])
    message = f"the arguments are not in the kernel's order: '{given[index]}' stands for '{expected[index]}'"
    raise place.error(message, "arguments", index, "name", hint=hint)


def _declared(parameter: KernelParameter) -> str:
    return f"{parameter.type_text} {parameter.name}".strip()


def _unlike(argument: Argument, parameter: KernelParameter) -> tuple[str, str] | None:
    """The key that does not fit the parameter, and why."""
    kind = "shape" if argument.shape is not None else "value"
    if reason := why_not_passable(parameter):
        return "name", reason
    if parameter.pointer and kind == "value":
        return kind, "is a pointer in the kernel: it needs shape, not value"
    if not parameter.pointer and kind == "shape":
        return kind, "is a scalar in the kernel: it needs value, not shape"
    if parameter.dtype is not None and parameter.dtype != argument.dtype:
        return "dtype", f"is {parameter.dtype} in the kernel, not {argument.dtype}"
    if argument.output and parameter.const:
        return "output", "is const in the kernel and cannot be an output"
    return None


def why_not_passable(parameter: KernelParameter) -> str | None:
    """Why a launch cannot give this parameter a value, in words; None if it can."""
    written = parameter.type_text
    if "&" in written:
        return "is a reference in the kernel: only values and pointers can be passed"
    if written.count("*") > 1 or "( *" in written:
        return "is a pointer to something that is no plain array"
    if not parameter.pointer and parameter.width > 1:
        return "is a vector passed by value: pass its elements, or a pointer"
    if parameter.pointer and {"local", "__local"} & set(written.split()):
        return "is local memory passed in: declare it inside the kernel instead"
    if type_words(written)[:1] and type_words(written)[0].startswith(("image", "sampler")):
        return "is an image or a sampler: only arrays and scalars can be passed"
    return None


def _check_names(argument: Argument, index: int, problem: Problem, place: KeyLocations) -> None:
    expressions = [("shape", i, e) for i, e in enumerate(argument.shape or [])]
    expressions += [(key, 0, value) for key in ("value", "high") if (value := getattr(argument, key)) is not None]
    for key, position, expression in expressions:
        try:
            check(expression, problem.sizes)
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
    key = "shape" if argument.shape is not None else "value"
    hint = f"at the sizes {', '.join(f'{name} = {value}' for name, value in sizes.items())}"
    return place.error(f"argument '{argument.name}': {message}", "arguments", index, key, hint=hint)
