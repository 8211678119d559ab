"""Test double of a model, for `--llm command:`; keeps every prompt and always gives the same reply.

Usage: model_double.py DIRECTORY, which holds `reply.json` and gets `prompt-1.txt`, `prompt-2.txt` and so on.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(directory: Path) -> None:
    number = len(list(directory.glob("prompt-*.txt"))) + 1
    (directory / f"prompt-{number}.txt").write_text(sys.stdin.read())
    sys.stdout.write((directory / "reply.json").read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
