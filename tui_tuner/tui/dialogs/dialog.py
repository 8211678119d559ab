"""What every dialog is."""

from __future__ import annotations

from textual.errors import NoWidget
from textual.events import Click
from textual.screen import ModalScreen, ScreenResultType

from tui_tuner.tui.key_line import KeyLine


class Dialog(ModalScreen[ScreenResultType]):
    """A question or message over the screen; its keys in the last line, which lies below it, can be clicked."""

    async def on_click(self, event: Click) -> None:
        """Do what a key does that was clicked beside what the dialog shows."""
        below = self.app.screen_stack[-2]
        if event.widget is not self:
            return
        try:
            widget, _ = below.get_widget_at(*event.screen_offset)
        except NoWidget:
            return
        action = below.get_style_at(*event.screen_offset).meta.get("@click")
        if isinstance(widget, KeyLine) and action:
            await self.app.run_action(action)
