"""A program that speaks Tensile's command line and files, and looks GFLOP/s up in a table instead of measuring them.

It follows Tensile's rules on its own, from the configuration as PyYAML reads it, and uses nothing of the package that
is tested with it. `write_program` makes it an executable.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import yaml

PLACES = [str(Path(__file__).parents[3]), str(Path(yaml.__file__).parents[1])]
"""Where its modules are."""
_SCRIPT = """\
#!{python}
import sys
sys.path += {places}
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
        options: as of `options.Options`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "options.json"
    file.write_text(json.dumps({name: str(value) for name, value in options.items()}))
    program = directory / "Tensile"
    text = _SCRIPT if script else _SHELL
    program.write_text(text.format(python=sys.executable, places=json.dumps(PLACES), options=str(file)))
    program.chmod(0o755)
    return program
