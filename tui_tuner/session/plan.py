"""The plan as the strategy and the user see it, and what the user may say to a session at any time.

A strategy sees the plan and the user's words only through operations that follow one another. An
instruction is recorded with the number of operations before it, and takes effect at the same place when the
strategy is run again from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from tui_tuner.errors import SettingsError
from tui_tuner.journal.recall import Recall
from tui_tuner.problem.candidate import Configured
from tui_tuner.session import events
from tui_tuner.session.controls import (
    AskAbout,
    Controls,
    GoOn,
    Pause,
    RaiseBudget,
    SkipStep,
    Stop,
    Told,
    UseModel,
    UseStrategy,
)
from tui_tuner.strategies.base import BudgetSpent, StepSkipped
from tui_tuner.strategies.steps import ApprovalLevel, Approver, Decision, Proposal, Step, StepState
from tui_tuner.subjects import Source

Title = Annotated[str, Field(min_length=1)]


class Say(Told):
    """Words for the model; every prompt from now on carries them."""

    type: Literal["say"] = "say"
    text: str


class AddStep(Told):
    """A step of the user's own.

    Attributes:
        before: id of the step it goes before; None for the end of the plan.
        base: id of the kernel that it starts from; empty for the best.
    """

    type: Literal["add_step"] = "add_step"
    title: Title
    detail: str = ""
    before: int | None = None
    base: str = ""


class EditStep(Told):
    """Other words for a step that is still to come."""

    type: Literal["edit_step"] = "edit_step"
    step: int
    title: Title
    detail: str


class MoveStep(Told):
    """Another place for a step that is still to come: before another one, or at the end."""

    type: Literal["move_step"] = "move_step"
    step: int
    before: int | None = None


class DeleteStep(Told):
    """Take a step that is still to come out of the plan; it stays visible as skipped."""

    type: Literal["delete_step"] = "delete_step"
    step: int


class Thaw(Told):
    """Search a frozen tunable again, and do not freeze it any more."""

    type: Literal["thaw"] = "thaw"
    name: str


class Ask(Told):
    """A question to the model, answered at once and beside the strategy.

    Attributes:
        about: what the user has selected, as text.
    """

    type: Literal["ask"] = "ask"
    text: Title
    about: str = ""


class Withdraw(Told):
    """Wait no longer for the answer to the question that is under way; the next one that was asked is put."""

    type: Literal["withdraw"] = "withdraw"


class Compare(Told):
    """Time two configurations in turns, beside the strategy; both were measured before."""

    type: Literal["compare"] = "compare"
    first: Configured
    second: Configured


PlanInstruction = AddStep | EditStep | MoveStep | DeleteStep
Control = Pause | GoOn | SkipStep | Stop | RaiseBudget | UseModel | UseStrategy | AskAbout
Instruction = Annotated[Ask | Withdraw | Compare | Say | PlanInstruction | Thaw | Control, Field(discriminator="type")]
"""All that a session can be told; as JSON it can be told from another program, see `INSTRUCTION`."""
INSTRUCTION: TypeAdapter[Instruction] = TypeAdapter(Instruction)
_KIND = "told"

Obey = Callable[[Instruction], None]


class Inbox:
    """Takes instructions at any time and hands each on at a definite place among the operations.

    A place is the number of operations done, and of effects begun since the last of them.

    Attributes:
        on_pass: each is told after each operation how many there were.
    """

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        self._operations = 0
        self._effects = 0
        self._rests = False
        self._held: list[Instruction] = []
        self._obey: Obey | None = None
        self.on_pass: list[Callable[[int], None]] = []
        recorded = recall.numbered(_KIND)
        self._count = len(recorded)
        self._pending = sorted(recorded, key=_place)

    @property
    def operations(self) -> int:
        """How many the strategy has done."""
        return self._operations

    def open(self, obey: Obey) -> None:
        """Begin to hand instructions on."""
        self._obey = obey
        self._hand_on(at_a_place=True)

    def tell(self, instruction: Instruction) -> bool:
        """Take an instruction; False if the session is a replay, which nobody can change."""
        if not self._recall.writable:
            return False
        self._held.append(instruction)
        self._hand_on(at_a_place=self._rests)
        return True

    def operation_done(self) -> None:
        """Count an operation of the strategy; what was told right after it takes effect now."""
        self._operations, self._effects = self._operations + 1, 0
        self._hand_on(at_a_place=True)

    def effect_begins(self) -> None:
        """Count an effect; what was told before it, and waits, takes effect now."""
        self._effects += 1
        self._hand_on(at_a_place=True)

    @property
    def recorded_raises(self) -> list[RaiseBudget]:
        """What raised the budget before and is still to be handed on."""
        told = (INSTRUCTION.validate_python(one["instruction"]) for one in self._pending)
        return [one for one in told if isinstance(one, RaiseBudget)]

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the strategy waits for a person, and reads nothing."""
        self._rests = True
        try:
            yield
        finally:
            self._rests = False

    def _hand_on(self, *, at_a_place: bool) -> None:
        if self._obey is None:
            return
        if at_a_place:
            for passed in self.on_pass:
                passed(self._operations)
        while self._pending and _place(self._pending[0]) <= (self._operations, self._effects):
            self._obey(INSTRUCTION.validate_python(self._pending.pop(0)["instruction"]))
        if self._recall.is_live:  # new ones wait until all that was recorded is gone through
            self._hand_on_new([each for each in self._held if at_a_place or not each.waits], self._obey)

    def raise_budget(self) -> None:
        """Hand on what raises the budget, wherever that is, now that the recorded one is spent."""
        if self._obey is not None:
            self._hand_on_new([each for each in self._held if isinstance(each, RaiseBudget)], self._obey)

    def _hand_on_new(self, ready: list[Instruction], obey: Obey) -> None:
        self._held = [each for each in self._held if each not in ready]
        for instruction in ready:
            self._count += 1
            result = {"at": self._operations, "instruction": instruction.model_dump(mode="json")}
            if self._effects:
                result["then"] = self._effects
            self._recall.record(_KIND, {"number": self._count}, result)
            obey(instruction)


