"""A problem file to look through: checked while it is typed, its comments kept, with a key to each guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from tui_tuner.text import clean
from tui_tuner.tui.highlighting import apply_theme
from tui_tuner.tui.plain import one_line

GUESS = "# a guess"
"""Stands behind what `init` guessed."""

Check = Callable[[Path, str], tuple[str, int | None]]
"""(file, text) -> what is wrong, empty for nothing; and its line, counted from 1."""


class ProblemForm(ModalScreen[bool]):
    """The text of a problem file; the result is whether it was written.

    Args:
        file: where it goes.
        text: as it is on the disk, or as guessed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", priority=True, tooltip="Write the file."),
        Binding("ctrl+g", "next_guess", "Next guess", priority=True, tooltip="Go to the next line that is a guess."),
        Binding("ctrl+l", "fault", "To the fault", priority=True, tooltip="Go to the line that is wrong."),
        Binding("escape", "give_up", "Cancel", priority=True, tooltip="Leave the file as it is."),
    ]

    def __init__(self, file: Path, text: str, check: Check) -> None:
        super().__init__()
        self._file = file
        self._text = clean(text)
        self._check = check
        self._line: int | None = None
        self._given_up: str | None = None

    def compose(self) -> ComposeResult:
        """The file's name, its text, what is wrong, and the keys."""
        with Vertical(classes="dialog -large"):
            yield Static(one_line(str(self._file), "bold"), markup=False)
            yield TextArea(self._text, soft_wrap=False, show_line_numbers=True, tab_behavior="indent", compact=True)
            yield Static(id="verdict", markup=False)
            yield Static("[b]ctrl+s[/b] save  [b]ctrl+g[/b] next guess  [b]ctrl+l[/b] to the fault  [b]esc[/b] leave",
                         classes="dialog-keys")  # fmt: skip

    def on_mount(self) -> None:
        """Check it as it stands."""
        area = self.query_one(TextArea)
        area.cursor_blink = False
        apply_theme(area)
        self._judge()

    @on(TextArea.Changed)
    def _judge(self) -> None:
        text = self.query_one(TextArea).text
        message, self._line = self._check(self._file, text)
        guesses = text.count(GUESS)
        left = f"{guesses} guesses to check" if guesses else "no guesses are left"
        verdict = self.query_one("#verdict", Static)
        where = "" if self._line is None else f"line {self._line}: "
        verdict.update(one_line(where + message, "$text-error") if message else one_line(f"it loads; {left}"))

    def action_next_guess(self) -> None:
        """Go to the next line that is a guess, from the top again behind the last."""
        area = self.query_one(TextArea)
        lines = area.text.split("\n")
        row = area.cursor_location[0]
        order = [*range(row + 1, len(lines)), *range(row + 1)]
        found = next((number for number in order if GUESS in lines[number]), None)
        if found is not None:
            area.move_cursor((found, 0), center=True)

    def action_fault(self) -> None:
        """Go to the line that is wrong."""
        if self._line is not None:
            self.query_one(TextArea).move_cursor((self._line - 1, 0), center=True)

    def action_save(self) -> None:
        """Write the file, also one with a fault: it is the user's, and is checked again when it is used."""
        try:
            self._file.write_text(self.query_one(TextArea).text, encoding="utf-8")
        except OSError as error:
            self.notify(f"{self._file} cannot be written: {error.strerror}", severity="error", markup=False)
        else:
            self.dismiss(True)

    def action_give_up(self) -> None:
        """Close; changes are forgotten only by a second Esc right after the first."""
        text = self.query_one(TextArea).text
        if text in (self._text, self._given_up):
            self.dismiss(False)
        else:
            self._given_up = text
            self.notify("Esc again forgets your changes.", markup=False)
