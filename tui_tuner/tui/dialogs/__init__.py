"""What is shown over the panes: what every dialog is, and the questions and messages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Key, Unmount
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Button, Input, OptionList, Static, TextArea

from tui_tuner.format import tunable_value
from tui_tuner.text import clean, in_line
from tui_tuner.tui.frame import KeyLine
from tui_tuner.tui.keys import REPLAY_BINDINGS
from tui_tuner.tui.moving import Menu, Reading, class_over_ssh
from tui_tuner.tui.text import Paragraphs, one_line, plain

if TYPE_CHECKING:
    from tui_tuner.problem.model import Configuration
    from tui_tuner.strategies.steps import ModelTrouble
    from tui_tuner.tui.plan_lines import StepWords


FORGETS = "Esc again forgets your changes."
"""Of a text that is left; no longer so once it is, or is changed again."""


def tell_once(app: App[Any], words: str) -> None:
    """Show a notice, in the place of the same one where that still stands."""
    withdraw(app, words)
    app.notify(words, markup=False)


def withdraw(app: App[Any], words: str) -> None:
    """Take a notice away that says what is no longer so, where it still stands."""
    for notice in [each for each in app._notifications if each.message == words]:
        app._unnotify(notice)  # Textual 8.2 can take away only all of them


class Dialog(ModalScreen[ScreenResultType]):
    """A question or message over the screen, with a last line of its own, as bright as itself."""

    def __init__(self) -> None:
        super().__init__(classes=class_over_ssh())

    def on_mount(self) -> None:
        """Show what its keys do in the place of the keys behind it; not where the app ends meanwhile."""
        if self.is_attached:
            self.mount(KeyLine())

    def action_give_up(self) -> None:
        """Close without a result."""
        self.dismiss(None)


class TypingDialog(Dialog[ScreenResultType | None]):
    """A dialog with fields that say something at first; what is changed there is forgotten by a second Esc only.

    What Esc does is the action `give_up`; the result is None then.
    """

    def on_mount(self) -> None:
        """Nothing is changed yet."""
        self._at_first = self._given_up = self._typed()

    def _typed(self) -> list[str]:
        """What the fields say now."""
        return [*(line.value for line in self.query(Input)), *(area.text for area in self.query(TextArea))]

    def action_give_up(self) -> None:
        """Close; changes are forgotten only by a second Esc right after the first."""
        now = self._typed()
        if now in (self._at_first, self._given_up):
            self.dismiss(None)
        else:
            self._given_up = now
            tell_once(self.app, FORGETS)

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Unmount)
    def _keep_changes(self) -> None:
        """Esc would have to be pressed twice again."""
        withdraw(self.app, FORGETS)


class MessageDialog(Dialog[None]):
    """A text to read.

    Args:
        large: whether it takes most of the screen's width.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "give_up", "Close", tooltip="Go back to the panes.")
    ]

    def __init__(self, title: Content, body: Content | Paragraphs, *, large: bool = False) -> None:
        super().__init__()
        self._title = title
        self._body = body if isinstance(body, Paragraphs) else Paragraphs(body)
        self._size_class = "-large" if large else ""

    def compose(self) -> ComposeResult:
        """Title and text."""
        with Vertical(classes=f"dialog {self._size_class}"):
            yield Static(self._title, markup=False, classes="dialog-title")
            with Reading(classes="dialog-body"):
                yield self._body


class ResultDialog(MessageDialog):
    """What came of the session; the keys of a replay, whose end it is, act here too.

    Args:
        yields: whether a key of the panes closes it and acts there. Where a session has just ended it does not: what
            is typed in that moment would take the result away unread.
    """

    BINDINGS: ClassVar[list[BindingType]] = [replace(each, action=f"app.{each.action}") for each in REPLAY_BINDINGS]

    def __init__(self, title: Content, body: Content, *, yields: bool) -> None:
        super().__init__(title, body, large=True)  # so that its commands stand on a line each
        self._yields = yields

    def on_key(self, event: Key) -> None:
        """Give way to a key of the panes."""
        behind = self.app.screen_stack[-2].active_bindings
        if self._yields and event.key in behind and event.key not in self.active_bindings:
            event.stop()
            self.dismiss(None)
            self.app.simulate_key(event.key)


