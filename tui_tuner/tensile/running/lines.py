"""Cuts a stream of bytes into lines, and passes on as many of them as a reader can follow."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator

from tui_tuner.tensile.running.log import shortened

_END = re.compile(r"[\r\n]+")
_LONGEST_LINE = 1 << 16
_LINES_A_SECOND, _BURST = 20.0, 100.0


class LineCutter:
    """Lines out of chunks of bytes; a progress bar's carriage returns end lines too."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, chunk: bytes, *, last: bool = False) -> Iterator[str]:
        """The lines that are whole with this chunk; at the end the rest. Too long a line loses its end."""
        *lines, rest = _END.split(self._rest + self._decoder.decode(chunk, last))
        for line in lines:
            yield line[:_LONGEST_LINE]
        self._rest = "" if last else rest[:_LONGEST_LINE]
        if last and rest:
            yield rest[:_LONGEST_LINE]


class Ration:
    """Passes lines on, at most so many a second on average, and says how many it left out."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self._on_line = on_line
        self._allowance, self._at = _BURST, 0.0
        self._left_out = 0

    def feed(self, line: str, seconds: float) -> None:
        """Pass on a line that was printed so many seconds after the start."""
        if not line.strip():
            return
        self._allowance = min(_BURST, self._allowance + (seconds - self._at) * _LINES_A_SECOND)
        self._at = seconds
        if self._allowance < 1:
            self._left_out += 1
            return
        self._tell_left_out()
        self._allowance -= 1
        self._on_line(shortened(line))

    def end(self) -> None:
        """There will be no more lines."""
        self._tell_left_out()

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._on_line(f"… {self._left_out} more lines in the log")
            self._left_out = 0
