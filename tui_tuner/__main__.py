"""The program as it is installed, `tuner-tui`, or `python -m tui_tuner`: the command line in a process of its own."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def program() -> NoReturn:
    """Carry out the command line; an interruption while it loads or when it is done leaves no traceback."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not under nohup
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tui_tuner.cli import main

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main())
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what was to be done is done, and leaving takes a moment


if __name__ == "__main__":
    program()