def _place(told: dict[str, Any]) -> tuple[int, int]:
    return int(told["at"]), int(told.get("then", 0))


Emit = Callable[[events.Event], None]


class Plan:
    """The steps of a session; those still to come are the user's to change."""

    def __init__(self, approver: Approver, recall: Recall, emit: Emit, controls: Controls) -> None:
        self.controls = controls
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
        """Show a step as it is now; one that is skipped once more keeps its first reason."""
        known = self._steps.get(step.id)
        if known is not None and known.state is step.state is StepState.SKIPPED:
            return known
        self._steps[step.id] = step
        self.controls.step_changed(runs=any(each.state is StepState.RUNNING for each in self._steps.values()))
        self._emit(events.StepChanged(step=step))
        return step

    def proposed(self) -> list[Step]:
        """The steps still to come, in their order."""
        return self._in(StepState.PROPOSED)

    def accepted(self) -> list[Step]:
        """The steps that made a new best, in their order."""
        return self._in(StepState.ACCEPTED)

    @property
    def under_way(self) -> list[Step]:
        """The steps that are begun and not done."""
        return self._in(StepState.AWAITING, StepState.RUNNING)

    def _in(self, *states: StepState) -> list[Step]:
        return [step for i in self._order if (step := self._steps[i]).state in states]

    def give_up(self, reason: str) -> None:
        """Skip whatever is not done."""
        for step in (*self.under_way, *self.proposed()):
            self.put(step.now(StepState.SKIPPED, reason=reason))

    def obey(self, instruction: PlanInstruction) -> None:
        """Change the plan as the user wants it; what is under way or done stays as it is."""
        match instruction:
            case AddStep():
                words = instruction.model_dump(include={"title", "detail", "base"})
                step = Step(id=len(self._steps) + 1, by_user=True, **words)
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

    def propose(self, step: Step, candidate: Source | None, rationale: str, about: ApprovalLevel) -> Proposal:
        """Show that a step awaits the user."""
        if candidate is not None:
            self._emit(events.CandidateProposed(step=step.id, candidate=candidate, rationale=rationale))
        awaiting = self.put(step.now(StepState.AWAITING))
        return Proposal(step=awaiting, candidate=candidate, rationale=rationale, about=about)

    async def decide(self, proposal: Proposal) -> Decision:
        """The user's decision; one that is recorded is not asked for again.

        Raises:
            BudgetSpent: the session is to stop.
        """
        content = proposal.model_dump(mode="json", exclude={"about"})
        if not proposal.step.base:
            del content["step"]["base"]  # no journal names what nobody chose
        if proposal.about is ApprovalLevel.ACCEPT:
            content["about"] = ApprovalLevel.ACCEPT.value
        result = await self._recall.once("approve", self._recall.nth("approve", content), lambda: self._live(proposal))
        if "stopped" in result:
            raise BudgetSpent(result["stopped"])
        decision = Decision.model_validate(result)
        self._emit(events.ApprovalGiven(step=proposal.step.id, decision=decision))
        return decision

    async def _live(self, proposal: Proposal) -> dict[str, Any]:
        if not self.controls.level.asks(proposal.about):
            return Decision(action="approve").model_dump(mode="json")
        self._emit(events.ApprovalAsked(proposal=proposal))
        (decision,) = await self.controls.run([self._approver.decide(proposal)], ends_with_stop=True)
        if isinstance(decision, StepSkipped):
            decision = Decision(action="skip")
        if isinstance(decision, BudgetSpent):
            return {"stopped": str(decision)}
        if not isinstance(decision, Decision):
            hint = 'return a Decision, as in Decision(action="approve")'
            raise SettingsError(f"decide() of the approver returned {decision!r}", hint=hint)
        return decision.model_dump(mode="json")
