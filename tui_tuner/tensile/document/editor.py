"""Carries edits out in the text itself: what no edit names keeps its comments, its order and its layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document import BenchmarkConfiguration, ParameterValue, SizeGroup, same, value_text
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
from tui_tuner.tensile.document.reading import COMMON, FORK, GROUPS, group_nodes, parse_configuration
from tui_tuner.tensile.document.yaml_text import (
    Immovable,
    Splice,
    append_item,
    child,
    column_of,
    compose,
    dash_index,
    end,
    insert_below,
    is_shared,
    items,
    line_end,
    line_start,
    newline,
    pairs,
    python_value,
    remove_item,
    remove_pair,
    replace_node,
    spliced,
    start,
)

_NO_FILE = Path()
"""The file that errors name for nodes that were read before: what they hold is known to be sound."""


def content(group: SizeGroup) -> tuple[object, ...]:
    """All that an edit could change, or must not."""
    parameters = sorted((name, list(values)) for name, values in group.parameters.items())
    groups = [[dict(alternative) for alternative in entry] for entry in group.groups]
    return parameters, groups, group.sizes, dict(group.problem_type), group.arguments


def expected(group: SizeGroup, edit: SpaceEdit) -> SizeGroup:
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


class Editor:
    """Finds the places of a size group in the text.

    Args:
        problem: number of the problem that the size group belongs to.
    """

    def __init__(self, text: str, root: yaml.MappingNode, node: yaml.Node, problem: int) -> None:
        self._text = text
        self._root = root
        self._node = node
        self._problem = problem

    def splices(self, edit: SpaceEdit) -> list[Splice]:
        """What an edit changes of the text.

        Raises:
            Immovable: the file is written in a way that forbids it.
        """
        match edit:
            case AddMultiplicative():
                return self._set(edit.parameter, edit.values)
            case RemoveMultiplicative(keep=None):
                return self._delete(edit.parameter)
            case RemoveMultiplicative(keep=keep) if keep is not None:
                return self._keep(edit.parameter, keep)
            case AddCandidate():
                values = self._values(edit.parameter)
                return [append_item(self._text, values, value_text(edit.value))]
            case RemoveCandidate():
                return self._drop(edit.parameter, edit.value)
            case AddIndependent():
                return self._add_alternatives(edit)
            case RemoveIndependent():
                return self._remove_alternative(edit)
        raise AssertionError(edit)

    # --- parameters

    def _entries(self, name: str) -> list[tuple[yaml.SequenceNode, int, yaml.ScalarNode, yaml.Node]]:
        """Every place where a parameter stands: section, number of the entry, key and values."""
        found: list[tuple[yaml.SequenceNode, int, yaml.ScalarNode, yaml.Node]] = []
        sections = (child(self._node, COMMON), child(self._node, FORK))
        for section in (section for section in sections if isinstance(section, yaml.SequenceNode)):
            for number, entry in enumerate(items(section)):
                found += [(section, number, key, values) for key, values in pairs(entry) if key.value == name]
        return found

    def _values(self, name: str) -> yaml.SequenceNode:
        """The list of values that counts: the last one."""
        values = self._entries(name)[-1][3]
        self._refuse_shared(values)
        if not isinstance(values, yaml.SequenceNode):
            raise Immovable(f"{name} has no list of values")
        return values

    def _set(self, name: str, values: Sequence[ParameterValue]) -> list[Splice]:
        text = f"[{', '.join(map(value_text, values))}]"
        if self._entries(name):
            node = self._values(name)
            splice = replace_node(node, text)
            held = [python_value(value, _NO_FILE) for value in node.value]
            if not node.flow_style and len(held) < len(values) and list(values[: len(held)]) == held:
                lines = "\n".join(f"- {value_text(value)}" for value in values[len(held) :])
                return [insert_below(self._text, node.value[-1], column_of(self._text, node), lines)]
            if not node.flow_style:  # a block list begins below its key
                key = self._entries(name)[-1][2]
                return [(self._behind_colon(key), splice[1], f" {text}")]
            return [splice]
        return [self._append_fork(f"{name}: {text}")]

    def _keep(self, name: str, keep: ParameterValue) -> list[Splice]:
        values = self._values(name)
        if values.flow_style:
            return self._set(name, [keep])
        kept = next(number for number, node in enumerate(values.value) if same(python_value(node, _NO_FILE), keep))
        return [remove_item(self._text, values, number) for number in range(len(values.value)) if number != kept]

    def _behind_colon(self, key: yaml.ScalarNode) -> int:
        return self._text.index(":", end(key)) + 1

    def _drop(self, name: str, value: ParameterValue) -> list[Splice]:
        values = self._values(name)
        numbers = [number for number, node in enumerate(values.value) if same(python_value(node, _NO_FILE), value)]
        kept = len(values.value) - len(numbers)
        if len(numbers) == 1 and kept:
            return [remove_item(self._text, values, numbers[0])]
        if not values.flow_style:
            return [remove_item(self._text, values, number) for number in numbers]
        left = [node for number, node in enumerate(values.value) if number not in numbers]
        texts = ", ".join(self._text[start(node) : end(node)] for node in left)
        return [replace_node(values, f"[{texts}]")]

    def _delete(self, name: str) -> list[Splice]:
        """Take a parameter out, wherever it stands."""
        return [self._without_entry(section, number, key) for section, number, key, _ in self._entries(name)]

    def _without_entry(self, section: yaml.SequenceNode, number: int, key: yaml.ScalarNode) -> Splice:
        entry = section.value[number]
        self._refuse_shared(entry)
        if len(entry.value) == 1 and len(section.value) == 1:
            return self._emptied(section)
        if len(entry.value) == 1:
            return remove_item(self._text, section, number)
        return remove_pair(self._text, entry, next(i for i, pair in enumerate(entry.value) if pair[0] is key))

    def _emptied(self, section: yaml.SequenceNode) -> Splice:
        if section.flow_style:
            return replace_node(section, "[]")
        behind = self._behind_colon(next(key for key, value in pairs(self._node) if value is section))
        dash = dash_index(self._text, section, 0)
        if self._text[behind:dash].strip():  # a comment stays
            return line_start(self._text, dash), line_end(self._text, end(section)), ""
        return behind, end(section), ""

    # --- the section of forks

    def _append_fork(self, item: str) -> Splice:
        section = child(self._node, FORK)
        if isinstance(section, yaml.SequenceNode) and section.value:
            self._refuse_shared(section)
            return self._after_last_parameter(section, item)
        return self._new_section(section, item)

    def _after_last_parameter(self, section: yaml.SequenceNode, item: str) -> Splice:
        """Behind the last entry that is no `Groups`, so that parameters stay together."""
        plain = [entry for entry in section.value if all(key.value != GROUPS for key, _ in pairs(entry))]
        if section.flow_style:
            return append_item(self._text, section, f"{{{item}}}")
        if not plain:
            return append_item(self._text, section, item)
        return insert_below(self._text, plain[-1], column_of(self._text, section), f"- {item}")

    def _new_section(self, section: yaml.Node | None, item: str) -> Splice:
        """`ForkParameters` where there is none, or an empty one."""
        entries = items(child(self._root, "BenchmarkProblems"))[self._problem : self._problem + 1]
        if entries and isinstance(entries[0], yaml.SequenceNode) and len(entries[0].value) == 1:
            return append_item(self._text, entries[0], f"{FORK}:\n  - {item}")  # its problem has nothing but a type
        if not isinstance(self._node, yaml.MappingNode) or self._node.flow_style or not self._node.value:
            raise Immovable("the size group stands on one line")
        column = int(self._node.value[0][0].start_mark.column)
        if section is None:
            return insert_below(self._text, self._node, column, f"{FORK}:\n  - {item}")
        behind = self._behind_colon([key for key, _ in pairs(self._node) if key.value == FORK][-1])
        return behind, max(behind, end(section)), f"{newline(self._text)}{' ' * (column + 2)}- {item}"

    # --- groups

    def _groups(self) -> yaml.SequenceNode | None:
        found: yaml.SequenceNode | None = None
        for entry in items(child(self._node, FORK)):
            for key, value in pairs(entry):
                if key.value == GROUPS and isinstance(value, yaml.SequenceNode):
                    found = value
        return found

    def _group(self, number: int) -> yaml.SequenceNode:
        groups = self._groups()
        group = None if groups is None else groups.value[number]
        if not isinstance(group, yaml.SequenceNode):
            raise Immovable("the group is no list")
        self._refuse_shared(group)
        return group

    def _add_alternatives(self, edit: AddIndependent) -> list[Splice]:
        texts = [alternative_text(alternative) for alternative in edit.added]
        if edit.group is not None:
            group = self._group(edit.group)
            if group.flow_style:
                return [append_item(self._text, group, ", ".join(texts))]
            lines = "\n".join(f"- {text}" for text in texts)
            return [insert_below(self._text, group.value[-1], column_of(self._text, group), lines)]
        groups = self._groups()
        if groups is None:
            return [self._append_fork(f"{GROUPS}: [[{', '.join(texts)}]]")]
        self._refuse_shared(groups)
        if groups.flow_style:
            return [append_item(self._text, groups, f"[{', '.join(texts)}]")]
        return [append_item(self._text, groups, "\n".join(f"- {text}" for text in texts))]

    def _remove_alternative(self, edit: RemoveIndependent) -> list[Splice]:
        group = self._group(edit.group)
        number = next(i for i, node in enumerate(group.value) if python_value(node, _NO_FILE) == edit.removed)
        return [remove_item(self._text, group, number)]

    def _refuse_shared(self, node: yaml.Node) -> None:
        if is_shared(self._root, node):
            raise Immovable("an alias lets it stand in several places")


def apply_edit(configuration: BenchmarkConfiguration, edit: SpaceEdit) -> BenchmarkConfiguration:
    """The configuration after an edit. What the edit means is not judged here, see `judging`.

    Raises:
        EditRefused: the file has nothing that it could act on, or is written in a way that forbids it.
    """
    root = compose(configuration.text, configuration.file)
    problem, _, _, node = group_nodes(root)[edit.size_group]
    text = configuration.text
    try:
        # from the end of the text to its beginning, so that none moves the place of another
        for splice in sorted(Editor(text, root, node, problem).splices(edit), reverse=True):
            text = spliced(text, splice)
        edited = parse_configuration(text, configuration.file)
    except Immovable as error:
        raise EditRefused(f"the file does not allow it in this place: {error}") from error
    except ProblemError as error:
        raise EditRefused(f"the file could not be read any more: {error.message}") from error
    if configuration.alternate:
        edited = _with_sizes(edited, configuration)
    _check_nothing_else(configuration, edited, edit)
    return edited


def _with_sizes(edited: BenchmarkConfiguration, before: BenchmarkConfiguration) -> BenchmarkConfiguration:
    """The sizes of the alternate format, which are in a file of their own."""
    groups = [
        replace(after, sizes=old.sizes) for after, old in zip(edited.size_groups, before.size_groups, strict=True)
    ]
    return replace(edited, size_groups=tuple(groups))


def _check_nothing_else(before: BenchmarkConfiguration, after: BenchmarkConfiguration, edit: SpaceEdit) -> None:
    """Whether the text says exactly what the edit means.

    Raises:
        EditRefused: it does not; the layout of the file is one that this program cannot edit.
    """
    wanted = list(before.size_groups)
    wanted[edit.size_group] = expected(wanted[edit.size_group], edit)
    for one, other in zip(wanted, after.size_groups, strict=True):
        if content(one) != content(other) or before.global_parameters != after.global_parameters:
            raise EditRefused("the file is written in a way in which this edit cannot be made safely")
