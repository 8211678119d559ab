"""From the tables of a file to a model, with mistakes told by line and nearest known key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tui_tuner.errors import ProblemError
from tui_tuner.problem.model import Problem, type_names
from tui_tuner.problem.nearest import suggestion
from tui_tuner.problem.place import KeyLocations, written

ModelType = TypeVar("ModelType", bound=BaseModel)
_NOT_IN_THE_FILE = frozenset({"directory", "source_text"})


def validated(tables: Mapping[str, Any], place: KeyLocations, directory: Path) -> Problem:
    """The problem with the kernel's text still missing.

    Raises:
        ProblemError: for the first mistake in the text.
    """
    for key in _NOT_IN_THE_FILE & tables.keys():
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
    return place.error(f"{where}: {', or '.join(reasons)}", *path, hint=_near_dtype(first))


def _unknown_key(model: type[BaseModel], place: KeyLocations, path: tuple[str | int, ...]) -> ProblemError:
    fields = _table_at(model, path[:-1]).model_fields
    known = [key for key in fields if len(path) > 1 or key not in _NOT_IN_THE_FILE]
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
    message = message.removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def _what_is_needed(model: type[BaseModel], path: tuple[str | int, ...]) -> str:
    annotation = _table_at(model, path[:-1]).model_fields[str(path[-1])].annotation
    if _model_within(annotation) is None:
        return f"add {path[-1]} = …"
    return f"add a table [[{path[-1]}]]" if get_origin(annotation) is list else f"add a table [{path[-1]}]"


def _near_dtype(detail: ErrorDetails) -> str | None:
    if detail["type"] != "literal_error" or detail["loc"][-1] != "dtype":
        return None
    return suggestion(str(detail["input"]), get_args(type_names), "dtypes")
