"""What an output holds before each launch, where the host says it."""

from __future__ import annotations

import re

_FILLS = {"0": "zeros", "1": "ones"}


def content_before(held: str, name: str, body: str, usual: str) -> tuple[str, str]:
    """The fill of an output that the kernel reads too, and what is said of the number that the host sets it to.

    The host's own fill only where threads add to a place by atomic functions, so that they are still seen to: with it
    no other kernel would be seen not to read what was there.
    """
    if not held:
        return usual, ""
    if held in _FILLS and re.search(rf"\batomic\w+\s*\(\s*(?:&\s*)?(?:\(\s*)?{re.escape(name)}\b", body):
        return _FILLS[held], ", as the host sets it"
    return usual, f"; the host sets it to {' '.join(held.split())}, by which no test would show that it is read"
