"""What all that is kept has in common: immutable, bounded, and rid of what could steer a terminal or a prompt."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tui_tuner.text import clean

_LONGEST = 80
_MARKS = str.maketrans("<>", "()")


def one_line(text: str, longest: int = _LONGEST) -> str:
    """Text of unknown origin as one short line without tags."""
    line = " ".join(clean(text).split()).translate(_MARKS)
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


KeptText = Annotated[str, AfterValidator(one_line)]
"""A name or a title, cleaned and cut whenever it is written or read."""
KeptNumber = Annotated[float, Field(ge=0, allow_inf_nan=False)]
KeptValue = bool | int | float | KeptText
"""A value of a tunable."""
KeptConfiguration = Annotated[dict[KeptText, KeptValue], Field(max_length=100)]


class MemoryModel(BaseModel):
    """A part of an entry; what a later version adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")
