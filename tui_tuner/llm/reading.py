"""From the text of a reply to a checked value, or to a list of everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tui_tuner.llm.finding import json_text

T = TypeVar("T", bound=BaseModel)

_MOST_PROBLEMS = 20


class Unreadable(Exception):
    """A reply without a usable value; `problems` lists every fault found."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def read(text: str, reply_type: type[T], check: Callable[[T], list[str]] | None = None) -> T:
    """Return the value that the text holds.

    Args:
        check: returns what is wrong with a value that has the right form.

    Raises:
        Unreadable: no JSON, broken JSON, the wrong form, or refused by `check`.
    """
    try:
        found = json_text(text)
    except ValueError as error:
        raise Unreadable([str(error)]) from None
    _refuse_odd_json(found)
    try:
        value = reply_type.model_validate_json(found, strict=True)
    except ValidationError as error:
        raise Unreadable(_problems(error)) from None
    problems = [] if check is None else check(value)
    if problems:
        raise Unreadable(problems[:_MOST_PROBLEMS])
    return value


def _refuse_odd_json(text: str) -> None:
    """Refuse what a lenient parser would pass: repeated keys, NaN, lone surrogates, bottomless nesting."""
    try:
        json.loads(text.encode(), object_pairs_hook=_distinct, parse_constant=_finite)
    except RecursionError:
        raise Unreadable(["the JSON is nested too deeply"]) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Unreadable([f"the JSON is broken at {place}: {error.msg}"]) from None
    except ValueError as error:
        raise Unreadable([f"the JSON cannot be used: {error}"]) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1}) if len(set(keys)) < len(keys) else []
    if repeated:
        raise ValueError(f"keys given twice: {', '.join(repeated)}")
    return dict(pairs)


def _finite(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _problems(error: ValidationError) -> list[str]:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{'.'.join(map(str, fault['loc'])) or 'reply'}: {fault['msg']}" for fault in faults]
    more = len(lines) - _MOST_PROBLEMS
    return lines if more <= 0 else [*lines[:_MOST_PROBLEMS], f"and {more} more"]
