"""Pane 4: the conversation with the model, the session's notes, and the user's words when rejecting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from tui_tuner.session import events
from tui_tuner.tui import chat_entries
from tui_tuner.tui.chat_entries import Fold, ReplyEntry
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.picture import Picture

_SILENT = "r rejects a step with your words"
_OPEN = "why not? Enter rejects, Esc leaves"
_KEPT = 200


class ChatLog(VerticalScroll, can_focus=True):
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


class ReasonInput(Input):
    """One sentence for the model; Esc leaves it without deciding."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, id="reason_leave", tooltip="Leave without rejecting.")
    ]

    @dataclass
    class Left(Message):
        """The user did not reject."""

    def action_leave(self) -> None:
        """Say so."""
        self.post_message(self.Left())


class ChatPane(Pane):
    """The story of the session in words."""

    HELP = """
## Chat

`[` and `]` mark a folded prompt or the model's thinking, Enter opens it. What you type goes
to the model when you reject a step: press `r`, write a sentence, press Enter.
"""

    @dataclass
    class Rejected(Message):
        """The user rejects the step that awaits them, with a sentence that may be empty."""

        reason: str

    def __init__(self) -> None:
        super().__init__(4, "Chat")
        self._replies: dict[int, ReplyEntry] = {}

    def compose(self) -> ComposeResult:
        """The entries and the line to type into."""
        yield ChatLog()
        yield ReasonInput(placeholder=_SILENT, disabled=True, id="reason", compact=True)

    def on_mount(self) -> None:
        """Follow the end."""
        super().on_mount()
        self.query_one(ReasonInput).cursor_blink = False
        self.query_one(ChatLog).anchor()

    def focus_target(self) -> Widget:
        """The entries."""
        return self.query_one(ChatLog)

    def offer_rejection(self, awaiting: bool) -> None:
        """Open the input while a step awaits the user, and close it otherwise."""
        entry = self.query_one(ReasonInput)
        if not awaiting and entry.has_focus:
            self.focus_target().focus()
        entry.disabled = not awaiting
        entry.placeholder = _OPEN if awaiting else _SILENT
        if not awaiting:
            entry.value = ""

    def ask_reason(self) -> None:
        """Let the user type why they reject."""
        self.query_one(ReasonInput).focus()

    @on(Input.Submitted, "#reason")
    def _submit(self, message: Input.Submitted) -> None:
        message.stop()
        self.post_message(self.Rejected(message.value.strip()))

    def show(self, picture: Picture, news: Sequence[events.Event]) -> None:
        """Append what the news say; the words of a streaming reply are added all at once."""
        entries: list[Widget] = []
        words: dict[int, tuple[str, str]] = {}
        for event in news:
            if isinstance(event, events.ModelText):
                text, thinking = words.get(event.call, ("", ""))
                words[event.call] = (text + event.text, thinking + event.thinking)
            elif isinstance(event, events.ReplyReceived):
                words.pop(event.call, None)
                self._reply(event.call, entries).finish(event)
            else:
                entries += self._entries(event)
        for call, (text, thinking) in words.items():
            self._reply(call, entries).extend(text, thinking)
        if entries:
            self._append(entries)

    def _reply(self, call: int, entries: list[Widget]) -> ReplyEntry:
        if call not in self._replies:
            self._replies[call] = ReplyEntry()
            entries.append(self._replies[call])
        return self._replies[call]

    def _append(self, entries: list[Widget]) -> None:
        log = self.query_one(ChatLog)
        log.mount_all(entries[-_KEPT:])
        surplus = len(log.children) - _KEPT
        if surplus > 0:
            log.remove_children(log.children[:surplus])

    def _entries(self, event: events.Event) -> list[Widget]:
        if isinstance(event, events.PromptSent):
            self._replies.pop(event.call, None)
        entry = chat_entries.entry(event)
        return [] if entry is None else [entry]
