"""The calls of a model as a journal holds them, each with its line; every record is checked on the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tui_tuner.errors import JournalError
from tui_tuner.evaluate.evaluator import Started
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.llm.base import Message, Reply
from tui_tuner.llm.recording import Question
from tui_tuner.session.journal import Journal
from tui_tuner.strategies.steps import Decision

_RESULTS: Mapping[str, TypeAdapter[Any]] = {
    "ask": TypeAdapter(Reply),
    "evaluate": TypeAdapter(Evaluation),
    "compare": TypeAdapter(Comparison),
    "approve": TypeAdapter(Decision),
}
_UNANSWERED = {"failed", "stopped"}


@dataclass(frozen=True)
class Asked:
    """A call of the model.

    Attributes:
        line: of the journal, counted from 1.
        made: whether it was sent at all; the budget may not have allowed it.
        answered: whether a whole reply came.
        occurrence: counts from 1 how often the same was asked.
    """

    line: int
    purpose: str
    messages: tuple[Message, ...]
    schema: dict[str, Any] | None
    occurrence: int
    made: bool
    answered: bool

    @property
    def prompt(self) -> str:
        """The messages as one text, as the event of the prompt has it."""
        return "\n\n".join(f"[{message.role}]\n{message.content}" for message in self.messages)


def questions_in(file: Path) -> list[Asked]:
    """All calls in their order; of one that was repeated when the run was resumed, the last.

    Raises:
        JournalError: the file is no journal or a line of it is damaged; file and line are named.
    """
    Journal.read(file)
    found: dict[str, Asked] = {}
    for number, line in enumerate(file.read_bytes().splitlines(keepends=True)[1:], start=2):
        if line.endswith(b"\n"):  # the last one may be cut
            record = json.loads(line)
            try:
                _check(record)
                if record["kind"] == "ask":
                    found[record["key"]] = _asked(record, number)
            except (ValidationError, KeyError, TypeError, AttributeError) as error:
                hint = "restore the file from a copy"
                raise JournalError(f"is damaged here: {_reason(error)}", hint=hint, file=file, line=number) from None
    return list(found.values())


def _check(record: Mapping[str, Any]) -> None:
    kind, result = record["kind"], record["result"]
    if kind == "device":
        _check_device(result)
    elif kind in _RESULTS and _UNANSWERED.isdisjoint(result):
        _RESULTS[kind].validate_python(result)


def _check_device(result: Mapping[str, Any]) -> None:
    known = {name: result[name] for name in ("device", "sandbox", "note", "given")}
    TypeAdapter(Started).validate_python({**known, "tests": result.get("tests", [])})


def _asked(record: Mapping[str, Any], line: int) -> Asked:
    question = Question.model_validate(record["content"])
    return Asked(
        line,
        question.purpose,
        question.messages,
        question.reply_schema,
        record["content"].get("occurrence", 1),
        made="stopped" not in record["result"],
        answered=_UNANSWERED.isdisjoint(record["result"]),
    )


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, fault['loc'])) or 'result'}: {fault['msg']}"
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)
