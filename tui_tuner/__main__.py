"""The program as it is installed, `tuner-tui`, or `python -m tui_tuner`: the command line in a process of its own."""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import NoReturn

THRESHOLDS = (50_000, 20, 20)
"""Of the collection of garbage: nearly all that is loaded, and of a long story, stays."""


def program() -> NoReturn:
    """Carry out the command line; an interruption while it loads or when it is done leaves no traceback."""
    _have_streams()
    gc.set_threshold(*THRESHOLDS)
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
        gc.freeze()  # and a fifth of a second more where all that was loaded is searched for garbage once again


def _have_streams() -> None:
    """Have what was closed for us lead nowhere, so that no file of ours takes its place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


if __name__ == "__main__":
    program()
