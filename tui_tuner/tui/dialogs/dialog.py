"""What every dialog is."""

from __future__ import annotations

from textual.screen import ModalScreen, ScreenResultType

from tui_tuner.tui.key_line import KeyLine


class Dialog(ModalScreen[ScreenResultType]):
    """A question or message over the screen, with a last line of its own, as bright as itself."""

    def on_mount(self) -> None:
        """Show what its keys do in the place of the keys behind it."""
        self.mount(KeyLine())
