"""Dialogs about a source: one that was measured is looked at, one that is proposed is edited, here or in any editor.

Which source is edited is asked where one before it failed.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.highlight import highlight
from textual.widgets import OptionList, Static, TextArea

from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.format import counted
from tui_tuner.processes import whole_environment
from tui_tuner.processes.child import run_on_terminal
from tui_tuner.session.plan import AddStep
from tui_tuner.subjects import Source
from tui_tuner.text import clean
from tui_tuner.tui.copying import copied
from tui_tuner.tui.dialogs import Dialog, TypingDialog
from tui_tuner.tui.moving import Menu, Reading
from tui_tuner.tui.text import Paragraphs, clickable, hanging, one_line, plain
from tui_tuner.tui.text.diff import diff_picture
from tui_tuner.tui.text.highlighting import PYGMENTS_NAMES, apply_theme
from tui_tuner.tui.text.source_views import LinedArea
from tui_tuner.tui.themes import tints
from tui_tuner.tui.view_model import ViewModel

_VIEWS = ("result", "source", "diff")


class RowDialog(Dialog[AddStep | None]):
    """The views of a row; the result is a step that starts from its source, or None.

    Args:
        source: what it is about; None where that is nothing of its own, and there is the result only.
        given: what the diff is against.
        language: of both.
        proposes: whether the session can still have such a step.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q", "give_up", "Close", tooltip="Go back to the panes."),
        Binding("d,tab,right", "turn(1)", "Next view", tooltip="Go on to source, diff, result."),
        Binding("shift+tab,left", "turn(-1)", "View before", show=False, tooltip="Go back to diff, source, result."),
        Binding("y", "copy", "Copy", tooltip="Copy what is shown."),
        Binding("p", "propose", "A step from here", tooltip="Have a step in the plan that starts from this kernel."),
    ]

    def __init__(
        self,
        title: Content,
        text: Content,
        source: Source | None,
        given: Source | None,
        language: str,
        *,
        proposes: bool,
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._source = source
        self._given = given
        self._language = language
        self._proposes = proposes
        self._view = 0

    @property
    def _views(self) -> tuple[str, ...]:
        return _VIEWS if self._source is not None and self._source.source else _VIEWS[:1]

    def compose(self) -> ComposeResult:
        """Title, and one of the views."""
        with Vertical(classes="dialog -large"):
            yield Static(id="row-title", markup=False, classes="dialog-title")
            with Reading(classes="dialog-body"):
                yield Paragraphs(self._text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There are views of a source only, and a step can start from one, in a session that goes on."""
        has_source = len(self._views) > 1
        return {"propose": self._proposes and has_source, "turn": has_source}.get(action, True)

    def on_mount(self) -> None:
        """Begin with the result."""
        self._draw()

    def _draw(self) -> None:
        names = (f"[{name}]" if number == self._view else f" {name} " for number, name in enumerate(self._views))
        label = Content("").join(Content.styled(name, "bold" if name[0] == "[" else "") for name in names)
        self.query_one("#row-title", Static).update(self._title + "  " + clickable(label, "screen.turn(1)"))
        self.query_one(Paragraphs).show(self._content())
        self.query_one(Reading).scroll_home(animate=False)

    def _content(self) -> Content:
        source, given = self._source, self._given
        if self._view == 0 or source is None:
            return self._text
        if self._view == 1:
            return highlight(clean(source.source), language=PYGMENTS_NAMES.get(self._language, "c"))
        before = "" if given is None else given.source
        lines = diff_picture(before, source.source, self._language, tinted=tints(self.app)).content
        return Content("\n").join(_behind_gutter(line) for line in lines.split("\n", allow_blank=True))

    def action_turn(self, views: int) -> None:
        """Go on to another view."""
        self._view = (self._view + views) % len(self._views)
        self._draw()

    def action_copy(self) -> None:
        """Copy the view; of the source its text as it is."""
        source = self._source
        text = source.source if self._view == 1 and source is not None else self._content().plain
        copied(self.app, text, counted(len(text.splitlines()), "line"))

    def action_propose(self) -> None:
        """Close with a step that starts from the source."""
        if self._source is not None:
            title = "the kernel as given" if self._source == self._given else plain(self._source.title).plain
            self.dismiss(AddStep(title=f"Go on from {title}", base=self._source.id))


def _behind_gutter(line: Content) -> Content:
    """A line of a diff that goes on behind its number and sign where it is broken."""
    gutter = re.match(r" *\d+ [-+ ] ", line.plain)
    return line if gutter is None else hanging(line[: gutter.end()]) + line[gutter.end() :].rstrip()


@dataclass(frozen=True)
class FailedBuild:
    """A source that the compiler refused, to be edited again.

    Attributes:
        line: where its first complaint is, counted from 1; None where it names none.
        words: the complaint.
    """

    source: str
    line: int | None
    words: str


def failed_before(view_model: ViewModel, proposed: Source) -> FailedBuild | None:
    """What was tried before in the step under review and did not compile, if it is launched as what is proposed now."""
    before = None if view_model.review is None else view_model.review.before
    if before is None or _launched(before) != _launched(proposed) or before.source == proposed.source:
        return None
    return failed_build(view_model, before)


def failed_build(view_model: ViewModel, source: Source) -> FailedBuild | None:
    """What the compiler said against a source; None where it said nothing, or was not asked."""
    for row in reversed(view_model.rows.values()):
        failure = None if row.evaluation is None else row.evaluation.failure
        if row.candidate == source.id and failure is not None and failure.kind is FailureKind.COMPILE:
            return FailedBuild(source.source, line_of(failure), failure.message)
    return None


def _launched(source: Source) -> tuple[object, object]:
    return getattr(source, "launch", None), getattr(source, "tunables", None)


def line_of(failure: Failure) -> int | None:
    """The line that a compiler complains about first, as in `kernel.cu:11:1: error` or `kernel.cu(11): error`."""
    found = _PLACE.search(f"{failure.detail}\n{failure.message}")
    return None if found is None else int(found[1] or found[2])


_PLACE = re.compile(r"(?:(?::(\d+)(?::\d+)?)|(?:\((\d+)\))): (?:fatal )?error\b")


def editor_command(environment: Mapping[str, str]) -> list[str] | None:
    """The user's editor from VISUAL or EDITOR, as arguments; None if neither names one."""
    for name in ("VISUAL", "EDITOR"):
        try:
            command = shlex.split(environment.get(name, ""))
        except ValueError:
            continue
        if command:
            return command
    return None


async def edited(
    app: App[Any], source: str, title: str, language: str, file: str, failed: FailedBuild | None = None
) -> str | None:
    """The source as the user left it; None if they gave up or changed nothing. Must run in a worker.

    Args:
        file: what it is called in an editor of the user's own.
        failed: what did not compile: the source itself, or one that may be edited in its place.
    """
    if failed is not None and failed.source != source:
        wanted = await app.push_screen_wait(WhichDialog(failed))
        if wanted is None:
            return None
        source, failed = (failed.source, failed) if wanted is failed else (source, None)
    left = await _left(app, source, title, language, file, failed)
    return None if left == source else left


async def _left(
    app: App[Any], source: str, title: str, language: str, file: str, failed: FailedBuild | None
) -> str | None:
    line = None if failed is None else failed.line
    command = editor_command(os.environ)
    if command is not None:
        try:
            return await _edited_outside(app, [*command, *_at_line(command, line)], source, file)
        except SuspendNotSupported:
            pass
        except OSError as error:
            app.notify(f"{command[0]} cannot be started: {error.strerror}", severity="warning", markup=False)
    return await app.push_screen_wait(EditorDialog(source, title, language, failed))


async def _edited_outside(app: App[Any], command: list[str], source: str, name: str) -> str | None:
    """The source as saved by an editor that has the terminal; None if it failed.

    The session goes on meanwhile, and the app draws nothing.
    """
    with tempfile.TemporaryDirectory(prefix="tuner-tui-") as directory:
        path = Path(directory) / name
        path.write_text(source, encoding="utf-8")
        with app.batch_update(), app.suspend():
            status = await run_on_terminal([*command, os.fspath(path)], whole_environment())
        app.refresh(layout=True)
        if status != 0:
            words = f"{command[0]} ended with status {status}: what it wrote is left out."
            app.notify(words, severity="warning", markup=False)
        return path.read_text(encoding="utf-8", errors="replace") if status == 0 else None


def _at_line(command: list[str], line: int | None) -> list[str]:
    """What opens the file at a line, for editors that are known to take it."""
    known = Path(command[0]).name in _TAKE_A_LINE
    return [f"+{line}"] if known and line is not None else []


_TAKE_A_LINE = {"vi", "vim", "nvim", "nano", "emacs", "emacsclient", "kak", "micro", "joe", "mg"}


class WhichDialog(Dialog["FailedBuild | bool | None"]):
    """What is to be edited: gives the source that did not compile, True for the one that awaits the user, else None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Leave", tooltip="Edit neither; the step still awaits you."),
    ]

    def __init__(self, before: FailedBuild) -> None:
        super().__init__()
        self._before = before

    def compose(self) -> ComposeResult:
        """The two sources."""
        lines = ("the kernel that awaits you", "the one before it, which did not compile; the cursor goes to its fault")
        with Vertical(classes="dialog"):
            yield Static("Which one do you want to edit?", classes="dialog-title")
            yield Menu(*map(one_line, lines))
            yield Static(one_line(self._before.words, "$text-error"), markup=False)

    @on(OptionList.OptionSelected)
    def _choose(self, message: OptionList.OptionSelected) -> None:
        self.dismiss(self._before if message.option_index else True)


class EditorDialog(TypingDialog[str]):
    """A text area over the screen; its result is the source, or None if the user gave up.

    The keys have priority: a text area in which tabs indent takes Esc for a way to the next widget.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Approve", priority=True, tooltip="Approve the kernel as it stands now."),
        Binding("escape", "give_up", "Leave", priority=True, tooltip="Leave; the step still awaits you."),
    ]

    def __init__(self, source: str, title: str, language: str, failed: FailedBuild | None = None) -> None:
        super().__init__()
        self._source = source
        self._failed = failed
        self._title = title
        self._language = language

    def compose(self) -> ComposeResult:
        """Title and text."""
        with Vertical(classes="dialog -large"):
            yield Static(one_line(self._title, "bold"), markup=False)
            if self._failed is not None:
                yield Static(one_line(self._failed.words, "$text-error"), markup=False)
            yield LinedArea(
                clean(self._source), soft_wrap=False, show_line_numbers=True, tab_behavior="indent", compact=True
            )

    def on_mount(self) -> None:
        """Colour the source."""
        area = self.query_one(LinedArea)
        apply_theme(area)
        area.colour_as(self._language)
        if self._failed is not None and self._failed.line is not None:
            self.call_after_refresh(area.move_cursor, (self._failed.line - 1, 0), center=True)  # once it has a size

    def action_save(self) -> None:
        """Close with the source."""
        self.dismiss(self.query_one(TextArea).text)
