"""Pane 2: the plan, a step a line, with the detail of the selected one; its steps are the user's to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui_tuner.session.events import ApprovalAsked, CandidateProposed, Event
from tui_tuner.session.instructions import DeleteStep, EditStep, Instruction, Thaw
from tui_tuner.strategies.steps import Step
from tui_tuner.tui.dialogs.step import StepDialog
from tui_tuner.tui.dialogs.thaw import ThawDialog
from tui_tuner.tui.held_line import FrozenTunablesLine
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.panes.step_list import StepList
from tui_tuner.tui.picture import ViewModel
from tui_tuner.tui.plain import one_line
from tui_tuner.tui.plan_changes import Direction, PlanChange, StepWords, added, moved, refusal
from tui_tuner.tui.plan_lines import step_detail
from tui_tuner.tui.subject import SubjectView


class PlanPane(Pane):
    """The steps, what the selected one is about, and the frozen tunables."""

    HELP = """
## Plan

· to come, ◇ validated, ┬ broken down, › running, ○ awaiting you, ✓ accepted, = neutral,
✗ rejected, – skipped, ● done; *you>* marks steps of your own

The factor is the speed-up over the best kernel of its time, with the ends of its 95 % interval.
Steps still to come can be changed: the keys are in the list of keys. A deleted one stays visible
as skipped. *held* names tunables that are no longer searched; thaw one to search it again.
"""  # noqa: RUF001  # the marks of the steps

    _list = query_one(StepList)
    _frozen_line = query_one(FrozenTunablesLine)

    @dataclass
    class InstructionGiven(Message):
        """The user changes the plan."""

        instruction: Instruction

    def __init__(self, view: SubjectView) -> None:
        super().__init__(2, "Plan")
        self._view = view
        self._view_model = ViewModel()
        self._rationales: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        """The list, the detail and the frozen tunables."""
        yield StepList()
        with VerticalScroll(id="step-detail", can_focus=False):
            yield Static(markup=False)
        yield FrozenTunablesLine()

    def focus_target(self) -> Widget:
        """The list of steps."""
        return self._list

    def show(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Draw the steps that are new, changed or elsewhere."""
        self._view_model = view_model
        for event in news:
            if isinstance(event, CandidateProposed) and event.rationale:
                self._rationales[event.step] = event.rationale
            elif isinstance(event, ApprovalAsked) and event.proposal.rationale:
                self._rationales[event.proposal.step.id] = event.proposal.rationale
        self._frozen_line.show(view_model.frozen)
        if self._list.draw(view_model.plan):
            self._show_detail()

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        step = self._list.selected
        if step is not None:
            detail = step_detail(step, self._rationales.get(step.id, ""), lines=self._view.lined_details)
            self.query_one("#step-detail Static", Static).update(detail)

    # --- what the user changes

    def change(self, change: PlanChange) -> None:
        """Do what the user wants of the plan, or say why that cannot be."""
        step = self._list.selected
        if change == "add":
            self._add(None if step is None else step.id)
        elif change == "thaw":
            self.thaw()
        elif step is None:
            self._explain("There is no step yet to change.")
        elif (reason := refusal(step)) is not None:
            self._explain(reason)
        elif change == "edit":
            self._edit(step)
        elif change == "delete":
            self.post_message(self.InstructionGiven(DeleteStep(step=step.id)))
        else:
            self._move(step, change)

    def _add(self, selected: int | None) -> None:
        def add(words: StepWords | None) -> None:
            if words is not None:
                self.post_message(self.InstructionGiven(added(self._view_model.plan, selected, words)))

        self.app.push_screen(StepDialog(Content("A step of your own"), StepWords()), add)

    def _edit(self, step: Step) -> None:
        def edit(words: StepWords | None) -> None:
            if words is not None:
                self.post_message(self.InstructionGiven(EditStep(step=step.id, title=words.title, detail=words.detail)))

        self.app.push_screen(StepDialog(one_line(f"Step {step.id}"), StepWords(step.title, step.detail)), edit)

    def _move(self, step: Step, direction: Direction) -> None:
        move = moved(self._view_model.plan, step, direction)
        if move is None:
            self._explain(f"Step {step.id} is the {'first' if direction == 'up' else 'last'} of the steps to come.")
        else:
            self.post_message(self.InstructionGiven(move))

    @on(FrozenTunablesLine.Clicked)
    def thaw(self) -> None:
        """Let the user choose a frozen tunable to search again."""

        def free(name: str | None) -> None:
            if name is not None:
                self.post_message(self.InstructionGiven(Thaw(name=name)))

        if self._view_model.frozen:
            self.app.push_screen(ThawDialog(self._view_model.frozen), free)
        else:
            self._explain("No tunable is held: all of them are searched.")

    def _explain(self, reason: str) -> None:
        self.notify(reason, markup=False)
