"""How a kernel is tuned, on the start screen: a line for each picker and each limit, and the options that they are."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Select, Static

from tui_tuner.tui.start.start_world import PICKS, Found, StartWorld

BUDGETS = {"max_evaluations": "--max-evals", "max_time": "--max-time", "max_cost": "--max-cost"}
"""Limits, and the options that they are."""
_LABELS = {
    "max_evaluations": ("evaluations", "as many as it takes"),
    "max_time": ("time", "no limit; or as in 20m"),
    "max_cost": ("cost in $", "no limit; or as in 2.5"),
}
"""What stands before each, and in it while it is empty."""


class How(Vertical):
    """The fields, once it is known what the settings say; a frame until then."""

    LINES = len(PICKS) + len(BUDGETS)

    def __init__(self) -> None:
        super().__init__(id="how")
        self.border_title = "How"
        self._world: StartWorld | None = None

    async def fill(self, world: StartWorld) -> None:
        """Show the fields as the settings have them."""
        self._world = world
        await self.mount_all(self._fields(world))

    def _fields(self, world: StartWorld) -> Iterator[Horizontal]:
        for name in PICKS:
            value = world.chosen.get(name, "auto")
            picker = Select(_offered(world, name, world.first), value=value, allow_blank=False, id=name, compact=True)
            yield _field({"llm": "model"}.get(name, name), picker)
        for name, (label, empty) in _LABELS.items():
            limit = Input(world.chosen.get(name, ""), id=name, compact=True, placeholder=empty)
            limit.cursor_blink = False
            yield _field(label, limit)

    def offer(self, found: Found) -> None:
        """Have what was found in the pickers; what is chosen stays so, found or not."""
        if self._world is None:
            return
        for name in found.picks:
            picker = self.query_one(f"#{name}", Select)
            value = picker.value
            options = _offered(self._world, name, found)
            if value not in [each for _, each in options]:
                options.append((str(value), str(value)))
            picker.set_options(options)
            picker.value = value
            picker.mutate_reactive(type(picker).value)  # the same value may have other words by now

    def inputs(self) -> list[Widget]:
        """The fields in their order."""
        return [*self.query(Select), *self.query(Input)]

    def is_sound(self) -> bool:
        """Whether every limit that is taken can be one; if not, the user is told, and is at the first that cannot."""
        for field in self.query(Input):
            text = field.value.strip()
            fault = self._world.fault_of(str(field.id), text) if self._world and text and not field.disabled else ""
            if fault:
                field.focus()
                self.notify(fault, severity="error", markup=False)
                return False
        return True

    @on(Input.Submitted)
    def _stay(self, message: Input.Submitted) -> None:
        """Enter leaves a field, but for one that says what cannot be."""
        if not self.is_sound():
            message.stop()

    def choices(self) -> dict[str, str]:
        """What is chosen, by the name of the field; what is empty is left out."""
        if self._world is None:
            return {}
        picked = {name: str(self.query_one(f"#{name}", Select).value) for name in PICKS}
        typed = {name: self.query_one(f"#{name}", Input).value.strip() for name in BUDGETS}
        return {name: value for name, value in {**picked, **typed}.items() if value}

    def without(self, ignored: Collection[str]) -> None:
        """Let choices that what is selected does not take be seen and not made."""
        for field in self.inputs():
            field.disabled = field.id in ignored

    def options(self) -> list[str]:
        """What is chosen, as words of a command line; what the settings say anyway or is not taken is left out."""
        said = {} if self._world is None else self._world.chosen
        taken = {str(field.id) for field in self.inputs() if not field.disabled}
        differing = {name: value for name, value in self.choices().items() if name in taken and value != said.get(name)}
        return [word for name, value in differing.items() for word in ({**PICKS, **BUDGETS}[name], value)]


def _field(label: str, widget: Widget) -> Horizontal:
    return Horizontal(Static(label, classes="field-name", markup=False), widget, classes="field")


def _offered(world: StartWorld, name: str, found: Found) -> list[tuple[str, str]]:
    """What a picker offers; what the settings say is always among it."""
    options = list(found.picks.get(name, ()))
    now = world.chosen.get(name, "auto")
    return options if now in (value for _, value in options) else [*options, (now, now)]
