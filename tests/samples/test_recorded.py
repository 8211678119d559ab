from __future__ import annotations

import datetime
import json
from contextlib import aclosing
from pathlib import Path

import pytest

from tui_tuner.commands.sessions import replayed_session
from tui_tuner.headless import ApproveAll
from tui_tuner.resources import samples_directory
from tui_tuner.session.events import Event, PromptSent, ReplyReceived, SessionFinished

JOURNALS = sorted(samples_directory().glob("recorded/*/journal.jsonl"))


def test_at_least_one_session_is_recorded() -> None:
    assert JOURNALS


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.parent.name)
def test_the_header_names_the_model_and_the_date(journal: Path) -> None:
    header = json.loads(journal.read_text().partition("\n")[0])
    assert header["model"].partition(":")[2]
    assert datetime.datetime.fromisoformat(header["created"]).year >= 2026


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.parent.name)
async def test_a_recorded_session_is_what_the_program_would_ask_and_measure_today(journal: Path) -> None:
    events: list[Event] = []
    async with aclosing(replayed_session(journal).session.events(ApproveAll())) as stream:
        events = [event async for event in stream]
    last = events[-1]
    assert isinstance(last, SessionFinished)
    # A prompt that differed by a letter would not be found in the journal, and the record would end there.
    assert last.status == "finished", last.reason
    assert last.speedup is not None
    assert last.speedup[1] > 1
    assert sum(isinstance(e, PromptSent) for e in events) == sum(isinstance(e, ReplyReceived) for e in events) >= 1
