"""An event, and how any of them is written as JSON and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    TypeAdapter,
    ValidationInfo,
    model_validator,
)

from tui_tuner.subjects import loaded, subjects

FORMAT = 1
"""Version of the stream of events as JSON."""


class Event(BaseModel):
    """Something that happened; subjects add events of their own, which readers that do not know them leave alone.

    Attributes:
        elapsed: seconds since the session began, as first recorded.
        transient: whether it tells how something goes on meanwhile; not kept, and not printed as JSON.
        adds: whether earlier ones of its type count beside it; of other types the latest says all.
    """

    model_config = ConfigDict(frozen=True)

    elapsed: float = 0.0
    transient: ClassVar[bool] = False
    adds: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _read_again(
        cls,
        data: Any,  # noqa: ANN401  # pydantic's own
        handler: ModelWrapValidatorHandler[Self],
        info: ValidationInfo,
    ) -> Self:
        """An event that was written as JSON is read again as what its `type` says."""
        if cls is not Event or not isinstance(data, Mapping):
            return handler(data)
        kind = _kinds().get(str(data.get("type")))
        if kind is None:
            raise ValueError(f"there is no event of the type '{data.get('type')}'")
        return kind.model_validate(data, context=info.context)  # type: ignore[return-value]  # a subclass of what is asked for


def stream_schema() -> dict[str, Any]:
    """The JSON Schema of a line of the stream as `--output json` prints it."""
    kinds = [kind for kind in _kinds().values() if not kind.transient]
    union: Any = Union[tuple(kinds)]  # noqa: UP007 (of a list that is known at run time only)
    adapter: TypeAdapter[Any] = TypeAdapter(Annotated[union, Field(discriminator="type")])
    return adapter.json_schema(mode="serialization")


def _kinds() -> dict[str, type[Event]]:
    """The events of all subjects by their type."""
    own = [kind for subject in subjects().values() if subject.events for kind in loaded(subject.events)]
    return {kind.model_fields["type"].default: kind for kind in (*Event.__subclasses__(), *own)}
