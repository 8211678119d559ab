"""The plan as the strategy and the user see it, and what the user may say to a session at any time.

A strategy sees the plan and the user's words only through operations that follow one another. An
instruction is recorded with the number of operations before it, and takes effect at the same place when the
strategy is run again from the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tui_tuner.journal import Recall
from tui_tuner.session import events
from tui_tuner.strategies.steps import Approver, Decision, Proposal, Step, StepState
from tui_tuner.subjects import Source

Title = Annotated[str, Field(min_length=1)]


class _Instruction(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Say(_Instruction):
    """Words for the model; every prompt from now on carries them."""

    type: Literal["say"] = "say"
    text: str


class AddStep(_Instruction):
    """A step of the user's own.

    Attributes:
        before: id of the step it goes before; None for the end of the plan.
    """

    type: Literal["add_step"] = "add_step"
    title: Title
    detail: str = ""
    before: int | None = None


class EditStep(_Instruction):
    """Other words for a step that is still to come."""

    type: Literal["edit_step"] = "edit_step"
    step: int
    title: Title
    detail: str


class MoveStep(_Instruction):
    """Another place for a step that is still to come: before another one, or at the end."""

    type: Literal["move_step"] = "move_step"
    step: int
    before: int | None = None


class DeleteStep(_Instruction):
    """Take a step that is still to come out of the plan; it stays visible as skipped."""

    type: Literal["delete_step"] = "delete_step"
    step: int


class Thaw(_Instruction):
    """Search a frozen tunable again, and do not freeze it any more."""

    type: Literal["thaw"] = "thaw"
    name: str


class Ask(_Instruction):
    """A question to the model, answered at once and beside the strategy.

    Attributes:
        about: what the user has selected, as text.
    """

    type: Literal["ask"] = "ask"
    text: Title
    about: str = ""


Instruction = Annotated[
    Ask | Say | AddStep | EditStep | MoveStep | DeleteStep | Thaw,
    Field(discriminator="type"),
]


_INSTRUCTION: TypeAdapter[Instruction] = TypeAdapter(Instruction)
_KIND = "told"

Obey = Callable[[Instruction], None]


class Inbox:
    """Takes instructions at any time and hands each on at a definite place among the operations.

    Attributes:
        on_pass: is told after each operation how many there were.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        self._operations = 0
        self._held: list[Instruction] = []
        self._obey: Obey | None = None
        self.on_pass: Callable[[int], None] = lambda _: None
        recorded = recall.numbered(_KIND)
        self._count = len(recorded)
        self._pending = sorted(recorded, key=lambda told: int(told["at"]))

    @property
    def operations(self) -> int:
        """How many the strategy has done."""
        return self._operations

    def open(self, obey: Obey) -> None:
        """Begin to hand instructions on."""
        self._obey = obey
        self._hand_on()

    def tell(self, instruction: Instruction) -> bool:
        """Take an instruction; False if the session is a replay, which nobody can change."""
        if not self._recall.writable:
            return False
        self._held.append(instruction)
        self._hand_on()
        return True

    def operation_done(self) -> None:
        """Count an operation of the strategy; what was told right after it takes effect now."""
        self._operations += 1
        self._hand_on()

    def _hand_on(self) -> None:
        if self._obey is None:
            return
        self.on_pass(self._operations)
        while self._pending and self._pending[0]["at"] <= self._operations:
            self._obey(_INSTRUCTION.validate_python(self._pending.pop(0)["instruction"]))
        if not self._recall.is_live:
            return  # new ones wait until all that was recorded is gone through
        while self._held:
            instruction = self._held.pop(0)
            self._count += 1
            result = {"at": self._operations, "instruction": instruction.model_dump(mode="json")}
            self._recall.record(_KIND, {"number": self._count}, result)
            self._obey(instruction)


Emit = Callable[[events.Event], None]


class Plan:
    """The steps of a session; those still to come are the user's to change."""

    def __init__(self, approver: Approver, recall: Recall, emit: Emit) -> None:
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
