"""What an edit means for a size group, text aside."""

from __future__ import annotations

from dataclasses import replace

from tui_tuner.tensile.document.configuration import SizeGroup
from tui_tuner.tensile.document.edits import (
    AddCandidate,
    AddIndependent,
    AddMultiplicative,
    Edit,
    RemoveCandidate,
    RemoveIndependent,
    RemoveMultiplicative,
)
from tui_tuner.tensile.values import same


def content(group: SizeGroup) -> tuple[object, ...]:
    """All that an edit could change, or must not."""
    parameters = sorted((name, list(values)) for name, values in group.parameters.items())
    groups = [[dict(alternative) for alternative in entry] for entry in group.groups]
    return parameters, groups, group.sizes, dict(group.problem_type), group.arguments


def expected(group: SizeGroup, edit: Edit) -> SizeGroup:
    """What the size group says after the edit."""
    parameters, groups = dict(group.parameters), [list(entry) for entry in group.groups]
    match edit:
        case AddMultiplicative():
            parameters[edit.parameter] = tuple(edit.values)
        case RemoveMultiplicative(keep=None):
            parameters.pop(edit.parameter, None)
        case RemoveMultiplicative(keep=keep) if keep is not None:
            parameters[edit.parameter] = (keep,)
        case AddCandidate():
            parameters[edit.parameter] = (*parameters.get(edit.parameter, ()), edit.value)
        case RemoveCandidate():
            kept = (value for value in parameters.get(edit.parameter, ()) if not same(value, edit.value))
            parameters[edit.parameter] = tuple(kept)
        case AddIndependent(group=None):
            groups.append([dict(alternative) for alternative in edit.added])
        case AddIndependent(group=number) if number is not None:
            groups[number] += [dict(alternative) for alternative in edit.added]
        case RemoveIndependent():
            groups[edit.group].remove(next(a for a in groups[edit.group] if a == edit.removed))
    return replace(group, parameters=parameters, groups=tuple(tuple(entry) for entry in groups))
