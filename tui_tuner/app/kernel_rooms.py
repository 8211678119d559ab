"""Kernels that a room of its own describes and evaluates, joined to the program here and only here.

A room names its parts as `module:name`, so that none of them is loaded before such a kernel is tuned.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class KernelRoom(NamedTuple):
    """Kernels of one language that this program neither compiles nor launches itself.

    Attributes:
        language: of their problems.
        suffix: of their files, which may hold several kernels, named as in `kernel.py:NAME`.
        problem: `(file, kernel or None, device) -> tui_tuner.problem.load.Written`.
        check_device: `(device)`; raises a DeviceError for one that they do not run on.
        evaluator: `(problem, log file, builds at once, device) -> tui_tuner.evaluate.results.Evaluator`.
    """

    language: str
    suffix: str
    problem: str
    check_device: str
    evaluator: str


ROOMS: tuple[KernelRoom, ...] = (
    KernelRoom(
        language="python",
        suffix=".py",
        problem="tui_tuner.python_kernels.evaluator:problem_in",
        check_device="tui_tuner.python_kernels.evaluator:visible_gpu",
        evaluator="tui_tuner.python_kernels.evaluator:evaluator_for",
    ),
)


def room_for_language(language: str) -> KernelRoom | None:
    """The room whose kernels are in a language; None for those that this program compiles."""
    return next((room for room in ROOMS if room.language == language), None)


def room_for_file(file: Path) -> KernelRoom | None:
    """The room whose kernels a file holds."""
    return next((room for room in ROOMS if room.suffix == file.suffix), None)


def split_name(kernel: Path) -> tuple[Path, str | None]:
    """File and kernel of `kernel.py:NAME`; no kernel where none is named."""
    stem, colon, name = kernel.name.rpartition(":")
    if colon and name.isidentifier() and room_for_file(Path(stem)) is not None:
        return kernel.with_name(stem), name
    return kernel, None
