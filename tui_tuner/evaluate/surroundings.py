"""What a runner is started with: command and environment, and walls where it runs what a model wrote itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.evaluate.sandbox.limits import ResourceLimits
from tui_tuner.evaluate.sandbox.places import python_places
from tui_tuner.evaluate.sandbox.process import PACKAGES, through_launcher
from tui_tuner.processes.environment import driver_environment

_OWN_DIRECTORY = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "POCL_CACHE_DIR")
_LIMITS = ResourceLimits(cpu_s=0, memory=0, descriptors=0)
"""A runner lives as long as its session, and holds the problem's arrays."""


@dataclass(frozen=True)
class Surroundings:
    """How one runner is started.

    Attributes:
        directory: its own, the only place where a confined runner can write; None for one that is not confined.
    """

    command: Sequence[str]
    variables: dict[str, str]
    directory: TemporaryDirectory[str] | None

    def remove(self) -> None:
        """Remove the directory with all that was written there."""
        if self.directory is not None:
            self.directory.cleanup()


def surroundings(descriptor: int, read: Sequence[Path] | None) -> Surroundings:
    """How to start a runner from this process.

    Args:
        descriptor: the socket that it speaks over.
        read: what it may read besides Python and the system's libraries; None leaves it unconfined.
    """
    command = (sys.executable, "-P", "-m", "tui_tuner.evaluate.runner", str(descriptor))
    if read is None:
        return Surroundings(command, driver_environment(), None)
    directory = TemporaryDirectory(prefix="tuner-runner-", ignore_cleanup_errors=True)
    # Confined before it starts: its libraries start threads, and Landlock binds only what comes after it.
    walled = through_launcher(
        command, read=(*python_places(), PACKAGES, *read), write=(Path(directory.name),), limits=_LIMITS, strict=True
    )
    return Surroundings(walled, driver_environment() | dict.fromkeys(_OWN_DIRECTORY, directory.name), directory)
