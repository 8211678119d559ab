"""A problem file to look through: checked while it is typed, its comments kept, with how sure each guessed line is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.style import Style
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

from tui_tuner.errors import NothingBegun, UserError
from tui_tuner.format import counted
from tui_tuner.text import clean
from tui_tuner.tui.dialogs import TypingDialog
from tui_tuner.tui.in_turn import InTurn
from tui_tuner.tui.text import one_line
from tui_tuner.tui.text.highlighting import apply_theme, style_of
from tui_tuner.tui.text.source_views import LinedArea

if TYPE_CHECKING:
    from tui_tuner.problem.load import Written

_GUESS, _FOUND = "guess", "found"
_SURENESS = {_GUESS: re.compile(r"# a guess\b.*"), _FOUND: re.compile(r"# (?:as the host|what the kernel as given).*")}
"""What stands behind a line of a draft: nobody knows; or the host's code, or a run of the kernel, says it."""
_STYLES = {_GUESS: ("text-warning", "bold"), _FOUND: ("text-success", ""), "comment": ("text-muted", ""),
           "table": ("text-accent", "bold")}  # fmt: skip
_COMMENT = re.compile(r"(?:^|\s)#.*")


def sureness_of(line: str) -> str:
    """How sure a line of a problem file is; empty where the kernel's own text says it, or the user."""
    return next((name for name, pattern in _SURENESS.items() if pattern.search(line)), "")


class FormResult(NamedTuple):
    """What is to be done with the text of the form."""

    text: str
    is_written: bool


class _ProblemArea(LinedArea):
    """A problem file; comments stand back, those that say how sure a line is stand out."""

    def get_line(self, line_index: int) -> Text:
        """The line with its comment and its heading in colour."""
        line = super().get_line(line_index)
        name = sureness_of(line.plain) or "comment"
        if found := (_SURENESS.get(name) or _COMMENT).search(line.plain):
            line.stylize(self._style(name), found.start(), found.end())
        if line.plain.startswith("["):
            line.stylize(self._style("table"), 0, line.plain.rfind("]") + 1 if not found else found.start())
        return line

    def _style(self, name: str) -> Style:
        return style_of(self.app.theme_variables, *_STYLES[name])


