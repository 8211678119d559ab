"""Notices that go when what they say is over, not when their time is."""

from __future__ import annotations

from typing import Any

from textual.app import App

FORGETS = "Esc again forgets your changes."
"""Of a text that is left; no longer so once it is, or is changed again."""


def tell_once(app: App[Any], words: str) -> None:
    """Show a notice, in the place of the same one where that still stands."""
    withdraw(app, words)
    app.notify(words, markup=False)


def withdraw(app: App[Any], words: str) -> None:
    """Take a notice away that says what is no longer so, where it still stands."""
    for notice in [each for each in app._notifications if each.message == words]:
        app._unnotify(notice)  # Textual 8.2 can take away only all of them
