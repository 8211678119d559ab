"""What stands in the chat: lines of the story, folded prompts, and replies that grow while they arrive."""

from __future__ import annotations

import json
import re
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from tui_tuner.format import cost, counted
from tui_tuner.session.events import (
    ApprovalGiven,
    CallFailed,
    DeviceReady,
    Event,
    HelpAsked,
    HelpGiven,
    ModelChanged,
    Note,
    PromptSent,
    ReplyReceived,
    ReplyRefused,
    SessionFinished,
    UserSaid,
)
from tui_tuner.strategies.steps import Decision
from tui_tuner.text import clean
from tui_tuner.tui.plain import plain
from tui_tuner.tui.subject import SubjectView

_YOU = Content.styled("you> ", "bold $text-accent")


def entry(event: Event, view: SubjectView) -> Widget | None:
    """What one event adds to the chat, the words of replies aside; None if nothing."""
    own = view.entry(event)
    if own is not None:
        return own
    content = _line(event, view)
    if isinstance(event, PromptSent):
        return Fold(f"prompt: {event.purpose}, {counted(event.tokens, 'token')}", event.text, classes="entry")
    return None if content is None else Static(content, markup=False, classes="entry")


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
            return _YOU + plain(event.text)
        case SessionFinished():
            return _note(f"{event.status.replace('_', ' ')}: {event.reason}")
    return _trouble_line(event)


def _trouble_line(event: Event) -> Content | None:
    """What is told of a model that fails."""
    match event:
        case CallFailed():
            return _failure(event.reason)
        case HelpAsked():
            return _failure(f"{event.trouble.purpose}: {event.trouble.reason}")
        case HelpGiven():
            return _YOU + plain(f"{_REMEDIES[event.remedy.action]} {event.remedy.model}".strip())
        case ModelChanged():
            return _note(f"{event.model} answers from now on")
    return None


def _note(text: str, *, warning: bool = False) -> Content:
    return plain(f"! {text}", "$text-warning") if warning else plain(f"· {text}", "$foreground-muted")


_REMEDIES = {
    "retry": "ask the model again",
    "switch": "ask",
    "skip": "go on without this reply",
    "without": "search only, without the model",
}


def _failure(reason: str) -> Content:
    return Content.styled("✗ the model failed: ", "bold $text-error") + plain(reason, "$text-error")


def _refusal(problems: list[str]) -> Content:
    head = Content.styled("✗ reply refused and asked again:", "$text-error")
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
    """A reply of the model with its thinking folded; `extend` while it arrives, `finish` when it is whole."""

    def __init__(self) -> None:
        super().__init__(classes="entry reply")
        self._text = ""
        self._thinking = ""
        self._usage = ""

    def compose(self) -> ComposeResult:
        """The thinking and the words."""
        yield Fold("thinking", "", classes="thinking")
        yield Static(markup=False, classes="words")

    def extend(self, text: str, thinking: str) -> None:
        """Add what arrived."""
        self._text += text
        self._thinking += thinking
        self._draw()

    def finish(self, event: ReplyReceived) -> None:
        """Show the whole reply and what it cost."""
        self._text, self._thinking = event.text, event.thinking
        tokens = counted(event.input_tokens + event.output_tokens, "token")
        self._usage = f"\n{tokens}, {cost(event.cost)}"
        self._draw()

    def on_mount(self) -> None:
        """Show what arrived before the lines were there."""
        self._draw()

    def _draw(self) -> None:
        if not self.children:
            return
        fold = self.query_one(Fold)
        fold.display = bool(self._thinking.strip())
        fold.change(f"thinking, {counted(len(self._thinking.split()), 'word')}", self._thinking)
        words = Content.assemble(
            ("model> ", "bold $text-primary"), markdown_text(readable(self._text)), (self._usage, "$foreground-muted")
        )
        self.query_one(".words", Static).update(words)


_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])\*([^\s*]|[^\s*][^*\n]*[^\s*])\*(?![\w*])")
_INLINE_STYLES = ("$text-accent", "bold", "italic")
_HEADING = re.compile(r"#{1,6}\s+(.*)")
_BULLET = re.compile(r"(\s*)[-*]\s+(.*)")


def _inline_markdown(line: str) -> Content:
    parts: list[Content] = []
    end = 0
    for match in _INLINE.finditer(line):
        parts.append(Content(line[end : match.start()]))
        parts += [
            Content.styled(text, style) for text, style in zip(match.groups(), _INLINE_STYLES, strict=True) if text
        ]
        end = match.end()
    return Content("").join([*parts, Content(line[end:])])


def _markdown_line(line: str) -> Content:
    if heading := _HEADING.fullmatch(line):
        return Content.styled(heading.group(1), "bold")
    if bullet := _BULLET.fullmatch(line):
        return Content(f"{bullet.group(1)}• ") + _inline_markdown(bullet.group(2))
    if line.startswith("▸ "):
        return Content.styled(line, "$text-primary")
    return _inline_markdown(line)


def markdown_text(text: str) -> Content:
    """Headings, bullets, `code`, **strong** and *stressed* words styled; fences as plain lines; blank lines once."""
    lines: list[Content] = []
    fenced = False
    for line in clean(text).strip().expandtabs(4).split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            lines.append(Content.styled(f"  {line}", "$text-accent"))
        elif line.strip() or (lines and lines[-1]):
            lines.append(_markdown_line(line))
    return Content("\n").join(lines)


FOLDED_FROM = 4
"""Code of at least so many lines is folded: it is shown in the kernel pane."""

_FENCE = re.compile(r"^```[^\n]*\n(.*?)(?:^```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def _folded(lines: int) -> str:
    return f"▸ kernel, {lines} lines → pane 1"


def _fold_fence(match: re.Match[str]) -> str:
    lines = match.group(1).rstrip("\n").count("\n") + 1
    return match.group(0) if lines < FOLDED_FROM else _folded(lines)


def completed(text: str) -> str:
    """The beginning of a JSON text with what is open closed, so that it can be parsed."""
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character in "}]" and closers:
            closers.pop()
    stem = text[:-1] if in_string and escaped else text
    return stem + ('"' if in_string else "") + "".join(reversed(closers))


def _parsed(text: str) -> dict[str, Any] | None:
    """The reply as an object, also while it still arrives; None if it is none."""
    body = text.strip()
    body = re.sub(r"^```(?:json)?\s*\n?|\n?```$", "", body)
    if not body.startswith("{"):
        return None
    for candidate in (
        body,
        completed(body),
        completed(body + " null"),
        completed(re.sub(r",\s*\"?[^\"]*\"?$", "", body)),
    ):
        try:
            value = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return {}


def _field(name: str, value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, str):
        lines = value.rstrip("\n").count("\n") + 1
        text = _folded(lines) if lines >= FOLDED_FROM and ";" in value else value
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        text = "".join(f"\n- {_inline(item)}" for item in value)
    else:
        text = _inline(value)
    return f"**{name}** {text}"


def _inline(value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    if isinstance(value, dict):
        return ", ".join(f"{name} {_inline(item)}" for name, item in value.items())
    if isinstance(value, list):
        items = [_inline(item) for item in value]
        return (", " if any(" " in item for item in items) else " ").join(items)
    return value if isinstance(value, str) else json.dumps(value)


def readable(text: str) -> str:
    """The reply, whole or its beginning, as Markdown without long code."""
    fields = _parsed(text)
    if fields is None:
        return _FENCE.sub(_fold_fence, text)
    if not fields:
        return f"a structured reply, {len(text)} characters"
    return "\n".join(_field(name, value) for name, value in fields.items())
