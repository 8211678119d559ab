"""What to say about a name that is not known."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known name most like the word, or None where none is like it."""
    folded = {name.lower(): name for name in known}
    matches = get_close_matches(word.lower(), folded, n=1)
    return folded[matches[0]] if matches else None


def suggestion(word: str, known: Collection[str], what: str = "names") -> str:
    """A hint in words: the nearest known name, else all of them."""
    match = nearest(word, known)
    if match is not None:
        return f"did you mean '{match}'?"
    return f"known {what}: {', '.join(known)}" if known else f"there are no {what} here"
