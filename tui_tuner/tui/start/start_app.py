"""The screen of a bare `tuner-tui`: kernels here, how they are tuned, recent runs; it ends with a command to run.

The kernels are there at once; what the settings say and the runs come when the first picture stands.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from textual import on, work
from textual.actions import parse
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize
from textual.geometry import Offset, Size
from textual.getters import query_one
from textual.screen import Screen
from textual.types import CSSPathType
from textual.widget import Widget
from textual.widgets import Input, OptionList, Select, Static

from tui_tuner.errors import NothingBegun, UserError
from tui_tuner.tui.copying import copied
from tui_tuner.tui.dialogs import ConfirmDialog, MessageDialog
from tui_tuner.tui.frame import BREAKPOINTS, HEIGHTS, KeyLine, know_size
from tui_tuner.tui.in_turn import InTurn
from tui_tuner.tui.keys import SHARED_BINDINGS, START_BINDINGS, TEXTUALS, command_words
from tui_tuner.tui.moving import JumpScreen, Target, gone_to, option_targets
from tui_tuner.tui.start import FailedChoice, GivenFile, StartWorld
from tui_tuner.tui.start.how import How
from tui_tuner.tui.start.layout import lay_out
from tui_tuner.tui.start.lists import ChoiceList, RunList, RunsCompared, file_line, file_list, numbers, select, to_try
from tui_tuner.tui.text import plain

_LEAVE = Binding("ctrl+q,ctrl+c", "quit", "quit", priority=True, show=False, tooltip="Leave, also while you type.")
_NO_KERNEL = "tuner-tui DIRECTORY/KERNEL, or begin in the directory of a kernel"


class StartApp(InTurn[list[str]]):
    """Chooses what to do; `run_async()` gives the words of a command line, or None.

    Args:
        files: what can be tuned here.
        look: finds what else there is, once the screen stands.
        theme, keymap: as of `InTurn`, also what a keymap that cannot be used raises.
        before: what was chosen before and came to nothing: it is told why, and the choices are those of then.

    Attributes:
        refusal: why what there is cannot be shown; None where it can.
        failure: what broke the screen; None where nothing did.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = [f"../styles/{name}.tcss" for name in ("screen", "dialogs", "start")]
    HORIZONTAL_BREAKPOINTS, VERTICAL_BREAKPOINTS = BREAKPOINTS, HEIGHTS
    TITLE = "tuner-tui"
    BINDINGS: ClassVar[list[BindingType]] = [
        *START_BINDINGS,
        *SHARED_BINDINGS,
        Binding("escape", "leave_field", "to the list", show=False, tooltip="Leave the field."),
        _LEAVE,
    ]

    _kernels = query_one("#kernels", ChoiceList)
    _how = query_one(How)
    _runs = query_one(RunList)
    _command = query_one("#command", Static)

    def __init__(
        self,
        files: Sequence[GivenFile],
        look: Callable[[], Awaitable[StartWorld]],
        theme: str | None = None,
        keymap: Mapping[str, str] | None = None,
        before: FailedChoice | None = None,
    ) -> None:
        super().__init__(theme, keymap)
        self._files = list(files)
        self._look = look
        self._before = before
        self._world: StartWorld | None = None
        self._unseen = ExitStack()
        self.refusal: UserError | None = None
        self.failure: Exception | None = None

    def _handle_exception(self, error: Exception) -> None:
        """Textual 8.2 comes here with whatever is raised while it draws, and would print it with all values."""
        self.failure = self.failure or error
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def must_wait(self, key: str) -> bool:
        """Kernels can be chosen at once; the rest waits for the settings and the runs."""
        return self._world is None and key not in self.screen.active_bindings

    def compose(self) -> ComposeResult:
        """Kernels, the frames of what is not known yet, the command, the keys."""
        know_size(self.screen)
        yield Static(f"tuner-tui │ {numbers(self._files)} in {Path.cwd().name}/", id="header", markup=False)
        choices = Horizontal(id="choices")
        self._stack(choices, self.size.width, self.size.height)
        with choices:
            yield file_list(self._files)
            yield How()
        yield RunList()
        yield Static(to_try(), id="what-comes", markup=False)
        yield Static(id="command", markup=False)
        yield KeyLine()

    def on_resize(self, event: Resize) -> None:
        """Lay out anew."""
        self._stack(self.query_one("#choices"), event.size.width, event.size.height)
        self._runs.draw()
        self._show_command()

    def _stack(self, choices: Widget, width: int, height: int) -> None:
        most = None if self._world is None else self._runs.leave(height)
        lay_out(self.screen_stack[0], choices, len(self._files), Size(width, height), most)

    def on_mount(self) -> None:
        """Begin with the first kernel; what changes until all is in its place is not drawn."""
        self._unseen.enter_context(self.batch_update())
        if self._files:
            words = [] if self._before is None else self._before.words
            self._kernels.highlighted = next((n for n, file in enumerate(self._files) if file.begins(words)), 0)
            self._kernels.focus()

    def on_ready(self) -> None:
        """Draw, and look around, for which the first picture would have had to wait."""
        self.screen._repaint_required = False  # all of it is laid out anew; Textual 8.2 would draw it a second time
        self._unseen.close()
        self._look_around()

    @work(exclusive=True, group="look", description="settings, runs, devices and models")
    async def _look_around(self) -> None:
        try:
            world = await self._look()
        except UserError as error:
            self.refusal = error
            self.exit()
            return
        await self._how.fill(world, () if self._before is None else self._before.words)
        self._world = world
        self._list_runs()
        self.refresh_bindings()
        if not self._files:
            self._runs.focus()
        self.call_after_refresh(self.hear)
        self._tell_fault()
        try:
            found = await world.discover()
        except UserError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self._how.offer(found)
        self._show_command()

    def _tell_fault(self) -> None:
        if self._before is None:
            return
        fault, command = self._before.fault, shlex.join(["tuner-tui", *self._before.words])
        if isinstance(fault, NothingBegun):
            self.notify(str(fault), markup=False)
        else:
            self.push_screen(MessageDialog(plain(command), plain(str(fault), "$text-error")))

    def _list_runs(self) -> None:
        self._runs.show([] if self._world is None else self._world.runs())
        self.query_one("#what-comes").set_class(not self._runs.cards, "-wanted")
        self.screen_stack[0].set_class(not self._runs.cards, "-no-runs")
        self._stack(self.query_one("#choices"), self.size.width, self.size.height)
        self._show_command()

    # --- the command

    @property
    def _file(self) -> GivenFile | None:
        at = self._kernels.highlighted
        return None if at is None else self._files[at]

    def words(self) -> list[str]:
        """The command line that tunes the selected file; what the settings say anyway is left out."""
        return [] if self._file is None else [*self._file.words, *self._how.options()]

    @on(Select.Changed)
    @on(Input.Changed)
    @on(OptionList.OptionHighlighted)
    def _show_command(self) -> None:
        if self._file is not None:
            self._how.suit(self._file)
            self.query_one("#what-comes", Static).update(self._file.subject.what_comes)
        words = self._shown_words()
        command = plain(shlex.join(["tuner-tui", *words]), "bold") if words else _NO_KERNEL
        missing = f"\n{self._how.missing}" if self._how.missing and words == self.words() else ""
        self._command.update(Content.assemble("$ ", command, plain(missing, "$text-error")))
        self.refresh_bindings()

    def _shown_words(self) -> list[str]:
        if self.screen_stack[0].focused is self._runs and self._runs.card is not None:
            return [self._runs.card.usual_action, str(self._runs.card.path)]
        return self.words()

    def on_descendant_focus(self) -> None:
        """The command is about what has the focus, which has the room."""
        screen = self.screen_stack[0]
        screen.set_class(screen.focused is self._runs, "-at-runs")
        screen.set_class(screen.focused in self._how.inputs(), "-at-how")
        self._stack(self.query_one("#choices"), self.size.width, self.size.height)
        self._show_command()

    @on(OptionList.OptionSelected)
    def _begin(self) -> None:
        if (words := self._shown_words()) and (words != self.words() or self._how.is_sound()):
            self.hand_on(words)

    @on(Input.Submitted)
    def action_leave_field(self) -> None:
        """Go back to the kernels."""
        self._kernels.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of runs act where a run is selected; those of the app below a dialog do not."""
        if len(self.screen_stack) > 1 and action not in ("quit", "answer"):
            return action not in _OWN
        return self._acts(action, parameters)

    def _acts(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Whether there is something to do it to, also below a dialog."""
        focused = self.screen_stack[0].focused
        on_runs = focused is not None and focused.id == "runs" and self._runs.card is not None
        if action == "run":
            return on_runs and self._runs.card is not None and parameters[0] in self._runs.card.actions
        if action in ("compare", "delete"):
            return on_runs
        if action == "copy_command":
            return bool(self._shown_words())
        if self._world is None:
            return action not in ("problem", "save", "jump")
        return action != "problem" or (not on_runs and self._file is not None and self._file.is_kernel)

    # --- actions

    def action_run(self, command: str) -> None:
        """Resume, replay or watch the selected run."""
        if self._runs.card is not None:
            self.hand_on([command, str(self._runs.card.path)])

    @work(exclusive=True, exit_on_error=False, group="form", description="the problem file")
    async def action_problem(self) -> None:
        """Let the user look at the problem file, and write it where they save it."""
        given = self._file
        if given is None or self._world is None:
            return
        self._kernels.border_subtitle = "drafting a problem file, trying it"  # on the emulator, for seconds
        try:
            file, text = await self._world.scaffold(given.path)
        except UserError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        finally:
            self._kernels.border_subtitle = ""
        from tui_tuner.tui.start.problem_form import ProblemForm

        if await self.push_screen_wait(ProblemForm(file, text)):
            self._files[self._files.index(given)] = replace(given, has_problem=True)
            self._kernels.relist([*map(file_line, self._files)])

    def action_compare(self) -> None:
        """Mark the run, or compare it with the marked one."""
        if (pair := self._runs.mark()) is not None:
            self.push_screen(MessageDialog(Content("Two runs"), RunsCompared(pair), large=True))

    @work(exclusive=True, exit_on_error=False, group="form", description="deleting a run")
    async def action_delete(self) -> None:
        """Delete the run, once the user says so."""
        card, world = self._runs.card, self._world
        if card is None or world is None:
            return
        try:
            world.check_deletion(card.path)
            if await self.push_screen_wait(ConfirmDialog("Delete this run from the disk?", str(card.path))):
                world.delete(card.path)
        except UserError as error:
            self.notify(str(error), severity="error", markup=False)
        self._list_runs()

    def action_save(self) -> None:
        """Keep what is chosen as settings."""
        if self._world is None:
            return
        try:
            file = self._world.save(self._how.choices())
        except UserError as error:
            self.notify(str(error), severity="error", markup=False)
        else:
            self.notify(f"saved in {file}", markup=False)

    def action_jump(self) -> None:
        """Show a letter on each kernel, run and field, and go where one is pressed."""
        targets: list[Target] = []
        for options in (self._kernels, self._runs):
            targets += option_targets(options, lambda index, options=options: select(options, index))  # type: ignore[misc]
        fields = [each for each in self._how.inputs() if not each.disabled]
        targets += [Target(each.region.offset - Offset(1, 0), each.focus) for each in fields]
        self.push_screen(JumpScreen(targets), gone_to)

    def action_keys(self) -> None:
        """Show all keys."""
        from tui_tuner.tui.help import PALETTE, key_lines

        own = [*START_BINDINGS, _LEAVE, *SHARED_BINDINGS, PALETTE]
        lines = key_lines([*ChoiceList.OWN, *own, *ChoiceList.KEYS], self.key_names)
        self.push_screen(MessageDialog(Content("Keys of the start screen"), Content("\n").join(lines), large=True))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Textual's commands and every key of the start screen that acts now."""
        yield from (command for command in super().get_system_commands(screen) if command.title not in TEXTUALS)
        names = self.key_names
        for binding in START_BINDINGS if screen is self.screen_stack[0] else ():
            _, name, parameters = parse(binding.action)
            if name != "quit" and self._acts(name, parameters):
                yield SystemCommand(
                    *command_words(binding, names(binding)), lambda act=binding.action: self.run_action(act)
                )

    def action_copy_command(self) -> None:
        """Copy the command."""
        copied(self, shlex.join(["tuner-tui", *self._shown_words()]), "the command")


_OWN = ("problem", "run", "compare", "delete", "copy_command", "save", "leave_field", "jump", "keys")
