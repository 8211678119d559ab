"""Test double of a model, for `--llm command:`; keeps every prompt and answers as it was told to.

Usage: model_double.py DIRECTORY, which holds `answers.json` and gets `prompt-1.txt`, `prompt-2.txt` and so on. An
answer is for prompts that contain all of some texts; the first that fits is given.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(directory: Path) -> None:
    number = len(list(directory.glob("prompt-*.txt"))) + 1
    prompt = sys.stdin.read()
    (directory / f"prompt-{number}.txt").write_text(prompt)
    for texts, reply in json.loads((directory / "answers.json").read_text()):
        if all(text in prompt for text in texts):
            sys.stdout.write(reply)
            return
    sys.exit("nobody expects this prompt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
