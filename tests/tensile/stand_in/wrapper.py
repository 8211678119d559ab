"""Makes the stand-in an executable named Tensile."""

from __future__ import annotations

import json
import sys
from pathlib import Path

_REPOSITORY = Path(__file__).parents[3]
_PROGRAM = """\
#!{python}
import sys

sys.path.insert(0, {repository!r})
from tests.tensile.stand_in.main import main

main(sys.argv[1:], {options!r})
"""


def write_program(directory: Path, **options: object) -> Path:
    """Write an executable `Tensile` into the directory, and return its path.

    Args:
        options: as of `options.Options`; each may also come from the environment, as STAND_IN_SEED for `seed`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "options.json"
    file.write_text(json.dumps({name: str(value) for name, value in options.items()}))
    program = directory / "Tensile"
    program.write_text(_PROGRAM.format(python=sys.executable, repository=str(_REPOSITORY), options=str(file)))
    program.chmod(0o755)
    return program
