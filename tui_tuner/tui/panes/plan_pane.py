"""Pane 2: the plan, a step a line, with the detail of the selected one; its steps are the user's to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Size
from textual.getters import query_one
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_tuner.problem.model import Configuration
from tui_tuner.session.events import Event
from tui_tuner.session.plan import DeleteStep, EditStep, Instruction, Thaw
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.text import clean
from tui_tuner.tui.dialogs import MessageDialog, StepDialog, ThawDialog
from tui_tuner.tui.keys import CHANGING, key_of
from tui_tuner.tui.moving import LineList, Target, option_targets
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.plan_lines import (
    Direction,
    PlanChange,
    StepWords,
    added,
    frozen_text,
    moved,
    refusal,
    step_detail,
    step_lines,
    step_text,
)
from tui_tuner.tui.rationales import Rationales
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.text import Paragraphs, SelectableLines, one_line
from tui_tuner.tui.view_model import ViewModel


class FrozenTunablesLine(Widget):
    """Frozen tunables with the key that thaws; a click does what the key does. Hidden where none is frozen."""

    @dataclass
    class Clicked(Message):
        """The user wants to thaw one."""

    def __init__(self) -> None:
        super().__init__(id="held")
        self.display = False
        self._frozen: Configuration = {}

    def on_mount(self) -> None:
        """Name the key only while it acts."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def show(self, frozen: Configuration) -> None:
        """Show these, or nothing."""
        if frozen != self._frozen:
            self._frozen = frozen
            self.display = bool(frozen)
            self.refresh()

    def render(self) -> Content:
        """One line."""
        return frozen_text(self._frozen, key_of(self.screen, "thaw"), self.content_size.width)

    def on_click(self, event: Click) -> None:
        """As the key."""
        event.stop()
        self.post_message(self.Clicked())


_UNDER_WAY = (StepState.AWAITING, StepState.RUNNING)
_CARRIED_OUT = (StepState.ACCEPTED, StepState.NEUTRAL, StepState.REJECTED, StepState.DONE)


class StepList(SelectableLines, LineList):
    """A step an option; Enter is left to the screen, which knows what to do with the selected step.

    Attributes:
        wanted: title of a step that the user added, which is selected once it is there; empty for none.
    """

    wanted = ""

    def __init__(self) -> None:
        super().__init__(id="steps", compact=True, markup=False)
        self._steps: dict[int, Step] = {}
        self._followed: int | None = None

    async def on_click(self, event: Click) -> None:
        """A click selects, as always; the second of two does what Enter does."""
        if event.chain == 2:
            await self.run_action("screen.open_step")

    def render_line(self, y: int) -> Strip:
        """One line, which can be selected."""
        return self.selectable(super().render_line(y), self.scroll_offset.y + y)

    def line_text(self, line: int) -> str:
        """The text of a line."""
        return super().render_line(line - self.scroll_offset.y).text

    @property
    def selected(self) -> Step | None:
        """The step under the cursor."""
        option = self.highlighted_option
        return None if option is None or option.id is None else self._steps[int(option.id)]

    def draw(self, plan: Sequence[Step]) -> bool:
        """Show these steps in this order; whether anything differs from what was shown.

        A step that begins to run or to await the user becomes the selected one, unless the user is at work in the
        list and has selected another; of those that come when they are done already, as in a replay, the last.
        """
        changed = [step for step in plan if self._steps.get(step.id) is not step]
        ordered = list(self._steps) == [step.id for step in plan]
        new = [step for step in plan if step.by_user and step.id not in self._steps and step.title == self.wanted]
        selected, self._steps = self.selected, {step.id: step for step in plan}
        if not ordered:
            self._fill(selected)
        else:
            for step in changed:
                self.replace_option_prompt(str(step.id), step_lines(step, self._line_width))
        for step in sorted(changed, key=lambda step: step.state in _UNDER_WAY):
            self._follow(step)
        for step in new:
            self._select(step)
            self.wanted = ""
        if changed:
            self.refresh(layout=True)  # lines may have become more or fewer
        if changed and not self.has_focus:
            self._show_selected()
        return bool(changed) or not ordered

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Of the lines as they are in this width, whatever the one in which they were written last."""
        lines = (step_lines(step, self._fitting(width - self.scrollbar_size_vertical)) for step in self._steps.values())
        return sum(each.plain.count("\n") + 1 for each in lines)

    def on_resize(self, _event: Resize) -> None:
        """Write all lines anew in the present width: the factors stand at the right edge."""
        for step in self._steps.values():
            self.replace_option_prompt(str(step.id), step_lines(step, self._line_width))
        if self._steps:
            self._scroll_from_the_top()

    def _fill(self, selected: Step | None) -> None:
        self.set_options([Option(step_lines(step, self._line_width), id=str(step.id)) for step in self._steps.values()])
        if selected is not None and selected.id in self._steps:
            self._select(selected)

    def _follow(self, step: Step) -> None:
        selected = self.selected
        busy = selected is not None and self.has_focus and selected.id != self._followed
        if selected is None or (step.state in (*_UNDER_WAY, *_CARRIED_OUT) and not busy):
            self._select(step)
            self._followed = step.id

    def _select(self, step: Step) -> None:
        self.highlighted = self.get_option_index(str(step.id))
        self._show_selected()

    def _show_selected(self) -> None:
        """Scroll to the selected step once the lines have their places."""
        self.call_after_refresh(self._scroll_from_the_top)

    def _scroll_from_the_top(self) -> None:
        """Scroll down as far as the selected step needs: what is in view depends on no earlier layout."""
        self.scroll_to(y=0, animate=False, force=True, immediate=True)
        self.scroll_to_highlight()

    @property
    def _line_width(self) -> int:
        return self._fitting(self.scrollable_content_region.width)

    @staticmethod
    def _fitting(width: int) -> int:
        return max(20, width)


_NO_STEP = Content("no step yet: what is tried stands here, with what came of it")


class PlanPane(Pane):
    """The steps, what the selected one is about, and the frozen tunables."""

    kind = "Plan"
    HELP = """
