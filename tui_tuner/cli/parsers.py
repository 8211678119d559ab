"""What all commands share: the list of them, a parser, a line of output."""

from __future__ import annotations

import argparse

from tui_tuner.text import clean

COMMANDS = "tensile, init, strategy, resume, replay, runs, bench-search, memory, export-dataset, doctor, config"


def parser_for(name: str, description: str) -> argparse.ArgumentParser:
    """The parser of a command; of a tuning, which has no name, too."""
    return argparse.ArgumentParser(prog=f"tuner-tui {name}".strip(), description=description)


def tell(text: str) -> None:
    """A line of what the command is for."""
    print(clean(text))  # noqa: T201 (standard output carries the data)
