"""What every dialog is, and one with a text that is not forgotten by one Esc."""

from __future__ import annotations

from textual import on
from textual.events import Unmount
from textual.screen import ModalScreen, ScreenResultType
from textual.widgets import Input, TextArea

from tui_tuner.tui.key_line import KeyLine
from tui_tuner.tui.notices import FORGETS, tell_once, withdraw


class Dialog(ModalScreen[ScreenResultType]):
    """A question or message over the screen, with a last line of its own, as bright as itself."""

    def on_mount(self) -> None:
        """Show what its keys do in the place of the keys behind it."""
        self.mount(KeyLine())


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
