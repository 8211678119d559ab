"""What stands in the chat: lines of the story, folded prompts, and replies that grow while they arrive."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_tuner.format import cost_behind, counted
from tui_tuner.session.events import (
    CHANGES,
    AnswerFailed,
    AnswerReceived,
    AnswerText,
    ApprovalGiven,
    CallFailed,
    DeviceReady,
    Event,
    HelpAsked,
    HelpGiven,
    IncumbentChanged,
    ModelText,
    Note,
    PairCompared,
    PauseChanged,
    PromptSent,
    QuestionAsked,
    ReplyReceived,
    ReplyRefused,
    SessionFinished,
    UserSaid,
)
from tui_tuner.story import pair_line
from tui_tuner.strategies.steps import Decision
from tui_tuner.text import in_line
from tui_tuner.tui.panes.cards import parsed_reply, reply_content
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.text import Paragraphs, cut, one_line, plain

_YOU = Content.styled("you> ", "bold $text-accent")
_STEER = Content.styled("steer> ", "bold $text-warning")
_MODEL = Content.styled("model> ", "bold $text-primary")


class ChatEntries:
    """What events add to the chat; a reply grows where it began, whatever comes after it.

    What does not stand right below what it replies to says what that is: a question does not wait for a call under way.
    """

    def __init__(self, view: SubjectView) -> None:
        self._view = view
        self._before = ""
        self._replies: dict[_Key, ReplyEntry] = {}
        self._asked: dict[_Key, tuple[Widget, str]] = {}
        self._last: Widget | None = None

    def entries(self, news: Sequence[Event], given: str) -> list[Widget]:
        """What is new; the words of a streaming reply are added all at once.

        Args:
            given: the kernel that one in a reply is compared with until there is a best.
        """
        self._before = self._before or given
        new: list[Widget] = []
        words: dict[_Key, tuple[str, str]] = {}
        for event in news:
            match event:
                case ModelText() | AnswerText():
                    text, thinking = words.get(_key(event), ("", ""))
                    words[_key(event)] = (text + event.text, thinking + event.thinking)
                    self._reply(_key(event), new)
                case ReplyReceived() | AnswerReceived():
                    words.pop(_key(event), None)
                    self._reply(_key(event), new).finish(event.text, event.thinking, _tokens(event), event.cost)
                case _:
                    self._add(event, new)
        for key, (text, thinking) in words.items():
            self._reply(key, new).extend(text, thinking)
        self._last = new[-1] if new else self._last
        return new

    def _add(self, event: Event, new: list[Widget]) -> None:
        if isinstance(event, IncumbentChanged):
            self._before = event.candidate.source
        if isinstance(event, AnswerFailed):
            new.append(_no_answer(event.reason, self._to(("answer", event.number), new)))
            return
        entry = _entry(event, self._view)
        if entry is None:
            return
        new.append(entry)
        if isinstance(event, PromptSent):
            self._replies.pop(("call", event.call), None)
            self._asked["call", event.call] = entry, f"the prompt {event.purpose}"
        elif isinstance(event, QuestionAsked):
            self._asked["answer", event.number] = entry, f"the question “{cut(in_line(event.text), _QUOTED)}”"

    def _reply(self, key: _Key, new: list[Widget]) -> ReplyEntry:
        if key not in self._replies:
            self._replies[key] = ReplyEntry(self._before, self._to(key, new))
            new.append(self._replies[key])
        return self._replies[key]

    def _to(self, key: _Key, new: list[Widget]) -> str:
        """What is replied to; empty where it stands right above what comes next."""
        asked, words = self._asked.get(key, (None, ""))
        return "" if asked is (new[-1] if new else self._last) else words


_Words = ModelText | ReplyReceived | AnswerText | AnswerReceived
_Key = tuple[str, int]
"""Which reply words belong to: of a call or an answer, and its number."""
_QUOTED = 60
"""Characters of a question that are told again at most."""


def _key(event: _Words) -> _Key:
    return ("answer", event.number) if isinstance(event, AnswerText | AnswerReceived) else ("call", event.call)


def _tokens(event: ReplyReceived | AnswerReceived) -> int:
    return event.tokens if isinstance(event, AnswerReceived) else event.input_tokens + event.output_tokens


def _entry(event: Event, view: SubjectView) -> Widget | None:
    """What one event adds, the words of replies aside; None if nothing."""
    own = view.entry(event)
    if own is not None:
        return own
    content = _line(event, view)
    if isinstance(event, PromptSent):
        return Fold(f"prompt: {event.purpose}, {counted(event.tokens, 'token')}", event.text, classes="entry")
    return None if content is None else Static(content, markup=False, classes="entry")


def _no_answer(reason: str, to: str) -> Widget:
    head = Content.styled(f"✗ no answer{' to ' if to else ''}", "bold $text-error") + one_line(to, "$text-error")
    return Static(head + plain(f": {reason}", "$text-error"), markup=False, classes="entry")


def note_entry(text: str, *, warning: bool = False) -> Widget:
    """A line of the story."""
    return Static(_note(text, warning=warning), markup=False, classes="entry")


def _line(event: Event, view: SubjectView) -> Content | None:
    match event:
        case Note():
            return _note(event.text, warning=event.level == "warning")
        case DeviceReady():
            return _note(f"{event.title}, {event.device.backend}; {view.sandbox_label}{event.sandbox}")
        case ReplyRefused():
            return _refusal(event.problems)
        case ApprovalGiven():
            return _YOU + plain(_decision(event.step, event.decision))
        case UserSaid():
            return _STEER + plain(event.text)
        case QuestionAsked():
            about = f"  (about {_about(event.about)})" if event.about else ""
            return _YOU + plain(event.text) + plain(about, "$foreground-muted")
        case SessionFinished():
            return _note(event.words)
    return _other_line(event)


def _other_line(event: Event) -> Content | None:
    """What is told of a model that fails, and of what the user had done; that the session pauses stands below it."""
    if isinstance(event, CHANGES) and not isinstance(event, PauseChanged):
        return _note(event.words)
    match event:
        case CallFailed():
            return _failure("the call came to nothing", event.reason)
        case HelpAsked():
            return _failure("the model failed", f"{event.trouble.purpose}: {event.trouble.reason}")
        case HelpGiven():
            return _YOU + plain(f"{_REMEDIES[event.remedy.action]} {event.remedy.model}".strip())
        case PairCompared():
            return _note(pair_line(event))
    return None


def _about(selected: str) -> str:
    """What a question is about: some lines of a diff, else what their first one says, as in `evaluation 31`."""
    lines = selected.splitlines()
    if all(line[:1] in ("+", "-", " ", "") for line in lines):
        return f"{counted(len(lines), 'line')} of the diff"
    return in_line(lines[0])


def _note(text: str, *, warning: bool = False) -> Content:
    return plain(f"! {text}", "$text-warning") if warning else plain(f"· {text}", "$foreground-muted")


_REMEDIES = {
    "retry": "ask the model again",
    "switch": "ask",
    "skip": "go on without this reply",
    "without": "go on without the model",
}


def _failure(what: str, reason: str) -> Content:
    return Content.styled(f"✗ {what}: ", "bold $text-error") + plain(reason, "$text-error")


def _refusal(problems: list[str]) -> Content:
    head = Content.styled("✗ reply refused:", "$text-error")
    return Content("\n").join([head, *(plain(f"  - {problem}") for problem in problems)])


def _decision(step: int, decision: Decision) -> str:
    action = "edit and approve" if decision.action == "edit" else decision.action
    return f"{action} step {step}: {decision.message}" if decision.message else f"{action} step {step}"


class Fold(Vertical):
    """One dim line that opens to a longer text."""

    is_open: reactive[bool] = reactive(False, toggle_class="-open", init=False)

    def __init__(self, title: str, text: str, *, classes: str = "") -> None:
        super().__init__(classes=f"fold {classes}")
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """The line and, once it is open, the text."""
        yield Static(self._summary(), markup=False, classes="fold-title")
        yield Static(markup=False, classes="fold-text")

    def _summary(self) -> Content:
        return plain(f"{'▾' if self.is_open else '▸'} {self._title}", "$foreground-muted")

    def watch_is_open(self) -> None:
        """Open or close."""
        self._refresh_texts()

    def change(self, title: str, text: str) -> None:
        """Show another title and text."""
        self._title, self._text = title, text
        self._refresh_texts()

    def _refresh_texts(self) -> None:
        if not self.children:  # not there yet, or never: the app is left
            return
        self.query_one(".fold-title", Static).update(self._summary())
        self.query_one(".fold-text", Static).update(plain(self._text.strip()) if self.is_open else "")

    def on_mount(self) -> None:
        """Show what changed before the lines were there."""
        self._refresh_texts()

    def on_click(self, event: Click) -> None:
        """Open or close."""
        event.stop()
        self.is_open = not self.is_open


class ReplyEntry(Vertical):
    """What the model says, its thinking folded; `extend` while it arrives, `finish` when it is whole.

    A structured reply is a card whose raw text is folded.

    Args:
        before: the kernel that one in the reply is compared with.
        to: what it replies to, told before its words; empty for nothing.
    """

    def __init__(self, before: str, to: str) -> None:
        super().__init__(classes="entry reply")
        self._before = before
        self._to = one_line(f"to {to}", "$foreground-muted") + "\n" if to else Content()
        self._arrived = ("", "")  # words and thinking, as the provider tells them apart
        self._text = ""
        self._thinking = ""
        self._usage = ""

    def compose(self) -> ComposeResult:
        """The thinking, the words, and what stands behind a card."""
        yield Fold("thinking", "", classes="thinking")
        yield Paragraphs()
        yield Fold("raw reply", "", classes="raw")

    def extend(self, text: str, thinking: str) -> None:
        """Add what arrived; thoughts that a model writes among its words are none of them."""
        from tui_tuner.llm.streams import split_thinking

        self._arrived = self._arrived[0] + text, self._arrived[1] + thinking
        self._text, thoughts = split_thinking(self._arrived[0])
        self._thinking = self._arrived[1] + thoughts
        self._draw()

    def finish(self, text: str, thinking: str, tokens: int, dollars: float | None) -> None:
        """Show the whole reply and what it cost."""
        self._text, self._thinking = text, thinking
        self._usage = f"\n{counted(tokens, 'token')}{cost_behind(dollars)}"
        self._draw()

    def on_mount(self) -> None:
        """Show what arrived before the lines were there."""
        self._draw()

    def _draw(self) -> None:
        if not self.children:
            return
        thinking, raw = self.query(Fold)
        thinking.display = bool(self._thinking.strip())
        thinking.change(f"thinking, {counted(len(self._thinking.split()), 'word')}", self._thinking)
        raw.display = bool(self._usage) and parsed_reply(self._text) is not None
        raw.change(f"raw reply, {counted(len(self._text), 'character')}", self._text)
        words = reply_content(self._text, self._before if self._usage else None)
        self.query_one(Paragraphs).show(Content.assemble(_MODEL, self._to, words, (self._usage, "$foreground-muted")))
