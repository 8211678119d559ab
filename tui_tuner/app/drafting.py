"""A kernel without a problem file: its problem drafted from the source, and what that takes for granted told."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.problem.scaffold import scaffold


def drafted(file: Path, kernel: str | None) -> Written:
    """The problem of a kernel without a problem file, guessed from its signature and how the host launches it.

    Raises:
        ProblemError: none can be guessed; the hint says what to write.
    """
    target = file.with_suffix(".toml")
    try:
        text = scaffold(file, kernel)
    except ProblemError as error:
        hint = (error.hint or "").replace("--kernel NAME", f"tuner-tui {file}:NAME")
        raise ProblemError(error.message, hint=hint, file=error.file, line=error.line) from None
    try:
        return Written(problem_in_text(text, target), text, target, is_drafted=True)
    except ProblemError as error:
        command = f"tuner-tui init {shlex.quote(str(file))}{'' if kernel is None else f' --kernel {kernel}'}"
        hint = (
            f"{error.hint + '; ' if error.hint else ''}write the draft with: {command}, and correct line {error.line}"
        )
        raise ProblemError(f"the problem drafted from the source does not hold: {error.message}", hint=hint) from None


def assumptions(written: Written) -> Iterator[str]:
    """What a drafted problem takes for granted, in lines for the user, and how to correct it; nothing of others."""
    if not written.is_drafted:
        return
    problem, kernel = written.problem, written.problem.kernel
    command = f"tuner-tui init {shlex.quote(str(kernel.source))} --kernel {kernel.name.partition('<')[0]}"
    yield f"no {written.file.name} beside it: drafted the problem of {kernel.name}; to correct it: {command}"
    launch = ", ".join(f"{key} = {value}" for key, value in problem.launch.model_dump(exclude_defaults=True).items())
    yield f"  launch      {launch}"
    yield f"  sizes       {', '.join(f'{name} = {value}' for name, value in problem.sizes.items())}"
    for title, chosen in (("outputs", True), ("inputs", False)):
        arrays = [one for one in problem.arguments if one.shape is not None and one.output is chosen]
        if arrays:
            told = ", ".join(f"{one.name} {one.dtype}[{', '.join(map(str, one.shape or []))}]" for one in arrays)
            yield f"  {title:11} {told}"
    scalars = [f"{one.name} = {one.value}" for one in problem.arguments if one.value is not None]
    if scalars:
        yield f"  scalars     {', '.join(scalars)}"
