"""A model that answers by letter, for `--llm command:`: where no network is, someone elsewhere reads and replies.

    tuner-tui kernel.cu --llm 'command:python3 benchmarks/thesis/mailbox.py BOX'

A prompt is known by its SHA-256. If BOX/replies/SHA.txt exists, that is the reply, printed as it is. Else the prompt
goes to BOX/prompts/SHA.txt, and the call waits for the reply as long as `--wait` says; then it fails. A session goes on
without the model where calls fail, so let it wait, and end the session (Ctrl-C) where the reply will take longer:
`tuner-tui resume` asks the same question again and goes on from there. `python -m benchmarks.thesis --box BOX` ends and
resumes sessions like that.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from pathlib import Path

POLL_S = 0.5


class Mailbox:
    """Prompts and replies in a directory."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def reply(self, prompt: str) -> str | None:
        """What was answered to exactly this prompt; None where nobody did yet."""
        try:
            return self._file("replies", prompt).read_text("utf-8")
        except FileNotFoundError:
            return None

    def leave(self, prompt: str) -> Path:
        """Keep a prompt for whoever answers it, all of it at once."""
        file = self._file("prompts", prompt)
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(prompt, "utf-8")
        part.replace(file)
        return file

    def unanswered(self, since: float) -> list[Path]:
        """Prompts left since a time, in seconds as of `time.time()`, to which there is no reply yet."""
        answered = {file.name for file in self._place.glob("replies/*.txt")}
        asked = [file for file in sorted(self._place.glob("prompts/*.txt")) if file.name not in answered]
        return [file for file in asked if file.stat().st_mtime >= since]

    def _file(self, folder: str, prompt: str) -> Path:
        return self._place / folder / f"{hashlib.sha256(prompt.encode()).hexdigest()}.txt"


def write_program(box: Path, name: str) -> Path:
    """A program of this name that is this mailbox: journals name a model of `--llm command:` by its program."""
    box.mkdir(parents=True, exist_ok=True)
    program = box / name
    program.write_text(
        f"#!{sys.executable}\nimport runpy\n\nrunpy.run_path({__file__!r}, run_name='__main__')\n", "utf-8"
    )
    program.chmod(0o755)
    return program


def main() -> int:
    """Answer the prompt on standard input; 1 where there is no reply yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("box", type=Path)
    parser.add_argument("--wait", type=float, default=0.0, help="how long to wait for a reply, seconds (default 0)")
    chosen = parser.parse_args()
    box, prompt = Mailbox(chosen.box), sys.stdin.buffer.read().decode()
    end = time.monotonic() + chosen.wait
    reply = box.reply(prompt)
    file = box.leave(prompt) if reply is None else None
    while reply is None and time.monotonic() < end:
        time.sleep(POLL_S)
        reply = box.reply(prompt)
    if reply is None and file is not None:
        sys.stderr.write(f"no reply yet: write it to {chosen.box}/replies/{file.name}, then resume\n")
        return 1
    sys.stdout.write(reply or "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
