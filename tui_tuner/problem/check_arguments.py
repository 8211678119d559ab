"""Checks of a problem: its arguments are those of the kernel, and have shapes and values at all sizes and tests."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tui_tuner.errors import ProblemError
from tui_tuner.problem.by_value import Field, Unknown, fields_of
from tui_tuner.problem.c_types import type_words
from tui_tuner.problem.check_inputs import at_sizes, check_test_inputs, fill_fault
from tui_tuner.problem.check_launch import every_run
from tui_tuner.problem.dtypes import holds_bits
from tui_tuner.problem.expressions import ExpressionError, check_expression
from tui_tuner.problem.inputs import array_bytes, check_value
from tui_tuner.problem.model import Argument, Expression, Member, Problem
from tui_tuner.problem.signature import KernelParameter, KernelSignature, pointed_array
from tui_tuner.problem.structures import structures
from tui_tuner.problem.syntax import code_only, declares_constant
from tui_tuner.problem.toml_file import KeyLocations
from tui_tuner.text import suggestion

MAX_BYTES = 2**40
_LIST_DEPTH = 2


def check_arguments(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Hold the arguments against the kernel's signature and evaluate them at all sizes.

    Raises:
        ProblemError: for the first that does not fit.
    """
    _check_constants(problem, place)
    pointed = _check_pointers(problem, signature, place)
    _check_listing(problem, signature, pointed, place)
    parameters = iter(signature.parameters)
    for index, argument in enumerate(problem.arguments):
        parameter = None if argument.constant or argument.name in pointed else next(parameters)
        if parameter is not None and _check_structure(argument, index, parameter, problem, place):
            parameter = None  # more than its members is not to be held against it
        if parameter is not None and (found := _unlike(argument, parameter, problem)) is not None:
            key, reason = found
            hint = f"the kernel has: {_declared(parameter)}"
            raise place.error(f"argument '{argument.name}' {reason}", "arguments", index, key, hint=hint)
        if fault := fill_fault(argument):
            raise place.error(fault.message, "arguments", index, fault.key, hint=fault.hint)
        _check_argument_names(argument, index, problem, place)
    if not any(argument.output for argument in problem.arguments):
        message = "no argument is an output, so nothing could be verified"
        raise place.error(message, "arguments", hint="add output = true to each array that the kernel writes")
    if not any(argument.output and not argument.one_value for argument in problem.arguments):
        message = "every output may hold one value, so a kernel that computes nothing would pass"
        raise place.error(message, "arguments", hint="take one_value out of the one that depends on the inputs")
    if problem.tolerance.integers:
        _check_integers([argument for argument in problem.arguments if argument.output], place)
    check_test_inputs(problem, place)
    _check_values(problem, place)


def _check_integers(outputs: Sequence[Argument], place: KeyLocations) -> None:
    """Whether there are whole numbers that may be off, and no bytes that would be taken for some."""
    path = ("tolerance", "integers")
    if not any(output.dtype.startswith(("int", "uint")) for output in outputs):
        message = "no output holds whole numbers, so none may be off by some"
        raise place.error(message, *path, hint="absolute and relative say how far others may be off")
    for output in outputs:
        if output.holds_structures:
            message = f"the structures of '{output.name}' are compared bit by bit, so no number may be off by some"
            raise place.error(message, *path, hint="take it out, or give the kernel an array of one type to write")


def _check_constants(problem: Problem, place: KeyLocations) -> None:
    """Whether the source has the constant memory that is to be filled."""
    for index, argument in enumerate(problem.arguments):
        name = argument.name
        if not argument.constant:
            continue
        if problem.language != "cuda":
            message = f"argument '{name}': only CUDA has constant memory that the host fills"
            raise place.error(message, "arguments", index, "constant", hint="leave out constant = true")
        if not declares_constant(problem.source_text, name):
            message = f"the source has no __constant__ variable '{name}'"
            hint = f"declare it outside of functions, as in: __constant__ float {name}[16];"
            raise place.error(message, "arguments", index, "name", hint=hint)


def _check_pointers(problem: Problem, signature: KernelSignature, place: KeyLocations) -> frozenset[str]:
    """The names of the arrays whose addresses structures hold.

    Raises:
        ProblemError: one of them is no array of its own.
    """
    arguments = {argument.name: argument for argument in problem.arguments}
    for name, index, number, _ in problem.pointed:
        path, array = ("arguments", index, "members", number), arguments.get(name)
        if array is None or array.shape is None or array.constant:
            why = "there is no argument" if array is None else "no array in device memory is called"
            hint = f"give the array a table of its own: [[arguments]] with name = {json.dumps(name)} and shape"
            raise place.error(f"{why} '{name}', whose address this member holds", *path, hint=hint)
        if name in [parameter.name for parameter in signature.parameters]:
            hint = "an array that a structure points to needs a name that no parameter has"
            raise place.error(f"'{name}' is a parameter of the kernel", *path, hint=hint)
    return frozenset(one.array for one in problem.pointed)


def _check_listing(problem: Problem, signature: KernelSignature, pointed: frozenset[str], place: KeyLocations) -> None:
    """Refuse arguments with other names, or in another order; a parameter without a name may have any."""
    places = [i for i, one in enumerate(problem.arguments) if not one.constant and one.name not in pointed]
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


