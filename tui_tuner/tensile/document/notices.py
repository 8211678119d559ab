"""What a configuration says that Tensile will take without a word and not as it looks, or not take at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import yaml

from tui_tuner.tensile.document.configuration import Configuration, SizeGroup, distinct
from tui_tuner.tensile.document.judging import Table
from tui_tuner.tensile.document.reading import COMMON, FORK, GROUPS, group_nodes
from tui_tuner.tensile.document.yaml_text import child, compose, items, line_of, pairs
from tui_tuner.tensile.values import value_text


def notices(configuration: Configuration, table: Table) -> list[str]:
    """One line each, with the line of the file where there is one."""
    root = compose(configuration.text, configuration.file)
    found: list[str] = []
    for group, (_, _, _, node) in zip(configuration.size_groups, group_nodes(root), strict=True):
        found += _of_text(node)
        found += [f"line {group.line}: {text}" for text in _of_space(group, table)]
    if child(root, "GroupForkParameters") is not None:
        found.append(_unread(child(root, "GroupForkParameters")))
    return found


def _of_text(node: yaml.Node) -> Iterator[str]:
    """What only the text shows."""
    for section in (COMMON, FORK):
        keys = [key for entry in items(child(node, section)) for key, _ in pairs(entry)]
        for name, times in Counter(key.value for key in keys).items():
            if times > 1:
                last = [key for key in keys if key.value == name][-1]
                yield f"line {line_of(last)}: {name} stands {times} times in {section}: only this one counts"
    if child(node, "GroupForkParameters") is not None:
        yield _unread(child(node, "GroupForkParameters"))


def _unread(node: yaml.Node | None) -> str:
    line = "" if node is None else f"line {line_of(node)}: "
    return f"{line}GroupForkParameters is read nowhere in Tensile: put the alternatives into {GROUPS} of {FORK}"


def _of_space(group: SizeGroup, table: Table) -> Iterator[str]:
    for name, values in group.parameters.items():
        if not values:
            yield f"{name} has an empty list: it vanishes, and its default with it"
        if len(distinct(list(values))) < len(values):
            yield f"{name} has a value more than once: each counts as a permutation and is built"
        faults = (fault for value in values if (fault := table.fault(name, value)) is not None)
        yield from (f"not in the table of valid values: {fault}" for fault in faults)
    for number, alternatives in enumerate(group.groups):
        yield from _of_group(group, number)
        for alternative in alternatives:
            faults = (fault for pair in alternative.items() if (fault := table.fault(*pair)) is not None)
            yield from (f"not in the table of valid values: {fault}" for fault in faults)
    if not group.permutations:
        yield "there is no permutation at all"
    if not group.sizes.count:
        yield "there is no problem size to benchmark"


def _of_group(group: SizeGroup, number: int) -> Iterator[str]:
    alternatives = group.groups[number]
    if not alternatives:
        yield f"group {number} is empty: it leaves no permutation"
        return
    names = {name for alternative in alternatives for name in alternative}
    for name in sorted(names):
        if name in group.forked:
            values = ", ".join(map(value_text, group.forked[name]))
            yield f"{name} is forked ({values}) and set by group {number}, which wins: the fork only makes duplicates"
        if any(name not in alternative for alternative in alternatives):
            yield f"alternatives of group {number} without {name} do not have the others' value of it"
        if any(name in alternative for other in group.groups[:number] for alternative in other):
            yield f"{name} is set by group {number} and by one before it, which loses"
