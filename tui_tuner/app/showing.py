"""Showing a session: on the screen, which is there before the session is, or as lines with `--auto`."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import tomllib
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tui_tuner.errors import ExitCode, JournalError, SettingsError, UserError
from tui_tuner.resources import log_directory, settings_file
from tui_tuner.subjects import KERNEL, Subject
from tui_tuner.text import clean

if TYPE_CHECKING:
    from tui_tuner.session.events import Event
    from tui_tuner.session.instructions import Instruction
    from tui_tuner.session.stream import EventStream, KeptRun
    from tui_tuner.strategies.steps import Approver
    from tui_tuner.tui.app import ScreenBroken, TunerApp

_ENGINE = "tui_tuner.app.sessions"
"""What takes a second to load; on the screen it does so behind the empty panes."""


@dataclass(frozen=True)
class SessionSetup:
    """A session that is ready to run, and what the user should know before.

    Attributes:
        is_new: whether the run begins with it.
    """

    session: EventStream
    run: KeptRun
    notes: list[str]
    is_new: bool = False

    def forget_if_empty(self) -> None:
        """A new run that failed before its first result is none: its place is free for the next try."""
        from tui_tuner.journal.journal import Journal

        journal = self.run.journal.path
        with suppress(JournalError):
            if self.is_new and Journal.read(journal).last_elapsed == 0:
                journal.unlink()


Begin = Callable[[], Awaitable[SessionSetup]]
"""Puts the session together; called once, in the loop in which the session then runs."""


@dataclass(frozen=True)
class FrontEnd:
    """How the user wants to see a session.

    Attributes:
        auto: without a screen, every step approved.
        output: `text` or `json` with `auto`, None for text.
        theme: of the screen, None for that of the settings.
    """

    auto: bool
    output: str | None = None
    theme: str | None = None

    def check(self) -> None:
        """Whether a session can be shown like this.

        Raises:
            SettingsError: it cannot.
        """
        if self.auto:
            return
        if self.output is not None:
            raise SettingsError("--output needs --auto", hint="the screen prints nothing")
        if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
            raise SettingsError("there is no terminal for the screen", hint="add --auto to run without one")


async def show(begin: Begin, front_end: FrontEnd, title: str) -> ExitCode:
    """Run a session in the front end that the user asked for.

    Args:
        title: a few words for what is shown, until the session has its own.

    Raises:
        UserError: something that the user must mend; a screen that was there is gone by then.
    """
    front_end.check()
    if front_end.auto:
        return await _as_lines(begin, json=front_end.output == "json")
    return await _on_the_screen(begin, front_end.theme, title)


async def _as_lines(begin: Begin, *, json: bool) -> ExitCode:
    from tui_tuner.headless import run_headless

    setup = await begin()
    _tell_notes(setup)
    _end_by_signals()
    try:
        return await run_headless(setup.session, json=json)
    except UserError:
        setup.forget_if_empty()
        raise
    except asyncio.CancelledError:
        _tell_resume(setup)
    except BrokenPipeError:
        with suppress(BrokenPipeError):
            _tell_resume(setup)
        raise
    return ExitCode.INTERRUPTED


def _end_by_signals() -> None:
    """Let SIGTERM, and SIGHUP where the SSH connection is gone, end this task as ctrl+c does."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    if task is not None:
        for name in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(name, task.cancel)


async def _on_the_screen(begin: Begin, theme: str | None, title: str) -> ExitCode:
    from tui_tuner.tui.app import TunerApp

    starting, look = StartingSession(begin, title), _screen_table()
    try:
        app = TunerApp(starting, theme=theme or look.get("theme"), keymap=look.get("keys"), starting=True)
    except SettingsError as error:
        raise SettingsError(error.message, hint=error.hint, file=settings_file()) from None
    try:
        code = await _shown(app)
    except UserError:
        if starting.setup is not None:
            _tell_notes(starting.setup)
            starting.setup.forget_if_empty()
        raise
    if starting.setup is not None:
        _tell_notes(starting.setup)
        if code is ExitCode.INTERRUPTED:
            _tell_resume(starting.setup)
    return code


async def _shown(app: TunerApp) -> ExitCode:
    from tui_tuner.tui.app import ScreenBroken

    try:
        status = await app.run_async()
    except ScreenBroken as broken:
        return await _without_the_screen(app, broken)
    from tui_tuner.headless import EXIT_CODES

    return EXIT_CODES[status]


async def _without_the_screen(app: TunerApp, broken: ScreenBroken) -> ExitCode:
    """Go on in lines with a session whose screen broke; a step that awaits the user is put to them in a line."""
    from tui_tuner.headless import AskInLines, Lines

    told = f"the screen broke ({clean(str(broken))}); the session goes on without it; {_logged(broken)}"
    print(f"tuner-tui: {told}", file=sys.stderr)  # noqa: T201 (the story goes to standard error)
    lines = Lines(app.subject)
    _end_by_signals()
    try:
        await app.go_on(lines.hear, lines.take, AskInLines())
    except asyncio.CancelledError:
        return ExitCode.INTERRUPTED
    return lines.end()


def _logged(broken: ScreenBroken) -> str:
    """Where the traceback is written, or why it is not."""
    file = log_directory() / f"screen-{datetime.now(UTC):%Y%m%d-%H%M%S}.log"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(broken.cause)), encoding="utf-8")
    except OSError as error:
        return f"no log: {error}"
    return f"log: {file}"


def _screen_table() -> dict[str, Any]:
    """What the settings say of the screen, nothing where they cannot be read: who begins the session says why."""
    file = settings_file()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("screen", {})
        theme, keys = table.get("theme"), table.get("keys", {})
        sound = isinstance(theme, str | None) and all(isinstance(key, str) for key in keys.values())
    except (OSError, ValueError, AttributeError):
        return {}
    return {"theme": theme, "keys": keys or None} if sound else {}


class StartingSession:
    """A session for the screen that is put together once the screen is there.

    Attributes:
        title: a few words for the terminal's title.
        setup: the session; None until it is put together.
    """

    def __init__(self, begin: Begin, title: str) -> None:
        self.title = title
        self.setup: SessionSetup | None = None
        self._begin = begin
        self._told: list[Instruction] = []

    @property
    def subject(self) -> Subject:
        """What it is about: a kernel as long as nothing else is known."""
        return KERNEL if self.setup is None else self.setup.session.subject

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Put the session together, then run it while iterated.

        Raises:
            UserError: something that the user must mend.
        """
        await asyncio.to_thread(import_module, _ENGINE)
        self.setup = await self._begin()
        for instruction in self._told:
            self.setup.session.tell(instruction)
        async with aclosing(self.setup.session.events(approver)) as stream:
            async for event in stream:
                yield event

    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says, at first to pass it on later; False if the session cannot be changed."""
        if self.setup is None:
            self._told.append(instruction)
            return True
        return self.setup.session.tell(instruction)


def _tell_notes(setup: SessionSetup) -> None:
    for note in setup.notes:
        print(note, file=sys.stderr)  # noqa: T201 (the story goes to standard error)


def _tell_resume(setup: SessionSetup) -> None:
    if setup.run.journal.path.parent.is_dir():
        path = shlex.quote(str(setup.run.path))
        print(f"interrupted; go on with: tuner-tui resume {path}", file=sys.stderr)  # noqa: T201
