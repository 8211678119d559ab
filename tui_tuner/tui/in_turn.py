"""Keys that arrive at once: each acts when what the key before it did is done.

Textual hands keys on as they come: of those that a slow line brings together, or somebody types fast, the first may
open a line to type into, and what was meant for that line would still reach the pane: `/status` would skip a step.
What is typed before there is anything to act on waits for it, as in a shell, also while one app makes room for another:
what that one has read goes on to the next with it, what it has not is still to be read.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from rich.console import RenderableType
from textual import on
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App, ReturnType
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Callback, DescendantFocus, Event, Key, Paste, Resize
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.theme import ThemeProvider
from textual.widgets._toast import Toast, ToastRack

from tui_tuner.tui.contrast import readable
from tui_tuner.tui.frame import Palette
from tui_tuner.tui.keys import KeyNames, checked_keymap, know_alt_keys, names_of_keys
from tui_tuner.tui.picture import Picture
from tui_tuner.tui.themes import use_themes

_UNUSED: deque[Key | Paste] = deque()
"""Read from the terminal, which is one for all apps, by an app that handed it on: for the next."""
_MOST_S = 1.0
"""So long a widget is waited for at most: one that goes meanwhile never answers."""


class _LeavingDriver(LinuxDriver):
    """Leaves to who comes next what it has not read: Textual 8.2 throws that away, twice while it ends."""

    hands_on = False

    def disable_input(self) -> None:
        """Textual's own, without that where the terminal is handed on."""
        if not self.hands_on:
            super().disable_input()
        elif self._key_thread is not None:
            signal.signal(signal.SIGWINCH, signal.SIG_DFL)
            self._disable_mouse_support()
            self.exit_event.set()
            self._key_thread.join()
            self.exit_event.clear()
            self._key_thread = None