class ProblemForm(TypingDialog[FormResult]):
    """The text of a problem file; the result is what to do with it, None where the user leaves.

    Args:
        file: where it goes.
        text: as it is on the disk, or as guessed.
        told: of a draft that a run waits for, what came of trying it, a line each; None where no run waits.
        gone: is called where the form goes without having been left, be it that the screen breaks.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Write the file."),
        Binding("ctrl+s", "save_and_start", "Save and start", priority=True, tooltip="Write the file, start the run."),
        Binding("ctrl+r", "start", "Start unsaved", priority=True, tooltip="Start the run that waits; write no file."),
        Binding("ctrl+g", "next_guess", "Next guess", priority=True, tooltip="Go to the next line that is a guess."),
        Binding("ctrl+l", "fault", "To the fault", priority=True, tooltip="Go to the line that is wrong."),
        Binding("escape", "give_up", "Leave", priority=True, tooltip="Leave the file as it is, and start nothing."),
    ]

    def __init__(
        self, file: Path, text: str, told: tuple[str, ...] | None = None, gone: Callable[[], object] = bool
    ) -> None:
        super().__init__()
        self._gone = gone
        self._is_left = False
        self._file = file
        self._text = clean(text)
        self._told = told
        self._fault = ""
        self._line: int | None = None
        self._guesses = 0

    def compose(self) -> ComposeResult:
        """The file's name, what was tried, the text, and what is wrong."""
        with Vertical(classes="dialog -large"):
            yield Static(self._heading(), markup=False, classes="dialog-title")
            if self._told:
                yield Static(Content("\n").join(map(one_line, self._told)), markup=False, id="told")
            yield _ProblemArea(self._text, show_line_numbers=True, tab_behavior="indent", compact=True)
            yield Static(id="verdict", markup=False)

    def _heading(self) -> Content:
        if self._told is None:
            return one_line(str(self._file), "bold")
        return one_line(f"{self._file.name}, drafted from the kernel's text: is this how it is run?", "bold")

    def on_mount(self) -> None:
        """Check it as it stands."""
        apply_theme(self.query_one(TextArea))
        self._judge()

    @on(TextArea.Changed)
    def _judge(self) -> None:
        text = self.query_one(TextArea).text
        self._fault, self._line = fault_in(self._file, text)
        self._guesses = sum(sureness_of(line) == _GUESS for line in text.split("\n"))
        self.query_one("#verdict", Static).update(self._verdict(text))
        self.refresh_bindings()

    def _verdict(self, text: str) -> Content:
        if self._fault:
            where = "" if self._line is None else f"line {self._line}: "
            return one_line(where + self._fault, "$text-error")
        sure = [sureness_of(line) for line in text.split("\n")]
        guesses = counted(self._guesses, "guess", "guesses") if self._guesses else "no guesses are left"
        parts = [one_line(f"it loads; {guesses}", "$text-warning" if self._guesses else "")]
        if _FOUND in sure:
            parts.append(one_line(f"{counted(sure.count(_FOUND), 'line')} from the host's code", "$text-success"))
        return Content(", ").join([*parts, Content("the rest from the kernel's text")] if len(set(sure)) > 1 else parts)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a run that waits can be started, and only a guess or a fault with a line be gone to."""
        waits = self._told is not None
        acts = {"save": not waits, "save_and_start": waits, "start": waits}
        return {**acts, "fault": self._line is not None, "next_guess": self._guesses > 0}.get(action, True)

    def action_next_guess(self) -> None:
        """Go to the next line that is a guess, from the top again behind the last."""
        area = self.query_one(TextArea)
        lines = area.text.split("\n")
        row = area.cursor_location[0]
        order = [*range(row + 1, len(lines)), *range(row + 1)]
        found = next((number for number in order if sureness_of(lines[number]) == _GUESS), None)
        if found is not None:
            area.move_cursor((found, 0), center=True)

    def action_fault(self) -> None:
        """Go to the line that is wrong."""
        if self._line is not None:
            self.query_one(TextArea).move_cursor((self._line - 1, 0), center=True)

    def action_save(self) -> None:
        """Write the file, and start what waits; with a fault only where nothing does: it is checked when it is used."""
        if self._may_go_on():
            text = self.query_one(TextArea).text
            try:
                self._file.write_text(text, encoding="utf-8")
            except OSError as error:
                words = f"{self._file} cannot be written: {error.strerror}"
                self.notify(words, severity="error", markup=False)
            else:
                self.dismiss(FormResult(text, True))

    action_save_and_start = action_save

    def action_start(self) -> None:
        """Start with the text as it stands here."""
        if self._may_go_on():
            self.dismiss(FormResult(self.query_one(TextArea).text, False))

    def _may_go_on(self) -> bool:
        if self._told is not None and self._fault:
            self.action_fault()
            self.notify("It has a fault, and no run could start.", severity="warning", markup=False)
            return False
        return True

    def dismiss(self, result: FormResult | None = None) -> AwaitComplete:
        """Close."""
        self._is_left = True
        return super().dismiss(result)

    def on_unmount(self) -> None:
        """Nobody waits for a choice that cannot come any more."""
        if not self._is_left:
            self._gone()


def fault_in(file: Path, text: str) -> tuple[str, int | None]:
    """What is wrong with a problem file of this text, and its line from 1; nothing where it loads."""
    from tui_tuner.problem.load import problem_in_text

    try:
        problem_in_text(text, file)
    except UserError as error:
        return f"{error.message}{f' ({error.hint})' if error.hint else ''}", error.line
    return "", None


async def settled(app: InTurn[Any], draft: Written) -> Written:
    """The draft as the user takes it over.

    Raises:
        NothingBegun: the user leaves it.
        asyncio.CancelledError: the user leaves the app, or the terminal is gone.
    """
    from tui_tuner.problem.load import problem_in_text

    answer: asyncio.Future[FormResult | None] = asyncio.get_running_loop().create_future()

    def taken(chosen: FormResult | None) -> None:
        if not answer.done():
            answer.set_result(chosen)

    app.forget_typed()  # keys for panes that are not there yet would be typed into the file
    await app.push_screen(ProblemForm(draft.file, draft.text, _told(draft), answer.cancel), taken)
    chosen = await answer
    if chosen is None:
        raise NothingBegun(f"the draft of {draft.file.name} was left before anything was begun")
    problem = draft.problem if chosen.text == draft.text else problem_in_text(chosen.text, draft.file)
    return replace(draft, problem=problem, text=chosen.text, is_drafted=not chosen.is_written)


def _told(draft: Written) -> tuple[str, ...]:
    """What came of trying the draft, and of which other kernels it could be."""
    others = ", ".join(draft.alternatives)
    source = draft.problem.kernel.source
    return (
        *draft.doubts,
        *draft.of_model,
        *((f"for another kernel: tuner-tui {source}:NAME, as in {others}",) if others else ()),
    )
