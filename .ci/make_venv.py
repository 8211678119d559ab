"""Makes a virtual environment with a current pip, also on a Debian that ships Python without venv's parts.

Usage: python3 make_venv.py DIRECTORY
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
import venv
from pathlib import Path

NEEDED = (3, 11)
PIP = "pip>=25.1"


def main(directory: Path) -> None:
    """Make the environment; says what is missing and how to get it."""
    if sys.version_info < NEEDED:
        found = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"tuner-tui needs Python 3.11 or later, this is {found}: call make PYTHON=python3.11")
    python = directory / "bin" / "python"
    try:
        import ensurepip  # noqa: F401 (Debian leaves it out of python3)
    except ImportError:
        venv.create(directory, with_pip=False, clear=True)
        install = [str(python), fetch_pip() + "/pip", "install", "--quiet", PIP]
    else:
        venv.create(directory, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", PIP]
    subprocess.run(install, check=True)


def fetch_pip() -> str:
    """Download pip's own wheel, which runs without being installed; its path."""
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + "/pip/"
    with urllib.request.urlopen(index) as page:
        links = re.findall(r'href="([^"]+pip-([\d.]+)-py3-none-any\.whl)#sha256=([0-9a-f]{64})', page.read().decode())
    link, _, digest = max(links, key=lambda found: [int(part) for part in found[1].split(".") if part])
    with urllib.request.urlopen(urllib.parse.urljoin(index, link)) as wheel:
        content = wheel.read()
    if hashlib.sha256(content).hexdigest() != digest:
        sys.exit(f"{link} was damaged on its way: try again")
    path = Path(tempfile.mkdtemp()) / link.rsplit("/", 1)[-1]
    path.write_bytes(content)
    return str(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
