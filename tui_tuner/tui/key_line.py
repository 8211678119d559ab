"""The last line of the screen: the keys that act now."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from tui_tuner.tui.plain import clickable


def key_of(screen: Screen[Any], name: str) -> str:
    """The first key of a binding by its name in the keymap, as the user knows it."""
    for active in screen.active_bindings.values():
        if active.binding.id == name:
            return screen.app.get_key_display(active.binding)
    return ""


class KeyLine(Widget):
    """The keys that act now, as many as fit; each can be clicked."""

    auto_links = False

    def on_mount(self) -> None:
        """Follow the screen's bindings."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        """One line; help, commands and quit are always there."""
        return key_line(self._entries(), self.content_size.width)

    def _entries(self) -> list[tuple[str, str, str]]:
        """Key, description and action of what acts now; of several keys the shortest."""
        shown: dict[str, tuple[str, str, str]] = {}
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not (binding.show and active.enabled):
                continue
            key = self.app.get_key_display(binding)
            if binding.action not in shown or len(key) < len(shown[binding.action][0]):
                place = "app" if active.node is self.app else "screen"
                shown[binding.action] = (key, binding.description, f"{place}.{binding.action}")
        return list(shown.values())


_ALWAYS = ("help", "quit")


def key_line(entries: list[tuple[str, str, str]], width: int) -> Content:
    """Keys as (key, description, action) in at most `width` cells; help and quit stand at the end and stay."""
    last = sorted((entry for entry in entries if entry[1] in _ALWAYS), key=lambda entry: _ALWAYS.index(entry[1]))
    first = [entry for entry in entries if entry[1] not in _ALWAYS]
    while first and len(_key_text([*first, *last])) > width:
        first.pop()
    items = [
        clickable(Content.assemble((key, "bold $footer-key-foreground"), f" {description}"), action)
        for key, description, action in [*first, *last]
    ]
    return Content("  ").join(items)


def _key_text(entries: list[tuple[str, str, str]]) -> str:
    return "  ".join(f"{key} {description}" for key, description, _ in entries)
