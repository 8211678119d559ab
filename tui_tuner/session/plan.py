"""The plan as the strategy and the user see it; what a session and its user say to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tui_tuner.journal.journal import Recall
from tui_tuner.llm.base import Message
from tui_tuner.prompts import render
from tui_tuner.session import events
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.instructions import AddStep, DeleteStep, EditStep, Inbox, Instruction, MoveStep, Say, Thaw
from tui_tuner.strategies.base import ATTEMPTS, Listener, ReplyType
from tui_tuner.strategies.steps import Approver, Decision, Proposal, Step, StepState
from tui_tuner.subjects import Source

Emit = Callable[[events.Event], None]


class Talk:
    """The effects that have to do with people and the model, the same in every kind of session.

    Attributes:
        model: the conversation with it.
        plan: the steps.
    """

    def __init__(self, conversation: Conversation, plan: Plan, inbox: Inbox, emit: Emit) -> None:
        self.model = conversation
        self.plan = plan
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
        self._check_asking()
        return await self.model.ask(purpose, messages, reply_type, check, attempts, listener)

    def _check_asking(self) -> None:
        """Whether there is anything left to ask for.

        Raises:
            BudgetSpent: a reply would be of no use any more.
        """

    async def approve(self, step: Step, candidate: Source | None = None, rationale: str = "") -> Decision:
        """Put a step to the user."""
        proposal: Proposal = self.plan.propose(step, candidate, rationale)
        self._inbox.operation_done()
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
            case Thaw():
                self._emit(events.Note(text=f"there is no tunable {instruction.name} to thaw here"))
            case _:
                self.plan.obey(instruction)


class Plan:
    """The steps of a session; those still to come are the user's to change."""

    def __init__(self, approver: Approver, recall: Recall, emit: Callable[[events.Event], None]) -> None:
        self._approver = approver
        self._recall = recall
        self._emit = emit
        self._steps: dict[int, Step] = {}
        self._order: list[int] = []

    def add(self, title: str, detail: str, *, after: Step | None = None) -> Step:
        """A new step, at the end or after another one."""
        place = len(self._order) if after is None else self._order.index(after.id) + 1
        return self._insert(Step(id=len(self._steps) + 1, title=title, detail=detail), place)

    def put(self, step: Step) -> Step:
        """Show a step as it is now."""
        self._steps[step.id] = step
        self._emit(events.StepChanged(step=step))
        return step

    def proposed(self) -> list[Step]:
        """The steps still to come, in their order."""
        return [step for i in self._order if (step := self._steps[i]).state is StepState.PROPOSED]

    def accepted(self) -> list[Step]:
        """The steps that made a new best, in their order."""
        return [step for i in self._order if (step := self._steps[i]).state is StepState.ACCEPTED]

    def obey(self, instruction: AddStep | EditStep | MoveStep | DeleteStep) -> None:
        """Change the plan as the user wants it; what is under way or done stays as it is."""
        match instruction:
            case AddStep():
                step = Step(id=len(self._steps) + 1, title=instruction.title, detail=instruction.detail, by_user=True)
                self._insert(step, self._place(instruction.before))
            case EditStep() if self._is_to_come(instruction.step):
                changes = {"title": instruction.title, "detail": instruction.detail}
                self.put(self._steps[instruction.step].model_copy(update=changes))
            case MoveStep() if instruction.before == instruction.step:
                return
            case MoveStep() if self._is_to_come(instruction.step):
                self._order.remove(instruction.step)
                self._order.insert(self._place(instruction.before), instruction.step)
                self._emit(events.PlanOrdered(order=list(self._order)))
            case DeleteStep() if self._is_to_come(instruction.step):
                self.put(self._steps[instruction.step].now(StepState.SKIPPED, reason="deleted by hand"))
            case _:
                self._emit(events.Note(text=f"step {instruction.step} is no longer to come: it stays as it is"))

    def _is_to_come(self, step: int) -> bool:
        return step in self._steps and self._steps[step].state is StepState.PROPOSED

    def _place(self, before: int | None) -> int:
        return self._order.index(before) if before in self._order else len(self._order)

    def _insert(self, step: Step, place: int) -> Step:
        self._order.insert(place, step.id)
        self.put(step)
        if self._order[-1] != step.id:
            self._emit(events.PlanOrdered(order=list(self._order)))
        return step

    def propose(self, step: Step, candidate: Source | None, rationale: str) -> Proposal:
        """Show that a step awaits the user."""
        if candidate is not None:
            self._emit(events.CandidateProposed(step=step.id, candidate=candidate, rationale=rationale))
        return Proposal(step=self.put(step.now(StepState.AWAITING)), candidate=candidate, rationale=rationale)

    async def decide(self, proposal: Proposal) -> Decision:
        """The user's decision; one that is recorded is not asked for again."""
        content = self._recall.nth("approve", proposal.model_dump(mode="json"))
        decision = Decision.model_validate(await self._recall.once("approve", content, lambda: self._live(proposal)))
        self._emit(events.ApprovalGiven(step=proposal.step.id, decision=decision))
        return decision

    async def _live(self, proposal: Proposal) -> dict[str, Any]:
        self._emit(events.ApprovalAsked(proposal=proposal))
        decision = await self._approver.decide(proposal)
        return decision.model_dump(mode="json")
