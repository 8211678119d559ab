"""What all commands share: the list of them, a parser, a line of output."""

from __future__ import annotations

import argparse

from tui_tuner.subjects import subjects
from tui_tuner.text import clean

_OF_SUBJECTS = [command.name for subject in subjects().values() for command in subject.commands]
COMMANDS = ", ".join(
    [*_OF_SUBJECTS, "init, strategy, resume, replay, runs, bench-search, memory, export-dataset, doctor, config"]
)


def parser_for(name: str, description: str) -> argparse.ArgumentParser:
    """The parser of a command; of a tuning, which has no name, too."""
    return argparse.ArgumentParser(prog=f"tuner-tui {name}".strip(), description=description)


def tell(text: str) -> None:
    """A line of what the command is for."""
    print(clean(text))  # noqa: T201 (standard output carries the data)
