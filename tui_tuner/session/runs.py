"""The runs of a directory, read from the headers of their journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.session.journal import FILE, Journal

RUNS = Path("tuner-runs")
"""Where runs go, in the current directory, unless the user names another place."""


def list_runs(directory: Path) -> list[dict[str, Any]]:
    """Every run in a directory: name, kernel's file, strategy, model, created, whether it has a result."""
    found = []
    for file in sorted(directory.glob(f"*/{FILE}")):
        try:
            header = Journal.read(file).header
            found.append(
                {
                    "run": str(file.parent),
                    "created": header["created"],
                    "strategy": header["options"]["strategy"],
                    "model": header["model"],
                    "finished": (file.parent / "result.json").exists(),
                }
            )
        except JournalError as error:
            found.append({"run": str(file.parent), "error": error.message})
        except KeyError as error:
            found.append({"run": str(file.parent), "error": f"its header lacks {error}"})
    return found
