"""The screen and its surroundings are those of the tests of the screen."""

from __future__ import annotations

from tests.tui.conftest import _isolated, started

__all__ = ["_isolated", "started"]
