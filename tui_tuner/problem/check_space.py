"""Checks of a problem: restrictions can be read and leave configurations, the defaults among them."""

from __future__ import annotations

from tui_tuner.problem.contradiction import why_empty
from tui_tuner.problem.expressions import ExpressionError, check
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.space import SearchSpace


def check_space(problem: Problem, place: KeyLocations) -> None:
    """Refuse restrictions with unknown names, an empty space, and defaults outside of it.

    Raises:
        ProblemError: for the first mistake.
    """
    known = [*problem.tunables, *problem.sizes]
    for index, restriction in enumerate(problem.search.restrictions):
        try:
            check(restriction, known)
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
        message = f"the default configuration {reason}"
        hint = f"the first value of each tunable is its default unless [defaults] names it; valid is: {example}"
        raise place.error(message, "defaults" if problem.defaults else "tunables", hint=hint)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)
