"""`tuner-tui init`: a first problem file from the kernel's own signature."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.scaffold import scaffold


def write_problem_file(kernel: Path, name: str | None, *, force: bool) -> Path:
    """Write `kernel.toml` beside `kernel.cu`.

    Raises:
        ProblemError: no kernel to choose, or the file is there already or cannot be written.
    """
    target = kernel.with_suffix(".toml")
    text = scaffold(kernel, name)
    if target.exists() and not force:
        raise ProblemError("is there already", hint="add --force to write it anew", file=target)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ProblemError(f"cannot be written: {error.strerror}", file=target) from None
    return target
