"""Whether an operation makes sense for the size group as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tui_tuner.tensile.document.configuration import Configuration, SizeGroup, distinct
from tui_tuner.tensile.document.edits import (
    AddCandidate,
    AddIndependent,
    AddMultiplicative,
    Edit,
    EditRefused,
    RemoveCandidate,
    RemoveIndependent,
    RemoveMultiplicative,
    alternative_text,
)
from tui_tuner.tensile.document.table import Table
from tui_tuner.tensile.values import ParameterValue, same, value_text


def among(value: ParameterValue, offered: Iterable[ParameterValue]) -> bool:
    """Whether Tensile takes a value for one of these."""
    return any(same(value, other) for other in offered)


def check(configuration: Configuration, edit: Edit, table: Table) -> None:
    """Whether an edit makes sense for the file as it is.

    Raises:
        EditRefused: it does not.
    """
    if edit.size_group >= len(configuration.size_groups):
        raise EditRefused(f"there is no size group {edit.size_group}: there are {len(configuration.size_groups)}")
    group = configuration.size_groups[edit.size_group]
    match edit:
        case AddMultiplicative():
            _check_fork(group, edit)
            _check_values(edit.parameter, edit.values, table)
        case RemoveMultiplicative():
            _check_removal(group, edit, table)
        case AddCandidate():
            _check_candidate(group, edit)
            _check_values(edit.parameter, [edit.value], table)
        case RemoveCandidate():
            _check_dropped(group, edit)
        case AddIndependent():
            _check_alternatives(group, edit)
            for name, value in (pair for alternative in edit.added for pair in alternative.items()):
                _check_values(name, [value], table)
        case RemoveIndependent():
            _check_known_alternative(group, edit)


def _check_values(name: str, values: Sequence[ParameterValue], table: Table) -> None:
    for value in values:
        fault = table.fault(name, value)
        if fault is not None:
            raise EditRefused(fault)
        if table.is_unchecked(name) and isinstance(value, str):
            raise EditRefused(f"{name} is not yours to set: Tensile takes any word for it")


def _check_fork(group: SizeGroup, edit: AddMultiplicative) -> None:
    name = edit.parameter
    if name in group.grouped:
        raise EditRefused(f"{name} is set by group {group.group_of(name)}, which would override it")
    if name in group.forked:
        raise EditRefused(f"{name} is forked already: add candidates to it")
    if len(distinct(edit.values)) < len(edit.values):
        raise EditRefused("a value stands twice: both would be counted and built")
    held = group.constants.get(name)
    if held is not None and not among(held, edit.values):
        raise EditRefused(f"{name} is {value_text(held)} now: keep that among the values, it is what was measured")


def _check_removal(group: SizeGroup, edit: RemoveMultiplicative, table: Table) -> None:
    values = group.parameters.get(edit.parameter)
    if values is None:
        raise EditRefused(f"the file does not fork {edit.parameter}{_where(group, edit.parameter)}")
    if edit.keep is None and table.default(edit.parameter) is None:
        raise EditRefused(f"{edit.parameter} has no default: say which value to keep")
    if edit.keep is not None and not among(edit.keep, values):
        raise EditRefused(f"{edit.parameter} has no value {value_text(edit.keep)} to keep")
    if edit.keep is not None and len(values) == 1:
        raise EditRefused(f"{edit.parameter} is held at {value_text(values[0])} already")


def _check_candidate(group: SizeGroup, edit: AddCandidate) -> None:
    values = group.parameters.get(edit.parameter)
    if values is None:
        where = _where(group, edit.parameter)
        raise EditRefused(f"the file does not name {edit.parameter}{where or ': add it as a multiplicative parameter'}")
    if among(edit.value, values):
        raise EditRefused(f"{edit.parameter} has the value {value_text(edit.value)} already")


def _check_dropped(group: SizeGroup, edit: RemoveCandidate) -> None:
    values = group.parameters.get(edit.parameter)
    if values is None or not among(edit.value, values):
        where = "" if values is not None else _where(group, edit.parameter)
        raise EditRefused(f"{edit.parameter} has no value {value_text(edit.value)}{where}")
    if len(distinct(list(values))) == 1:
        raise EditRefused(f"it is the only value of {edit.parameter}: an empty list would take its default away too")


def _where(group: SizeGroup, name: str) -> str:
    number = group.group_of(name)
    return "" if number is None else f": group {number} sets it, add or remove an alternative there"


def _check_alternatives(group: SizeGroup, edit: AddIndependent) -> None:
    if edit.group is not None and edit.group >= len(group.groups):
        raise EditRefused(f"there is no group {edit.group}: there are {len(group.groups)}")
    known = [] if edit.group is None else [dict(alternative) for alternative in group.groups[edit.group]]
    if edit.group is None and len(edit.added) < 2:
        raise EditRefused("a new group needs two alternatives at least")
    names = set(known[0] if known else edit.added[0])
    for alternative in edit.added:
        if not alternative or set(alternative) != names:
            raise EditRefused(
                f"every alternative of a group must set the same parameters, here {', '.join(sorted(names))}: "
                "one that leaves a parameter out would not have the others' value of it"
            )
        if alternative in known:
            raise EditRefused(f"the group has the alternative {alternative_text(alternative)} already")
        known.append(alternative)
    for name in names:
        other = group.group_of(name)
        if name in group.forked:
            raise EditRefused(f"{name} is forked as well: the group would override it and only make duplicates")
        if other is not None and other != edit.group:
            raise EditRefused(f"{name} is set by group {other}: of two groups the last one would win")


def _check_known_alternative(group: SizeGroup, edit: RemoveIndependent) -> None:
    if edit.group >= len(group.groups):
        raise EditRefused(f"there is no group {edit.group}: there are {len(group.groups)}")
    alternatives = group.groups[edit.group]
    if edit.removed not in alternatives:
        raise EditRefused(f"group {edit.group} has no alternative {alternative_text(edit.removed)}")
    if len(alternatives) == 1:
        raise EditRefused("it is the only alternative: an empty group would leave no permutation at all")
