"""The fields of a reply, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}


def fields(schema: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """A line of a Markdown list for each field of a reply's schema, those of objects in it further in."""
    for name, node in schema.get("properties", {}).items():
        yield f"{'  ' * depth}- `{name}`: {_type(node)}"
        yield from fields(_innermost(node), depth + 1)


def _type(node: dict[str, Any]) -> str:
    if "enum" in node:
        return "one of " + ", ".join(f"`{value}`" for value in node["enum"])
    if "anyOf" in node:
        return " or ".join(_type(choice) for choice in node["anyOf"])
    if node["type"] == "array":
        return f"list of {_type(node['items'])}"
    return "object with" if node["type"] == "object" else _TYPES[node["type"]]


def _innermost(node: dict[str, Any]) -> dict[str, Any]:
    while node.get("type") == "array":
        node = node["items"]
    return node
