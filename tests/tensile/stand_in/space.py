"""The space of a size group by Tensile's rules: what is constant, what is forked, and every permutation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from tests.tensile.stand_in.parameters import DEFAULTS, PARAMETERS
from tests.tensile.stand_in.speech import fatal

_DEAD = ("InitialSolutionParameters", "BenchmarkForkParameters", "JoinParameters", "BenchmarkJoinParameters")


@dataclass(frozen=True)
class Space:
    """A size group's parameters.

    Attributes:
        constants: values of those with one value, defaults among them.
        forked: values of those with several.
        groups: each a list of alternatives, each of these a map of values.
    """

    constants: dict[str, Any]
    forked: dict[str, list[Any]]
    groups: list[list[dict[str, Any]]]

    def permutations(self) -> list[dict[str, Any]]:
        """All combinations, the first parameter changing fastest; groups come last and win."""
        axes = [[{name: value} for value in values] for name, values in self.forked.items()] + self.groups
        found = []
        for choice in itertools.product(*reversed(axes)):
            permutation: dict[str, Any] = {}
            for part in reversed(choice):
                permutation.update(part)
            found.append(permutation)
        return found


def space_of(group: dict[str, Any]) -> Space:
    """The space of a size group; ends the program where Tensile would."""
    dead = [key for key in _DEAD if group.get(key) is not None]
    if len(dead) == 1:
        fatal(f"Benchmark step '{dead[0]}' is no longer supported")
    if dead:
        fatal(f"Benchmark steps {dead} are no longer supported")
    forks = _flat(group.get("ForkParameters") or [])
    groups = forks.pop("Groups", [])
    told = _flat(group.get("BenchmarkCommonParameters") or []) | forks
    for name, values in told.items():
        _check(name, values)
    for name, value in [pair for alternatives in groups for one in alternatives for pair in one.items()]:
        _check(name, [value])
    all_values = {name: [value] for name, value in DEFAULTS.items()} | told
    constants = {name: values[0] for name, values in all_values.items() if len(values) == 1}
    return Space(constants, {name: values for name, values in all_values.items() if len(values) > 1}, groups)


def _flat(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """One-key maps as one map: the last of a name wins, in the place of the first."""
    return dict(itertools.chain.from_iterable(entry.items() for entry in entries))


def _check(name: str, values: list[Any]) -> None:
    if name not in PARAMETERS:
        fatal(f"Invalid parameter name: {name}\nValid parameters are {sorted(PARAMETERS)}.")
    for value in values:
        if not PARAMETERS[name][1](value):
            fatal(f"Invalid parameter value: {name} = {value}\nRefer to Common.py for more info.")
