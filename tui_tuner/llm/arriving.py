"""Reading a reply while it arrives: the objects of an array, each as soon as it is complete."""

from __future__ import annotations

import json
import re
from typing import Any

from tui_tuner.llm.thinking import split_thinking

_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")


class ArrivingObjects:
    """The objects of the array that stands under a key of a JSON reply.

    Where the reply turns out to be no such JSON, nothing more is found; whether it can be used is decided
    when it is whole.

    Args:
        key: of the array, as in "configurations".
    """

    def __init__(self, key: str) -> None:
        self._begin = re.compile(rf'"{re.escape(key)}"\s*:\s*\[')
        self._text = ""
        self._at: int | None = None

    def feed(self, piece: str) -> list[dict[str, Any]]:
        """The objects that are complete with this piece of the reply."""
        self._text += piece
        if self._at is None:
            self._at = self._array()
        return [] if self._at is None else self._complete(self._at)

    def _array(self) -> int | None:
        """Where the array begins; a draft among a model's thoughts is none."""
        answer, thoughts = split_thinking(self._text)
        found = self._begin.search(answer)
        if thoughts and found is not None:
            self._text = answer
        return None if found is None else found.end()

    def _complete(self, at: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            begin = _end_of(_BETWEEN, self._text, at)
            if not self._text.startswith("{", begin):
                break
            try:
                value, at = _DECODER.raw_decode(self._text, begin)
            except (ValueError, RecursionError):
                break
            found.append(value)
        self._at = at
        return found


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
