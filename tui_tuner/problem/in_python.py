"""A problem that was made in Python, written down as its file would be, and checked as its file is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tomlkit

from tui_tuner.errors import ProblemError
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.load import load_problem, parse_problem
from tui_tuner.problem.model import Problem
from tui_tuner.problem.reference import find_reference
from tui_tuner.problem.toml_file import read_text

_OF_NO_FILE = {"directory", "source_text"}


@dataclass(frozen=True)
class Written:
    """A problem that passed every check.

    Attributes:
        text: the text of the problem file.
        file: where that file is, or would be.
    """

    problem: Problem
    text: str
    file: Path


def written_in_file(path: Path) -> Written:
    """The problem of a `.toml` file, or of the one beside a kernel's file.

    Raises:
        ProblemError: as of `load_problem`.
    """
    problem, file = load_problem(path), path.with_suffix(".toml")
    return Written(problem, read_text(file), file)


def written_in_python(problem: Problem) -> Written:
    """Check a problem that was put together in Python; its kernel may be text that is in no file.

    Raises:
        ProblemError: what it says is not possible, or its kernel's file is missing.
    """
    kernel = problem.kernel
    file = problem.directory / kernel.source.with_suffix(".toml")
    if kernel.language is None and kernel.source.suffix not in LANGUAGES:
        raise ProblemError(f"Problem: the ending of '{kernel.source}' says no language", hint="give Kernel a language")
    text = problem_text(problem)
    try:
        checked = parse_problem(text, directory=problem.directory, file=file, source_text=_source_of(problem))
        if checked.reference is not None:
            find_reference(checked)
    except ProblemError as error:  # the line is that of a file that nobody wrote
        raise ProblemError(f"Problem: {error.message}", hint=error.hint) from None
    return Written(checked, text, file)


def problem_text(problem: Problem) -> str:
    """The problem as its file would say it, what is default left out."""
    tables = problem.model_dump(mode="json", exclude=_OF_NO_FILE, exclude_defaults=True, exclude_none=True)
    if not problem.is_compiled:
        tables = {name: table for name, table in tables.items() if table or name not in ("launch", "arguments")}
    return tomlkit.dumps(tables)


def _source_of(problem: Problem) -> str:
    if problem.source_text:
        return problem.source_text
    file = problem.directory / problem.kernel.source
    if not file.is_file():
        hint = "give Problem a source_text, or the directory that the file is in"
        raise ProblemError(f"the kernel's file {file} is missing", hint=hint)
    return read_text(file)
