"""Showing a session: on the screen, or as lines with `--auto`."""

from __future__ import annotations

import asyncio
import signal
import sys

from tui_tuner.commands.sessions import Prepared
from tui_tuner.errors import SettingsError
from tui_tuner.headless import EXIT_CODES, ExitCode, run_headless
from tui_tuner.settings import Settings


def show(prepared: Prepared, settings: Settings, *, auto: bool, output: str, theme: str | None) -> ExitCode:
    """Run a session in the front end that the user asked for.

    Raises:
        UserError: something that the user must mend.
    """
    for note in prepared.notes:
        print(note, file=sys.stderr)  # noqa: T201 (the story goes to standard error)
    if auto:
        return _headless(prepared, json=output == "json")
    if not sys.stdout.isatty() or not sys.stdin.isatty():
        raise SettingsError("there is no terminal for the screen", hint="add --auto to run without one")
    return _screen(prepared, settings, theme)


def _screen(prepared: Prepared, settings: Settings, theme: str | None) -> ExitCode:
    from tui_tuner.tui.app import TunerApp

    app = TunerApp(prepared.session, theme=theme or settings.screen.theme, keymap=settings.screen.keys or None)
    status = app.run()
    if status in (None, "interrupted"):
        _tell_resume(prepared)
        return ExitCode.INTERRUPTED
    return EXIT_CODES[str(status)]


def _headless(prepared: Prepared, *, json: bool) -> ExitCode:
    try:
        return asyncio.run(_until_signal(prepared, json=json))
    except (KeyboardInterrupt, asyncio.CancelledError):
        _tell_resume(prepared)
        return ExitCode.INTERRUPTED


async def _until_signal(prepared: Prepared, *, json: bool) -> ExitCode:
    task = asyncio.ensure_future(run_headless(prepared.session, json=json))
    # SIGHUP: the SSH connection that it ran in is gone; the run stays resumable.
    for name in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    return await task


def _tell_resume(prepared: Prepared) -> None:
    if prepared.run.journal.path.parent.is_dir():
        print(f"interrupted; go on with: tuner-tui resume {prepared.run.path}", file=sys.stderr)  # noqa: T201
