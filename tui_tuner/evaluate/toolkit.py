"""Where the programs of the CUDA toolkit are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

WITH_LINES = "-lineinfo"
"""The option of builds for the tools that watch a kernel before it is accepted."""
LATE_WARPS = "late-warps"
"""That of a build whose warps are late (`build/compilers/late_warps.py`); no compiler knows it."""
ORDERCHECK = "ordercheck"
"""The tool that looks at what such a build computes."""
WARPCHECK = "warpcheck"
"""racecheck, asked for races between lanes of a warp, which it takes for what a program may mean to do."""


def toolkit_programs(name: str, beside: Path | None = None) -> Iterator[Path]:
    """Where a program of the CUDA toolkit may be: beside another, in CUDA_HOME, CUDA_PATH, PATH, the usual place."""
    if beside is not None:
        yield beside.with_name(name)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(variable):
            yield Path(home, "bin", name)
    if found := shutil.which(name):
        yield Path(found)
    yield Path("/usr/local/cuda/bin", name)


def toolkit_program(name: str, beside: Path | None = None) -> Path | None:
    """The first of these that is there."""
    return next((place for place in toolkit_programs(name, beside) if place.is_file()), None)