## Plan

· to come, ◇ validated, ┬ broken down, › running, ○ awaiting you, ✓ accepted, = neutral,
✗ rejected, – skipped, ● done; *you>* marks steps of your own

The factor is the speed-up over the best kernel of its time, with the ends of its 95 % interval.
Steps still to come can be changed: the keys are in the list of keys. Enter on another one shows all
about it. A deleted one stays visible as skipped. *held* names tunables that are no longer searched;
thaw one to search it again.
"""  # noqa: RUF001  # the marks of the steps

    _list = query_one(StepList)
    _frozen_line = query_one(FrozenTunablesLine)

    @dataclass
    class InstructionGiven(Message):
        """The user changes the plan."""

        instruction: Instruction

    def __init__(self, view: SubjectView) -> None:
        super().__init__(2, "Plan")
        self.add_class("-empty")
        self._view = view
        self.unused = frozenset() if view.plans else CHANGING
        self._view_model = ViewModel()
        self._rationales = Rationales()

    def compose(self) -> ComposeResult:
        """The list, the detail and the frozen tunables."""
        yield StepList()
        with VerticalScroll(id="step-detail", can_focus=False):
            yield Paragraphs(_NO_STEP)
        yield FrozenTunablesLine()

    def focus_target(self) -> Widget:
        """The list of steps."""
        return self._list

    def targets(self) -> Iterator[Target]:
        """The steps in view."""
        yield from option_targets(self._list, self._go_to)

    def _go_to(self, index: int) -> None:
        self._list.focus()
        self._list.highlighted = index

    def copied_text(self) -> tuple[str, str]:
        """The selected step with all that is said of it."""
        step = self.query_one(StepList).selected
        parts = [] if step is None else [f"{step.id}. {step.title} ({step.state})", step.detail, step.reason]
        return clean("\n".join(part for part in parts if part)), "the step"

    def show(self, view_model: ViewModel, news: Sequence[Event]) -> None:
        """Draw the steps that are new, changed or elsewhere."""
        self._view_model = view_model
        for event in news:
            self._rationales.apply(event)
        self._frozen_line.show(view_model.frozen)
        if self._list.draw(view_model.plan):
            self._show_detail()

    @property
    def in_vain(self) -> Set[str]:
        """Names of keys that could now only say why they do nothing."""
        step = self._list.selected
        fixed = step is None or refusal(step) is not None
        kept = {"add_step", *(["thaw"] if self._view_model.frozen else []), *([] if fixed else CHANGING - {"thaw"})}
        return (CHANGING | {"edit_step"} if step is None else CHANGING) - kept

    @on(OptionList.OptionHighlighted)
    def _show_detail(self) -> None:
        step = self._list.selected
        self.set_class(step is None, "-empty")
        self.screen.refresh_bindings()
        if step is not None:
            detail = step_detail(step, self._rationales.of(step.id), lines=self._view.lined_details)
            self.query_one("#step-detail Paragraphs", Paragraphs).show(detail)

    # --- what the user changes

    def open_step(self, *, changeable: bool) -> None:
        """Change the words of the selected step, or show all about it where it is not to be changed."""
        step = self._list.selected
        if step is None:
            self._explain("There is no step yet.")
        elif changeable and refusal(step) is None:
            self._edit(step)
        else:
            text = step_text(step, self._rationales.of(step.id), lines=self._view.lined_details)
            title = one_line(f"Step {step.id}: {step.title}")
            self.app.push_screen(MessageDialog(title, text, large=True))

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
        elif change == "delete":
            self.post_message(self.InstructionGiven(DeleteStep(step=step.id)))
        else:
            self._move(step, change)

    def _add(self, selected: int | None) -> None:
        def add(words: StepWords | None) -> None:
            if words is not None:
                self._list.wanted = words.title
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