def _unlike(argument: Argument, parameter: KernelParameter, problem: Problem) -> tuple[str, str] | None:
    """The key that does not fit the parameter, and why."""
    if reason := why_not_passable(parameter):
        return "name", reason
    return _of_another_kind(argument, parameter) or _of_other_elements(argument, parameter, problem)


def _of_another_kind(argument: Argument, parameter: KernelParameter) -> tuple[str, str] | None:
    kind = "shape" if argument.shape is not None else "value" if argument.local is None else "local"
    if parameter.local and kind != "local":
        return kind, f"is a __local pointer in the kernel: it needs local, its elements in a work-group, not {kind}"
    if kind == "local" and not parameter.local:
        return kind, "is no __local pointer in the kernel"
    if parameter.is_list and not argument.addresses:
        needs = "it needs addresses = true, and a shape that begins with how many there are"
        return "name", f"is a list of addresses in the kernel: {needs}"
    if argument.addresses and not parameter.is_list:
        return "addresses", "is no list of addresses in the kernel"
    if parameter.pointer and kind == "value":
        return kind, "is a pointer in the kernel: it needs shape, not value"
    if not parameter.pointer and kind == "shape":
        return kind, "is a scalar in the kernel: it needs value, not shape"
    return None


def _of_other_elements(argument: Argument, parameter: KernelParameter, problem: Problem) -> tuple[str, str] | None:
    if parameter.dtype not in (None, argument.dtype) and not holds_bits(argument.dtype, parameter.dtype):
        is_other = not _may_be_bytes(parameter, problem)
        return ("dtype", f"is {parameter.dtype} in the kernel, not {argument.dtype}") if is_other else None
    if argument.output and parameter.const:
        return "output", "is const in the kernel and cannot be an output"
    return None


def _check_structure(
    argument: Argument, index: int, parameter: KernelParameter, problem: Problem, place: KeyLocations
) -> bool:
    """Whether it is a structure that is passed by value, or an array of some, whose members the source declares so.

    Raises:
        ProblemError: they are not, or only one of the two is a structure.
    """
    by_value = parameter.pointer == argument.holds_structures and "&" not in parameter.type_text
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
        hint = "only numbers, arrays, vectors and addresses of arrays can be passed"
        raise place.error(message, "arguments", index, "members", hint=hint)
    given = [_as_field(member) for member in argument.members]
    if fields is not None and given != list(fields):  # None: it is declared in a header
        first = next((i for i, one in enumerate(given) if i >= len(fields) or one != fields[i]), len(fields) - 1)
        message = f"the members of '{argument.name}' are not those of {' '.join(type_words(parameter.type_text))}"
        hint = f"the source declares: {', '.join(one.words() for one in fields)}"
        raise place.error(message, "arguments", index, "members", min(first, len(given) - 1), hint=hint)
    for member, field in zip(argument.members, fields or (), strict=fields is not None):
        if member.array is not None:
            _check_pointed(member.array, field.pointee, f"{argument.name}.{member.name}", problem, place)
    return True


def _check_pointed(name: str, pointee: str, member: str, problem: Problem, place: KeyLocations) -> None:
    """Hold an array against the type of the member that points to it."""
    index = [argument.name for argument in problem.arguments].index(name)
    parameter = pointed_array(name, pointee, code_only(problem.source_text), problem.language, member)
    if (found := _unlike(problem.arguments[index], parameter, problem)) is not None:
        key, reason = found
        hint = f"the source has: {pointee} {member}"
        raise place.error(f"argument '{name}' {reason}", "arguments", index, key, hint=hint)


def _as_field(member: Member) -> Field:
    return Field(member.name, member.dtype, member.elements, member.alignment)


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
    if written.count("*") + ("[" in written) > _LIST_DEPTH and "(" not in written:
        return "is a pointer to pointers of pointers, which only a host can set"
    if parameter.is_list and not {"global", "__global"}.isdisjoint(written.split()):
        return "is a pointer to pointers, and OpenCL's buffers hold no addresses"
    if "( *" in written:
        return "is a pointer to something that is no plain array"
    if not parameter.pointer and parameter.width > 1:
        return "is a vector passed by value: pass its elements, or a pointer"
    if type_words(written)[:1] and type_words(written)[0].startswith(("image", "sampler")):
        return "is an image or a sampler: only arrays and scalars can be passed"
    return None


def _check_argument_names(argument: Argument, index: int, problem: Problem, place: KeyLocations) -> None:
    expressions: list[tuple[str, int, Expression | float]]
    expressions = [("shape", i, e) for i, e in enumerate(argument.shape or [])]
    expressions += [
        (key, 0, value) for key in ("value", "low", "high") if (value := getattr(argument, key)) is not None
    ]
    for number, member in enumerate(argument.members or []):
        values = member.value if isinstance(member.value, list) else [member.value, member.high]
        values = [] if member.array is not None else values
        expressions += [("members", number, value) for value in values if value is not None]
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
    return place.error(f"argument '{argument.name}': {message}", "arguments", index, key, hint=at_sizes(sizes))
