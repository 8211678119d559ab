"""Runs every test in a process of its own, in random order; goes on where it was interrupted.

Usage: python3 alone.py [--seed N] [PATH ...]

What is still to do stands in `.alone` (one test a line, in the order of the seed), what failed in `.alone-failed`.
With paths, or when the list is empty, a new list is begun.
"""

import random
import subprocess
import sys
import time
from pathlib import Path

TO_DO, FAILED = Path(".alone"), Path(".alone-failed")
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0")
NONE_COLLECTED = 5
SHOWN = 3000


def main(arguments: list[str]) -> int:
    """How many tests failed, as an exit code of 0 or 1."""
    seed = int(time.time())
    if arguments[:1] == ["--seed"]:
        seed, arguments = int(arguments[1]), arguments[2:]
    if arguments or not remaining():
        begin(arguments, seed)
    while names := remaining():
        run(names[0], len(names))
        TO_DO.write_text("".join(f"{name}\n" for name in names[1:]))
    TO_DO.unlink(missing_ok=True)
    failed = FAILED.read_text().splitlines()
    print(f"{len(failed)} failed", *failed, sep="\n")
    return 1 if failed else 0


def remaining() -> list[str]:
    """The tests that are still to run."""
    return TO_DO.read_text().splitlines() if TO_DO.exists() else []


def begin(paths: list[str], seed: int) -> None:
    """Write the list of all tests below the paths, shuffled."""
    done = subprocess.run([*PYTEST, "--collect-only", *paths], capture_output=True, text=True, check=False)
    names = [line for line in done.stdout.splitlines() if "::" in line]
    if done.returncode != 0:
        sys.exit(done.stdout[-SHOWN:])
    random.Random(seed).shuffle(names)
    print(f"{len(names)} tests, each alone, in the order of --seed {seed}")
    TO_DO.write_text("".join(f"{name}\n" for name in names))
    FAILED.write_text("")


def run(name: str, left: int) -> None:
    """Run a test; a failed one is shown and noted."""
    done = subprocess.run([*PYTEST, name], capture_output=True, text=True, check=False)
    if done.returncode in (0, NONE_COLLECTED):
        return
    print(f"FAILED {name} ({left - 1} left)", done.stdout[-SHOWN:], sep="\n", flush=True)
    with FAILED.open("a") as failed:
        failed.write(f"{name}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
