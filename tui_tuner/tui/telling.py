"""What the user tells the session at any time, on its way there."""

from __future__ import annotations

from collections.abc import Callable

from tui_tuner.session.instructions import Instruction
from tui_tuner.tui.picture import Picture

_OVER = "The session is over: nothing can be changed any more."
_REPLAY = "This is a replay: it cannot be changed."


class Teller:
    """Hands instructions to the session and explains it where they cannot be followed.

    Args:
        tell: the session's; False if it is a replay.
        picture: what the session looks like now.
        explain: shows a sentence to the user.
    """

    def __init__(self, tell: Callable[[Instruction], bool], picture: Picture, explain: Callable[[str], None]) -> None:
        self._tell = tell
        self._picture = picture
        self._explain = explain

    @property
    def listens(self) -> bool:
        """Whether the session still goes on; if not, the user is told."""
        over = self._picture.finished is not None
        if over:
            self._explain(_OVER)
        return not over

    def tell(self, instruction: Instruction) -> bool:
        """Hand an instruction over; whether the session took it."""
        if not self.listens:
            return False
        told = self._tell(instruction)
        if not told:
            self._explain(_REPLAY)
        return told
