"""Showing a session: on the screen, or as lines with `--auto`."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from contextlib import suppress

from tui_tuner.commands.prepared import Ready
from tui_tuner.errors import UserError
from tui_tuner.headless import EXIT_CODES, ExitCode, run_headless
from tui_tuner.settings import Settings


def show(prepared: Ready, settings: Settings, *, auto: bool, json: bool, theme: str | None) -> ExitCode:
    """Run a session in the front end that the user asked for.

    Raises:
        UserError: something that the user must mend.
    """
    for note in prepared.notes:
        print(note, file=sys.stderr)  # noqa: T201 (the story goes to standard error)
    try:
        return _headless(prepared, json=json) if auto else _screen(prepared, settings, theme)
    except UserError:
        prepared.forget_if_empty()
        raise


def silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads, so that Python does not complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _screen(prepared: Ready, settings: Settings, theme: str | None) -> ExitCode:
    from tui_tuner.tui.app import TunerApp

    app = TunerApp(prepared.session, theme=theme or settings.screen.theme, keymap=settings.screen.keys or None)
    status = app.run()
    if status in (None, "interrupted"):
        _tell_resume(prepared)
        return ExitCode.INTERRUPTED
    return EXIT_CODES[str(status)]


def _headless(prepared: Ready, *, json: bool) -> ExitCode:
    try:
        return asyncio.run(_until_signal(prepared, json=json))
    except (KeyboardInterrupt, asyncio.CancelledError):
        _tell_resume(prepared)
    except BrokenPipeError:
        silence_output()
        with suppress(BrokenPipeError):
            _tell_resume(prepared)
    return ExitCode.INTERRUPTED


async def _until_signal(prepared: Ready, *, json: bool) -> ExitCode:
    task = asyncio.ensure_future(run_headless(prepared.session, json=json))
    # SIGHUP: the SSH connection that it ran in is gone; the run stays resumable.
    for name in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    return await task


def _tell_resume(prepared: Ready) -> None:
    if prepared.run.journal.path.parent.is_dir():
        path = shlex.quote(str(prepared.run.path))
        print(f"interrupted; go on with: tuner-tui resume {path}", file=sys.stderr)  # noqa: T201
