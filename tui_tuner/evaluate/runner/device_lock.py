"""One run at a time works on a device: a lock for each, held while a request is served, across all processes of a user.

A lock of the system (flock) is given back however its holder ends. Who waits holds a second lock meanwhile, the queue:
so a run that has a request after the other lets the next one in between.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tui_tuner.resources import cache_directory

POLL_S = 0.02
Wait = Callable[[str], None]
"""Told again and again, while it waits, which run holds the device; may raise to end the wait."""


def locks_directory() -> Path:
    """Where the locks of this user are."""
    return cache_directory("locks")


class DeviceLock:
    """The lock of one device.

    Args:
        unit: what names the device whatever its number is.
        run: what others are told that wait for it.
    """

    def __init__(self, unit: str, run: str, directory: Path | None = None) -> None:
        name = re.sub(r"[^\w.-]", "_", unit)
        self._directory = directory or locks_directory()
        self._files = [self._directory / f"{name}.{part}" for part in ("queue", "lock")]
        self._run = run

    @contextmanager
    def held(self, wait: Wait) -> Iterator[None]:
        """Hold the device; where no lock can be had, as on a disk that can only be read, go on without."""
        with ExitStack() as queue, ExitStack() as device:
            with suppress(OSError):
                self._directory.mkdir(parents=True, exist_ok=True)
                self._take(self._opened(self._files[0], queue), wait)
                locked = self._opened(self._files[1], device)
                self._take(locked, wait)
                os.truncate(locked, 0)
                os.pwrite(locked, self._run.encode(), 0)
            queue.close()  # the next one may stand in line
            yield

    def _opened(self, path: Path, stack: ExitStack) -> int:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        stack.callback(os.close, descriptor)
        return descriptor

    def _take(self, descriptor: int, wait: Wait) -> None:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                wait(self.holder())
                time.sleep(POLL_S)
            else:
                return

    def holder(self) -> str:
        """The run that holds the device, or held it last."""
        with suppress(OSError):
            return self._files[1].read_text("utf-8", errors="replace")
        return ""
