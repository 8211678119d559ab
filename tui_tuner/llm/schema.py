"""The JSON schema that every provider understands: the common subset of what each accepts."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from tui_tuner.llm.base import Message, Request

# Meant for validation here, and refused or ignored by one provider or another.
_DROPPED = frozenset(
    {
        "$defs", "title", "default", "examples", "discriminator", "format", "pattern", "multipleOf",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
    }
)  # fmt: skip
_PLAIN = frozenset({"type", "description", "enum"})


def schema_of(reply_type: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a reply: every field required, nothing extra, no references, no bounds.

    Raises:
        TypeError: the type has what providers do not share: free-key dictionaries, tuples of
            mixed types, fields of any type, recursion.
    """
    schema = reply_type.model_json_schema()
    return _reduced(schema, schema.get("$defs", {}), (reply_type.__name__,))


def schema_instruction(schema: dict[str, Any]) -> str:
    """Return the words that tell a model of the schema it may not see otherwise."""
    return (
        "Answer with one JSON object and nothing else, no prose and no fence around it. "
        f"It must follow this JSON schema:\n{json.dumps(schema, ensure_ascii=False)}"
    )


def repeating_schema(request: Request) -> tuple[Message, ...]:
    """Return the messages with the schema in words behind the last, for models that are not shown it."""
    if request.schema is None:
        return request.messages
    *before, last = request.messages
    return (*before, Message(last.role, f"{last.content}\n\n{schema_instruction(request.schema)}"))


def _reduced(node: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        if name in path:
            raise TypeError(f"{'.'.join(path)}: recursive replies are not supported")
        described = {key: value for key, value in node.items() if key == "description"}
        return _reduced(definitions[name], definitions, (*path, name)) | described
    result = {key: value for key, value in node.items() if key in _PLAIN}
    for key in node.keys() - _PLAIN - _DROPPED:
        result |= _reduced_keyword(key, node, definitions, path)
    if not result.keys() & {"type", "enum", "anyOf"}:
        raise TypeError(f"{'.'.join(path)}: a field needs one definite type")
    if result.get("type") == "object" and "properties" not in result:
        result |= _closed_object({}, path, node)
    return result


def _reduced_keyword(
    key: str, node: dict[str, Any], definitions: dict[str, Any], path: tuple[str, ...]
) -> dict[str, Any]:
    value = node[key]
    match key:
        case "const":
            return {"enum": [value]}
        case "anyOf" | "oneOf":
            return {"anyOf": [_reduced(choice, definitions, path) for choice in value]}
        case "items":
            return {"items": _reduced(value, definitions, (*path, "[]"))}
        case "properties":
            fields = {name: _reduced(field, definitions, (*path, name)) for name, field in value.items()}
            return _closed_object(fields, path, node)
        case "required":
            return {}
        case "additionalProperties" if value is False:
            return {}
    raise TypeError(f"{'.'.join(path)}: '{key}' is not supported by every provider; use a list of objects")


def _closed_object(fields: dict[str, Any], path: tuple[str, ...], node: dict[str, Any]) -> dict[str, Any]:
    if not fields and node.get("additionalProperties") is not False:
        raise TypeError(f"{'.'.join(path)}: a dictionary of free keys dies silently; use a list of objects")
    return {"properties": fields, "required": list(fields), "additionalProperties": False}
