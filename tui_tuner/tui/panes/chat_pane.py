"""Pane 4: the conversation with the model, the session's notes, and the user's own words.

They are two widgets, so that what was typed into the one can never be sent as the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Paste
from textual.getters import query_one
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_tuner.format import counted
from tui_tuner.session import events
from tui_tuner.session.controls import Stop
from tui_tuner.session.plan import AddStep, Ask, Say
from tui_tuner.strategies.steps import StepState
from tui_tuner.tui.moving import Reading, Target
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.panes.chat_entries import ChatEntries, Fold
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.view_model import ViewModel


class ChatInput(Input):
    """A line to type into; Esc leaves it and keeps what was typed. Many lines that are pasted are a mark in it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", id="chat_leave", tooltip="Leave; what you typed is kept.")
    ]

    @dataclass
    class InputLeft(Message):
        """The user sent nothing."""

    def on_mount(self) -> None:
        """Nothing is pasted yet."""
        self._pasted: dict[str, str] = {}

    def on_paste(self, event: Paste) -> None:
        """Textual would take the first line and leave the others out without a word."""
        lines = event.text.strip("\r\n").splitlines()  # terminals send them with the carriage return of the Enter key
        if len(lines) < 2:
            return
        event.prevent_default().stop()
        mark = f"[pasted {len(self._pasted) + 1}: {counted(len(lines), 'line')}]"
        self._pasted[mark] = "\n".join(lines)
        self.insert_text_at_cursor(mark)

    @property
    def words(self) -> str:
        """What was typed, with all that was pasted."""
        marks = "|".join(map(re.escape, self._pasted))
        return re.sub(marks, lambda mark: self._pasted[mark[0]], self.value).strip() if marks else self.value.strip()

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(self.InputLeft())


class SayInput(ChatInput):
    """A question to the model, or words to steer by behind a slash."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "send", id="chat_send")]


class ReasonInput(ChatInput):
    """Why the step that awaits the user is rejected."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "send", id="chat_reject")]


class EntryLine(Horizontal):
    """An input behind a sign that says what Enter does with the words.

    Args:
        sign: with its style.
    """

    def __init__(self, sign: Content, entry: ChatInput) -> None:
        super().__init__(classes="entry-line")
        self._sign = sign
        self._entry = entry

    def sign(self, sign: Content) -> None:
        """Show another sign."""
        self.query_one(".sign", Static).update(sign)

    def compose(self) -> ComposeResult:
        """Sign and input."""
        yield Static(self._sign, markup=False, classes="sign")
        yield self._entry


_WHY = "why; Enter rejects, Esc leaves"
_KEPT = 200


_ASKING = Content.styled("you> ", "bold $text-accent")
_STEERED = Content.styled("steer> ", "bold $text-warning")


class ChatLog(Reading):
    """The entries; the newest is in view until the user scrolls up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left_square_bracket", "fold(-1)", "Previous fold", show=False, id="fold_previous",
                tooltip="Go to the folded prompt or thinking before."),
        Binding("right_square_bracket", "fold(1)", "Next fold", show=False, id="fold_next",
                tooltip="Go to the next folded prompt or thinking."),
        Binding("enter", "open_fold", "Open", show=False, id="fold_toggle",
                tooltip="Open or close the marked prompt or thinking; the newest if none is marked."),
    ]  # fmt: skip

    def _folds(self) -> list[Fold]:
        return [fold for fold in self.query(Fold) if fold.display]

    def _marked(self, folds: list[Fold]) -> int | None:
        return next((index for index, fold in enumerate(folds) if fold.has_class("-marked")), None)

    def action_fold(self, step: int) -> None:
        """Mark the next fold in a direction."""
        folds = self._folds()
        if not folds:
            return
        marked = self._marked(folds)
        index = len(folds) - 1 if marked is None else max(0, min(len(folds) - 1, marked + step))
        for fold in folds:
            fold.set_class(fold is folds[index], "-marked")
        folds[index].scroll_visible(animate=False)

    def action_open_fold(self) -> None:
        """Open or close the marked fold."""
        folds = self._folds()
        if folds:
            marked = self._marked(folds)
            fold = folds[-1 if marked is None else marked]
            fold.is_open = not fold.is_open


class ChatPane(Pane):
    """The story of the session in words."""

    kind = "Chat"
    HELP = """
## Chat

`[` and `]` mark a folded prompt or the model's thinking, Enter opens it.

*you>* What you type here is put to the model at once, as a question of its own with the kernel, the plan, what was
measured and the hunk or row that you have selected; the answer changes nothing. Press `{tell}`, write, press Enter. Esc
leaves and keeps what you typed. `{withdraw}` withdraws a question that is not answered.

*steer>* `/hint WORDS` go with the model's next prompt and every later one, `/try WORDS` become the next step of a
plan that can be changed, `/stop` lets what is being measured end and concludes with the best; the session can be
resumed.

