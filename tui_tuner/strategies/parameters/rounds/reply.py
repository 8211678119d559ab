"""A model's proposal of configurations: its form for one search space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from tui_tuner.problem.model import Value

MOST_VALUES = 400
"""Values that a schema lists; of larger spaces it says the types only, since providers limit how many it may have."""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


class ConfigurationsReply(BaseModel):
    """What a model answers; `configurations` has one field a tunable, which `reply_type` adds."""

    model_config = ConfigDict(extra="ignore")

    analysis: str

    @property
    def proposals(self) -> list[dict[str, object]]:
        """Each proposed configuration as it was written, its reason aside; missing values are None."""
        proposed = cast(Sequence[BaseModel], getattr(self, "configurations"))  # noqa: B009 (added by `reply_type`)
        return [one.model_dump(by_alias=True, exclude={"reason"}) for one in proposed]


def reply_type(tunables: Mapping[str, Sequence[Value]]) -> type[ConfigurationsReply]:
    """The form of a reply for these tunables.

    Its JSON schema lists the values; its validation does not insist on them, so that one wrong value costs one
    configuration at most and not the reply.
    """
    listed = sum(map(len, tunables.values())) <= MOST_VALUES
    fields: dict[str, Any] = {
        f"value_{index}": (Annotated[Any, WithJsonSchema(_schema(values, listed=listed))], Field(None, alias=name))
        for index, (name, values) in enumerate(tunables.items())
    }
    configuration = create_model("ProposedConfiguration", **fields, reason=(str, ""))
    return create_model("Configurations", __base__=ConfigurationsReply, configurations=(list[configuration], ...))  # type: ignore[valid-type]


def _schema(values: Sequence[Value], *, listed: bool) -> dict[str, object]:
    kinds = list(dict.fromkeys(_TYPES[type(value)] for value in values))
    if len(kinds) > 1:
        return {"anyOf": [{"type": kind} for kind in kinds]}
    return {"type": kinds[0], "enum": list(values)} if listed else {"type": kinds[0]}
