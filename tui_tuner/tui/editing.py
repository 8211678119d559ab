"""Editing a kernel or a configuration: in the user's own editor while the screen is suspended, else in a dialog."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from tui_tuner.processes.child import run_on_terminal
from tui_tuner.processes.environment import whole_environment
from tui_tuner.tui.dialogs.editor import EditorDialog


def editor_command(environment: Mapping[str, str]) -> list[str] | None:
    """The user's editor from VISUAL or EDITOR, as arguments; None if neither names one."""
    for name in ("VISUAL", "EDITOR"):
        try:
            command = shlex.split(environment.get(name, ""))
        except ValueError:
            continue
        if command:
            return command
    return None


async def edited(app: App[Any], source: str, title: str, language: str, file: str) -> str | None:
    """The source as the user left it; None if they gave up. Must run in a worker.

    Args:
        file: what it is called in an editor of the user's own.
    """
    command = editor_command(os.environ)
    if command is not None:
        try:
            return await _edited_outside(app, command, source, file)
        except SuspendNotSupported:
            pass
        except OSError as error:
            app.notify(f"{command[0]} cannot be started: {error.strerror}", severity="warning", markup=False)
    return await app.push_screen_wait(EditorDialog(source, title, language))


async def _edited_outside(app: App[Any], command: list[str], source: str, name: str) -> str | None:
    """The source as saved by an editor that has the terminal; None if it failed.

    The session goes on meanwhile, and the app draws nothing.
    """
    with tempfile.TemporaryDirectory(prefix="tuner-tui-") as directory:
        path = Path(directory) / name
        path.write_text(source, encoding="utf-8")
        with app.batch_update(), app.suspend():
            status = await run_on_terminal([*command, os.fspath(path)], whole_environment())
        app.refresh(layout=True)
        return path.read_text(encoding="utf-8", errors="replace") if status == 0 else None
