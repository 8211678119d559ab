from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped]  # its stubs are not installed
import pytest
from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.llm.typed import schema_of


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Pair(BaseModel):
    """A tunable and its value."""

    name: str = Field(description="as in the problem", max_length=40, pattern="[a-z]+")
    value: bool | int | float | str


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str = "untitled"
    count: int = Field(ge=1, le=9)
    kind: Literal["one"]
    choice: Literal["a", "b"] | None = None
    size: Size
    pairs: list[Pair] = Field(min_length=1)
    first: Pair = Field(description="the best")
    default: float


def test_every_field_is_required_and_nothing_extra_is_allowed_at_every_level() -> None:
    schema = schema_of(Everything)

    assert schema["required"] == list(Everything.model_fields)
    assert schema["additionalProperties"] is False
    pair = schema["properties"]["pairs"]["items"]
    assert pair["required"] == ["name", "value"]
    assert pair["additionalProperties"] is False


def test_nothing_remains_that_a_provider_may_refuse() -> None:
    def keywords(node: Any) -> set[str]:
        if isinstance(node, list):
            return set().union(*map(keywords, node))
        if not isinstance(node, dict):
            return set()
        below = [keywords(value) for key, value in node.items() if key != "properties"]
        return set(node).union(*below, *map(keywords, node.get("properties", {}).values()))

    allowed = {"type", "description", "enum", "anyOf", "items", "properties", "required", "additionalProperties"}
    assert keywords(schema_of(Everything)) <= allowed


def test_fields_keep_their_meaning() -> None:
    fields = schema_of(Everything)["properties"]

    assert fields["kind"]["enum"] == ["one"]
    assert fields["size"]["enum"] == ["small", "large"]
    assert {"type": "null"} in fields["choice"]["anyOf"]
    assert fields["first"]["description"] == "the best"
    assert fields["pairs"]["items"]["properties"]["name"] == {"type": "string", "description": "as in the problem"}
    assert {"title", "default"} <= fields.keys()


def test_what_pydantic_writes_satisfies_the_schema() -> None:
    pair = Pair(name="x", value=4)
    value = Everything(count=1, kind="one", size=Size.SMALL, pairs=[pair], first=pair, default=0.5)

    jsonschema.validate(value.model_dump(mode="json"), schema_of(Everything))


class FreeKeys(BaseModel):
    values: dict[str, int]


class StrictFreeKeys(BaseModel):
    values: dict[str, Any]


class Anything(BaseModel):
    value: Any


class Mixed(BaseModel):
    value: tuple[int, str]


class Tree(BaseModel):
    children: list[Tree]


class Deep(BaseModel):
    inner: list[FreeKeys | None]


@pytest.mark.parametrize("reply_type", [FreeKeys, StrictFreeKeys, Anything, Mixed, Tree, Deep])
def test_what_dies_silently_at_some_provider_is_refused_when_it_is_written(reply_type: type[BaseModel]) -> None:
    with pytest.raises(TypeError, match=reply_type.__name__):
        schema_of(reply_type)
