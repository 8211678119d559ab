"""The open question, shown and answered - a step, a source, a model that failed - and what the user says besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from textual import on, work
from textual.events import Key
from textual.getters import query_one
from textual.screen import Screen

from tui_tuner.session.controls import AskAbout, GoOn, Pause
from tui_tuner.session.plan import Instruction, Withdraw
from tui_tuner.strategies.steps import Decision, Proposal, Remedy
from tui_tuner.text import in_line
from tui_tuner.tui.approval import ABOUT_A_SOURCE, ApprovalDesk, QuestionLine
from tui_tuner.tui.dialogs import ModelDialog, tell_once, withdraw
from tui_tuner.tui.dialogs.control_dialog import ControlDialog
from tui_tuner.tui.dialogs.sources import FailedBuild, edited, failed_before, failed_build
from tui_tuner.tui.frame import TabLine
from tui_tuner.tui.keys import key_of
from tui_tuner.tui.panes import PaneGrid
from tui_tuner.tui.panes.benchmarks_pane import BenchmarksPane
from tui_tuner.tui.panes.chat_pane import ChatPane
from tui_tuner.tui.panes.kernel_pane import KernelPane
from tui_tuner.tui.plan_lines import ReviewFacts, proposal_facts
from tui_tuner.tui.status import resume_command
from tui_tuner.tui.subject import SubjectView
from tui_tuner.tui.view_model import ViewModel

if TYPE_CHECKING:
    from tui_tuner.tui.player import Player

_OVER = "The session is over: nothing can be changed any more."
_REPLAY = "This is a replay: nothing can be asked or changed."
_PINS = "benchmarks('pin')"


class AnsweringScreen(Screen[None]):
    """The keys by which the open question is answered and the session is told something.

    Args:
        view: how the session's subject is shown.
        desk: where the session's questions are answered.
        tell: hands an instruction to the session; False if it cannot be changed.

    Attributes:
        player: what moves the run where it is a replay: the clock stands, and the session hears nothing.
        keeps_device: tells whether the session is over and its device stays taken for comparisons.
    """

    player: Player | None = None
    _panes = query_one(PaneGrid)
    _kernel = query_one(KernelPane)
    _chat = query_one(ChatPane)
    _facts = query_one(ReviewFacts)
    _question = query_one(QuestionLine)
    _tabs = query_one(TabLine)

    def __init__(self, view: SubjectView, desk: ApprovalDesk, tell: Callable[[Instruction], bool]) -> None:
        super().__init__()
        self._tell = tell
        self.view_model = ViewModel()
        self._view = view
        self._desk = desk
        self.keeps_device: Callable[[], bool] = lambda: False

    @property
    def replayed(self) -> bool:
        """Whether it is a replay."""
        return self.player is not None

    def on_key(self, event: Key) -> None:
        """Say why a key does nothing now that the help lists."""
        known = self.active_bindings.get(event.key)
        if known is not None and not known.enabled and (why := self._why_not(known.binding.action)):
            event.stop()
            tell_once(self.app, why)

    def _why_not(self, action: str) -> str:
        """Why an action that is not hidden does nothing now; empty where only a question is missing."""
        if action == _PINS:
            return self._not_compared()
        if self.replayed:
            return _REPLAY
        if self.view_model.finished is not None:
            return _OVER
        question = self._desk.question
        if question is None or action not in ABOUT_A_SOURCE:
            return ""
        return f"Step {question.step.id} comes without a {self._view.noun}: there is none to edit or to look at."

    def question_changed(self) -> None:
        """Show the question at the desk, or that there is none."""
        self.draw()
        question = self._desk.question
        if question is None:
            withdraw(self.app, self._unchanged)
        words = "" if question is None else self.question_words(question)
        self._question.ask(question or self._desk.trouble, words)
        self._tabs.awaiting = question is not None
        self._chat.offer_rejection(question is not None)
        self._review(question)
        self.refresh_bindings()

    def _review(self, question: Proposal | None) -> None:
        """Give the source that awaits the user the height, and what there is to know of it the place beside it."""
        self.remove_class("-facts")
        self.set_class(question is not None and question.candidate is not None, "-review")
        if question is None or question.candidate is None:
            return
        self._kernel.view = "diff"
        left, lines = self.view_model.evaluations_left, self._view.lined_details
        self._facts.show(proposal_facts(question, self._kernel.compared, left, lines=lines))

    def action_review(self) -> None:
        """Show what awaits the user as large as it goes, or all panes."""
        self.toggle_class("-review")
        self.remove_class("-facts", "-help")
        self._panes.go_to(1)

    def action_facts(self) -> None:
        """Go to what there is to know of the source that awaits the user, or back to the source."""
        to_facts = not self._facts.has_focus
        self.set_class(to_facts, "-facts")
        self.add_class("-review")
        self._panes.activate(1)
        (self._facts if to_facts else self._kernel.focus_target()).focus(scroll_visible=False)

    def action_decide(self, action: Literal["approve", "skip"]) -> None:
        """Approve or skip the step."""
        if self._desk.listens:
            self._desk.answer(Decision(action=action))

    def action_approve_all(self) -> None:
        """Approve this step and all that follow."""
        if self._desk.listens:
            self._desk.approve_all()
            key = key_of(self, "ask_again")
            self.notify(f"Every step is approved from here on; {key} has you asked again.", markup=False)

    def action_ask_again(self) -> None:
        """Ask before every step again."""
        self._desk.ask_again()

    @work(exclusive=True, exit_on_error=False, group="remedy", description="which model to ask")
    async def action_remedy(self, action: Literal["retry", "switch", "skip", "without"]) -> None:
        """Say how to go on after the model failed."""
        trouble = self._desk.trouble
        if not self._desk.listens or trouble is None:
            return
        model = await self.app.push_screen_wait(ModelDialog(trouble)) if action == "switch" else ""
        if model is not None and self._desk.trouble is trouble:
            self._desk.answer(Remedy(action=action, model=model))

    def action_reject(self) -> None:
        """Ask for the reason; the step is rejected when it is sent."""
        if self._desk.listens:
            self._panes.visit(4)
            self._chat.ask_reason()

    @on(ChatPane.RejectionSubmitted)
    def _reject(self, message: ChatPane.RejectionSubmitted) -> None:
        self._desk.answer(Decision(action="reject", message=message.reason))
        self._panes.come_back()

    @work(exclusive=True, exit_on_error=False, group="edit", description="the user's editor")
    async def action_edit(self) -> None:
        """Let the user change the kernel; a changed one is approved, else the step still awaits."""
        proposal, started = self._desk.question, self.view_model.started
        if not self._desk.listens or proposal is None or proposal.candidate is None or started is None:
            return
        withdraw(self.app, self._unchanged)
        file = self._view.file_name(started.language)
        failed = self._failed_build(proposal) or failed_before(self.view_model, proposal.candidate)
        text, title = proposal.candidate.source, proposal.step.title
        source = await edited(self.app, text, title, started.language, file, failed)
        if source is None or source == proposal.candidate.source:
            tell_once(self.app, self._unchanged)
        elif self._desk.question is proposal:
            self._desk.answer(Decision(action="edit", source=source))

    @property
    def _unchanged(self) -> str:
        return f"The {self._view.noun} is unchanged; the step still awaits you."

    def question_words(self, question: Proposal) -> str:
        """What is told beside the title of the step: before all else why an edit of the user's awaits them again."""
        failed, review = self._failed_build(question), self.view_model.review
        if failed is not None:
            return f"does not compile: {failed.words}"
        again = review is not None and review.edited and review.candidate == question.candidate
        return in_line(question.rationale) if again else self._view.question_words(question.step)

    def _failed_build(self, proposal: Proposal) -> FailedBuild | None:
        """What the compiler said against what is proposed, where that is an edit of the user's that did not compile."""
        return None if proposal.candidate is None else failed_build(self.view_model, proposal.candidate)

    # --- instructions for the session

    def catch_up(self) -> None:
        """Take what has arrived of the session into the view model."""
        raise NotImplementedError

    def draw(self) -> None:
        """Draw what has arrived."""
        raise NotImplementedError

    def goes_on(self) -> bool:
        """Whether the session still does; if not, the user is told."""
        self.catch_up()  # its end may have arrived since the last tick
        over = self.view_model.finished is not None
        if over:
            self.notify(_OVER, markup=False)
        return not over

    def send(self, instruction: Instruction) -> bool:
        """Hand an instruction to the session; whether it took it. If not, the user is told why."""
        if not self.goes_on():
            return False
        taken = self._tell(instruction)
        if not taken:
            self.notify(_REPLAY, markup=False)
        return taken

    def action_withdraw(self) -> None:
        """Wait no longer for the answer to the user's question."""
        self.send(Withdraw())

    def action_pause(self) -> None:
        """Hold the session, or let it go on."""
        self.send(GoOn() if self.view_model.paused else Pause())

    @work(exclusive=True, exit_on_error=False, group="control", description="what the user wants of the session")
    async def action_control(self) -> None:
        """Choose what the session is to do."""
        if self.goes_on():
            asks = not self._desk.approves_all
            wanted = await self.app.push_screen_wait(ControlDialog(self.view_model, plans=self._view.plans, asks=asks))
            if isinstance(wanted, AskAbout):
                self._desk.ask_again()
            if wanted is not None and self.send(wanted) and wanted.waits:
                self.notify("Taken; it is in force from the session's next call or evaluation on.", markup=False)

    @property
    def can_compare(self) -> bool:
        """Whether two rows can be timed in turns now."""
        return not self.replayed and (self.view_model.finished is None or self.keeps_device())

    @on(BenchmarksPane.PairWanted)
    def _compare(self, message: BenchmarksPane.PairWanted) -> None:
        if not self._tell(message.pair):
            self.notify(self._not_compared(), markup=False)

    def _not_compared(self) -> str:
        over = "the device is given back" if self.view_model.finished else "nothing is measured again"
        why = "this is a replay" if self.replayed else over
        return f"Not compared: {why}. `{resume_command(self.view_model.started)}` takes the device."
