"""Loading a problem: the file beside the kernel, read, validated and checked against the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_arguments import check_arguments
from tui_tuner.problem.check_launch import check_launch
from tui_tuner.problem.check_names import check_names
from tui_tuner.problem.check_space import check_space
from tui_tuner.problem.check_steps import check_steps_of_problem
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.model import Problem
from tui_tuner.problem.place import KeyLocations
from tui_tuner.problem.reference import find_reference
from tui_tuner.problem.signature import find_kernel
from tui_tuner.problem.table import COMPILED, Language
from tui_tuner.problem.toml_file import read_text, read_toml
from tui_tuner.problem.validation import validated


def load_problem(path: Path) -> Problem:
    """Load a problem from its `.toml` file, or from the kernel's file with the `.toml` beside it.

    Raises:
        ProblemError: a file is missing, or what it says is not possible; with line and way out.
    """
    file = path if path.suffix == ".toml" else path.with_suffix(".toml")
    tables, place = read_toml(_read_problem_file(file, path), file)
    if _language_in(tables) == "recorded":
        hint = "name the recording, as in --device recorded:conv.json.gz"
        raise place.error("its times are on file, and nothing here can run it", "kernel", "language", hint=hint)
    problem = _validated(tables, file.parent, place)
    source = file.parent / problem.kernel.source
    problem = _checked(problem, _read_source(source, place), place)
    if problem.reference is not None:
        _check_reference(problem, place)
    return problem


def parse_problem(text: str, *, directory: Path, file: Path, source_text: str) -> Problem:
    """The problem from texts that were read before; no file is opened.

    Args:
        text: the text of the problem file.
        directory: what paths in it are relative to.
        file: the name that errors give.
        source_text: the text of the kernel's file.

    Raises:
        ProblemError: what the text says is not possible.
    """
    tables, place = read_toml(text, file)
    return problem_of_tables(tables, place, directory=directory, source_text=source_text)


def problem_of_tables(tables: Mapping[str, Any], place: KeyLocations, *, directory: Path, source_text: str) -> Problem:
    """The problem from tables that were read before, and may have been added to; otherwise as `parse_problem`.

    Raises:
        ProblemError: what they say is not possible.
    """
    return _checked(_validated(tables, directory, place), source_text, place)


def _read_problem_file(file: Path, given: Path) -> str:
    kernel = given if given.suffix != ".toml" else given.with_suffix(".cu")
    if not file.is_file():
        missing = given if given.suffix in LANGUAGES and not given.exists() else file
        what = "problem file" if missing == file else "kernel file"
        raise ProblemError(f"there is no {what} {missing}", hint=f"write one with: tuner-tui init {kernel}")
    return read_text(file)


def _read_source(source: Path, place: KeyLocations) -> str:
    if source.is_file():
        return read_text(source)
    message = f"the kernel's file {source} is missing"
    raise place.error(message, "kernel", "source", hint="the path is relative to the problem file")


def _validated(tables: Mapping[str, Any], directory: Path, place: KeyLocations) -> Problem:
    language = _language_in(tables)
    if language in get_args(Language) and language not in COMPILED:
        tables = {"launch": {}, "arguments": [], **tables}
    problem = validated(tables, place, directory)
    if problem.kernel.language is None and problem.kernel.source.suffix not in LANGUAGES:
        message = f"the ending '{problem.kernel.source.suffix}' says no language"
        raise place.error(message, "kernel", "source", hint='add language = "cuda", "opencl" or "c" to [kernel]')
    return problem


def _language_in(tables: Mapping[str, Any]) -> object:
    kernel = tables.get("kernel")
    return kernel.get("language") if isinstance(kernel, Mapping) else None


def _checked(problem: Problem, source_text: str, place: KeyLocations) -> Problem:
    problem = problem.model_copy(update={"source_text": source_text})
    if not problem.is_compiled:
        check_space(problem, place)
        return problem
    try:
        signature = find_kernel(source_text, problem.language, problem.kernel.name)
    except ProblemError as error:
        raise place.error(error.message, "kernel", "name", hint=error.hint) from None
    check_names(problem, signature, place)
    check_arguments(problem, signature, place)
    check_space(problem, place)
    check_launch(problem, place)
    check_steps_of_problem(problem, signature, place)
    return problem


def _check_reference(problem: Problem, place: KeyLocations) -> None:
    try:
        find_reference(problem)
    except ProblemError as error:
        if error.line is not None:
            raise
        raise place.error(error.message, "reference", "python", hint=error.hint) from None