*reject>* While a step awaits you, `{reject}` opens a line of its own for the reason; Enter rejects.
"""

    _log = query_one(ChatLog)

    @dataclass
    class WordsSubmitted(Message):
        """The user asks the model something, or steers."""

        instruction: Ask | Say | AddStep | Stop

    @dataclass
    class RejectionSubmitted(Message):
        """The user rejects the step that awaits them, with a sentence that may be empty."""

        reason: str

    def __init__(self, view: SubjectView, *, replayed: bool = False) -> None:
        super().__init__(4, "Chat")
        self._view, self._replayed = view, replayed
        self._steers = ["/hint", *(["/try"] if view.plans else []), "/stop"]
        self._entries = ChatEntries(view)
        self._next: int | None = None
        self._answers = False
        asked = f"ask, or {' '.join(self._steers)}"
        self._say = SayInput(placeholder=asked, id="say", select_on_focus=False, compact=True)
        self._reason = ReasonInput(placeholder=_WHY, disabled=True, id="reason", select_on_focus=False, compact=True)
        self._lines: dict[ChatInput, EntryLine] = {
            self._say: EntryLine(_ASKING, self._say),
            self._reason: EntryLine(Content.styled("reject> ", "bold $text-warning"), self._reason),
        }

    def compose(self) -> ComposeResult:
        """The entries and the lines to type into, of which one is visible."""
        yield ChatLog()
        yield from self._lines.values()

    def on_mount(self) -> None:
        """Follow the end."""
        super().on_mount()
        self._log.anchor()
        self._open(self._say)
        if self._replayed:
            self._close("a replay: nothing can be asked or changed")

    def focus_target(self) -> Widget:
        """The entries."""
        return self._log

    def targets(self) -> Iterator[Target]:
        """The line to type into."""
        if not self._say.disabled and self._lines[self._say].display:
            yield Target(self._lines[self._say].region.offset, self.start_words)

    def offer_rejection(self, awaiting: bool) -> None:
        """Let a reason be typed while a step awaits the user; forget it otherwise."""
        if not awaiting:
            if self._reason.has_focus and self._lines[self._reason].display:
                self._log.focus()
            self._reason.value = ""
            self._open(self._say)
        self._reason.disabled = not awaiting

    def ask_reason(self) -> None:
        """Let the user type why they reject."""
        self._open(self._reason)
        self._reason.focus()

    def start_words(self) -> None:
        """Let the user type words for the model."""
        self._open(self._say)
        self._say.focus()

    def forget_words(self) -> None:
        """Empty the line of words for the model: they are told, a question once the one before it is answered."""
        if self._answers and not self._say.value.startswith("/"):
            self.notify("The model is asked this once it has answered the question before.", markup=False)
        self._say.value = ""

    def _close(self, why: str) -> None:
        """Take no words."""
        if self._say.has_focus:
            self._log.focus()
        self._open(self._say)
        self._say.value, self._say.placeholder, self._say.disabled = "", why, True
        self._lines[self._say].sign(Content())

    def _open(self, entry: ChatInput) -> None:
        for other, line in self._lines.items():
            line.display = other is entry

    @on(ChatInput.InputLeft)
    def _close_reason(self) -> None:
        self._open(self._say)

    @on(Input.Submitted, "#reason")
    def _reject(self, message: Input.Submitted) -> None:
        message.stop()
        words = self._reason.words
        self._open(self._say)
        self.post_message(self.RejectionSubmitted(words))

    @on(Input.Submitted, "#say")
    def _tell(self, message: Input.Submitted) -> None:
        message.stop()
        words = self._say.words
        if not words.startswith("/"):
            if words:
                self.post_message(self.WordsSubmitted(Ask(text=words)))
            return
        name, _, text = words[1:].partition(" ")
        match name.lower(), text.strip():
            case "stop", _:
                self.post_message(self.WordsSubmitted(Stop()))
            case "hint", hint if hint:
                self.post_message(self.WordsSubmitted(Say(text=hint)))
            case "try", title if title and self._view.plans:
                self.post_message(self.WordsSubmitted(AddStep(title=" ".join(title.split()), before=self._next)))
            case _:
                told = ", ".join(f"{word} WORDS" for word in self._steers[:-1])
                self.notify(f"There are {told} and {self._steers[-1]}.", severity="warning", markup=False)

    @on(Input.Changed, "#say")
    def _show_sign(self, message: Input.Changed) -> None:
        """Words to steer by look different from the first sign on."""
        self._lines[self._say].sign(_STEERED if message.value.startswith("/") else _ASKING)

    def show(self, view_model: ViewModel, news: Sequence[events.Event]) -> None:
        """Append what the news say; the words of a streaming reply are added all at once."""
        if view_model.finished is not None and not self._say.disabled:
            self._close("the session is over")
        self._next = next((step.id for step in view_model.plan if step.state is StepState.PROPOSED), None)
        self._answers = bool(view_model.under_way.questions)
        given = view_model.baseline
        entries = self._entries.entries(news, "" if given is None else given.source)
        if entries:
            self._append(entries)

    def _append(self, entries: list[Widget]) -> None:
        self._log.mount_all(entries[-_KEPT:])
        surplus = len(self._log.children) - _KEPT
        if surplus > 0:
            self._log.remove_children(self._log.children[:surplus])
