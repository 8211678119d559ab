"""Showing a session: on the screen, which is there before the session is, or as lines with `--auto`."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_tuner.app.attaching import EndingSignals, forget_signals, obey_signals
from tui_tuner.app.starting import Begin, DraftDesk, SessionSetup, StartingSession
from tui_tuner.errors import ExitCode, SettingsError, UserError
from tui_tuner.log import is_written, log_file
from tui_tuner.resources import look_file, own_table, settings_file
from tui_tuner.subjects import KERNEL, Subject
from tui_tuner.text import say

if TYPE_CHECKING:
    from tui_tuner.problem.load import Written
    from tui_tuner.strategies.steps import Approver
    from tui_tuner.tui.app import ScreenBroken, TunerApp
    from tui_tuner.tui.start import FailedChoice
    from tui_tuner.tui.subject import EventSource

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class FrontEnd:
    """How the user wants to see a session.

    Attributes:
        auto: without a screen, every step approved.
        output: `text` or `json` with `auto`, None for text.
        theme: of the screen, None for that of the settings.
        approve_by: without a screen, `all` to approve every step, `attach` to wait for who is attached.
        plays: whether it is a replay, which the user moves through.
        speed: of a replay, in seconds of the session a second; None to show its end.
        at: where a replay begins, in seconds of the session.
        verbosity: with `auto`, -1 for warnings alone, 1 for all there is to say.
    """

    auto: bool
    output: str | None = None
    theme: str | None = None
    approve_by: str = "all"
    plays: bool = False
    speed: float | None = None
    at: float = 0.0
    verbosity: int = 0

    @property
    def has_terminal(self) -> bool:
        """Whether there is a place for a screen; Textual draws on standard error, or for a browser."""
        if "TEXTUAL_DRIVER" in os.environ:
            return True
        return not _is_dumb() and all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))

    def check(self, without: str = "add --auto to run without one") -> None:
        """Whether a session can be shown like this.

        Args:
            without: what to do where there is no terminal.

        Raises:
            SettingsError: it cannot.
        """
        if self.auto and self.theme is not None:
            raise SettingsError("--theme is for the screen, and --auto has none", hint="leave one of them out")
        if self.auto:
            return
        for flag, is_given in (("--output", self.output is not None), ("--quiet and --verbose", self.verbosity != 0)):
            if is_given:
                needs = "needs" if flag == "--output" else "need"
                raise SettingsError(f"{flag} {needs} --auto", hint="the screen prints nothing")
        if not self.has_terminal:
            why = f": TERM={os.environ['TERM']} cannot draw one" if _is_dumb() else ""
            raise SettingsError(f"there is no terminal for the screen{why}", hint=without)


def _is_dumb() -> bool:
    """Whether the terminal says that it only prints lines: Textual 8.2 would draw nothing and hear no key."""
    return os.environ.get("TERM", "") in ("dumb", "unknown")


async def show(
    begin: Begin, front_end: FrontEnd, title: str, drafts: DraftDesk | None = None, about: Subject = KERNEL
) -> ExitCode:
    """Run a session in the front end that the user asked for.

    Args:
        title: a few words for what is shown, until the session has its own.
        drafts: where `begin` has a draft looked through; nobody does without a screen.
        about: what the session is about.

    Raises:
        UserError: something that the user must mend; a screen that was there is gone by then.
    """
    front_end.check()
    if front_end.auto:
        return await _as_lines(begin, front_end)
    return await _on_the_screen(StartingSession(begin, title, about), front_end, drafts)


async def _as_lines(begin: Begin, front_end: FrontEnd) -> ExitCode:
    from tui_tuner.app.attaching import AnswersElsewhere, HangUp, attach_line
    from tui_tuner.headless import ApproveAll, run_headless
    from tui_tuner.progress import Verbosity

    attended = front_end.approve_by == "attach"
    _tell_notes(setup := await begin())
    signals = EndingSignals(setup.session.interrupt, but=signal.SIGHUP if attended else None)
    approver: Approver = ApproveAll()
    if attended:
        approver = AnswersElsewhere(attach_line(setup.run))
        HangUp(lambda: setup.run.path)
    obey_signals(setup.session)
    json, verbosity = front_end.output == "json", Verbosity(front_end.verbosity)
    try:
        code = await run_headless(setup.session, json=json, verbosity=verbosity, approver=approver)
    except UserError:
        setup.forget_if_empty()
        raise
    except asyncio.CancelledError:
        code = signals.code
    except BrokenPipeError:
        _tell_interrupted(setup, front_end)
        raise
    if signals.came and code == ExitCode.INTERRUPTED:
        _tell_interrupted(setup, front_end)
        return signals.code
    return code


async def _on_the_screen(starting: StartingSession, front_end: FrontEnd, drafts: DraftDesk | None) -> ExitCode:
    source: EventSource = starting
    if front_end.plays:
        from tui_tuner.tui.player import Player

        source = Player(starting, front_end.speed, front_end.at)
    app = _app(source, front_end.theme)
    if drafts is not None:
        from tui_tuner.tui.frame import tell_start

        drafts.put, drafts.tell = lambda draft: _put(app, draft), lambda doing: tell_start(app, doing)
    try:
        code = await _shown(app, starting)
    except UserError:
        if starting.setup is not None:
            _tell_notes(starting.setup)
            starting.setup.forget_if_empty()
        raise
    if starting.setup is not None:
        _tell_notes(starting.setup)
        if code is ExitCode.INTERRUPTED:
            _tell_interrupted(starting.setup, front_end)
        elif app.finished is not None and not front_end.plays:
            _tell_result(app)
    elif code is ExitCode.INTERRUPTED:
        say("left before anything was begun")
    return code


def _tell_result(app: TunerApp) -> None:
    """Leave the result in the terminal that the screen is gone from."""
    from tui_tuner.headless import Lines

    lines = Lines(app.subject)
    app.retell(lines.hear)
    lines.end()


async def _put(app: TunerApp, draft: Written) -> Written:
    from tui_tuner.tui.start.problem_form import settled

    return await settled(app, draft)


def _app(source: EventSource, theme: str | None) -> TunerApp:
    """The screen as the user wants it.

    Raises:
        SettingsError: the keys in the settings cannot be used.
    """
    from tui_tuner.tui.app import TunerApp

    with _keys_placed():
        app = TunerApp(source, starting=True, **_look(theme))
    app.look_file = look_file()
    return app


@contextmanager
def _keys_placed() -> Iterator[None]:
    """Name the place of a key in the settings that cannot be used."""
    try:
        yield
    except SettingsError as error:
        from tui_tuner.settings.layers import layer_of_file

        named = next((name for name in own_table("screen").get("keys", {}) if f"'{name}'" in error.message), "")
        place = layer_of_file(settings_file()).place(("screen", "keys", named))
        raise SettingsError(error.message, hint=error.hint, file=place.file, line=place.line) from None


async def chosen_command(directory: Path, before: FailedChoice | None = None, theme: str | None = None) -> list[str]:
    """Let the user choose on the start screen: the words of a command line, none where they leave.

    Args:
        before: what was chosen before and came to nothing.
        theme: of the screen, None for that of the settings.

    Raises:
        SettingsError: the settings cannot be used.
        UserError: the screen broke.
    """
    from tui_tuner.app.overview import files_in, start_world
    from tui_tuner.tui.start.start_app import StartApp

    look, files = _look(theme), files_in(directory)
    with _keys_placed():
        app = StartApp(files, lambda: start_world(directory, files), look["theme"], look.get("keymap"), before)
    words = await app.run_async()
    if app.refusal is not None:
        raise app.refusal
    if app.failure is not None:
        broke = f"the start screen broke ({type(app.failure).__name__}: {app.failure}); {logged(app.failure)}"
        raise UserError(broke, hint="`tuner-tui KERNEL` and `tuner-tui --help` do without it")
    return words or []


async def start(directory: Path, carry_out: Callable[[list[str]], Awaitable[int]], theme: str | None = None) -> int:
    """Let the user choose on the start screen; where what they chose fails and a terminal is there, choose anew."""
    from tui_tuner.tui.start import FailedChoice

    before: FailedChoice | None = None
    while words := await chosen_command(directory, before, theme):
        try:
            return await carry_out(words)
        except UserError as error:
            if not FrontEnd(auto=False).has_terminal:
                raise
            forget_signals()
            say(f"tuner-tui: {error}")
            before = FailedChoice(words, error)
    return ExitCode.FINISHED


async def attach(path: Path, theme: str | None) -> ExitCode:
    """Show a run that another process drives on the screen, and answer its questions; where it ended, tell how.

    Raises:
        UserError: there is no such run, the keys in the settings cannot be used, or the screen broke.
    """
    from tui_tuner.session.live import WatchedRun
    from tui_tuner.tui.app import ScreenBroken

    run = WatchedRun(path)
    app = _app(run, theme)
    try:
        status = await app.run_async()
    except ScreenBroken as broken:
        told = f"the screen broke ({broken}); the run goes on without it; {logged(broken.cause)}"
        raise UserError(told, hint=f"`tuner-tui watch --answer {path}` follows it in lines") from None
    code = _code(app, status)
    if app.finished is not None and code is ExitCode.INTERRUPTED:
        _tell_resume(run.path)
    elif app.finished is not None:
        _tell_result(app)
    return code


async def _shown(app: TunerApp, starting: StartingSession) -> ExitCode:
    from tui_tuner.app.attaching import HangUp, without_a_terminal
    from tui_tuner.tui.app import ScreenBroken

    hang_up = HangUp(lambda: None if starting.setup is None else starting.setup.run.path, app.leave_terminal)
    try:
        status = await app.run_async()
    except ScreenBroken as broken:
        for name in (signal.SIGTSTP, signal.SIGCONT):  # Textual's handlers would wake its reader of keys, and hang
            signal.signal(name, signal.SIG_DFL)
        if hang_up.came:
            hang_up.tell_story()
            run = None if starting.setup is None else starting.setup.run
            return await without_a_terminal(app, run, starting.interrupt)
        return await _without_the_screen(app, starting, broken)
    return _code(app, status)


def _code(app: TunerApp, status: str) -> ExitCode:
    """What the shell is told once the screen is left."""
    from tui_tuner.headless import EXIT_CODES, exit_code_of

    return EXIT_CODES.get(status, ExitCode.FINISHED) if app.finished is None else exit_code_of(app.finished)


async def _without_the_screen(app: TunerApp, starting: StartingSession, broken: ScreenBroken) -> ExitCode:
    """Go on in lines with a session whose screen broke; a step that awaits the user is put to them in a line."""
    from tui_tuner.headless import AskInLines, Lines

    say(f"tuner-tui: the screen broke ({broken}); the session goes on without it; {logged(broken.cause)}")
    lines = Lines(app.subject)
    signals = EndingSignals(starting.interrupt)
    try:
        async with lines.teller.ticking():
            await app.go_on(lines.hear, lines.take, AskInLines(lines.teller.asking))
    except asyncio.CancelledError:
        return signals.code
    return signals.code if signals.came else lines.end()


def logged(error: Exception) -> str:
    """Put the traceback into the log, and say where that is."""
    _LOG.error("the screen broke", exc_info=error)
    return f"log: {log_file()}" if is_written() else "no log is written"


def _look(named: str | None) -> dict[str, Any]:
    """The theme that is named, and what the settings say of the screen; nothing of them where they cannot be used."""
    table = own_table("screen")
    theme, keys = table.get("theme"), table.get("keys", {})
    sound = isinstance(theme, str | None) and isinstance(keys, dict)
    if not sound or not all(isinstance(key, str) for key in keys.values()):
        return {"theme": named}  # who begins the session says why
    calls: dict[str, Any] = {name: table[name] for name in ("bell", "notify") if name in table}
    return {**calls, "theme": named or theme, "keymap": keys or None}


def _tell_notes(setup: SessionSetup) -> None:
    for note in setup.notes:
        say(note)


def _tell_interrupted(setup: SessionSetup, front_end: FrontEnd) -> None:
    if not front_end.plays:  # a replay is only shown again
        _tell_resume(setup.run.path)


def _tell_resume(run: Path) -> None:
    if run.is_dir():
        with suppress(BrokenPipeError):
            say(f"interrupted; go on with: tuner-tui resume {shlex.quote(str(run))}")
