"""Checks of a problem: launch geometry and work can be computed at all sizes."""

from __future__ import annotations

from collections.abc import Iterator

from tui_tuner.problem.check_names import every_run
from tui_tuner.problem.expressions import ExpressionError, check, evaluate
from tui_tuner.problem.geometry import geometry
from tui_tuner.problem.model import Expression, Problem
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.positions import KeyPath


def check_launch(problem: Problem, place: KeyLocations) -> None:
    """Evaluate the launch of the default configuration, and the work, at all sizes.

    Raises:
        ProblemError: a name is unknown, or a number is not possible.
    """
    for path, expression in _launch_expressions(problem):
        _check_names(expression, [*problem.sizes, *problem.tunables], path, place, "[sizes] and [tunables]")
    for path, expression in _work_expressions(problem):
        _check_names(expression, list(problem.sizes), path, place, "[sizes]")
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


def _work_expressions(problem: Problem) -> Iterator[tuple[KeyPath, Expression]]:
    if problem.work is not None:
        yield ("work", "flops"), problem.work.flops
        yield ("work", "bytes"), problem.work.bytes


def _check_names(expression: Expression, known: list[str], path: KeyPath, place: KeyLocations, source: str) -> None:
    try:
        check(expression, known)
    except ExpressionError as error:
        raise place.error(str(error), *path, hint=f"this may use the names of {source}") from None


def _check_geometry(problem: Problem, sizes: dict[str, int], place: KeyLocations) -> None:
    configuration = problem.default_configuration
    try:
        geometry(problem.launch, sizes, configuration)
    except ExpressionError as error:
        culprits = [path for path, text in _launch_expressions(problem) if f"'{text}'" in str(error)]
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
