"""Loading a problem: the file beside the kernel, read, validated and checked; and one that was made in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import tomlkit
from pydantic import BaseModel, ValidationError

from tui_tuner.errors import ProblemError
from tui_tuner.problem.check_arguments import check_arguments
from tui_tuner.problem.check_launch import check_launch, check_macros, check_names, check_space, check_steps_of_problem
from tui_tuner.problem.conditionals import active_source
from tui_tuner.problem.headers import with_whole_paths
from tui_tuner.problem.languages import COMPILED, LANGUAGES, Language
from tui_tuner.problem.model import Problem
from tui_tuner.problem.reference import find_input_function, find_library, find_reference
from tui_tuner.problem.signature import KernelSignature, find_kernel
from tui_tuner.problem.toml_file import KeyLocations, KeyPath, read_text, read_toml, written
from tui_tuner.problem.value_hints import hint_for
from tui_tuner.text import suggestion

OF_NO_FILE = frozenset({"directory", "source_text"})
"""What a problem knows that its file does not say."""


@dataclass(frozen=True)
class Written:
    """A problem that passed every check.

    Attributes:
        text: the text of the problem file.
        file: where that file is, or would be.
        is_drafted: whether nobody wrote it: it is guessed from the source.
        host: where the host's code of a draft stands, if not in the kernel's file.
        alternatives: other kernels of the file that a draft could be of.
        doubts: what came of trying a draft, a line each.
        of_model: what came of asking a model for one, likewise.
        calls: of a model that a draft took.
        cost: US dollars of these; None where the price is unknown.
        seconds: that went by with them.
    """

    problem: Problem
    text: str
    file: Path
    is_drafted: bool = False
    host: Path | None = None
    alternatives: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    of_model: tuple[str, ...] = ()
    calls: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0


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
        if checked.library is not None:
            find_library(checked)
    except ProblemError as error:  # the line is that of a file that nobody wrote
        raise ProblemError(f"Problem: {error.message}", hint=error.hint) from None
    return Written(checked, text, file)


def problem_text(problem: Problem) -> str:
    """The problem as its file would say it, what is default left out."""
    tables = problem.model_dump(mode="json", exclude={*OF_NO_FILE}, exclude_defaults=True, exclude_none=True)
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


ModelType = TypeVar("ModelType", bound=BaseModel)


def validated(tables: Mapping[str, Any], place: KeyLocations, directory: Path) -> Problem:
    """The problem with the kernel's text still missing.

    Raises:
        ProblemError: for the first mistake in the text.
    """
    for key in OF_NO_FILE & tables.keys():
        raise _unknown_key(Problem, place, (key,))
    return validated_as(Problem, {**tables, "directory": directory}, place)


def validated_as(model: type[ModelType], tables: Mapping[str, Any], place: KeyLocations) -> ModelType:
    """The tables of a file as a model.

    Raises:
        ProblemError: for the first mistake in the text.
    """
    try:
        return model.model_validate(tables)
    except ValidationError as error:
        raise _first_mistake(model, error, place) from None


def _first_mistake(model: type[BaseModel], error: ValidationError, place: KeyLocations) -> ProblemError:
    details = error.errors(include_url=False)
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")  # a misspelt key explains a missing one
    first = details[0]
    if first["type"] == "extra_forbidden":
        return _unknown_key(model, place, first["loc"])
    path = place.known_part(first["loc"])
    where = f"[{written(path)}]" if path else "the file"
    if first["type"] == "missing":
        needed = _what_is_needed(model, first["loc"])
        return place.error(f"{where} needs '{first['loc'][-1]}'", *path, hint=needed)
    same_place = [detail for detail in details if place.known_part(detail["loc"]) == path]
    reasons = dict.fromkeys(_plain(detail["msg"]) for detail in same_place)
    return place.error(f"{where}: {', or '.join(reasons)}", *path, hint=hint_for(first))


def _unknown_key(model: type[BaseModel], place: KeyLocations, path: tuple[str | int, ...]) -> ProblemError:
    fields = _table_at(model, path[:-1]).model_fields
    known = [key for key in fields if len(path) > 1 or key not in OF_NO_FILE]
    table = f" in [{written(path[:-1])}]" if len(path) > 1 else ""
    return place.error(f"unknown key '{path[-1]}'{table}", *path, hint=suggestion(str(path[-1]), known, "keys"))


def _table_at(model: type[BaseModel], path: tuple[str | int, ...]) -> type[BaseModel]:
    """The model of the table at a path."""
    table = model
    for part in path:
        if isinstance(part, str) and part in table.model_fields:
            table = _model_within(table.model_fields[part].annotation) or table
    return table


def _model_within(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_within(part))), None)


def _plain(message: str) -> str:
    message = message.removeprefix("Value error, ").replace(" after validation", "")
    message = message.replace("a valid dictionary", "a table")
    return message[0].lower() + message[1:]


def _what_is_needed(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    annotation = _table_at(model, path[:-1]).model_fields[str(path[-1])].annotation
    if _model_within(annotation) is None:
        return f"add {path[-1]} = …"
    return f"add a table [[{path[-1]}]]" if get_origin(annotation) is list else f"add a table [{path[-1]}]"


def load_problem(path: Path) -> Problem:
    """Load a problem from its `.toml` file, or from the kernel's file with the `.toml` beside it.

    Raises:
        ProblemError: a file is missing, or what it says is not possible; with line and way out.
    """
    file = path if path.suffix == ".toml" else path.with_suffix(".toml")
    return problem_in_text(_read_problem_file(file, path), file)


def problem_in_text(text: str, file: Path) -> Problem:
    """The problem of a problem file of this text, which need not be written yet; its kernel is read.

    Raises:
        ProblemError: as of `load_problem`.
    """
    tables, place = read_toml(text, file)
    if _language_in(tables) == "recorded":
        hint = "name the recording, as in --device recorded:conv.json.gz"
        raise place.error("its times are on file, and nothing here can run it", "kernel", "language", hint=hint)
    problem = _validated(tables, file.parent, place)
    source = file.parent / problem.kernel.source
    problem = _checked(problem, _read_source(source, place), place)
    _check_functions(problem, place)
    return problem


def unchecked_problem(text: str, file: Path) -> Problem:
    """The problem of a text that has the form of a problem file, whether what it says is possible or not.

    Raises:
        ProblemError: it has not that form, or its kernel's file is missing.
    """
    tables, place = read_toml(text, file)
    problem = _validated(tables, file.parent, place)
    return problem.model_copy(update={"source_text": _read_source(file.parent / problem.kernel.source, place)})


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
        if given.suffix in LANGUAGES and not given.exists():
            raise ProblemError(f"there is no kernel file {given}", hint="name a .cu, .cl or .c file, or a .toml file")
        raise ProblemError(f"there is no problem file {file}", hint=f"write one with: tuner-tui init {kernel}")
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
    options = [*with_whole_paths(problem.kernel.compiler_options, problem.directory)]
    kernel = problem.kernel.model_copy(update={"compiler_options": options})
    problem = problem.model_copy(update={"source_text": source_text, "kernel": kernel})
    if kernel.host is not None and kernel.language != "python":
        message = "a script is run for a kernel in Python alone"
        raise place.error(
            message, "kernel", "host", hint="leave it out: the problem file says how the kernel is launched"
        )
    if not problem.is_compiled:
        check_space(problem, place)
        return problem
    try:
        signature = find_kernel(source_text, problem.language, problem.kernel.name)
    except ProblemError as error:
        raise place.error(error.message, "kernel", "name", hint=error.hint) from None
    check_names(problem, signature, place)
    try:
        check_arguments(problem, signature, place)
    except ProblemError:
        if (built := _as_built(problem)) is None or built.parameters == signature.parameters:
            raise
        check_arguments(problem, built, place)
    check_space(problem, place)
    check_launch(problem, place)
    check_macros(problem, place)
    check_steps_of_problem(problem, signature, place)
    return problem


def _as_built(problem: Problem) -> KernelSignature | None:
    """The kernel as the macros of a build leave it, as where `-DSINGLE` chooses a type; None where they leave none."""
    options = [one.removeprefix("-D").partition("=")[0] for one in problem.kernel.compiler_options]
    source = active_source(problem.source_text, {*options, *problem.tunables, "kernel_tuner"})
    try:
        return find_kernel(source, problem.language, problem.kernel.name)
    except ProblemError:
        return None


def _check_functions(problem: Problem, place: KeyLocations) -> None:
    """Whether the functions are there that the problem file names."""
    named: list[tuple[KeyPath, Callable[[], object]]] = []
    if problem.reference is not None:
        named.append((("reference", "python"), lambda: find_reference(problem)))
    if problem.library is not None:
        named.append((("library", "python"), lambda: find_library(problem)))
    for index, argument in enumerate(problem.arguments):
        if argument.function is not None:
            named.append((("arguments", index, "function"), partial(find_input_function, problem, argument.function)))
    for path, find in named:
        try:
            find()
        except ProblemError as error:
            if error.line is not None:
                raise
            raise place.error(error.message, *path, hint=error.hint) from None
