"""How a kernel is tuned, on the start screen: a line for each picker and each limit."""

from __future__ import annotations

from collections.abc import Iterator

from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Select, Static

from tui_tuner.tui.start.start_world import PICKS, Found, StartWorld

BUDGETS = {"max_evaluations": "--max-evals", "max_time": "--max-time", "max_cost": "--max-cost"}
"""Fields of the screen and the options that they are."""
_LABELS = {
    "max_evaluations": ("evaluations", "as many as it takes"),
    "max_time": ("time", "no limit; or as in 20m"),
    "max_cost": ("cost in $", "no limit; or as in 2.5"),
}
"""What stands before each, and in it while it is empty."""


class How(Vertical):
    """The fields, once the settings are read."""

    def __init__(self) -> None:
        super().__init__(id="how")

    async def fill(self, world: StartWorld) -> None:
        """Show the fields as the settings have them."""
        await self.mount_all(_fields(world))

    def offer(self, world: StartWorld, found: Found) -> None:
        """Let what was found be picked; what is chosen stays."""
        for name in found.picks:
            picker = self.query_one(f"#{name}", Select)
            value = picker.value
            options = offered(name, world, found)
            if value not in [each for _, each in options]:
                options.append((str(value), str(value)))
            picker.set_options(options)
            picker.value = value

    def choices(self) -> dict[str, str]:
        """What is chosen, by the name of the field; what is empty is left out."""
        picked = {name: str(self.query_one(f"#{name}", Select).value) for name in PICKS}
        typed = {name: self.query_one(f"#{name}", Input).value.strip() for name in BUDGETS}
        return {name: value for name, value in {**picked, **typed}.items() if value}


def _fields(world: StartWorld) -> Iterator[Horizontal]:
    """How kernels are tuned: a line for each picker and each limit."""
    for name in PICKS:
        value = world.chosen.get(name, "auto")
        picker = Select(offered(name, world, world.first), value=value, allow_blank=False, id=name, compact=True)
        yield _field({"llm": "model"}.get(name, name), picker)
    for name, (label, empty) in _LABELS.items():
        limit = Input(world.chosen.get(name, ""), id=name, compact=True, placeholder=empty)
        limit.cursor_blink = False
        yield _field(label, limit)


def _field(label: str, widget: Widget) -> Horizontal:
    return Horizontal(Static(label, classes="field-name", markup=False), widget, classes="field")


def offered(name: str, world: StartWorld, found: Found) -> list[tuple[str, str]]:
    """What a picker offers; what the settings say is always among it."""
    options = list(found.picks.get(name, ()))
    now = world.chosen.get(name, "auto")
    return options if now in (value for _, value in options) else [*options, (now, now)]
