"""The recorded Tensile session, replayed with neither Tensile nor model, against the table that stood for the GPU."""

from __future__ import annotations

import csv
import gzip
import json
from contextlib import aclosing
from pathlib import Path

import pytest
import yaml

from tui_tuner.headless import ApproveAll
from tui_tuner.resources import samples_directory
from tui_tuner.session.events import CandidateProposed, Event, PromptSent, SessionFinished
from tui_tuner.tensile.document import ParameterValue
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.events import BenchmarkFinished, WinnersChanged
from tui_tuner.tensile.outcome import RunFailureKind
from tui_tuner.tensile.sessions import replayed_tensile_session

SAMPLE = samples_directory() / "tensile"
JOURNAL = SAMPLE / "recorded" / "journal.jsonl"
TABLE = Path(__file__).parents[1] / "tensile" / "stand_in" / "measured.csv.gz"
VARIED = ("MatrixInstruction", "DepthU", "GlobalSplitU", "PrefetchGlobalRead", "WorkGroupMapping")


async def replayed() -> list[Event]:
    async with aclosing(replayed_tensile_session(JOURNAL.parent).session.events(ApproveAll())) as stream:
        return [event async for event in stream]


def fastest() -> dict[tuple[int, ...], dict[str, object]]:
    """The best of the whole grid at each size, with the grid's size beside it."""
    best: dict[tuple[int, ...], dict[str, object]] = {}
    with gzip.open(TABLE, "rt", newline="") as stream:
        for row in csv.DictReader(stream):
            size, speed = tuple(int(row[name]) for name in "MNK"), float(row["gflops"] or -1)
            if size not in best or speed > float(str(best[size]["gflops"])):
                best[size] = {**{name: yaml.safe_load(row[name]) for name in VARIED}, "gflops": speed}
    return best


def constants(events: list[Event], number: int) -> dict[str, ParameterValue]:
    """What the configuration of a round held."""
    sources = {e.candidate.title: e.candidate.source for e in events if isinstance(e, CandidateProposed)}
    return parse_configuration(sources[f"round {number}"], SAMPLE / "gemm.yaml").size_groups[0].constants


def grid() -> int:
    with gzip.open(TABLE, "rt", newline="") as stream:
        return len({tuple(row[name] for name in VARIED) for row in csv.DictReader(stream)})


@pytest.mark.slow
async def test_the_recorded_session_found_the_best_of_every_size_with_less_than_half_of_the_grid() -> None:
    events = await replayed()
    winners = [event for event in events if isinstance(event, WinnersChanged)][-1].winners
    journal = [json.loads(line) for line in JOURNAL.read_text("utf-8").splitlines()]
    for (m, n, k), best in fastest().items():
        winner = next(one for one in winners if one.size == [m, n, 1, k])
        held = {**constants(events, winner.round), **winner.values}
        assert {name: held[name] for name in VARIED} == {name: best[name] for name in VARIED}
        assert winner.gflops == pytest.approx(float(str(best["gflops"])), rel=0.03)  # the stand-in adds noise
    finished = events[-1]
    assert isinstance(finished, SessionFinished)
    assert finished.status == "finished"
    assert finished.evaluations < grid() / 2
    assert finished.evaluations == sum(e.outcome.permutations for e in events if isinstance(e, BenchmarkFinished))
    assert sum(record["kind"] == "ask" for record in journal[1:]) == finished.model_calls == 3


async def test_the_run_that_tensile_refused_cost_its_round_and_nothing_else() -> None:
    ended = [event for event in await replayed() if isinstance(event, BenchmarkFinished)]
    failed = [event for event in ended if event.outcome.failure is not None]
    assert [event.outcome.failure.kind for event in failed if event.outcome.failure] == [RunFailureKind.REFUSED]
    assert "PrefetchGlobalRead = 3" in str(failed[0].outcome.failure)
    assert ended[ended.index(failed[0]) + 1].outcome.failure is None


async def test_prompts_are_those_that_were_answered() -> None:
    sent = [event.text for event in await replayed() if isinstance(event, PromptSent)]
    asked = [json.loads(line) for line in JOURNAL.read_text("utf-8").splitlines()[1:]]
    recorded = [record["content"]["messages"][-1]["content"] for record in asked if record["kind"] == "ask"]
    assert len(sent) == len(recorded)
    assert all(words in text for words, text in zip(recorded, sent, strict=True))


def test_the_header_names_what_answered_and_the_configuration_is_the_one_that_is_shipped() -> None:
    header = json.loads(JOURNAL.read_text("utf-8").splitlines()[0])
    assert "Claude" in header["model"]
    assert header["text"] == (SAMPLE / "gemm.yaml").read_text("utf-8")
