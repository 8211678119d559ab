"""The screen and its surroundings are those of the tests of the screen."""

from __future__ import annotations

from tests.tui.conftest import _drawn_when_looked_at, _isolated, _styles_are_parsed_once, started

__all__ = ["_drawn_when_looked_at", "_isolated", "_styles_are_parsed_once", "started"]
