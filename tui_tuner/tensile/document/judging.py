"""Whether an edit is worth carrying out: what it names, how much it adds, and that it keeps the best so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.tensile.document.applying import apply_edit
from tui_tuner.tensile.document.checks import among, check
from tui_tuner.tensile.document.configuration import Configuration, SizeGroup
from tui_tuner.tensile.document.edits import (
    AddCandidate,
    AddIndependent,
    AddMultiplicative,
    Edit,
    EditRefused,
    alternative_text,
)
from tui_tuner.tensile.document.table import Table
from tui_tuner.tensile.values import ParameterValue, same, value_text


@dataclass(frozen=True)
class Incumbent:
    """A best solution so far, which no edit may make impossible.

    Attributes:
        size_group: number of the size group.
        values: its values of all parameters that the file named when it was measured; of others the default.
        sizes: the problem sizes it is best at, in words.
    """

    size_group: int
    values: Mapping[str, ParameterValue]
    sizes: str


@dataclass(frozen=True)
class Rules:
    """What every edit is held against.

    Attributes:
        limit: permutations that the whole file may have at most.
        incumbents: what must stay possible.
    """

    table: Table
    limit: int
    incumbents: Sequence[Incumbent] = ()


@dataclass(frozen=True)
class Edited:
    """A configuration after some edits.

    Attributes:
        steps: each edit with the permutations of the whole file before and after it.
    """

    configuration: Configuration
    steps: tuple[tuple[Edit, int, int], ...] = ()


def carry_out(configuration: Configuration, edits: Sequence[Edit], rules: Rules) -> tuple[Edited, list[str]]:
    """Carry out edits one after the other.

    Returns:
        The configuration after those that can be, and why the others cannot. The limit and the best so far count at
        the end only: of two edits one may make room for the other.
    """
    before = configuration
    steps: list[tuple[Edit, int, int]] = []
    refused: list[str] = []
    for number, wanted in enumerate(edits, start=1):
        edit = wanted
        try:
            check(configuration, edit, rules.table)
            edit = _written(edit, rules.table)
            after = apply_edit(configuration, edit)
        except EditRefused as error:
            refused.append(f"edit {number} ({edit.words()}): {error}")
            continue
        steps.append((edit, configuration.permutations, after.permutations))
        configuration = after
    refused += _beyond(configuration, rules) + _dropped(before, configuration, rules)
    return Edited(configuration, tuple(steps)), refused


def _written(edit: Edit, table: Table) -> Edit:
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


def _beyond(configuration: Configuration, rules: Rules) -> list[str]:
    if configuration.permutations <= rules.limit:
        return []
    return [
        f"the edits together make {configuration.permutations:,} permutations, and {rules.limit:,} are allowed: "
        "remove values that did badly, or add fewer"
    ]


def _dropped(before: Configuration, after: Configuration, rules: Rules) -> list[str]:
    """The incumbents that no permutation has any more; what the user took out by hand need not come back."""

    def gone(configuration: Configuration, incumbent: Incumbent) -> str:
        return why_gone(configuration.size_groups[incumbent.size_group], incumbent.values, rules.table)

    return [
        f"the best so far at {incumbent.sizes} would no longer be measured: {reason}"
        for incumbent in rules.incumbents
        if (reason := gone(after, incumbent)) and not gone(before, incumbent)
    ]


def why_gone(group: SizeGroup, values: Mapping[str, ParameterValue], table: Table) -> str:
    """Why no permutation of a group has these values; empty if one has."""
    named = {name: values.get(name, table.default(name)) for name in (*values, *group.parameters)}
    for name, value in named.items():
        if group.group_of(name) is None and value is not None:
            offered = group.values_of(name) or _default(name, table)
            if offered and not among(value, offered):
                return f"{name} {value_text(value)} is not among {', '.join(map(value_text, offered))}"
    for number, alternatives in enumerate(group.groups):
        if not any(_agrees(alternative, values) for alternative in alternatives):
            return f"no alternative of group {number} sets {alternative_text(_of_group(alternatives, values))}"
    return ""


def _default(name: str, table: Table) -> list[ParameterValue]:
    default = table.default(name)
    return [] if default is None else [default]


def _of_group(
    alternatives: Sequence[Mapping[str, ParameterValue]], values: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    names = {name for alternative in alternatives for name in alternative}
    return {name: value for name, value in values.items() if name in names}


def _agrees(alternative: Mapping[str, ParameterValue], values: Mapping[str, ParameterValue]) -> bool:
    return all(name not in values or same(value, values[name]) for name, value in alternative.items())
