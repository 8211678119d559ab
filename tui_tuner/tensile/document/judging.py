"""Judges edits before they are carried out: valid values, the limit of permutations, the best solutions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tui_tuner.tensile.document import (
    BenchmarkConfiguration,
    ParameterTable,
    ParameterValue,
    SizeGroup,
    distinct,
    same,
    value_text,
)
from tui_tuner.tensile.document.editor import apply_edit
from tui_tuner.tensile.document.edits import (
    AddCandidate,
    AddIndependent,
    AddMultiplicative,
    EditRefused,
    RemoveCandidate,
    RemoveIndependent,
    RemoveMultiplicative,
    SpaceEdit,
    alternative_text,
)


def among(value: ParameterValue, offered: Iterable[ParameterValue]) -> bool:
    """Whether Tensile takes a value for one of these."""
    return any(same(value, other) for other in offered)


def check_edit(configuration: BenchmarkConfiguration, edit: SpaceEdit, table: ParameterTable) -> None:
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


def _check_values(name: str, values: Sequence[ParameterValue], table: ParameterTable) -> None:
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


def _check_removal(group: SizeGroup, edit: RemoveMultiplicative, table: ParameterTable) -> None:
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
    known: list[Mapping[str, ParameterValue]] = [] if edit.group is None else [*group.groups[edit.group]]
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


@dataclass(frozen=True)
class BestSolution:
    """A best solution so far, which no edit may make impossible.

    Attributes:
        size_group: number of the size group.
        values: its values of all parameters that the file named when it was measured; of others the default.
        sizes: the problem sizes it is best at, in words.
        alike: by parameter, other values with which Tensile makes the same solution.
        instead: solutions that are not measurably slower there: each will do as well.
    """

    size_group: int
    values: Mapping[str, ParameterValue]
    sizes: str
    alike: Mapping[str, Sequence[ParameterValue]] = field(default_factory=dict)
    instead: Sequence[BestSolution] = ()


@dataclass(frozen=True)
class EditLimits:
    """What every edit is held against.

    Attributes:
        limit: permutations that the whole file may have at most.
        incumbents: what must stay possible.
    """

    table: ParameterTable
    limit: int
    incumbents: Sequence[BestSolution] = ()


@dataclass(frozen=True)
class EditedConfiguration:
    """A configuration after some edits.

    Attributes:
        steps: each edit with the permutations of the whole file before and after it.
    """

    configuration: BenchmarkConfiguration
    steps: tuple[tuple[SpaceEdit, int, int], ...] = ()


def apply_edits(
    configuration: BenchmarkConfiguration, edits: Sequence[SpaceEdit], rules: EditLimits
) -> tuple[EditedConfiguration, list[str]]:
    """Carry out edits one after the other.

    Returns:
        The configuration after those that can be, and why the others cannot. The limit and the best so far count at
        the end only: of two edits one may make room for the other.
    """
    before = configuration
    steps: list[tuple[SpaceEdit, int, int]] = []
    refused: list[str] = []
    for number, wanted in enumerate(edits, start=1):
        edit = wanted
        try:
            check_edit(configuration, edit, rules.table)
            edit = _written(edit, rules.table)
            after = apply_edit(configuration, edit)
        except EditRefused as error:
            refused.append(f"edit {number} ({edit.words()}): {error}")
            continue
        steps.append((edit, configuration.permutations, after.permutations))
        configuration = after
    refused += _beyond(configuration, rules) + _dropped(before, configuration, rules)
    return EditedConfiguration(configuration, tuple(steps)), refused


def _written(edit: SpaceEdit, table: ParameterTable) -> SpaceEdit:
    """The edit with values of the types that Tensile's table has; what is removed stays as the file has it."""
    match edit:
        case AddMultiplicative():
            values = [table.written(edit.parameter, value) for value in edit.values]
            return edit.model_copy(update={"values": values})
        case AddCandidate():
            return edit.model_copy(update={"value": table.written(edit.parameter, edit.value)})
        case AddIndependent():
            alternatives = [
                [one.model_copy(update={"value": table.written(one.parameter, one.value)}) for one in settings]
                for settings in edit.alternatives
            ]
            return edit.model_copy(update={"alternatives": alternatives})
    return edit


def _beyond(configuration: BenchmarkConfiguration, rules: EditLimits) -> list[str]:
    if configuration.permutations <= rules.limit:
        return []
    return [
        f"the edits together make {configuration.permutations:,} permutations, and {rules.limit:,} are allowed: "
        "remove values that did badly, or add fewer"
    ]


def _dropped(before: BenchmarkConfiguration, after: BenchmarkConfiguration, rules: EditLimits) -> list[str]:
    """The incumbents that no permutation has any more; what the user took out by hand need not come back."""

    def gone(configuration: BenchmarkConfiguration, one: BestSolution) -> str:
        return why_gone(configuration.size_groups[one.size_group], one.values, rules.table, one.alike)

    found: list[str] = []
    for incumbent in rules.incumbents:
        there = [one for one in (incumbent, *incumbent.instead) if not gone(before, one)]
        reasons = [gone(after, one) for one in there]
        if there and all(reasons):
            found.append(f"the best so far at {incumbent.sizes} would no longer be measured: {reasons[0]}")
    return found


def why_gone(
    group: SizeGroup,
    values: Mapping[str, ParameterValue],
    table: ParameterTable,
    alike: Mapping[str, Sequence[ParameterValue]],
) -> str:
    """Why no permutation of a group has these values, or those that make the same; empty if one has."""
    named = {name: values.get(name, table.default(name)) for name in (*values, *group.parameters)}
    for name, value in named.items():
        if group.group_of(name) is None and value is not None:
            offered = group.values_of(name) or _default(name, table)
            if offered and not any(among(one, offered) for one in (value, *alike.get(name, ()))):
                return f"{name} {value_text(value)} is not among {', '.join(map(value_text, offered))}"
    for number, alternatives in enumerate(group.groups):
        if not any(_agrees(alternative, values, alike) for alternative in alternatives):
            return f"no alternative of group {number} sets {alternative_text(_of_group(alternatives, values))}"
    return ""


def _default(name: str, table: ParameterTable) -> list[ParameterValue]:
    default = table.default(name)
    return [] if default is None else [default]


def _of_group(
    alternatives: Sequence[Mapping[str, ParameterValue]], values: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    names = {name for alternative in alternatives for name in alternative}
    return {name: value for name, value in values.items() if name in names}


def _agrees(
    alternative: Mapping[str, ParameterValue],
    values: Mapping[str, ParameterValue],
    alike: Mapping[str, Sequence[ParameterValue]],
) -> bool:
    return all(
        name not in values or among(value, (values[name], *alike.get(name, ()))) for name, value in alternative.items()
    )
