"""The main screen: four panes and the lines around them, fed from the stream of events on a steady tick."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import ScreenResume
from textual.getters import query_one

from tui_tuner.session.events import AnswerText, Event, ModelText, Note, SessionFinished
from tui_tuner.session.plan import AddStep, Ask, Instruction, Say
from tui_tuner.tui.answering import AnsweringScreen
from tui_tuner.tui.approval import ANSWERS, ApprovalDesk, QuestionLine
from tui_tuner.tui.copying import copied, exported_table
from tui_tuner.tui.dialogs import ResultDialog
from tui_tuner.tui.dialogs.sources import RowDialog
from tui_tuner.tui.frame import BREAKPOINTS, HEIGHTS, KeyLine, TabLine, know_size
from tui_tuner.tui.help import HelpPage, help_text
from tui_tuner.tui.keys import SCREEN_BINDINGS, KeyNames, first_key
from tui_tuner.tui.moving import JumpScreen, gone_to
from tui_tuner.tui.panes import PaneGrid, remember, remembered
from tui_tuner.tui.panes.benchmarks_pane import IN_THE_TABLE, BenchmarksPane, TableAction
from tui_tuner.tui.panes.chat_pane import ChatInput, ChatPane
from tui_tuner.tui.panes.kernel_pane import KernelPane, SourceView
from tui_tuner.tui.panes.plan_pane import PlanPane
from tui_tuner.tui.plan_lines import PlanChange
from tui_tuner.tui.status import HeaderLine, StatusLine, result_title, resume_command
from tui_tuner.tui.subject import SubjectView

_TICK_S = 1 / 8
_RESTS = 4  # ticks from one drawing of words that arrive one by one to the next: each moves the whole chat


class SessionScreen(AnsweringScreen):
    """Panes in a grid, or as tabs where the terminal is narrow.

    Args:
        view: how the session's subject is shown.
        desk: where the session's questions are answered.
        tell: hands an instruction to the session; False if it cannot be changed.
        clock: seconds, monotonic; lets the elapsed time go on between events.
        look_file: where is kept how it was left; None to keep nothing.
        key_names: tells the keys of a binding as the user has them.

    Attributes:
        seen_as: tells what the run is where it is not driven from here; see `tui_tuner.tui.subject.EventSource`.
    """

    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [*SCREEN_BINDINGS]

    _header = query_one(HeaderLine)
    _status = query_one(StatusLine)
    _benchmarks = query_one(BenchmarksPane)
    _plan = query_one(PlanPane)

    def __init__(
        self,
        view: SubjectView,
        desk: ApprovalDesk,
        tell: Callable[[Instruction], bool],
        clock: Callable[[], float],
        look_file: Path | None,
        key_names: KeyNames,
    ) -> None:
        super().__init__(view, desk, tell)
        self._clock = clock
        self._look_file, self._key_names = look_file, key_names
        self._last_event_at, self._inbox, self._undrawn = clock(), list[Event](), list[Event]()
        self._moves, self._asks, self._ticks = True, False, 0
        self.seen_as: Callable[[], Sequence[str]] = tuple

    def compose(self) -> ComposeResult:
        """Header, tabs, panes, the open question, status, keys."""
        know_size(self)
        pin, leave = (first_key(self._key_names, name) for name in ("compare", "quit"))
        panes = [KernelPane(self._view), PlanPane(self._view), BenchmarksPane(self._view, pin)]
        panes.append(ChatPane(self._view, replayed=self.replayed))
        yield HeaderLine(self._view)
        yield TabLine([pane.title for pane in panes])
        yield PaneGrid(panes)
        yield HelpPage()
        yield QuestionLine(pin, leave)
        yield StatusLine()
        yield KeyLine(self._words_of)

    def on_mount(self) -> None:
        """Start the tick, with the look that is remembered."""
        look, fault = remembered(self._look_file)
        if fault:
            self.notify(fault, severity="warning", markup=False)
        self._kernel.diff.show_split(look.split)
        self._benchmarks.set_look(look)
        self.action_pane(1)
        self.set_interval(_TICK_S, self.tick)

    def keep_look(self) -> None:
        """Keep how it looks for the next start."""
        if self._look_file is not None and self.is_mounted:
            remember(self._look_file, self._benchmarks.look.model_copy(update={"split": self._kernel.diff.split}))

    def receive(self, event: Event, ago: float = 0.0) -> None:
        """Take an event that happened so many seconds ago; it is drawn on the next tick."""
        self._inbox.append(event)
        self._last_event_at = self._clock() - ago

    def tick(self) -> None:
        """Draw what arrived; words of the model, the spinner and the clock at some ticks only."""
        self._ticks = (self._ticks + 1) % _RESTS
        if not self._ticks or self.player or any(not isinstance(each, ModelText | AnswerText) for each in self._inbox):
            self.draw()

    def draw(self) -> None:
        """Fold what arrived into the view model and let every pane draw the difference."""
        self.catch_up()
        if (is_behind := self.app.screen is not self) and self._ticks:
            return  # what moves behind a dialog has the whole terminal looked through: lines alone, and seldom
        waited = self._clock() - self._last_event_at if self.view_model.is_live and not self.replayed else 0.0
        self._header.show(self.view_model, self.seen_as())
        moves = self.player.plays if self.player is not None else not self.view_model.paused
        asks = bool(self.view_model.under_way.questions)
        if (moves, asks) != (self._moves, self._asks):
            self._moves, self._asks = moves, asks
            self.refresh_bindings()
        spin = None if self.app.animation_level == "none" else self._clock()
        self._question.keep_device(self.keeps_device())
        self._status.show(self.view_model, self._view, self.view_model.elapsed + waited, spin)
        if is_behind or not self._undrawn:
            return
        news, self._undrawn = self._undrawn, []
        begun = bool(self.view_model.order) or self.view_model.finished is not None
        told = [event.text for event in news if isinstance(event, Note)]
        self._question.show(self.view_model.current_step, "" if begun else told[-1] if told else None)
        self._panes.draw(self.view_model, news)
        self._tabs.titles = self._panes.titles
        if isinstance(news[-1], SessionFinished):
            self._show_result(news[-1])

    def catch_up(self) -> None:
        """Take what arrived into the view model."""
        news, self._inbox = self._inbox, []
        for event in news:
            self.view_model.apply(event)
            self._view.apply(event)
        self._undrawn += news

    @on(ScreenResume)
    def _come_forward(self) -> None:
        """Draw what happened behind a dialog."""
        self.call_later(self.draw)

    def _show_result(self, finished: SessionFinished) -> None:
        best, given = self._view.best(self.view_model), self.view_model.baseline
        if best is not None and given is not None and best.source != given.source:
            self._kernel.view = "diff"
        result = self._view.result(finished, self.view_model)
        self.app.push_screen(ResultDialog(result_title(finished), result, yields=self.replayed))

    # --- what leaves the screen

    def action_copy_focused(self) -> None:
        """Copy what the active pane is about."""
        text, what = self._panes.all[self._panes.active - 1].copied_text()
        if text:
            copied(self.app, text, what)
        else:
            self.notify("There is nothing to copy here; select with the mouse, then ctrl+c.", markup=False)

    def action_copy_command(self) -> None:
        """Copy the command that goes on with the run."""
        if self.view_model.started is not None:
            copied(self.app, resume_command(self.view_model.started), "the command")

    def action_export_table(self) -> None:
        """Write the table into the run's directory."""
        started = self.view_model.started
        table = "" if started is None else self._benchmarks.exported
        self.notify(exported_table("" if started is None else started.directory, table), markup=False)

    # --- panes

    @property
    def pane(self) -> int:
        """The number of the active pane."""
        return self._panes.active

    @on(PaneGrid.Activated)
    def _show_active(self, message: PaneGrid.Activated) -> None:
        self._tabs.active = message.number
        self.refresh_bindings()

    def action_pane(self, number: int) -> None:
        """Go to a pane."""
        self.remove_class("-help")
        self._panes.go_to(number)

    def on_resize(self) -> None:
        """What a key can do depends on the size."""
        self.call_after_refresh(self.refresh_bindings)

    def action_maximise(self) -> None:
        """Give the active pane the whole screen, or give it back."""
        self.toggle_class("-solo")
        self.refresh_bindings()

    def toggle_help(self) -> None:
        """Show the page of help in the place of the panes, or the panes again."""
        if self.has_class("-help"):
            self.close_help()
            return
        page = self.query_one(HelpPage)
        page.show(help_text(self._panes.all, self._panes.active, self._key_names, asked=self._desk.awaits))
        self.add_class("-help")
        page.focus()

    @on(HelpPage.Closed)
    def close_help(self) -> None:
        """Show the panes again."""
        self.remove_class("-help")
        self._panes.go_to(self._panes.active)

    def action_jump(self) -> None:
        """Show a letter on each pane, row and step that can be gone to, and go where one is pressed."""
        hidden = [pane.number for pane in self._panes.all if not pane.display]
        tabs = self._tabs.targets(hidden, self.action_pane)
        self.app.push_screen(JumpScreen([*self._panes.targets(), *tabs]), gone_to)

    def action_next_view(self) -> None:
        """Go on to the kernel's next view."""
        self._panes.reveal(1)
        self._kernel.next_view()

    def action_view(self, view: SourceView) -> None:
        """Show a view of the kernel."""
        self._kernel.view = view

    def action_benchmarks(self, what: TableAction) -> None:
        """Sort, filter, draw or pin what was measured."""
        self._panes.reveal(3)
        self._benchmarks.do(what)

    @on(BenchmarksPane.RowChosen)
    def _show_row(self, message: BenchmarksPane.RowChosen) -> None:
        started, given = self.view_model.started, self.view_model.baseline
        language = "" if started is None else started.language
        dialog = RowDialog(message.title, message.text, message.source, given, language, proposes=self._can_change)
        self.app.push_screen(dialog, self._propose)

    def _propose(self, step: AddStep | None) -> None:
        """Have a step of the user's own that starts from a row's kernel."""
        if step is not None and self.send(step):
            self.notify(f"In the plan: {step.title}. Its words can be changed there.", markup=False)

    # --- instructions for the session

    def send(self, instruction: Instruction) -> bool:
        """As every screen does; that nobody reads what is meant for a model is told where there is none."""
        taken, started = super().send(instruction), self.view_model.started
        meant_for_it = taken and isinstance(instruction, AddStep | Say)
        if meant_for_it and started is not None and started.model in (None, "none"):
            key = first_key(self._key_names, "control")
            words = f"The session has no model, which alone makes something of it: {key} names a model and a strategy."
            self.notify(words, severity="warning", markup=False)
        return taken

    def action_change_plan(self, change: PlanChange) -> None:
        """Change the plan, as it is by now."""
        if self.goes_on():
            self._plan.change(change)

    def action_open_step(self) -> None:
        """Change the words of the selected step, or read all about one that cannot be changed."""
        self.catch_up()
        self._plan.open_step(changeable=self._can_change)

    @property
    def _can_change(self) -> bool:
        return self.view_model.finished is None and not self.replayed

    @on(PlanPane.InstructionGiven)
    def _change_plan(self, message: PlanPane.InstructionGiven) -> None:
        self.send(message.instruction)

    def action_tell(self) -> None:
        """Type words for the model."""
        self._panes.visit(4)
        self._chat.start_words()

    @on(ChatPane.WordsSubmitted)
    async def _say(self, message: ChatPane.WordsSubmitted) -> None:
        told = message.instruction
        if isinstance(told, Ask):  # about the row where the user comes from the table, else the change they went to
            from_table = self._panes.visited_from == 3
            about = self._benchmarks.selected_words if from_table else self._kernel.selected_hunk
            told = told.model_copy(update={"about": about})
        if self.send(told):
            self._chat.forget_words()

    @on(ChatInput.InputLeft)
    def _come_back(self) -> None:
        self._panes.come_back()

    # --- keys

    def _words_of(self, binding: Binding) -> str:
        """What a key does now: those that pause a session or play a replay do the one or the other."""
        if binding.id in self._plan.in_vain:
            return ""
        turned = {"play": "pause"} if self._moves else {"pause": "go on"}
        return turned.get(binding.id or "", binding.description)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing acts before the panes stand; None where the key says why it does nothing, see `on_key`."""
        return self.is_mounted and self._allows(action, parameters)

    def _allows(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Answers act while a question is open; the plan's keys in the plan; maximising where there are more panes."""
        if action in ANSWERS:
            return self._desk.allows(action) if self._can_change else None
        if self.has_class("-help"):
            return action == "pane"
        if action in ("control", "pause", "tell"):
            answers = action == "control" and self._desk.trouble is not None  # its key does then
            return not answers and (self._can_change or None)
        if action == "change_plan":
            return self._view.plans and self._panes.active == 2 and (self._can_change or None)
        if action in ("open_step", "withdraw"):
            return self._panes.active == 2 if action == "open_step" else self._asks and self._can_change
        if action == "benchmarks":
            here = self._panes.active == 3 or parameters[0] not in IN_THE_TABLE
            offered = here and self._benchmarks.acts(parameters[0])  # type: ignore[arg-type]  # a binding's
            in_vain = parameters[0] == "pin" and not (self.can_compare or self._benchmarks.pins)
            return (None if in_vain else True) if offered else False
        if action == "maximise":
            return not self.has_class("-narrow") or self.has_class("-tall")
        return action != "restore" or self._benchmarks.filters or self.has_class("-solo") or self.has_class("-review")

    def action_restore(self) -> None:
        """Show all rows, where some are filtered out, else all panes again."""
        if self._benchmarks.filters:
            self._benchmarks.show_all()
        else:
            self.remove_class("-solo", "-review", "-facts")
            self._panes.go_to(self._panes.active)
