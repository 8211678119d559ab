"""Installs into the environment that runs it: by uv, which takes a tenth of pip's time, and by pip where uv cannot.

Usage: .venv/bin/python .ci/install.py ARGUMENT..., those of `pip install`
"""

import os
import re
import subprocess
import sys

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
UV = "uv>=0.9"
FROM_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
}
"""What the user has told pip, and the variable in which uv is told the same."""


def main(arguments: list[str]) -> None:
    """Install; exits with pip's code where it cannot be done."""
    if not succeeds([*PIP, "install", "--quiet", UV]) or not succeeds(
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, *arguments]
    ):
        sys.exit(subprocess.run([*PIP, "install", "--quiet", "--no-compile", *arguments], check=False).returncode)


def succeeds(command: list[str]) -> bool:
    """Whether a command does; what it prints is of no use, for pip comes after it."""
    told = {**told_to_pip(), **os.environ, "UV_INDEX_STRATEGY": "unsafe-best-match"}  # the best of all, as pip has it
    return subprocess.run(command, env=told, capture_output=True, check=False).returncode == 0


def told_to_pip() -> dict[str, str]:
    """How pip is configured, in uv's variables."""
    told = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    found = dict(re.findall(r"^\S+?\.([a-z-]+)='(.*)'$", told, re.MULTILINE))
    return {FROM_PIP[name]: " ".join(value.split()) for name, value in found.items() if name in FROM_PIP}


if __name__ == "__main__":
    main(sys.argv[1:])
