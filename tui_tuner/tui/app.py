"""The application: one run, its screen, themes, keys, and how it ends.

What draws a session is imported when its screen is made, so that a frame can stand there before.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import time
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.types import CSSPathType
from textual.worker import Worker, WorkerCancelled, WorkerFailed, WorkerState

from tui_tuner.subjects import loaded
from tui_tuner.tui.keys import APP_BINDINGS, SCREEN_BINDINGS, checked_keymap
from tui_tuner.tui.starting import StartingScreen
from tui_tuner.tui.themes import chosen_theme, load_themes, theme_directories

if TYPE_CHECKING:
    from tui_tuner.tui.approval import ApprovalDesk
    from tui_tuner.tui.screen import SessionScreen
    from tui_tuner.tui.subject import EventSource, SubjectView

INTERRUPTED = "interrupted"


class TunerApp(App[str]):
    """Shows a run and answers its questions; `run_async()` gives the session's status.

    Args:
        run: the session to show; it runs while the app does.
        theme: name of a theme.
        keymap: keys for names of bindings, see `tui_tuner.tui.keys`.
        grace_s: keys pressed so soon after a question appeared do not answer it; seconds.
        clock: seconds, monotonic.
        starting: whether an empty frame stands there first, while what draws the session is loaded.

    Raises:
        tui_tuner.errors.SettingsError: the keymap cannot be used.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = [f"styles/{name}.tcss" for name in ("screen", "panes", "dialogs")]
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
    ) -> None:
        super().__init__()
        self.title = run.title
        self.failure: BaseException | None = None
        self._run_shown = run
        self._theme_wanted = theme
        self._keymap_wanted = checked_keymap(keymap or {})
        self._grace_s = grace_s
        self._clock = clock
        self._starting = starting
        self._engine: Worker[None] | None = None

    @cached_property
    def session_screen(self) -> SessionScreen:
        """The screen of the session."""
        from tui_tuner.tui.screen import SessionScreen

        return SessionScreen(_view_of(self._run_shown), self._desk, self._run_shown.tell, self._clock)

    @cached_property
    def _desk(self) -> ApprovalDesk:
        from tui_tuner.tui.approval import ApprovalDesk

        return ApprovalDesk(self._question_changed, grace_s=self._grace_s, clock=self._clock)

    def get_default_screen(self) -> Screen[Any]:
        """The panes; at the start perhaps no more than their frame."""
        return StartingScreen() if self._starting else self.session_screen

    def on_mount(self) -> None:
        """Themes and keys as the user wants them."""
        catalogue = load_themes(theme_directories())
        for theme in catalogue.themes.values():
            self.register_theme(theme)
        name, fault = chosen_theme(self._theme_wanted, os.environ, self.available_themes)
        self.theme = name
        faults = [*catalogue.faults, *([fault] if fault else [])]
        if faults:
            self.notify("\n".join(faults), title="Themes", severity="warning", markup=False)
        self.set_keymap(self._keymap_wanted)

    def on_ready(self) -> None:
        """Start the session."""
        self._engine = self.run_worker(
            self._drive(), name="session", group="session", exclusive=True, exit_on_error=False
        )

    async def _drive(self) -> None:
        if self._starting:
            await asyncio.to_thread(import_module, "tui_tuner.tui.screen")
        async with aclosing(self._run_shown.events(self._desk)) as stream:
            async for event in stream:
                if self._starting:  # what the session is about is known from its first event on
                    await self.push_screen(self.session_screen)
                    self._starting = False
                self.session_screen.receive(event)
                await asyncio.sleep(0)  # a replay has its events at hand and would never let the screen draw

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """End when the session breaks; `run_async` raises its error once the terminal is restored."""
        if event.worker is self._engine and event.state is WorkerState.ERROR:
            self.failure = event.worker.error
            self.exit("failed", return_code=1)

    async def run_async(self, **options: Any) -> str:  # noqa: ANN401  # Textual's own options
        """Show the run until the user leaves.

        Returns:
            The status of SessionFinished, or "interrupted" if the user left before.

        Raises:
            BaseException: whatever ended the session other than by an event.
        """
        status = await super().run_async(**options)
        if self.failure is not None:
            raise self.failure
        return status or INTERRUPTED

    def _question_changed(self) -> None:
        if self.is_running:
            self.session_screen.question_changed()

    def action_toggle_help(self) -> None:
        """Show or hide keys and help."""
        from textual.widgets import HelpPanel

        if self.screen.query(HelpPanel):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Textual's commands and every key of the panes that acts now."""
        own = {"Maximize", "Minimize"}
        yield from (command for command in super().get_system_commands(screen) if command.title not in own)
        if self._starting or screen is not self.session_screen:
            return
        own_names = {binding.id for binding in SCREEN_BINDINGS}
        acting = {active.binding.id: active.binding for active in screen.active_bindings.values() if active.enabled}
        for name, binding in acting.items():
            if name in own_names:
                place = "" if binding.group is None else f"{binding.group.description}: "
                action = f"screen.{binding.action}"
                yield SystemCommand(
                    (place + binding.description).capitalize(),
                    binding.tooltip,
                    lambda act=action: self.run_action(act),
                )

    async def action_quit(self) -> None:
        """Leave at once when the session is over; else ask, and take a second ctrl+c for a yes."""
        from tui_tuner.tui.dialogs import QuitDialog

        if self._starting:
            await self._leave(True)
            return
        finished = self.session_screen.view_model.finished
        if finished is not None:
            self.exit(finished.status)
        elif isinstance(self.screen, QuitDialog):
            self.screen.dismiss(True)
        else:
            self.push_screen(QuitDialog(self._resume_command()), self._leave)

    def _resume_command(self) -> str:
        started = self.session_screen.view_model.started
        return "tuner-tui resume" if started is None else f"tuner-tui resume {shlex.quote(started.run)}"

    async def _leave(self, leaving: bool | None) -> None:
        """Interrupt the session, wait until it has put its things away, and exit."""
        if not leaving:
            return
        if self._engine is not None:
            self._engine.cancel()
            with suppress(WorkerCancelled, WorkerFailed):
                await self._engine.wait()
        finished = None if self._starting else self.session_screen.view_model.finished
        self.exit(INTERRUPTED if finished is None else finished.status)


def _view_of(run: EventSource) -> SubjectView:
    view: SubjectView = loaded(run.subject.screen)()
    return view
