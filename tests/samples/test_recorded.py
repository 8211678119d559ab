"""Every recorded session that is shipped, replayed with neither device nor model."""

from __future__ import annotations

import datetime
import json
import re
from collections import defaultdict
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tomli

from tui_tuner.app.sessions import replayed_session
from tui_tuner.headless import ApproveAll
from tui_tuner.llm.replay import read_replies
from tui_tuner.resources import samples_directory
from tui_tuner.session.events import EvaluationFinished, Event, PromptSent, SessionFinished

JOURNALS = sorted(samples_directory().glob("recorded/*/journal.jsonl"))
LEAST_KERNELS = {"autonomous": 3, "explicit": 3, "one_prompt": 1}
each_journal = pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.parent.name)


@cache
def lines(journal: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.read_text("utf-8").splitlines()]


def header(journal: Path) -> dict[str, Any]:
    return lines(journal)[0]


def recorded(journal: Path, kind: str) -> list[dict[str, Any]]:
    return [record for record in lines(journal)[1:] if record["kind"] == kind]


def kernel(journal: Path) -> str:
    return str(table(journal)["name"])


def table(journal: Path) -> dict[str, Any]:
    """What the problem says of its kernel."""
    return dict(tomli.loads(header(journal)["problem"])["kernel"])


async def replayed(journal: Path) -> list[Event]:
    async with aclosing(replayed_session(journal).session.events(ApproveAll())) as stream:
        return [event async for event in stream]


def test_each_strategy_that_asks_a_model_is_recorded_with_several_kernels() -> None:
    kernels = defaultdict(set)
    for journal in JOURNALS:
        kernels[header(journal)["options"]["strategy"]].add(kernel(journal))

    for strategy, least in LEAST_KERNELS.items():
        assert len(kernels[strategy]) >= least, strategy


@each_journal
def test_a_recording_is_called_after_its_strategy_and_its_kernel(journal: Path) -> None:
    assert journal.parent.name.startswith(f"{header(journal)['options']['strategy']}-{kernel(journal)}")


@each_journal
def test_the_header_names_the_model_and_the_date(journal: Path) -> None:
    provider, _, model = header(journal)["model"].partition(":")
    assert provider
    assert model
    assert not re.search(r"\.(sh|py)$", model), "a script is no model"
    assert datetime.datetime.fromisoformat(header(journal)["created"]).year >= 2026


@each_journal
def test_the_header_holds_no_absolute_path_and_leads_to_the_sample(journal: Path) -> None:
    for name, value in header(journal).items():
        if name not in ("source", "problem"):
            assert not re.search(r"(?<![\w.)])/\w", json.dumps(value)), f"{name}: {value}"
    file = journal.parent / header(journal)["problem_file"]
    if table(journal).get("language") == "python":  # which needs no problem file
        assert file.with_name(table(journal)["source"]).is_file()
    else:
        assert file.samefile(samples_directory() / f"{kernel(journal)}.toml")


@each_journal
async def test_a_recorded_session_ends_as_it_was_recorded(journal: Path) -> None:
    events = await replayed(journal)
    last = events[-1]

    assert isinstance(last, SessionFinished)
    # A prompt that differed by a letter would not be found in the journal, and the record would end there.
    assert last.status == "finished", last.reason
    assert last.speedup is not None
    assert last.speedup[1] > 1
    calls = [record for record in recorded(journal, "ask") if "stopped" not in record["result"]]
    assert last.model_calls == len(calls) >= 1
    assert last.evaluations == len(recorded(journal, "evaluate"))
    assert sum(isinstance(event, EvaluationFinished) for event in events) == last.evaluations


@each_journal
async def test_the_program_asks_today_what_it_asked_then(journal: Path) -> None:
    sent = [(event.purpose, event.text) for event in await replayed(journal) if isinstance(event, PromptSent)]

    assert sent == [
        (content["purpose"], "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in content["messages"]))
        for content in (r["content"] for r in recorded(journal, "ask") if "stopped" not in r["result"])
    ]


@each_journal
def test_a_recording_can_stand_in_for_the_model(journal: Path) -> None:
    answered = [record for record in recorded(journal, "ask") if "text" in record["result"]]

    assert len(read_replies(journal)) == len(answered) >= 1
