"""The steps of the plan as a list that keeps its selected step while others come, change and move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.tui.plan_lines import step_lines


class StepList(OptionList, inherit_bindings=False):
    """A step an option; Enter is left to the screen, which knows what to do with the selected step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", "Down", show=False, id="step_down", tooltip="Select the next step."),
        Binding("up,k", "cursor_up", "Up", show=False, id="step_up", tooltip="Select the step before."),
        Binding("home", "first", "First", show=False, id="step_first", tooltip="Select the first step."),
        Binding("end", "last", "Last", show=False, id="step_last", tooltip="Select the last step."),
        Binding("pagedown", "page_down", "Page down", show=False, id="step_page_down", tooltip="Go down a page."),
        Binding("pageup", "page_up", "Page up", show=False, id="step_page_up", tooltip="Go up a page."),
    ]

    def __init__(self) -> None:
        super().__init__(id="steps", compact=True, markup=False)
        self._steps: dict[int, Step] = {}
        self._followed: int | None = None

    @property
    def selected(self) -> Step | None:
        """The step under the cursor."""
        option = self.highlighted_option
        return None if option is None or option.id is None else self._steps[int(option.id)]

    def draw(self, plan: Sequence[Step]) -> bool:
        """Show these steps in this order; whether anything differs from what was shown.

        A step that begins to run or to await the user becomes the selected one, unless the user
        is at work in the list and has selected another.
        """
        changed = [step for step in plan if self._steps.get(step.id) is not step]
        ordered = list(self._steps) == [step.id for step in plan]
        selected, self._steps = self.selected, {step.id: step for step in plan}
        if not ordered:
            self._fill(selected)
        else:
            for step in changed:
                self.replace_option_prompt(str(step.id), step_lines(step, self._line_width))
        for step in changed:
            self._follow(step)
        return bool(changed) or not ordered

    def on_resize(self, _event: Resize) -> None:
        """Write all lines anew in the present width: the factors stand at the right edge."""
        for step in self._steps.values():
            self.replace_option_prompt(str(step.id), step_lines(step, self._line_width))
        self._show_selected()

    def _fill(self, selected: Step | None) -> None:
        self.set_options([Option(step_lines(step, self._line_width), id=str(step.id)) for step in self._steps.values()])
        if selected is not None and selected.id in self._steps:
            self._select(selected)

    def _follow(self, step: Step) -> None:
        selected = self.selected
        busy = selected is not None and self.has_focus and selected.id != self._followed
        if selected is None or (step.state in (StepState.AWAITING, StepState.RUNNING) and not busy):
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
        return max(20, self.scrollable_content_region.width)