class QuitDialog(Dialog[bool]):
    """Leave or stay; the result is whether to leave.

    Args:
        resume: the command that goes on with the session.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,y", "leave", "Leave", tooltip="Interrupt the session and leave."),
        Binding("escape,n", "stay", "Stay", tooltip="Go back to the session."),
    ]

    def __init__(self, resume: str) -> None:
        super().__init__()
        self._resume = resume

    def compose(self) -> ComposeResult:
        """What happens, how to go on, and two buttons."""
        with Vertical(classes="dialog"):
            yield Static("Leave a resumable run?", classes="dialog-title")
            yield Static("The session stops; what was measured is kept. To go on:", markup=False)
            yield Static(Content("  ") + plain(self._resume, "bold"), markup=False, classes="dialog-command")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Stay", id="stay", compact=True)
                yield Button("Leave", id="leave", variant="warning", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Leave or stay."""
        self.dismiss(event.button.id == "leave")

    def action_leave(self) -> None:
        """Leave."""
        self.dismiss(True)

    def action_stay(self) -> None:
        """Stay."""
        self.dismiss(False)


class ConfirmDialog(Dialog[bool]):
    """Yes or no; the result is whether to do it.

    Args:
        question: in a sentence.
        about: what it is about.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", tooltip="Do it."),
        Binding("escape,n,q", "answer(False)", "No", tooltip="Leave it."),
    ]

    def __init__(self, question: str, about: str) -> None:
        super().__init__()
        self._question = question
        self._about = about

    def compose(self) -> ComposeResult:
        """The question, and what it is about."""
        with Vertical(classes="dialog"):
            yield Static(self._question, markup=False, classes="dialog-title")
            yield Static(one_line(self._about), markup=False)

    def action_answer(self, yes: bool) -> None:
        """Close with the answer."""
        self.dismiss(yes)


_TITLE_AS_IN = "as in: Read four elements at once"
_DETAIL_AS_IN = (
    "as in: Let each thread load A and B as float4, where n is a multiple of 4, so that a warp issues fewer loads."
)


class StepDialog(TypingDialog["StepWords"]):
    """Two fields over the screen; the result is what they say, or None if the user gave up.

    Args:
        heading: which step it is.
        words: what the fields say at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Take the step as it stands."),
        Binding("escape", "give_up", "Leave", tooltip="Leave the plan as it is."),
    ]

    def __init__(self, heading: Content, words: StepWords) -> None:
        super().__init__()
        self._heading = heading
        self._words = words

    def compose(self) -> ComposeResult:
        """Heading and fields."""
        with Vertical(classes="dialog"):
            yield Static(self._heading, markup=False, classes="dialog-title")
            yield Static("title", classes="field-name")
            title = one_line(self._words.title).plain
            yield Input(title, _TITLE_AS_IN, id="step-title", select_on_focus=False, compact=True)
            yield Static("detail, in more words", classes="field-name")
            detail = clean(self._words.detail)
            yield TextArea(detail, id="step-words", soft_wrap=True, compact=True, placeholder=_DETAIL_AS_IN)

    @on(Input.Submitted)
    def action_save(self) -> None:
        """Close with the words; a step without a title is none."""
        from tui_tuner.tui.plan_lines import StepWords

        title = self.query_one(Input).value.strip()
        if title:
            self.dismiss(StepWords(title, self.query_one(TextArea).text.strip()))
        else:
            self.notify("A step needs a title.", markup=False)


class _NameInput(Input):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Ask this one", tooltip="Ask this model.")]


class ModelDialog(Dialog[str | None]):
    """A line over the screen; the result is the model's name, or None if the user gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Back to the question", tooltip="Leave; the question stays open.")
    ]

    def __init__(self, trouble: ModelTrouble) -> None:
        super().__init__()
        self._trouble = trouble

    def compose(self) -> ComposeResult:
        """What failed, the line, and what may stand in it."""
        from tui_tuner.llm.choose import SPECS

        with Vertical(classes="dialog"):
            yield Static("Another model", classes="dialog-title")
            yield Static(one_line(f"{self._trouble.model}: {in_line(self._trouble.reason)}"), markup=False)
            yield _NameInput(id="model-name", select_on_focus=False, compact=True, placeholder="as in ollama:qwen3")
            yield Static(one_line(", ".join(SPECS)), markup=False, classes="field-name")

    @on(Input.Submitted)
    def _choose(self, message: Input.Submitted) -> None:
        if message.value.strip():
            self.dismiss(message.value.strip())


class ThawDialog(Dialog[str | None]):
    """A list over the screen; the result is the chosen tunable's name, or None if the user gave up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Leave", tooltip="Hold them all as they are.")
    ]

    def __init__(self, frozen: Configuration) -> None:
        super().__init__()
        self._frozen = dict(frozen)

    def compose(self) -> ComposeResult:
        """Heading and tunables."""
        width = max(len(name) for name in self._frozen)
        lines = [f"{name:<{width}} = {tunable_value(value)}" for name, value in self._frozen.items()]
        with Vertical(classes="dialog"):
            yield Static("Search a held tunable again", classes="dialog-title")
            yield Menu(*map(plain, lines))

    @on(OptionList.OptionSelected)
    def _thaw(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(list(self._frozen)[message.option_index])
