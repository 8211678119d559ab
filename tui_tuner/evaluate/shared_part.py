"""What all builds of a toolchain have in common: compiled once, kept in the user's cache, read by every build."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tui_tuner.evaluate.compilers.base import SharedPart
from tui_tuner.evaluate.sandbox.run import Policy, run_confined


async def have_shared_part(part: SharedPart, read: Sequence[Path], policy: Policy) -> bool:
    """Make it if it is missing; whether it is there now.

    Several programs may make it at once: the first that is done is kept.

    Args:
        read: what its commands read.
    """
    if part.directory.is_dir():
        return True
    try:
        part.directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(dir=part.directory.parent.resolve(), prefix=".new-"))
    except OSError:  # no home, no room, or not ours: builds are whole, and slower
        return False
    try:
        return await _made(part, made, read, policy) and _kept(part, made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


async def _made(part: SharedPart, directory: Path, read: Sequence[Path], policy: Policy) -> bool:
    for name, text in part.files.items():
        (directory / name).write_text(text, encoding="utf-8")
    for command in part.commands:
        done = await run_confined(command, directory=directory, policy=policy, read=read)
        if done.returncode != 0:
            return False
    return True


def _kept(part: SharedPart, made: Path) -> bool:
    with suppress(OSError):  # another program was quicker
        made.rename(part.directory)
    return part.directory.is_dir()
