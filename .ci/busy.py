"""Runs a command while every core is kept busy, to show what depends on how fast the machine is.

Usage: python3 busy.py [--each N] COMMAND ...

N processes per core (1 without the option) do nothing but arithmetic; they end with the command.
"""

import os
import signal
import subprocess
import sys

BURN = "number = 1\nwhile True: number = number * 1103515245 % 2147483648"


def main(arguments: list[str]) -> int:
    """Burn, run the command, put the fire out; the command's exit code."""
    each = 1
    if arguments[:1] == ["--each"]:
        each, arguments = int(arguments[1]), arguments[2:]
    if not arguments:
        sys.exit("usage: busy.py [--each N] COMMAND ...")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    burners = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(each * (os.cpu_count() or 1))]
    try:
        return subprocess.call(arguments)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
