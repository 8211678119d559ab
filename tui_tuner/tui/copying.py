"""What leaves the screen: copies, through tmux or OSC 52, and the table as a file."""

from __future__ import annotations

import asyncio
import csv
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from textual.app import App
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tui_tuner.processes.child import Program, running

_LONGEST = 75_000
"""Characters that terminals take in one OSC 52; more is written to a file as well."""
_LIMIT_S = 2.0


def copied(app: App[Any], text: str, what: str) -> None:
    """Copy a text, and say how and where it went.

    Args:
        what: names it in the toast.
    """
    app.run_worker(_copy(app, text, what), group="copy", exit_on_error=False, description="copying")


async def _copy(app: App[Any], text: str, what: str) -> None:
    way = "tmux and its terminal" if await _through_tmux(text) else "the terminal (OSC 52)"
    if not way.startswith("tmux"):
        app.copy_to_clipboard(text)
    told = f"copied {what} through {way}"
    if len(text) > _LONGEST:
        told += f"; it is long, so it is in {_in_a_file(text)} too"
    app.notify(told, markup=False)


async def _through_tmux(text: str) -> bool:
    """Whether tmux took it: with its defaults it passes no OSC 52 on, but sends one of its own for its buffers."""
    tmux = shutil.which("tmux") if os.environ.get("TMUX") else None
    if tmux is None:
        return False
    program = Program((tmux, "load-buffer", "-w", "-"), os.environ, has_input=True, dies_with_us=False)
    try:
        async with running(program) as child, asyncio.timeout(_LIMIT_S):
            await child.feed(text.encode())
            return await child.wait() == 0
    except (OSError, TimeoutError):
        return False


def _in_a_file(text: str) -> Path:
    with tempfile.NamedTemporaryFile("w", prefix="tuner-tui-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.write(text)
    return Path(file.name)


def taken_selection(screen: Screen[Any]) -> str:
    """The text that is selected in the focused widget, or else on the screen; then nothing is selected any more."""
    focused = screen.focused
    if isinstance(focused, TextArea | Input) and (text := focused.selected_text):
        if isinstance(focused, TextArea):
            focused.move_cursor(focused.selection.end)
        else:
            focused.cursor_position = focused.selection.end
        return text
    text = screen.get_selected_text() or ""
    screen.clear_selection()
    return text


def in_csv(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, the first one the names of the columns."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def exported_table(directory: str, table: str) -> str:
    """Write the table into the run's directory; what came of it, in a sentence."""
    if not table:
        return "There is nothing in the table yet."
    file = Path(directory) / "table.csv"
    try:
        file.write_text(table, encoding="utf-8")
    except OSError as error:
        return f"{file} cannot be written: {error.strerror}"
    return f"wrote {file}"
