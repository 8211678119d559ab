"""What a document asks of the knowledge of Tensile, so that it needs none of it to be read."""

from __future__ import annotations

from typing import Protocol

from tui_tuner.tensile.values import ParameterValue


class Table(Protocol):
    """What Tensile takes, see `tui_tuner.tensile.knowledge.valid_values`."""

    def fault(self, parameter: str, value: ParameterValue) -> str | None:
        """Why it would not take a value; None if it would."""
        ...

    def default(self, parameter: str) -> ParameterValue | None:
        """What it takes where the file says nothing."""
        ...

    def is_unchecked(self, parameter: str) -> bool:
        """Whether it takes anything."""
        ...

    def written(self, parameter: str, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that it has: `True` or 1, 1 or 1.0."""
        ...
