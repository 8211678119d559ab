"""How a kernel is tuned, on the start screen: a line for each picker and each limit, and the options that they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Select, Static
from textual.widgets._select import SelectOverlay

from tui_tuner.tui.dialogs import TypingDialog
from tui_tuner.tui.start import PICKS, Found, GivenFile, StartWorld
from tui_tuner.tui.text import plain

BUDGETS = {"max_evaluations": "--max-evals", "max_time": "--max-time", "max_cost": "--max-cost"}
"""Limits, and the options that they are."""
_LABELS = {
    "max_evaluations": ("evaluations", "as many as it takes"),
    "max_time": ("time", "no limit; or as in 20m"),
    "max_cost": ("cost in $", "no limit; or as in 2.5"),
}
"""What stands before each, and in it while it is empty."""
_ANOTHER = ("another: type its name", "")
"""Stands behind the models that were found."""
_LAST = {"llm": _ANOTHER}
"""What stands behind all that can be picked, by the name of the field."""


class _Name(Input):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Take", tooltip="Take the model.")]


class _Offered(SelectOverlay):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "take", tooltip="Take the selected one."),
        Binding("escape", "dismiss", "leave", tooltip="Leave it as it is."),
    ]


class _Picker(Select[str]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "show_overlay", "choose", tooltip="Open the picker."),
        Binding("escape", "app.leave_field", "to the kernels", tooltip="Leave the field."),
    ]

    def compose(self) -> ComposeResult:
        """Textual's own, whose keys say what they do as all others here."""
        current, _ = super().compose()
        yield current
        yield _Offered().data_bind(compact=Select.compact)


class _Limit(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.leave_field", "to the kernels", tooltip="Leave the field."),
    ]


class ModelNameDialog(TypingDialog[str]):
    """Asks for a model by its name; the result is one that `--llm` takes, or None if the user gave up.

    Args:
        fault_of: what is wrong with a name; empty where nothing is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Leave", tooltip="Leave the model as it is."),
    ]

    def __init__(self, fault_of: Callable[[str], str]) -> None:
        super().__init__()
        self._fault_of = fault_of

    def compose(self) -> ComposeResult:
        """What can be typed, the name, and what is wrong with it."""
        with Vertical(classes="dialog"):
            yield Static("The model, named as with --llm", classes="dialog-title")
            yield _Name(placeholder="ollama:MODEL, openai:MODEL or command:PROGRAM", compact=True)
            yield Static(id="model-fault", markup=False)

    def on_mount(self) -> None:
        """Nothing is wrong yet."""
        self.query_one("#model-fault").display = False

    @on(Input.Submitted)
    def _take(self, message: Input.Submitted) -> None:
        message.stop()
        name = message.value.strip()
        fault = self._fault_of(name) if name else ""
        if name and not fault:
            self.dismiss(name)
        said = self.query_one("#model-fault", Static)
        said.update(Content("\n").join(plain(line.strip(), "$text-error") for line in fault.splitlines()))
        said.display = bool(fault)


class How(Vertical):
    """The fields, once it is known what the settings say; a frame until then."""

    LINES = len(PICKS) + len(BUDGETS)

    def __init__(self) -> None:
        super().__init__(id="how")
        self.border_title = "How"
        self._world: StartWorld | None = None
        self._found: Found | None = None
        self._file: GivenFile | None = None
        self._model = "auto"

    async def fill(self, world: StartWorld, words: Sequence[str] = ()) -> None:
        """Show the fields as the settings have them, and as the words of a command that was chosen before."""
        names = {option: name for name, option in {**PICKS, **BUDGETS}.items()}
        chosen = {names[option]: value for option, value in pairwise(words) if option in names}
        await self.mount_all(self._fields(world, {**world.chosen, **chosen}))
        self._world = world

    def _fields(self, world: StartWorld, values: Mapping[str, str]) -> Iterator[Horizontal]:
        for name in PICKS:
            value = values.get(name, "auto")
            offered = _with(world.first.offered(name, self._file), value, last=_LAST.get(name))
            picker = _Picker(offered, value=value, allow_blank=False, id=name, compact=True)
            yield _field({"llm": "model"}.get(name, name), picker)
        for name, (label, empty) in _LABELS.items():
            yield _field(label, _Limit(values.get(name, ""), id=name, compact=True, placeholder=empty))

    def offer(self, found: Found) -> None:
        """Have what was found in the pickers; what is chosen stays so, found or not."""
        self._found = found
        self._offer_all()

    def _offer_all(self) -> None:
        if self._world is None or self._found is None:
            return
        for name in self._found.picks:
            picker = self.query_one(f"#{name}", Select)
            value = picker.value
            said = self._world.chosen.get(name, "auto")
            picker.set_options(_with(self._found.offered(name, self._file), said, str(value), last=_LAST.get(name)))
            picker.value = value
            picker.mutate_reactive(type(picker).value)  # the same value may have other words by now

    @property
    def missing(self) -> str:
        """What keeps a session about the selected file from being begun here; empty where nothing is known to."""
        if self._found is None or self._file is None:
            return ""
        return self._found.missing.get(self._file.subject.name, "")

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

    @on(Select.Changed, "#llm")
    def _name_model(self, message: Select.Changed) -> None:
        """What is another model stays the one before until it has a name."""
        if message.value != _ANOTHER[1]:
            self._model = str(message.value)
            return
        message.stop()
        picker, world = self.query_one("#llm", Select), self._world
        picker.value = self._model

        def named(name: str | None) -> None:
            if name is not None:
                picker.set_options(_with([("auto", "auto")], self._model, name, last=_ANOTHER))
                picker.value = name
                self._offer_all()

        if world is not None:
            self.app.push_screen(ModelNameDialog(lambda text: world.fault_of("llm", text)), named)

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

    def suit(self, file: GivenFile) -> None:
        """Let choices that a file does not take be seen and not made, and say what the others mean for it."""
        for field in self.inputs():
            field.disabled = field.id in file.subject.ignores
        if file != self._file:
            self._file = file
            self._offer_all()

    def options(self) -> list[str]:
        """What is chosen, as words of a command line; what the settings say anyway or is not taken is left out."""
        said = {} if self._world is None else self._world.chosen
        taken = {str(field.id) for field in self.inputs() if not field.disabled}
        differing = {name: value for name, value in self.choices().items() if name in taken and value != said.get(name)}
        return [word for name, value in differing.items() for word in ({**PICKS, **BUDGETS}[name], value)]


def _field(label: str, widget: Widget) -> Horizontal:
    return Horizontal(Static(label, classes="field-name", markup=False), widget, classes="field")


def _with(options: list[tuple[str, str]], *values: str, last: tuple[str, str] | None = None) -> list[tuple[str, str]]:
    """The options, these among them, one behind all of them."""
    known = {value for _, value in options}
    named = [(value, value) for value in dict.fromkeys(values) if value not in known]
    return [*options, *named, *([] if last is None else [last])]
