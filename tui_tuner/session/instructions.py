"""What the user may tell a session at any time: words for the model, changes of the plan."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

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
