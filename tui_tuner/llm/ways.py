"""The ways in which a typed reply can be asked for, and which of them a refusal is about."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

Structured = Literal["auto", "schema", "tools", "text"]
"""What the user may set."""


class Way(StrEnum):
    """How a typed reply is asked for."""

    SCHEMA = "schema"  # the provider holds the model to the JSON schema
    FORCED_TOOL = "forced tool"  # the reply is the call of a tool, which the model has to make
    OFFERED_TOOL = "offered tool"  # the same, but the model may answer in prose
    TEXT = "text"  # the schema stands in the prompt, the reply in prose


_TOOLS = (Way.FORCED_TOOL, Way.OFFERED_TOOL)
_STEPS: dict[Structured, tuple[Way, ...]] = {
    "auto": (Way.SCHEMA, *_TOOLS, Way.TEXT),
    "schema": (Way.SCHEMA,),
    "tools": _TOOLS,
    "text": (Way.TEXT,),
}
_REFUSALS = (400, 404, 422)
_ABOUT_SCHEMA = re.compile(
    r"response[_ ]format|json[_ ]schema|structured[_ ]output|output[_ ](?:config|format)"
    r"|request\.format|xgrammar|(?:compiled|parse|parsing) grammar"
)
# Not within a name, as in "no model 'gpt-tools'" or "tools-7b".
_ABOUT_TOOLS = re.compile(r"(?<![\w/:.-])tools?(?!\w|[/-]|:\w)|tool[-_ ](?:choice|call)|function[_ ]call")
# Some servers repeat the request in their refusal; its own words say nothing.
_ECHO = re.compile(r"""['"]input\\*['"]\s*:""")


def steps(structured: Structured, *, forces_tools: bool) -> tuple[Way, ...]:
    """Return the ways to try, in their order.

    Args:
        forces_tools: whether the provider's API can make a model call a tool.
    """
    return tuple(way for way in _STEPS[structured] if forces_tools or way is not Way.FORCED_TOOL)


def refused_ways(status: int | None, body: str) -> frozenset[Way]:
    """Return the ways of asking that a refusal with this HTTP status and body is about; mostly none."""
    if status not in _REFUSALS:
        return frozenset()
    said = _ECHO.split(body.lower(), maxsplit=1)[0]
    about_schema = {Way.SCHEMA} if _ABOUT_SCHEMA.search(said) else set()
    return frozenset(about_schema.union(_TOOLS if _ABOUT_TOOLS.search(said) else ()))
