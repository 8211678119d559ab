"""Fields that Helion ignores beside certain values of others, found by asking it: restrictions that say so.

With a flat grid, for one, the options of the persistent loop mean nothing: without these restrictions most of a space
would be the same few kernels under many names.
"""

from __future__ import annotations

from collections.abc import Iterator

import helion
from helion.exc import InvalidConfig

from tui_tuner.evaluate.python_kernels.child.fragments import HelionSpace
from tui_tuner.evaluate.python_kernels.names import gathered
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.table import Value

_SWITCHES = ("pid_type",)
"""Fields beside which others may mean nothing."""


def idle_restrictions(space: HelionSpace, default: Configuration) -> list[str]:
    """Restrictions that hold a field at its default where Helion ignores it; `default` satisfies all of them."""
    tunables = space.tunables(default)
    return [
        f"{switch} != {value!r} or {name} == {default[name]!r}"
        for switch in _SWITCHES
        if switch in tunables
        for name, values in tunables.items()
        if name != switch
        for value in _idle_at(space, default, switch, name, values)
    ]


def _idle_at(
    space: HelionSpace, default: Configuration, switch: str, name: str, values: list[Value]
) -> Iterator[Value]:
    """The values of the switch at which a field is ignored, if there are others at which it is not."""
    others = [value for value in values if value != default[name]]
    choices = space.tunables(default)[switch]
    ignored = [c for c in choices if others and all(_is_ignored(space, default, switch, c, name, o) for o in others)]
    if len(ignored) < len(choices):
        yield from ignored


def _is_ignored(
    space: HelionSpace, default: Configuration, switch: str, choice: Value, name: str, value: Value
) -> bool:
    flat = {**default, switch: choice, name: value}
    try:
        normalized = space.flat(space.normalized(helion.Config.from_dict(gathered(flat))))
    except InvalidConfig:
        return False
    return normalized[switch] == choice and normalized[name] == default[name]
