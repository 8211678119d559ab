"""What an installed Tensile says of a configuration."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, field_validator

from tui_tuner.text import clean

_LONGEST = 600


class Standing(StrEnum):
    """Whether it takes it."""

    TAKEN = "taken"
    REFUSED = "refused"
    NOT_ASKED = "not asked"


class Verdict(BaseModel):
    """The answer.

    Attributes:
        message: Tensile's words where it refuses; why it could not be asked where it was not; else empty.
        permutations: of each size group, in the order of the file, as Tensile counts them before it tries them.
        parameters: names that it takes; empty where it does not tell.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    standing: Standing
    message: str = ""
    permutations: tuple[int, ...] = ()
    parameters: tuple[str, ...] = ()

    @field_validator("message")
    @classmethod
    def _printable(cls, message: str) -> str:
        message = clean(message).strip()
        return message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
