"""The open question with the keys that answer it."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from tui_tuner.strategies.steps import Proposal
from tui_tuner.tui.bindings import SCREEN_BINDINGS
from tui_tuner.tui.key_line import key_of
from tui_tuner.tui.plain import clickable, one_line

_ANSWERS = ("approve", "edit", "skip", "reject", "approve_all")
"""Names of the bindings that answer, in the order in which they are shown."""
_BINDINGS = {binding.id: binding for binding in SCREEN_BINDINGS}


class ApprovalBar(Widget):
    """The step that awaits the user and the keys that answer."""

    auto_links = False

    def __init__(self) -> None:
        super().__init__(id="approval")
        self.display = False
        self._question: Proposal | None = None
        self._words = ""

    def on_mount(self) -> None:
        """Name the keys that act now: others while an input has the focus."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def show(self, question: Proposal | None, words: str = "") -> None:
        """Show the question, or nothing.

        Args:
            words: what is told beside its title.
        """
        self._question = question
        self._words = words
        self.display = question is not None
        self.refresh()

    def render(self) -> Content:
        """Two lines: the question and the keys."""
        if self._question is None:
            return Content()
        step, candidate = self._question.step, self._question.candidate
        keys = [self._key(name) for name in _ANSWERS if candidate is not None or name != "edit"]
        head = Content.styled(f"○ step {step.id} awaits you: ", "bold $text-warning")
        title = one_line(f"{step.title}: {self._words}" if self._words else step.title)
        return Content("\n").join([head + title, Content("   ").join(keys)])

    def _key(self, name: str) -> Content:
        """A key with what it does; a click does the same."""
        binding = _BINDINGS[name]
        label = Content.assemble((key_of(self.screen, name), "bold $text-warning"), f" {binding.description}")
        return clickable(label, f"screen.{binding.action}")
