"""Checks of a problem: names, search space, steps, launch geometry and work can be used and computed at all sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui_tuner.problem.candidate import LOCAL_NAMES, geometry, local_memory
from tui_tuner.problem.contradiction import why_empty
from tui_tuner.problem.expressions import ExpressionError, check_expression, evaluate
from tui_tuner.problem.model import Configuration, Expression, Problem, Test, Value
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.syntax import code_only, constants_of
from tui_tuner.problem.toml_file import KeyLocations, KeyPath
from tui_tuner.problem.tunables import value_faults, why_no_size, why_no_tunable
from tui_tuner.problem.tuning_step import TuningStep, step_faults
from tui_tuner.text import suggestion


def check_steps(steps: Sequence[TuningStep], place: KeyLocations) -> None:
    """Refuse steps that cannot be worked through, whatever the kernel.

    Raises:
        ProblemError: for the first mistake.
    """
    for fault in step_faults(steps):
        raise place.error(fault.message, "steps", *fault.path, hint=fault.hint)


def check_steps_of_problem(problem: Problem, signature: KernelSignature, place: KeyLocations) -> None:
    """Refuse steps that cannot be worked through, or whose tunables have names that mean something in the kernel.

    Raises:
        ProblemError: for the first mistake.
    """
    check_steps(problem.steps, place)
    for index, step in enumerate(problem.steps):
        for name, values in step.tune_params.items():
            check_tunable(problem, name, values, signature, place, ("steps", index, "tune_params", name))


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


def check_macros(problem: Problem, place: KeyLocations) -> None:
    """Whether the source itself has the numbers that are others on the emulator.

    Raises:
        ProblemError: for the first that it does not have.
    """
    macros = () if problem.emulator is None else problem.emulator.macros
    code = code_only(problem.source_text) if macros else ""
    constants = dict(constants_of(code))
    for name in macros:
        defined = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}\b", code, re.MULTILINE)
        if defined is None and name not in constants:
            hint = f"write it in the source, as in: #define {name} 1024"
            raise place.error(f"the source gives '{name}' no number", "emulator", "macros", name, hint=hint)


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


def check_space(problem: Problem, place: KeyLocations) -> None:
    """Refuse restrictions with unknown names, an empty space, and defaults outside of it.

    Raises:
        ProblemError: for the first mistake.
    """
    known = [*problem.tunables, *problem.sizes]
    for index, restriction in enumerate(problem.search.restrictions):
        try:
            check_expression(restriction, known)
        except ExpressionError as error:
            hint = "restrictions may use the names of [tunables] and [sizes]"
            raise place.error(str(error), "search", "restrictions", index, hint=hint) from None
    for name in problem.defaults:
        if name not in problem.tunables:
            hint = suggestion(name, problem.tunables, "tunables")
            raise place.error(f"there is no tunable '{name}'", "defaults", name, hint=hint)
    space = SearchSpace(problem.tunables, problem.search.restrictions, sizes=problem.sizes)
    first = space.enumerate_valid(1)
    if not first:
        why = why_empty(problem.tunables, problem.search.restrictions, sizes=problem.sizes)
        message = f"the restrictions leave no configuration: {why}"
        raise place.error(message, "search", "restrictions", hint="loosen one of them, or add values to [tunables]")
    _check_defaults(problem, space, first[0], place)


def _check_defaults(problem: Problem, space: SearchSpace, valid: Configuration, place: KeyLocations) -> None:
    for name, value in problem.defaults.items():
        values = problem.tunables[name]
        if not any(type(value) is type(v) and value == v for v in values):
            message = f"the default {name} = {value!r} is not among its values"
            raise place.error(message, "defaults", name, hint=f"choose one of {', '.join(map(repr, values))}")
    reason = space.is_valid(problem.default_configuration)
    if reason is not None:
        example = ", ".join(f"{name} = {_toml(value)}" for name, value in valid.items())
        message = (
            f"the default configuration {reason}"
            if reason.startswith("breaks")
            else f"of the default configuration {reason}"
        )
        hint = f"the first value of each tunable is its default unless [defaults] names it; valid is: {example}"
        raise place.error(message, "defaults" if problem.defaults else "tunables", hint=hint)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def check_launch(problem: Problem, place: KeyLocations) -> None:
    """Evaluate the launch of the default configuration, and the work, at all sizes.

    Raises:
        ProblemError: a name is unknown, or a number is not possible.
    """
    for path, expression in _launch_expressions(problem):
        _check_launch_names(expression, [*problem.sizes, *problem.tunables], path, place, "[sizes] and [tunables]")
    for path, expression in _local_expressions(problem):
        known = f"[sizes] and [tunables], and {', '.join(LOCAL_NAMES)}"
        _check_launch_names(expression, [*problem.sizes, *problem.tunables, *LOCAL_NAMES], path, place, known)
    for path, expression in _work_expressions(problem):
        _check_launch_names(expression, list(problem.sizes), path, place, "[sizes]")
    for _, at in every_run(problem):
        _check_geometry(problem, at.sizes, place)
        _check_work(problem, at.sizes, place)


def _launch_expressions(problem: Problem) -> Iterator[tuple[KeyPath, Expression]]:
    for key in type(problem.launch).model_fields:
        value = getattr(problem.launch, key)
        if isinstance(value, list):
            yield from ((("launch", key, index), expression) for index, expression in enumerate(value))
        elif value is not None:
            yield ("launch", key), value


def _local_expressions(problem: Problem) -> Iterator[tuple[KeyPath, Expression]]:
    for index, argument in enumerate(problem.arguments):
        if argument.local is not None:
            yield ("arguments", index, "local"), argument.local


def _work_expressions(problem: Problem) -> Iterator[tuple[KeyPath, Expression]]:
    if problem.work is not None:
        yield ("work", "flops"), problem.work.flops
        yield ("work", "bytes"), problem.work.bytes


def _check_launch_names(
    expression: Expression, known: list[str], path: KeyPath, place: KeyLocations, source: str
) -> None:
    try:
        check_expression(expression, known)
    except ExpressionError as error:
        raise place.error(str(error), *path, hint=f"this may use the names of {source}") from None


def _check_geometry(problem: Problem, sizes: dict[str, int], place: KeyLocations) -> None:
    configuration = problem.default_configuration
    try:
        block = geometry(problem.launch, sizes, configuration).block
        local_memory(problem.arguments, sizes, configuration, block)
    except ExpressionError as error:
        known = (*_launch_expressions(problem), *_local_expressions(problem))
        culprits = [path for path, text in known if f"'{text}'" in str(error)]
        path = culprits[0] if culprits else ("launch",)
        values = ", ".join(f"{name} = {value}" for name, value in {**sizes, **configuration}.items())
        raise place.error(f"the launch: {error}", *path, hint=f"with {values}") from None


def _check_work(problem: Problem, sizes: dict[str, int], place: KeyLocations) -> None:
    for path, expression in _work_expressions(problem):
        try:
            amount = evaluate(expression, sizes)
        except ExpressionError as error:
            raise place.error(str(error), *path, hint="write it with floating point: 2.0 * n**3") from None
        if isinstance(amount, str) or amount < 0:
            raise place.error(f"{path[-1]} is {amount!r}", *path, hint="an amount of work is a number from 0 up")
