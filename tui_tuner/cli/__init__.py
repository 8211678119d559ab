"""The command line: words become a command, and its errors messages and exit codes."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from tui_tuner.cli import parsers
from tui_tuner.cli.parsers import CommandLine
from tui_tuner.errors import ExitCode, SettingsError, UserError
from tui_tuner.resources import VARIABLES, __version__, own_table

COMMANDS = ", ".join(parsers.COMMANDS_BY_NAME)
"""The names of all commands, for people."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code. A user's mistake is one message and never a traceback."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _show_what_cannot_be_encoded()
    try:
        _refuse_misspelt_command(words)
        chosen = CommandLine().parse(words)
        _refuse_lost_directory()
        done: int | Coroutine[Any, Any, int] = chosen.command(chosen)
        return done if isinstance(done, int) else _in_a_loop(done, words, chosen.log_level)
    except SettingsError as error:
        return _fail(error, ExitCode.USAGE)
    except UserError as error:
        return _fail(error, ExitCode.FAILED)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _silence_output()
        return ExitCode.INTERRUPTED
    except OSError as error:
        fault = _fault_of(error, words)
        if fault is None:
            raise
        _silence_output()
        return _fail(fault, ExitCode.FAILED)


def _refuse_lost_directory() -> None:
    """Paths are relative to the directory that we are in, which may have been deleted.

    Raises:
        UserError: it was.
    """
    try:
        os.getcwd()  # noqa: PTH109 - pathlib loads slowly
    except FileNotFoundError:
        raise UserError("the working directory is no longer there", hint="change to one that is, as by: cd") from None


def _show_what_cannot_be_encoded() -> None:
    """Let no character end the program: a terminal's character set may lack it, a file's name may be no text."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _in_a_loop(command: Coroutine[Any, Any, int], words: Sequence[str], level: str | None) -> int:
    """Carry a command out in the only event loop that it has from its beginning to its end, and write its log."""
    import asyncio  # what needs no loop starts without it
    import logging

    from tui_tuner.log import fields, this_system, writing

    logger = logging.getLogger(__name__)
    with writing(level or _level_of_settings()):
        logger.info(
            "begins", extra=fields(words=words, version=__version__, cwd=os.environ.get("PWD"), **this_system())
        )
        try:
            code = asyncio.run(command)
        except UserError as error:
            logger.warning(error.message, extra=fields(file=error.file, line=error.line, hint=error.hint))
            raise
        except BrokenPipeError:
            raise
        except Exception as error:
            if _fault_of(error, words) is not None:
                raise
            logger.critical("an error that nobody expected", exc_info=True)
            _fail(UserError("a fault of this program", hint=_REPORT), ExitCode.FAILED)
            raise
        logger.info("ends", extra=fields(code=code))
        return code


def _fault_of(error: Exception, words: Sequence[str]) -> UserError | None:
    """What the system has against the output, which no place is left for, or against a file that the user named."""
    from pathlib import Path

    if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
        hint = "what was found is in the run's directory, if there is one: tuner-tui runs"
        return UserError(f"what is printed cannot be written: {error.strerror}", hint=hint)
    if not isinstance(error, OSError) or not isinstance(error.filename, str):
        return None
    file = Path(error.filename)
    named = [Path(part) for word in words for part in (word, word.partition(":")[2], word.rpartition(":")[0]) if part]
    if file not in named and not set(named) & set(file.parents):
        return None
    return UserError(f"cannot be used: {error.strerror}", hint="name another file", file=file)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_REPORT = "`tuner-tui doctor --json` prints what a report of it needs"


def _level_of_settings() -> str:
    """How much is logged, before anything checks what the settings say."""
    wanted = os.environ.get(f"{VARIABLES}LOG_LEVEL") or own_table("log").get("level")
    return wanted if wanted in parsers.LOG_LEVELS else "info"


def _refuse_misspelt_command(words: Sequence[str]) -> None:
    first = words[0] if words else "-"
    if first.startswith("-") or first in {parsers.TUNE.name, *parsers.COMMANDS_BY_NAME}:
        return
    from pathlib import Path

    from tui_tuner.text import nearest

    word = Path(first)
    near = nearest(word.name, parsers.COMMANDS_BY_NAME)
    if near is not None and not word.suffix and not word.exists():
        raise SettingsError(f"there is no command '{word}'", hint=f"did you mean '{near}'? There are: {COMMANDS}")


def _fail(error: UserError, code: ExitCode) -> ExitCode:
    from tui_tuner.text import say

    say(f"tuner-tui: {error}")
    return code


def _silence_output() -> None:
    """Let nothing more be written to a pipe that nobody reads or a full disk, which Python complains of at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
