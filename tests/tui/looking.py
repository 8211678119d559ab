"""What a test sees of the screen."""

from __future__ import annotations

import re
from typing import Any

from textual._context import visible_screen_stack
from textual.app import App
from textual.color import Color
from textual.strip import Strip

from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.panes.plan_pane import StepList
from tui_tuner.tui.tables.evaluation_table import EvaluationTable
from tui_tuner.tui.view_model import ViewModel


def drawn(app: App[Any]) -> list[Strip]:
    """The lines that the terminal shows."""
    visible_screen_stack.set(app._background_screens)
    return app.screen._compositor.render_strips()[: app.size.height]


def screen_text(app: App[Any]) -> str:
    """Everything that the terminal shows."""
    return "\n".join(line.text[: app.size.width] for line in drawn(app))


def table_text(app: TunerApp) -> list[str]:
    table = app.screen_stack[0].query_one(EvaluationTable)
    return [" ".join(text.strip() for text in table.texts_at(row)) for row in range(table.row_count)]


def focused_pane(app: TunerApp) -> int:
    assert app.focused is not None
    return next(node.number for node in app.focused.ancestors_with_self if isinstance(node, Pane))


def notices(app: TunerApp) -> list[str]:
    return [note.message for note in app._notifications]


def selected_step(app: TunerApp) -> int:
    step = app.session_screen.query_one(StepList).selected
    assert step is not None
    return step.id


def steps_shown(app: TunerApp) -> list[int]:
    return [int(option.id or 0) for option in app.session_screen.query_one(StepList).options]


def view_model_of(entries: list[object]) -> ViewModel:
    view_model = ViewModel()
    for entry in entries:
        view_model.apply(entry)  # type: ignore[arg-type]
    return view_model


def contrast(one: Color, other: Color) -> float:
    """The contrast ratio of the web accessibility guidelines."""

    def luminance(colour: Color) -> float:
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


_WORDS, _NUMBERS = 4.5, 3.0
"""Least contrast; numbers, as those of lines, may be fainter."""


def faint(app: App[Any], from_line: int = 0) -> list[str]:
    """Words that hardly stand out from what is behind them; the terminal's own two colours are its affair."""
    found: list[str] = []
    for text, style, _ in (part for line in drawn(app)[from_line:] for part in line):
        if style is None or style.color is None or style.bgcolor is None or not re.search(r"\w", text):
            continue
        if not style.color.is_default and not style.bgcolor.is_default:
            letters, ground = map(Color.from_rich_color, (style.color, style.bgcolor))
            if contrast(letters, ground) < (_WORDS if re.search(r"[^\W\d]", text) else _NUMBERS):
                found.append(text)
    return found
