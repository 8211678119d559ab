"""The application: one run, its screen, themes, keys, and how it ends.

What draws a session is imported when its screen is made, so that a frame can stand there before.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Iterable
from contextlib import aclosing
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.types import CSSPathType

from tui_tuner.format import counted
from tui_tuner.subjects import Subject, loaded
from tui_tuner.tui.frame import BREAKPOINTS, HEIGHTS, StartingScreen
from tui_tuner.tui.in_turn import InTurn
from tui_tuner.tui.keys import APP_BINDINGS, TEXTUALS, commands_of

if TYPE_CHECKING:
    from tui_tuner.session.events import Event, SessionFinished
    from tui_tuner.strategies.steps import Approver
    from tui_tuner.tui.approval import ApprovalDesk, Bell
    from tui_tuner.tui.player import Move, Player
    from tui_tuner.tui.screen import SessionScreen
    from tui_tuner.tui.subject import EventSource, SubjectView

INTERRUPTED = "interrupted"
LEFT = "left"
"""The status of a run that goes on without who watched it."""
_TURN_S = 0.005
"""So long at most events are taken before the screen has its turn."""


class ScreenBroken(Exception):
    """The screen cannot be drawn any more; the session goes on, see `TunerApp.go_on`.

    Attributes:
        cause: what was raised while something was drawn.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class TunerApp(InTurn[str]):
    """Shows a run and answers its questions; `run_async()` gives the session's status.

    Args:
        run: the session to show; it runs while the app does.
        theme, keymap: as of `InTurn`, also what a keymap that cannot be used raises.
        grace_s: keys pressed so soon after a question appeared do not answer it; seconds.
        clock: seconds, monotonic.
        starting: whether an empty frame stands there first, while what draws the session is loaded.
        bell: when a question rings.
        notify: whether the desktop is to tell that a question waits.

    Attributes:
        look_file: where is kept how the screen was left; None to keep nothing.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = [f"styles/{name}.tcss" for name in ("screen", "panes", "dialogs")]
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = BREAKPOINTS, HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [*APP_BINDINGS]

    def __init__(
        self,
        run: EventSource,
        *,
        theme: str | None = None,
        keymap: dict[str, str] | None = None,
        grace_s: float = 0.4,
        clock: Callable[[], float] = time.monotonic,
        starting: bool = False,
        bell: Bell = "unfocused",
        notify: bool = True,
    ) -> None:
        super().__init__(theme, keymap)
        self._bell, self._notifies = bell, notify
        self.look_file: Path | None = None
        self.title = run.title
        self.failure: BaseException | None = None
        self._run_shown = run
        self._grace_s, self._clock = grace_s, clock
        self._starting = starting
        self._engine: asyncio.Task[None] | None = None
        self._broken: Exception | None = None
        self._over = False
        self._told: dict[tuple[type[Event], int], Event] = {}
        self._missed: list[Event] = []
        self._take: Callable[[Event], None] = self._missed.append

    @property
    def subject(self) -> Subject:
        """What the run is about."""
        return self._run_shown.subject

    @property
    def finished(self) -> SessionFinished | None:
        """How the session ended, as far as it is shown."""
        return None if self._starting else self.session_screen.view_model.finished

    @cached_property
    def session_screen(self) -> SessionScreen:
        """The screen of the session."""
        from tui_tuner.tui.screen import SessionScreen

        view: SubjectView = loaded(self.subject.screen)()
        tell = self._run_shown.tell
        screen = SessionScreen(view, self._desk, tell, self._clock, self.look_file, self.key_names)
        screen.seen_as, screen.player = lambda: self._run_shown.seen_as, self._player
        screen.keeps_device = lambda: getattr(self._run_shown, "keeps_device", False)  # a replay has none
        return screen

    def must_wait(self, key: str) -> bool:
        """Before the session is there its frame can only be left."""
        return isinstance(self.screen, StartingScreen) and not self.screen.leaves(key)

    def exit(self, *given: Any, **named: Any) -> None:  # noqa: ANN401  # Textual's own
        """End, and keep how the screen was left."""
        if not self._starting and self._broken is None:
            self.session_screen.keep_look()
        super().exit(*given, **named)

    @property
    def _player(self) -> Player | None:
        """What moves the run, where it is a replay."""
        return self._run_shown if hasattr(self._run_shown, "move") else None  # type: ignore[return-value]

    @cached_property
    def _desk(self) -> ApprovalDesk:
        from tui_tuner.tui.approval import ApprovalDesk

        return ApprovalDesk(self._question_changed, grace_s=self._grace_s, clock=self._clock)

    def get_default_screen(self) -> Screen[Any]:
        """The panes; at the start perhaps no more than their frame."""
        return StartingScreen(self.subject.pane, self.title) if self._starting else self.session_screen

    def on_ready(self) -> None:
        """Start the session: no part of the screen, which may break without it. What was typed before may leave it."""
        self.hear()
        self._engine = asyncio.create_task(self._drive(), name="session")
        self._engine.add_done_callback(self._session_ended)

    async def _drive(self) -> None:
        if self._starting:
            await asyncio.to_thread(import_module, "tui_tuner.tui.screen")
        turn_ends = time.monotonic() + _TURN_S
        async with aclosing(self._run_shown.events(self._desk)) as stream:
            async for event in stream:
                if self._broken is None:  # what comes later is taken by whoever goes on
                    self._told[type(event), len(self._told) if event.adds else 0] = event
                self._over |= getattr(event, "type", "") == "session_finished"
                await self._show(event)
                if self._over and self._broken is not None:
                    return  # nobody is there to compare anything
                if time.monotonic() > turn_ends:  # a replay has its events at hand and would never let the screen draw
                    await asyncio.sleep(0)
                    turn_ends = time.monotonic() + _TURN_S

    async def _show(self, event: Event) -> None:
        """Hand an event to the screen, or to whatever has taken its place."""
        if self._broken is not None:
            self._take(event)
            return
        try:
            if self._starting:  # what the session is about is known from its first event on
                await self.push_screen(self.session_screen)
                self._starting = False
                self.call_after_refresh(self.session_screen.draw)
                self.call_after_refresh(self.hear)
                gc.freeze()  # what is loaded by now stays: looking through it again and again would hold keys up
            if event.transient and getattr(event, "type", "") == "rewound":
                await self._rewind()
            else:
                self.session_screen.receive(event, getattr(self._run_shown, "behind_s", 0.0))  # of a watched run
        except Exception as error:
            self._handle_exception(error)

    async def _rewind(self) -> None:
        """Begin the story anew on a new screen."""
        old = self.session_screen
        while self.screen is not old:
            await self.pop_screen()
        pane = old.pane
        old.keep_look()
        del self.session_screen
        if len(self.screen_stack) > 1:  # the lowest one stays
            await self.pop_screen()
        await self.push_screen(self.session_screen)
        self.session_screen.set_class(old.has_class("-solo"), "-solo")
        self.session_screen.action_pane(pane)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of a replay act in one."""
        return action != "play" or self._player is not None

    def action_play(self, move: Move) -> None:
        """Pause, step, seek or change the speed of a replay."""
        if self._player is not None:
            self.clear_notifications()
            self.notify(self._player.move(move), timeout=2, markup=False)

    def _session_ended(self, engine: asyncio.Task[None]) -> None:
        """End when the session breaks; `run_async` raises its error once the terminal is restored."""
        if not engine.cancelled() and (error := engine.exception()) is not None:
            self.failure = error
            self.exit("failed", return_code=1)

    def _handle_exception(self, error: Exception) -> None:
        """Textual 8.2 comes here with whatever is raised while it draws, and ends the app; the session goes on."""
        self._broken = self._broken or error
        super()._handle_exception(error)
        self._exit_renderables.clear()  # the traceback is for the log, with none of the session's values in it

    def leave_terminal(self) -> None:
        """End the screen and not the session, whose terminal is gone, see `go_on`; a replay ends with it."""
        if self._player is None:
            self._broken = self._broken or EOFError("the terminal is gone")
        self.exit(LEFT)

    async def on_unmount(self) -> None:
        """End the session with the app, unless only the screen is broken."""
        if self._broken is None:
            await self._end_session()

    async def _end_session(self) -> None:
        """Interrupt the session and wait until it has put its things away."""
        if self._engine is not None and not self._engine.done():
            self._engine.cancel()
            await asyncio.wait([self._engine])

    async def run_async(self, **options: Any) -> str:  # noqa: ANN401  # Textual's own options
        """Show the run until the user leaves.

        Returns:
            The status of SessionFinished, or "interrupted" if the user left before.

        Raises:
            ScreenBroken: what shows the session failed, the session did not.
            BaseException: whatever ended the session other than by an event.
        """
        status = await super().run_async(**options)
        if self._broken is not None:
            raise ScreenBroken(self._broken)
        if self.failure is not None:
            raise self.failure
        return status or INTERRUPTED

    async def go_on(self, hear: Callable[[Event], object], take: Callable[[Event], None], approver: Approver) -> None:
        """Let the session go on after the screen broke, to its end.

        Args:
            hear: is told what was shown already, see `retell`.
            take: is told what happens from now on.
            approver: answers the open question and those that follow.

        Raises:
            BaseException: whatever ended the session other than by an event.
        """
        self.retell(hear)
        for event in self._missed:
            take(event)
        self._take = take
        self._desk.hand_over(approver)
        engine = self._engine = self._engine or asyncio.create_task(self._drive(), name="session")
        try:
            if not self._over:
                await asyncio.wait([engine])
                engine.result()
        finally:
            await self._end_session()

    def retell(self, hear: Callable[[Event], object]) -> None:
        """Tell what was shown: the latest event of each type, and all of those that add up."""
        for event in self._told.values():
            hear(event)

    def _question_changed(self) -> None:
        if self.is_running:
            from tui_tuner.tui.approval import call_attention

            self.call_later(self.session_screen.question_changed)
            call_attention(self, self._desk.question or self._desk.trouble, self._bell, notify=self._notifies)

    def action_toggle_help(self) -> None:
        """Show or hide the page of help."""
        if not self._starting and self.screen is self.session_screen:
            self.session_screen.toggle_help()

    async def action_copy_or_quit(self) -> None:
        """Copy what is selected, or leave where nothing is."""
        from tui_tuner.tui.copying import copied, taken_selection

        if text := taken_selection(self.screen):
            copied(self, text, counted(len(text.splitlines()), "line"))
        else:
            await self.action_quit()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Textual's commands and every key of the panes that acts now."""
        yield from (command for command in super().get_system_commands(screen) if command.title not in TEXTUALS)
        if not self._starting and screen is self.session_screen:
            for title, words, action in commands_of(screen):
                yield SystemCommand(title, words, lambda act=action: self.run_action(act))

    async def action_quit(self) -> None:
        """Leave at once when the session is over; else ask, and take a second ctrl+c for a yes."""
        from tui_tuner.tui.dialogs import QuitDialog
        from tui_tuner.tui.status import resume_command

        if self._starting:
            await self._leave(True)
        elif self.finished is not None:
            self.exit(self.finished.status)
        elif self._run_shown.seen_as:
            self.exit(LEFT)
        elif isinstance(self.screen, QuitDialog):
            self.screen.dismiss(True)
        else:
            self.push_screen(QuitDialog(resume_command(self.session_screen.view_model.started)), self._leave)

    async def _leave(self, leaving: bool | None) -> None:
        """Interrupt the session, wait until it has put its things away, and exit."""
        if leaving:
            await self._end_session()
            self.exit(INTERRUPTED if self.finished is None else self.finished.status)
