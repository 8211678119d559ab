"""Pane 2: the plan, a step a line, with the detail of the selected one."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_tuner.session.events import ApprovalAsked, CandidateProposed, Event
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.tui.panes.pane import Pane
from tui_tuner.tui.picture import Picture
from tui_tuner.tui.plan_lines import step_detail, step_lines


class PlanPane(Pane):
    """The steps, and below them what the selected one is about."""

    HELP = """
## Plan

✓ accepted or done, › running, ○ awaiting you, ✗ rejected, – skipped, · proposed or neutral

The factor is the speed-up over the best kernel of its time, with the ends of its 95 % interval.
"""  # noqa: RUF001  # the marks of the steps

    def __init__(self) -> None:
        super().__init__(2, "Plan")
        self._steps: dict[int, Step] = {}
        self._rationales: dict[int, str] = {}

    def compose(self) -> ComposeResult:
        """The list and the detail."""
        yield OptionList(id="steps", compact=True, markup=False)
        with VerticalScroll(id="step-detail", can_focus=False):
            yield Static(markup=False)

    def focus_target(self) -> Widget:
        """The list of steps."""
        return self.query_one(OptionList)

    def show(self, picture: Picture, news: Sequence[Event]) -> None:
        """Add new steps and redraw changed ones; a step that runs or awaits the user becomes the selected one."""
        for event in news:
            if isinstance(event, CandidateProposed) and event.rationale:
                self._rationales[event.step] = event.rationale
            elif isinstance(event, ApprovalAsked) and event.proposal.rationale:
                self._rationales[event.proposal.step.id] = event.proposal.rationale
        changed = [step for step in picture.steps.values() if self._steps.get(step.id) is not step]
        for step in changed:
            self._put(step)
            self._follow(step)
        if changed:
            self._show_detail()

    def _put(self, step: Step) -> None:
        steps, known = self.query_one(OptionList), step.id in self._steps
        self._steps[step.id] = step
        content = step_lines(step, self._line_width)
        if known:
            steps.replace_option_prompt(str(step.id), content)
        else:
            steps.add_option(Option(content, id=str(step.id)))

    def _follow(self, step: Step) -> None:
        steps = self.query_one(OptionList)
        if step.state in (StepState.AWAITING, StepState.RUNNING) or steps.highlighted is None:
            steps.highlighted = steps.get_option_index(str(step.id))

    @property
    def _line_width(self) -> int:
        return max(20, self.query_one(OptionList).scrollable_content_region.width)

    def on_resize(self, _event: Resize) -> None:
        """Lay the lines out anew: the factors stand at the right edge."""
        self.call_after_refresh(self._lay_out)

    def _lay_out(self) -> None:
        steps = self.query_one(OptionList)
        for step in self._steps.values():
            steps.replace_option_prompt(str(step.id), step_lines(step, self._line_width))

    def on_option_list_option_highlighted(self, _event: OptionList.OptionHighlighted) -> None:
        """Show what the selected step is about."""
        self._show_detail()

    def _show_detail(self) -> None:
        option = self.query_one(OptionList).highlighted_option
        if option is not None and option.id is not None:
            step = self._steps[int(option.id)]
            detail = step_detail(step, self._rationales.get(step.id, ""))
            self.query_one("#step-detail Static", Static).update(detail)
