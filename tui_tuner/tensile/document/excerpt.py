"""A configuration with nothing but some chosen permutations, for comparing them again or keeping the winners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import yaml

from tui_tuner.tensile.document.configuration import Alternative, BenchmarkConfiguration, SizeGroup
from tui_tuner.tensile.document.edits import alternative_text
from tui_tuner.tensile.document.reading import COMMON, FORK, GROUPS, group_nodes, parse_configuration
from tui_tuner.tensile.document.sizes import ProblemSizes
from tui_tuner.tensile.document.splices import Immovable, Splice, newline, spliced
from tui_tuner.tensile.document.yaml_text import child, compose, end, items, pairs, start
from tui_tuner.tensile.words import ParameterValue, same, value_text


def only(
    configuration: BenchmarkConfiguration,
    chosen: Mapping[int, Sequence[Alternative]],
    sizes: ProblemSizes | None = None,
) -> BenchmarkConfiguration:
    """The configuration with these permutations in place of its forks; sizes and all else stay.

    Args:
        chosen: for each size group all that each solution is to have, what is constant included; of a group without
            an entry its first permutation. A parameter that a solution does not name has its default there.
        sizes: those of a file of their own, as the alternate format has it.

    Raises:
        Immovable: the file is written in a way that does not allow it.
    """
    root = compose(configuration.text, configuration.file)
    text, ending = configuration.text, newline(configuration.text)
    splices = [
        _section(group, node, chosen.get(group.number) or [_first(group)], ending)
        for group, (_, _, _, node) in zip(configuration.size_groups, group_nodes(root), strict=True)
    ]
    for splice in sorted(splices, reverse=True):
        text = spliced(text, splice)
    reduced = parse_configuration(text, configuration.file, sizes)
    for group in reduced.size_groups:
        if not _has_just(group, chosen.get(group.number) or [_first(configuration.size_groups[group.number])]):
            raise Immovable("the chosen permutations cannot be written into it")
    return reduced


def _has_just(group: SizeGroup, chosen: Sequence[Alternative]) -> bool:
    alternatives: Sequence[Alternative] = group.groups[0] if group.groups else [{}]
    if group.permutations != len(chosen):
        return False
    formed = [{**group.constants, **alternative} for alternative in alternatives]
    return all(
        all(name in one and same(one[name], value) for name, value in wanted.items())
        for one, wanted in zip(formed, chosen, strict=True)
    )


def _first(group: SizeGroup) -> Alternative:
    return {
        **group.constants,
        **{name: values[0] for name, values in group.forked.items()},
        **{name: value for alternatives in group.groups for name, value in alternatives[0].items()},
    }


def _section(group: SizeGroup, node: yaml.Node, chosen: Sequence[Alternative], ending: str) -> Splice:
    """Another `ForkParameters` in the place of the old one, or at the end of the size group."""
    if not isinstance(node, yaml.MappingNode) or node.flow_style or not node.value:
        raise Immovable("the size group stands on one line")
    common = _common(group, node)
    if any(name in group.forked for name in common):
        raise Immovable(f"{COMMON} forks a parameter")
    column = int(node.value[0][0].start_mark.column)
    constants = _shared(chosen)
    indent = " " * (column + 2)
    lines = [
        f"{indent}- {name}: [{value_text(value)}]"
        for name, value in constants.items()
        if not (name in common and same(common[name], value))
    ]
    if len(chosen) > 1:
        lines += [f"{indent}- {GROUPS}:", *_alternatives(chosen, constants, indent)]
    return _placed(node, f"{FORK}:{ending}{ending.join(lines)}", f"{ending}{' ' * column}")


def _placed(node: yaml.MappingNode, body: str, before: str) -> Splice:
    found = next(((key, value) for key, value in pairs(node) if key.value == FORK), None)
    if found is None:
        return end(node), end(node), f"{before}{body}"
    key, value = found
    return start(key), max(end(value), end(key) + 1), body


def _shared(chosen: Sequence[Alternative]) -> Alternative:
    """What all solutions have in common."""
    first, *others = chosen
    return {
        name: value
        for name, value in first.items()
        if all(name in other and same(other[name], value) for other in others)
    }


def _alternatives(chosen: Sequence[Alternative], constants: Alternative, indent: str) -> list[str]:
    texts = [
        alternative_text({name: value for name, value in alternative.items() if name not in constants})
        for alternative in chosen
    ]
    return [f"{indent}  {'- -' if number == 0 else '  -'} {text}" for number, text in enumerate(texts)]


def _common(group: SizeGroup, node: yaml.Node) -> dict[str, ParameterValue]:
    """The first value of each common parameter, which stays where it is."""
    entries = items(child(node, COMMON))
    names = [key.value for entry in entries for key, _ in pairs(entry)]
    return {name: group.parameters[name][0] for name in names if group.parameters.get(name)}
