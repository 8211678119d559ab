"""Which tunables restrict each other, and in which order they are best bound."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tui_tuner.problem.rules import SpaceRule


def groups(names: Sequence[str], rules: Sequence[SpaceRule]) -> list[list[str]]:
    """The tunables that no rule connects, apart from each other, each group in the order in which it is best bound.

    The first group is empty: it is that of the rules about sizes alone.
    """
    connected: list[set[str]] = [{name} for name in names]
    for rule in rules:
        touched = [group for group in connected if group & rule.names]
        if len(touched) > 1:
            connected = [group for group in connected if group not in touched] + [set().union(*touched)]
    position = {name: index for index, name in enumerate(names)}
    connected.sort(key=lambda group: min(position[name] for name in group))
    return [[], *(_binding_order(group, names, rules) for group in connected)]


def _binding_order(group: Collection[str], names: Sequence[str], rules: Sequence[SpaceRule]) -> list[str]:
    """Next is always a tunable of the rule that can be applied soonest."""
    order: list[str] = []
    while len(order) < len(group):
        free = [name for name in names if name in group and name not in order]
        pending = [rule.names - set(order) for rule in rules if rule.names & set(free)]
        soonest = min(pending, key=len, default=frozenset(free))
        order.extend(name for name in free if name in soonest)
    return order
