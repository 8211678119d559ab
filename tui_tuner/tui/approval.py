"""The open question, a step to approve or a model that fails: the session waits at the desk until a key answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Literal

from textual.app import App
from textual.content import Content
from textual.widget import Widget

from tui_tuner.strategies.steps import ApprovalLevel, Approver, Decision, Helper, ModelTrouble, Proposal, Remedy, Step
from tui_tuner.text import clean, flattened, in_line
from tui_tuner.tui.plan_lines import MARKS
from tui_tuner.tui.text import one_line

Bell = Literal["unfocused", "always", "never"]
"""When a question rings; `unfocused` needs a terminal that reports its focus."""


class QuestionLine(Widget):
    """The step that awaits the user, or else the one that is under way; before the first one what was told last.

    It is always there, so that nothing shifts.

    Args:
        compare: key that compares rows, as the user knows it.
        leave: key that leaves.
    """

    def __init__(self, compare: str, leave: str) -> None:
        super().__init__(id="question")
        self._question: Proposal | ModelTrouble | None = None
        self._words = ""
        self._current: Step | None = None
        self._told = "the session begins"
        self._kept = ""
        self._keys = compare, leave

    def ask(self, question: Proposal | ModelTrouble | None, words: str = "") -> None:
        """Show a question, or that there is none.

        Args:
            words: what is told beside its title.
        """
        self._question = question
        self._words = words
        self.set_class(question is not None, "-asked")
        self.set_class(isinstance(question, ModelTrouble), "-failed")
        self.refresh()

    def show(self, current: Step | None, told: str | None = None) -> None:
        """Show the step that is under way while there is no question.

        Args:
            told: what the session is at while there is no step, empty for nothing; None for what it was.
        """
        told = self._told if told is None else told
        if (current, told) != (self._current, self._told):
            self._current, self._told = current, told
            self.refresh()

    def keep_device(self, kept: bool) -> None:
        """Say that the device stays taken after the end, then that it is given back."""
        words = _KEPT.format(*self._keys) if kept else self._kept and _GIVEN_BACK
        if words != self._kept:
            self._kept = words
            self.refresh()

    def render(self) -> Content:
        """One line; the keys that answer are in the line of keys."""
        if isinstance(self._question, ModelTrouble):
            return Content.styled("✗ the model failed: ", "bold") + one_line(in_line(self._question.reason))
        if self._question is not None:
            asked = asked_in_words(self._question)
            words = f"{asked}: {self._words}" if self._words else asked
            return Content.styled(f"○ step {self._question.step.id} awaits you: ", "bold") + one_line(words)
        if self._current is None or self._kept:
            return Content(self._kept) or one_line(in_line(self._told), "$foreground-muted")
        mark, style = MARKS[self._current.state]
        return Content.styled(f"{mark} ", style) + one_line(f"step {self._current.id}: {self._current.title}")


def asked_in_words(question: Proposal) -> str:
    """What is asked about a step: its title, or whether what it found is to be the best, the question itself first."""
    if question.about is not ApprovalLevel.ACCEPT:
        return question.step.title
    found, _, asked = in_line(question.rationale).rpartition(": ")
    return f"{asked} {found}"


_KEPT = "the device is kept ten minutes more, to compare rows with {}; {} gives it back"
_GIVEN_BACK = "the device is given back"

REMEDY = "remedy"
ANSWERS = ("decide", "edit", "reject", "approve_all", "ask_again", "review", "facts", REMEDY)
"""The actions of the screen that have to do with the question."""
ABOUT_A_SOURCE = ("edit", "review", "facts")
"""Those that need one that is proposed."""

Answer = Decision | Remedy


class ApprovalDesk:
    """Holds the one question that awaits the user: a step, or what to do about a model that fails.

    Args:
        on_change: called when a question appears or is gone.
        grace_s: keys pressed so soon after a question appeared do not answer it; seconds.
        clock: seconds, monotonic.
    """

    def __init__(
        self, on_change: Callable[[], None], *, grace_s: float = 0.4, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._on_change = on_change
        self._grace_s = grace_s
        self._clock = clock
        self._lock = asyncio.Lock()
        self._answer: asyncio.Future[Answer | Approver] | None = None
        self._elsewhere: Approver | None = None
        self._asked_at = 0.0
        self.question: Proposal | None = None
        self.trouble: ModelTrouble | None = None
        self.approves_all = False

    async def decide(self, proposal: Proposal) -> Decision:
        """Put the proposal to the user and wait; questions are put one at a time."""
        async with self._lock:
            if self.approves_all:
                return Decision(action="approve")
            answer = self._elsewhere or await self._asked(proposal)
            if isinstance(answer, Decision):
                return answer
            assert not isinstance(answer, Remedy)  # noqa: S101 (`answer` takes what fits the question)
            return await answer.decide(proposal)

    async def help(self, trouble: ModelTrouble) -> Remedy:
        """Put a model that fails to the user; who approves everything wants no question, so the call is left out."""
        async with self._lock:
            if self.approves_all:
                return Remedy(action="skip")
            answer = self._elsewhere or await self._asked(trouble)
            if isinstance(answer, Remedy):
                return answer
            return await answer.help(trouble) if isinstance(answer, Helper) else Remedy(action="skip")

    async def _asked(self, question: Proposal | ModelTrouble) -> Answer | Approver:
        """The answer to the one question here, or who answers instead."""
        self._answer = asyncio.get_running_loop().create_future()
        self._asked_at = self._clock()
        self._set_question(question)
        try:
            return await self._answer
        finally:
            self._set_question(None)

    def hand_over(self, approver: Approver) -> None:
        """Let another answer the open question and all that follow."""
        self._elsewhere = approver
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(approver)

    def _set_question(self, question: Proposal | ModelTrouble | None) -> None:
        self.question = question if isinstance(question, Proposal) else None
        self.trouble = question if isinstance(question, ModelTrouble) else None
        self._on_change()

    @property
    def awaits(self) -> bool:
        """Whether a question is open."""
        return (self.question or self.trouble) is not None and self._answer is not None and not self._answer.done()

    @property
    def listens(self) -> bool:
        """Whether the open question has been there long enough to be answered by a key."""
        return self.awaits and self._clock() - self._asked_at >= self._grace_s

    def allows(self, action: str) -> bool | None:
        """Whether one of the ANSWERS acts now; None if its key says why it does not, False if it is hidden."""
        question = self.question if self.awaits else None
        if action == REMEDY:
            return self.awaits and self.trouble is not None
        if self.trouble is not None:
            return False
        if action == "ask_again":
            return self.approves_all
        if action == "approve_all" and self.approves_all:
            return False
        if action in ABOUT_A_SOURCE:
            return True if question is not None and question.candidate is not None else None
        return True if question is not None else None

    def answer(self, answer: Answer) -> None:
        """Answer the open question; without one that it fits nothing happens."""
        fits = self.trouble is not None if isinstance(answer, Remedy) else self.question is not None
        if fits and self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def approve_all(self) -> None:
        """Approve the open question and all that follow, until `ask_again`."""
        self.approves_all = True
        self.answer(Decision(action="approve"))

    def ask_again(self) -> None:
        """Put the next questions to the user again."""
        self.approves_all = False
        self._on_change()


def call_attention(app: App[Any], question: Proposal | ModelTrouble | None, bell: Bell, *, notify: bool) -> None:
    """Tell whoever looks elsewhere that a question waits, or that none does any more.

    Args:
        notify: whether the desktop is to tell it.
    """
    waiting = ""
    if isinstance(question, ModelTrouble):
        waiting = f"the model failed: {in_line(question.reason)}"
    elif question is not None:
        waiting = f"step {question.step.id} awaits you: {asked_in_words(question)}"
    if waiting and (bell == "always" or (bell == "unfocused" and not app.app_focus)):
        app.bell()
    if app._driver is not None and not app.is_headless:  # Textual 8.2 has no way of its own to set a title
        app._driver.write(attention_codes(app.title, waiting, notify=notify and not app.app_focus))


def attention_codes(title: str, waiting: str, *, notify: bool) -> str:
    """What tells a terminal that a question waits, or that none does any more.

    Args:
        title: of the terminal where nothing waits.
        waiting: what waits; empty for nothing.
        notify: whether to have the desktop tell it, by OSC 9 and 777.
    """
    words = flattened(waiting).replace(";", ",")[:_LONGEST_TITLE]
    codes = f"\x1b]2;{f'○ {words}' if words else clean(title)}\x07"
    if words and notify:
        codes += f"\x1b]9;{words}\x07\x1b]777;notify;tuner-tui;{words}\x07"
    return codes


_LONGEST_TITLE = 120
"""Characters of a question in a terminal's title."""
