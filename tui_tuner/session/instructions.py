"""What the user may tell a session at any time, recorded where the strategy learned of it.

A strategy sees the plan and the user's words only through operations that follow one another. An
instruction is recorded with the number of operations before it, and takes effect at the same place when the
strategy is run again from the journal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from tui_tuner.journal.journal import Recall

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


Instruction = Annotated[
    Say | AddStep | EditStep | MoveStep | DeleteStep | Thaw,
    Field(discriminator="type"),
]


_INSTRUCTION: TypeAdapter[Instruction] = TypeAdapter(Instruction)
_KIND = "told"

Obey = Callable[[Instruction], None]


class Inbox:
    """Takes instructions at any time and hands each on at a definite place among the operations."""

    def __init__(self, recall: Recall) -> None:
        self._recall = recall
        self._operations = 0
        self._held: list[Instruction] = []
        self._obey: Obey | None = None
        recorded = self._recorded()
        self._count = len(recorded)
        self._pending = sorted(recorded, key=lambda told: int(told["at"]))

    def _recorded(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while (result := self._recall.recorded(_KIND, {"number": len(found) + 1})) is not None:
            found.append(result)
        return found

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
