"""From what a model proposes to the configurations that are measured: repaired, or refused with the reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tui_tuner.problem.model import Configuration, Value
from tui_tuner.problem.nearby import nearest_valid
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.value_order import exact_key
from tui_tuner.prompts.facts import configuration_facts


class Chooser:
    """Takes proposals in their order; the same ones give the same choice, while they arrive and when all are there.

    Args:
        space: the valid configurations.
        best: gives the values that a proposal leaves out.
        measured: what is known already.
        limit: configurations chosen at most.

    Attributes:
        chosen: the configurations to measure.
        remarks: what was wrong with the others, in words for the model.
        proposed: how many proposals there were, up to the limit.
        invalid: how many of them were not valid as proposed.
    """

    def __init__(
        self, space: SearchSpace, best: Configuration, measured: Collection[Configuration], limit: int
    ) -> None:
        self._space = space
        self._best = best
        self._measured = list(measured)
        self._known = {exact_key(configuration) for configuration in measured}
        self._limit = limit
        self.chosen: list[Configuration] = []
        self.remarks: list[str] = []
        self.proposed = 0
        self.invalid = 0

    @property
    def mostly_invalid(self) -> bool:
        """Whether more than half of the proposals were not valid."""
        return self.invalid * 2 > self.proposed

    def take(self, proposal: Mapping[str, object]) -> Configuration | None:
        """The configuration to measure for a proposal; None if there is none."""
        if len(self.chosen) >= self._limit:
            return None
        self.proposed += 1
        wanted = self._read(proposal)
        fault = self._space.is_valid(wanted)
        if fault is None:
            return self._new(wanted)
        self.invalid += 1
        return self._repaired(wanted, fault)

    def _new(self, wanted: Configuration) -> Configuration | None:
        if exact_key(wanted) in self._known:
            self.remarks.append(f"{self._words(wanted)}: was proposed or measured before")
            return None
        return self._choose(wanted)

    def _repaired(self, wanted: Configuration, fault: str) -> Configuration | None:
        near = nearest_valid(self._space, wanted, [*self._measured, *self.chosen], self._best)
        if near is None:
            self.remarks.append(f"{self._words(wanted)}: {fault}; nothing valid is near")
            return None
        changed = {name: value for name, value in near.items() if value != wanted.get(name)}
        self.remarks.append(f"{self._words(wanted)}: {fault}; taken instead with {configuration_facts(changed)}")
        return self._choose(near)

    def _choose(self, configuration: Configuration) -> Configuration:
        self._known.add(exact_key(configuration))
        self.chosen.append(configuration)
        return configuration

    def _read(self, proposal: Mapping[str, object]) -> Configuration:
        """A proposal with a value for each tunable, as the space writes it where it means a listed one."""
        wanted: Configuration = {}
        for name, values in self._space.tunables.items():
            value = proposal.get(name)
            if len(values) == 1 or not isinstance(value, bool | int | float | str):
                value = values[0] if len(values) == 1 else self._best[name]
            wanted[name] = next((listed for listed in values if _means(value, listed)), value)
        return wanted

    def _words(self, configuration: Configuration) -> str:
        free = {name: value for name, value in configuration.items() if len(self._space.tunables[name]) > 1}
        return configuration_facts(free)


def _means(value: Value, listed: Value) -> bool:
    """Whether a value is the listed one in other letters: 64.0 or "64" for 64, true for 1."""
    return value == listed or str(value).strip().lower() == str(listed).lower()
