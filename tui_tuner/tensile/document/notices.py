"""What a configuration says that Tensile will take without a word and not as it looks, or not take at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import yaml

from tui_tuner.tensile.document.configuration import BenchmarkConfiguration, ParameterTable, SizeGroup, distinct
from tui_tuner.tensile.document.reading import COMMON, DEAD, FINAL, FORK, GROUPS, group_nodes
from tui_tuner.tensile.document.yaml_text import child, compose, is_null, items, line_of, pairs
from tui_tuner.tensile.words import value_text

_READ = (COMMON, FORK, FINAL, "CustomKernels", "InternalSupportParams", *DEAD)
_READ_ALTERNATE = ("GlobalParameters", "ProblemType", COMMON, FORK, "LibraryLogic", "LibraryClient", "TestParameters")
"""Keys that mean something, of a size group and at the top of the alternate format."""


def notices(configuration: BenchmarkConfiguration, table: ParameterTable) -> list[str]:
    """One line each, with the line of the file where there is one."""
    root = compose(configuration.text, configuration.file)
    found: list[str] = []
    for group, (_, _, _, node) in zip(configuration.size_groups, group_nodes(root), strict=True):
        found += _of_keys(node, _READ_ALTERNATE if configuration.alternate else _READ)
        found += _of_text(node)
        found += [f"line {group.line}: {text}" for text in _of_space(group, table)]
    outside = child(root, "GroupForkParameters")
    if outside is not None and not configuration.alternate:
        found.append(_unread("GroupForkParameters", outside))
    return found


def _of_keys(node: yaml.Node, read: Sequence[str]) -> Iterator[str]:
    """Keys that count for nothing."""
    keys = [key for key, _ in pairs(node)]
    for key in keys:
        if key.value not in read:
            yield _unread(key.value, key)
    own = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    for name in [name for name, times in Counter(key.value for key in own).items() if times > 1]:
        yield f"line {line_of(_last(own, name))}: {name} stands more than once in its size group: only this one counts"
    kernels = child(node, "CustomKernels")
    if not is_null(child(node, "InternalSupportParams")) and (is_null(kernels) or not items(kernels)):
        yield f"line {line_of(node)}: InternalSupportParams needs CustomKernels beside it: TensileLite ends over it"


def _of_text(node: yaml.Node) -> Iterator[str]:
    """What only the text shows."""
    for section in (COMMON, FORK):
        keys = [key for entry in items(child(node, section)) for key, _ in pairs(entry)]
        for name, times in Counter(key.value for key in keys).items():
            if times > 1:
                line = line_of(_last(keys, name))
                yield f"line {line}: {name} stands {times} times in {section}: only this one counts"
    forked = {key.value: key for entry in items(child(node, FORK)) for key, _ in pairs(entry)}
    for key in [key for entry in items(child(node, COMMON)) for key, _ in pairs(entry) if key.value in forked]:
        yield f"line {line_of(key)}: {key.value} stands in {FORK} as well, which wins: this one counts for nothing"


def _last(keys: Sequence[yaml.ScalarNode], name: str) -> yaml.ScalarNode:
    return [key for key in keys if key.value == name][-1]


def _unread(name: str, node: yaml.Node) -> str:
    way_out = f": put the alternatives into {GROUPS} of {FORK}" if name == "GroupForkParameters" else ""
    return f"line {line_of(node)}: {name} is read nowhere in Tensile{way_out}"


def _of_space(group: SizeGroup, table: ParameterTable) -> Iterator[str]:
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
    if group.custom_kernels:
        yield "CustomKernels are built and timed as well, and not counted among the permutations"
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
