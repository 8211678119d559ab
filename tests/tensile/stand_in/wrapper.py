"""Makes the stand-in an executable named Tensile."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

_REPOSITORY = Path(__file__).parents[3]
_PROGRAM = """\
#!{python}
import sys

sys.path.insert(0, {repository!r})
from tests.tensile.stand_in.main import main

main(sys.argv[1:], {options!r})
"""
_SHELL = """\
#!/bin/sh
exec {python} -I -S -c 'import sys; sys.path += {places}; sys.argv[0] = "'"$0"'"
from tests.tensile.stand_in.main import main
main(sys.argv[1:], "{options}")' "$@"
"""
"""Starts in half the time, and is no Python script, so that its Python is not asked for Tensile's modules."""


def write_program(directory: Path, *, script: bool = True, **options: object) -> Path:
    """Write an executable `Tensile` into the directory, and return its path.

    Args:
        script: whether it is a Python script, as Tensile's is, whose Python can be asked what it knows.
        options: as of `options.Options`; each may also come from the environment, as STAND_IN_SEED for `seed`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "options.json"
    file.write_text(json.dumps({name: str(value) for name, value in options.items()}))
    program = directory / "Tensile"
    places = [str(_REPOSITORY), str(Path(yaml.__file__).parents[1])]
    told = json.dumps(places)
    text = _PROGRAM if script else _SHELL
    program.write_text(text.format(python=sys.executable, repository=str(_REPOSITORY), places=told, options=str(file)))
    program.chmod(0o755)
    return program
