"""Shows the start screen in the terminal it is started in, and prints who gets what was typed at its end.

With the argument `ending` it waits at its end until something is typed.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from pathlib import Path

from textual.events import Key

from tests.tui.at_start import look_at
from tui_tuner.tui.start import GivenFile
from tui_tuner.tui.start.start_app import StartApp


def main() -> None:
    leave_typed = StartApp._leave_typed

    def typed_into(app: StartApp, words: list[str]) -> None:
        os.write(1, b"ending")
        select.select([0], [], [])
        leave_typed(app, words)

    if sys.argv[1:]:
        StartApp._leave_typed = typed_into  # type: ignore[method-assign]
    words = StartApp([GivenFile(Path("scale.cu"))], look_at([])).run()
    tty.setcbreak(0, termios.TCSANOW)
    unread = os.read(0, 16) if sys.argv[1:] else b""
    taken = [event.key for event in StartApp([], look_at([]))._typed if isinstance(event, Key)]
    print("left", words, unread, *taken)  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
