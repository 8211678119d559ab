"""The six operations by which a model edits the space of a configuration, and their inverses, as typed objects.

The kinds are those of the LLM-guided configuration generator for Tensile: a multiplicative fork parameter, an
independent one (an alternative of a group) and a candidate of a parameter, each added or removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.tensile.document import ParameterValue, PlainValue, value_text


class EditRefused(ValueError):
    """An edit that cannot be carried out; the message says why, for the model and for people."""


class _Edit(BaseModel):
    """An operation on the fork parameters of one size group.

    Attributes:
        size_group: number of the size group, from 0.
        reason: why, and what is expected of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size_group: int = Field(default=0, ge=0)
    reason: str = Field(min_length=1)


class AddMultiplicative(_Edit):
    """Fork a parameter that is not forked yet: multiplies the permutations by the number of its values."""

    kind: Literal["add_multiplicative"] = "add_multiplicative"
    parameter: str
    values: list[PlainValue] = Field(min_length=2)

    def words(self) -> str:
        """The edit in a few words."""
        return f"fork {self.parameter} over {value_text([*self.values])}"


class RemoveMultiplicative(_Edit):
    """Stop forking a parameter: divides the permutations by the number of its values.

    Attributes:
        keep: its value from now on; None to leave it to Tensile's default.
    """

    kind: Literal["remove_multiplicative"] = "remove_multiplicative"
    parameter: str
    keep: PlainValue | None = None

    def words(self) -> str:
        """The edit in a few words."""
        if self.keep is None:
            return f"leave {self.parameter} to its default"
        return f"hold {self.parameter} at {value_text(self.keep)}"


class AddCandidate(_Edit):
    """One more value of a parameter that the file names."""

    kind: Literal["add_candidate"] = "add_candidate"
    parameter: str
    value: PlainValue

    def words(self) -> str:
        """The edit in a few words."""
        return f"try {self.parameter} {value_text(self.value)}"


class RemoveCandidate(_Edit):
    """One value less of a forked parameter."""

    kind: Literal["remove_candidate"] = "remove_candidate"
    parameter: str
    value: PlainValue

    def words(self) -> str:
        """The edit in a few words."""
        return f"drop {self.parameter} {value_text(self.value)}"


class Setting(BaseModel):
    """One parameter that an alternative sets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    parameter: str
    value: PlainValue


class AddIndependent(_Edit):
    """Alternatives that set one or several parameters together: adds to the permutations of their group.

    Attributes:
        group: number of the entry of `Groups` that they join, from 0; None for a new entry, which multiplies.
        alternatives: what each sets; a new entry needs two at least.
    """

    kind: Literal["add_independent"] = "add_independent"
    group: int | None = Field(default=None, ge=0)
    alternatives: list[list[Setting]] = Field(min_length=1)

    @property
    def added(self) -> list[dict[str, PlainValue]]:
        """The alternatives, values by parameter."""
        return [_by_name(settings) for settings in self.alternatives]

    def words(self) -> str:
        """The edit in a few words."""
        place = "a new group" if self.group is None else f"group {self.group}"
        return f"{place}: also {' or '.join(map(alternative_text, self.added))}"


class RemoveIndependent(_Edit):
    """One alternative of a group less.

    Attributes:
        alternative: what it sets, as in the file.
    """

    kind: Literal["remove_independent"] = "remove_independent"
    group: int = Field(ge=0)
    alternative: list[Setting] = Field(min_length=1)

    @property
    def removed(self) -> dict[str, PlainValue]:
        """The alternative, values by parameter."""
        return _by_name(self.alternative)

    def words(self) -> str:
        """The edit in a few words."""
        return f"group {self.group}: no longer {alternative_text(self.removed)}"


SpaceEdit = Annotated[
    AddMultiplicative | RemoveMultiplicative | AddCandidate | RemoveCandidate | AddIndependent | RemoveIndependent,
    Field(discriminator="kind"),
]


def alternative_text(alternative: Mapping[str, ParameterValue]) -> str:
    """An alternative as a flow mapping."""
    return f"{{{', '.join(f'{name}: {value_text(value)}' for name, value in alternative.items())}}}"


def _by_name(settings: Iterable[Setting]) -> dict[str, PlainValue]:
    return {setting.parameter: setting.value for setting in settings}
