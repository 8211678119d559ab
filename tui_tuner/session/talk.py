"""What a strategy of any kind may do that has to do with people and the model, and what its user tells it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tui_tuner.llm import Message
from tui_tuner.prompts import render
from tui_tuner.session import events
from tui_tuner.session.budget import Budget
from tui_tuner.session.controls import AskAbout, RaiseBudget, UseModel, UseStrategy
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.plan import (
    Ask,
    Compare,
    Emit,
    Inbox,
    Instruction,
    Plan,
    PlanInstruction,
    Say,
    Thaw,
    Withdraw,
)
from tui_tuner.strategies.base import ATTEMPTS, Listener, ReplyType
from tui_tuner.strategies.steps import ApprovalLevel, Decision, Proposal, Step
from tui_tuner.subjects import Source


class Talk:
    """The effects that have to do with people and the model, the same in every kind of session.

    Attributes:
        model: the conversation with it.
        plan: the steps.
        budget: what is spent and what is left.
    """

    def __init__(self, conversation: Conversation, plan: Plan, inbox: Inbox, budget: Budget, emit: Emit) -> None:
        self.model = conversation
        self.plan = plan
        self.budget = budget
        self._inbox = inbox
        self._emit = emit
        self._words: list[str] = []
        conversation.on_prompt(self._with_words)

    def _open(self) -> None:
        """Begin to take what the user says."""
        self._inbox.open(self._obey)

    def add_step(self, title: str, detail: str = "", after: Step | None = None) -> Step:
        """A new line of the plan."""
        step = self.plan.add(title, detail, after=after)
        self._inbox.operation_done()
        return step

    def update_step(self, step: Step) -> Step:
        """Show a step as it is now."""
        self.plan.put(step)
        self._inbox.operation_done()
        return step

    def proposed_steps(self) -> list[Step]:
        """The steps that are still to come."""
        steps = self.plan.proposed()
        self._inbox.operation_done()
        return steps

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line of the story for people."""
        self._emit(events.Note(level="warning" if warning else "info", text=text))

    async def ask(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int = ATTEMPTS,
        listener: Listener | None = None,
    ) -> ReplyType:
        """A validated reply of the model; the prompt carries what the user said."""
        self._inbox.effect_begins()
        self._check_asking()
        return await self.model.ask(purpose, messages, reply_type, check, attempts, listener)

    def _check_asking(self) -> None:
        """Whether there is anything left to ask for.

        Raises:
            BudgetSpent: a reply would be of no use any more.
        """

    async def approve(
        self,
        step: Step,
        candidate: Source | None = None,
        rationale: str = "",
        *,
        about: ApprovalLevel | None = None,
    ) -> Decision:
        """Put a step to the user, if they want to be asked about such a thing."""
        about = about or (ApprovalLevel.STEP if candidate is None else ApprovalLevel.KERNEL)
        proposal: Proposal = self.plan.propose(step, candidate, rationale, about)
        self._inbox.operation_done()
        with self._inbox.resting():
            return await self.plan.decide(proposal)

    def _with_words(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """A prompt with all that the user said so far behind its last message."""
        words = list(self._words)
        self._inbox.operation_done()
        if not words:
            return tuple(messages)
        *before, last = messages
        said = render("programmer", words="\n\n".join(words))
        return (*before, Message(last.role, f"{last.content}\n\n{said}"))

    def _obey(self, instruction: Instruction) -> None:
        match instruction:
            case Say():
                self._words.append(instruction.text)
                self._emit(events.UserSaid(text=instruction.text))
            case RaiseBudget():
                self.budget.raise_to(**instruction.limits)
                self._emit(events.BudgetChanged(**self.budget.limits))
            case UseModel():
                self.model.use(instruction.name)
            case AskAbout():
                self.plan.controls.ask_about(instruction.level)
            case _ if isinstance(instruction, PlanInstruction):
                self.plan.obey(instruction)
            case Thaw():
                self._emit(events.Note(text=f"there is no tunable {instruction.name} to thaw here"))
            case UseStrategy():
                self._emit(events.Note(text="there is no other strategy here"))
            case Ask() | Withdraw() | Compare():
                raise AssertionError("questions and comparisons are no business of the strategy's")
