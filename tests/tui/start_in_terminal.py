"""Shows the start screen in the terminal it is started in, and prints what was typed at its end and is left."""

from __future__ import annotations

import os
import select
import termios
import tty
from pathlib import Path

from tests.tui.at_start import look_at
from tui_tuner.tui.start.start_app import StartApp


def main() -> None:
    hand_on = StartApp.hand_on

    def typed_into(app: StartApp, words: list[str]) -> None:
        hand_on(app, words)
        os.write(1, b"ending")
        select.select([0], [], [])

    StartApp.hand_on = typed_into  # type: ignore[method-assign]
    words = StartApp([(Path("scale.cu"), True)], look_at([])).run()
    tty.setcbreak(0, termios.TCSANOW)
    print("left", words, os.read(0, 16))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main()
