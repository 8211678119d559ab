"""The calls of a model as a journal holds them, each with its line; every record is checked on the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tui_tuner.errors import JournalError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.journal.reading import Record, read_journal
from tui_tuner.llm.recording import RecordedCall, call_of, fault_in, is_call
from tui_tuner.strategies.steps import Decision

_RESULTS: Mapping[str, TypeAdapter[Any]] = {
    "evaluate": TypeAdapter(Evaluation),
    "compare": TypeAdapter(Comparison),
    "approve": TypeAdapter(Decision),
}


def questions_in(file: Path) -> list[RecordedCall]:
    """All calls in their order; of one that was repeated when the run was resumed, the last.

    Raises:
        JournalError: the file is no journal or a line of it is damaged; file and line are named.
    """
    calls: dict[str, RecordedCall] = {}
    for record in read_journal(file).records:
        try:
            if is_call(record):
                calls[record.key] = call_of(record)
            else:
                _check(record)
        except (ValidationError, KeyError) as error:
            hint = "restore the file from a copy"
            what = fault_in(error) if isinstance(error, ValidationError) else f"it lacks {error}"
            raise JournalError(f"is damaged here: {what}", hint=hint, file=file, line=record.line) from None
    return list(calls.values())


def _check(record: Record) -> None:
    if record.kind == "device":
        _check_device(record.result)
    elif record.kind in _RESULTS and record.is_done:
        _RESULTS[record.kind].validate_python(record.result)


def _check_device(result: Mapping[str, Any]) -> None:
    known = {name: result[name] for name in ("device", "sandbox", "note", "given")}
    TypeAdapter(MachineReport).validate_python({**known, "tests": result.get("tests", [])})