class InTurn(App[ReturnType]):
    """An app that hands a key on once the one before it has come all the way, and what that opened has the focus.

    Args:
        theme: name of a theme.
        keymap: keys for names of bindings, see `tui_tuner.tui.keys`.

    Raises:
        tui_tuner.errors.SettingsError: the keymap cannot be used.
    """

    def __init__(self, theme: str | None, keymap: Mapping[str, str] | None) -> None:
        super().__init__()
        self._theme_wanted, self._keymap_wanted = theme, checked_keymap(keymap or {})
        self._typed = _UNUSED.copy()
        _UNUSED.clear()
        self._follower: asyncio.Task[None] | None = None
        self._hands_on = False
        self._picture = Picture()

    def get_css_variables(self) -> dict[str, str]:
        """Textual's own, all that colours text such that it can be read; keys where the theme names no colour for them.

        `chart` is what curves are drawn in, `frame` borders, and `frame-focused` that of what has the focus. `marked`
        is behind the selected row, `marked-text` behind what is selected of a text that keeps its colours.
        """
        variables = super().get_css_variables()
        if "footer-key-foreground" not in self.current_theme.variables:
            variables["footer-key-foreground"] = variables["text-accent"]
        variables["chart"] = variables["accent"]
        variables["frame"], variables["frame-focused"] = f"{variables['foreground']} 30%", variables["primary"]
        variables["marked"], variables["marked-text"] = f"{variables['foreground']} 12%", variables["primary-muted"]
        if self.current_theme.ansi:  # Textual 8.2 has white on cyan in a light one
            variables["screen-selection-foreground"] = "ansi_black"
        variables |= readable(variables)
        return variables

    def on_load(self) -> None:
        """Themes and keys as the user wants them."""
        use_themes(self, self._theme_wanted, os.environ)
        know_alt_keys()
        self.set_keymap(self._keymap_wanted)

    @property
    def key_names(self) -> KeyNames:
        """What keys are called, as the user has them."""
        return names_of_keys(self._keymap_wanted, self.get_key_display)

    def action_command_palette(self) -> None:
        """Show all that can be done."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Show all themes."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    @on(LinuxDriver.SignalResume)
    def action_draw_again(self) -> None:
        """Draw all of it: a shell or another program has written over it, and only what changes is drawn else."""
        self._picture.forget()
        self.refresh(layout=True)

    @on(DescendantFocus)
    def _still_cursor(self, event: DescendantFocus) -> None:
        """No blinking: that draws a line anew twice a second, also for a terminal far away."""
        if hasattr(event.widget, "cursor_blink"):  # of the two classes one loads tree-sitter
            event.widget.cursor_blink = False

    def notify(self, message: str, **named: Any) -> None:  # noqa: ANN401  # Textual's own
        """Say something; what stands there already is said anew, not a second time below it."""
        for known in [each for each in self._notifications if each.message == message]:
            self._unnotify(known, refresh=False)
        super().notify(message, **named)

    def _refresh_notifications(self) -> None:
        """Textual 8.2's own, which leaves an empty line of a notice that is taken away before its time."""
        racks = (child for screen in self.screen_stack[-1:] for child in screen.children)
        for holder in [holder for rack in racks if isinstance(rack, ToastRack) for holder in rack.children]:
            toasts = holder.query(Toast)
            if toasts and all(toast._notification not in self._notifications for toast in toasts):
                holder.remove()
        super()._refresh_notifications()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        """Textual 8.2 writes all cells of what it drew; of them those that change are enough, and nothing if none does.

        What stands still else is a packet of the line ten times a second, to put the cursor where it is.
        """
        if isinstance(renderable, LayoutUpdate | ChopsUpdate) and not self._batch_count:
            less: Any = self._picture.less(renderable, self.console)  # Textual takes its updates for what Rich can draw
            there = self._previous_cursor_position == self.screen.outer_size.clamp_offset(self.cursor_position)
            super()._display(screen, less if less.text or not there else None)
        else:
            super()._display(screen, renderable)

    def get_driver_class(self) -> type[Driver]:
        """Textual's own, able to hand the terminal on."""
        chosen = super().get_driver_class()
        return _LeavingDriver if chosen is LinuxDriver else chosen

    def hand_on(self, result: ReturnType) -> None:
        """End, and read nothing more: what is typed from now on is for whoever has the terminal next."""
        self._hands_on = True
        if isinstance(self._driver, _LeavingDriver):
            self._driver.hands_on = True
            self._driver.disable_input()
        if self._driver is not None:  # comes behind the keys that were read, for they come the same way
            self._driver.send_message(Callback(partial(self._leave_typed, result)))

    def _leave_typed(self, result: ReturnType) -> None:
        _UNUSED.extend(islice(self._typed, 0 if self._follower is None else 1, None))
        self.exit(result)

    def must_wait(self, key: str) -> bool:
        """Whether a key has nothing to act on yet; it and all that follows wait until `hear` is called."""
        return False

    def hear(self) -> None:
        """Let the keys act that had nothing to act on before."""
        if self._is_free():
            self.call_later(self._hand_on)

    def forget_typed(self) -> None:
        """Let what waits act on nothing: it was not meant for what is there now."""
        if self._follower is None:
            self._typed.clear()

    async def on_event(self, event: Event) -> None:
        """Textual's own; keys and what is pasted wait for their turn, and a terminal of another size shows anything."""
        if isinstance(event, Resize):
            self._picture.forget()
            if event.size == self.size:  # it may have had another one for a moment
                self.refresh()
        if not isinstance(event, Key | Paste) or event.is_forwarded or self._overtakes(event):
            await super().on_event(event)
            return
        if _key(event) == "ctrl+j" and self.must_wait("ctrl+j"):
            event = Key("enter", "\r")  # pressed before the terminal was Textual's, which writes it so
        self._typed.append(event)
        if len(self._typed) == 1 and self._is_free():
            await self._hand_on()

    def _is_free(self) -> bool:
        """Whether the first of what was typed can act now."""
        waits = self._follower is not None or self._hands_on
        return bool(self._typed) and not waits and not self.must_wait(_key(self._typed[0]))

    def _overtakes(self, event: Key | Paste) -> bool:
        """Whether a key acts at once though others wait for something to act on: it is never meant for a widget."""
        if not self._typed or self._follower is not None:
            return False
        known = self.screen.active_bindings.get(_key(event))
        return known is not None and known.binding.priority

    async def _hand_on(self) -> None:
        event, way = self._typed[0], (self.focused or self.screen).ancestors_with_self
        await super().on_event(event)
        self._follower = asyncio.create_task(self._follow(way), name="keys")

    async def _follow(self, way: Sequence[MessagePump]) -> None:
        """Wait until a key has gone its way and done what it does, then hand on the next."""
        try:
            for place in way:  # it is handed from each to the next, the app being the last, which acts
                await _heard(place)
            await _heard(self)  # which is when a widget has the focus that was to have it
            await asyncio.sleep(0)  # a worker has begun, and pushed the dialog that it asks with
            await _heard(self.screen)
            await _heard(self)
        finally:
            self._typed.popleft()
            self._follower = None
            self.hear()


def _key(event: Key | Paste) -> str:
    return "" if isinstance(event, Paste) else event.key


async def _heard(place: MessagePump) -> None:
    """Until a widget has done all that it was told so far."""
    done = asyncio.Event()
    if place.call_later(done.set):
        with suppress(TimeoutError):
            async with asyncio.timeout(_MOST_S):
                await done.wait()
