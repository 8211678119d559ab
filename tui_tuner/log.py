"""The program's log: JSON, a line an entry, in a file that is set aside when it is full, without keys.

Whoever uses the program as a library has the logger `tui_tuner` and puts its entries where they want.
"""

from __future__ import annotations

import io
import json
import logging
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from tui_tuner.processes import secrets_of_environment
from tui_tuner.resources import log_directory
from tui_tuner.text import redact

_LOGGER = logging.getLogger("tui_tuner")
_LOGGER.addHandler(logging.NullHandler())  # else warnings go to standard error where nobody asked for a log
_LARGEST = 1 << 20
_OLDER = 3
_KEPT = 2000
"""Characters of a text within an entry."""
_hidden: set[str] = set()


def log_file() -> Path:
    """Where the log is; older ones beside it end in .1, .2, .3."""
    return log_directory() / "tuner-tui.log"


def hide(secret: str) -> None:
    """Let this never stand in the log."""
    _hidden.add(secret)


def fields(**values: object) -> dict[str, Any]:
    """What an entry tells beside its message, for `extra`."""
    return {"fields": values}


def without_secrets(value: Any) -> Any:  # noqa: ANN401 (whatever JSON may be)
    """A value without keys, neither those that look like one nor those of the environment; the home is `~`."""
    if isinstance(value, Mapping):
        return {str(name): without_secrets(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [without_secrets(each) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(str(value), {Path.home(): "~"}, {*_hidden, *secrets_of_environment()})


class _AsJson(logging.Formatter):
    """An entry as one line."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "part": record.name.removeprefix("tui_tuner."),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        told = {name: _shortened(value) for name, value in without_secrets(entry).items()}
        if record.exc_info:
            told["traceback"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(told)


def _shortened(value: object) -> object:
    return f"{value[:_KEPT]}..." if isinstance(value, str) and len(value) > _KEPT else value


class _File(RotatingFileHandler):
    """The file, which only its user can read; where it cannot be written the program goes on without."""

    def _open(self) -> io.TextIOWrapper:
        number = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return io.TextIOWrapper(os.fdopen(number, "ab"), encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's own name)
        _LOGGER.removeHandler(self)


@contextmanager
def writing(level: str) -> Iterator[None]:
    """Write entries of this level and above while the block lasts; `off` and what cannot be written keep none."""
    handler = None if level == "off" else _handler(level)
    if handler is None:
        yield
        return
    before = _LOGGER.level
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(handler.level)
    try:
        yield
    finally:
        _LOGGER.removeHandler(handler)
        _LOGGER.setLevel(before)
        with suppress(OSError):
            handler.close()


def _handler(level: str) -> logging.Handler | None:
    try:
        log_file().parent.mkdir(parents=True, exist_ok=True)
        handler = _File(log_file(), maxBytes=_LARGEST, backupCount=_OLDER, encoding="utf-8")
    except OSError:
        return None
    handler.setLevel(level.upper())
    handler.setFormatter(_AsJson())
    return handler


def is_written() -> bool:
    """Whether there is a file that entries go to."""
    return any(isinstance(handler, _File) for handler in _LOGGER.handlers)


def last_entries(count: int) -> list[dict[str, Any]]:
    """The last entries of the log; none where there is no log."""
    try:
        lines = log_file().read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
    except OSError:
        return []
    entries = []
    for line in lines:
        with suppress(ValueError):
            entries.append(json.loads(line))
    return entries


def this_system() -> dict[str, str]:
    """Python and operating system, for the first entry and bug reports."""
    return {"python": platform.python_version(), "system": platform.platform()}
