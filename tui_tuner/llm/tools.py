"""The tool whose call is the reply, and the telling of that call from all else in a reply."""

from __future__ import annotations

from typing import Any

from tui_tuner.llm.base import Chunk, Message, Request
from tui_tuner.llm.schema import repeating_schema, schema_instruction
from tui_tuner.llm.ways import Way

TOOL = "answer"
"""The name of the only tool that a model is given."""

TOOL_DESCRIPTION = "Gives your answer, whole, as its arguments. Call it exactly once."

_CALL = f"Answer with one call of the tool `{TOOL}` and nothing else."


def function_tool(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the tool as OpenAI and Ollama want it."""
    return {"type": "function", "function": {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": schema}}


def worded(request: Request, way: Way, *, shown: bool) -> tuple[Message, ...]:
    """Return the messages with what has to be said in words for this way of asking.

    Args:
        shown: whether the provider shows the model the schema, or the tool's parameters, in full.
    """
    if request.schema is None or (way is Way.SCHEMA and shown):
        return request.messages
    if way in (Way.SCHEMA, Way.TEXT):
        return repeating_schema(request)
    *before, last = request.messages
    repeated = "" if shown else f"\nIf you cannot call it: {schema_instruction(request.schema)}"
    return (*before, Message(last.role, f"{last.content}\n\n{_CALL}{repeated}"))


class Calls:
    """Sorts what a model says in one reply: the arguments of the first call of our tool are its text.

    Prose before that call stays text, and the call then stands in a fenced block behind it, so
    that it is the call which is read. Without such a call the prose is the whole text. All else
    is shown and never read: calls of other tools, further calls of ours, prose after the call,
    and a call after prose that is JSON itself.
    """

    def __init__(self) -> None:
        self._identities: dict[int, str] = {}
        self._place: int | None = None
        self._answered = False
        self._first = ""  # character of the prose
        self._fenced = False

    def prose(self, text: str) -> Chunk:
        """Return the chunk for a piece of the reply's own text."""
        if self._answered:
            return Chunk(thinking=text)
        self._first = self._first or text.lstrip()[:1]
        return Chunk(text)

    def begin(self, place: int, name: str | None, identity: str | None = None) -> None:
        """Note the head of a call, which servers may repeat with each piece of it.

        Args:
            place: where it stands among the reply's calls.
            identity: tells calls apart for which a server gives the same place.
        """
        # Without a name it is no head; some servers invent a new identity for each piece.
        if not name or (place in self._identities and identity in (None, "", self._identities[place])):
            return
        self._identities[place] = identity or ""
        if place == self._place:
            self._place = None
        if name == TOOL and not self._answered and self._first != "{":
            self._answered, self._place = True, place

    def arguments(self, place: int, piece: str) -> Chunk:
        """Return the chunk for a piece of a call's arguments."""
        if place != self._place:
            return Chunk(thinking=piece)
        if self._first and not self._fenced:
            self._fenced = True
            return Chunk(f"\n```json\n{piece}")
        return Chunk(piece)

    def whole(self, name: str, arguments: str) -> Chunk:
        """Return the chunk for a call that came in one piece."""
        place = len(self._identities)
        self.begin(place, name)
        return self.arguments(place, arguments)

    def end(self) -> Chunk:
        """Return the chunk that closes the text."""
        return Chunk("\n```\n" if self._fenced else "")
