"""What is proposed is written as journals have always had it: approvals are found by its hash."""

from __future__ import annotations

import pytest

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.session.events import CandidateProposed, Event
from tui_tuner.strategies.steps import Decision, Proposal, Step
from tui_tuner.subjects import Source
from tui_tuner.tensile.events import (
    BenchmarkFinished,
    BenchmarkOutput,
    BenchmarkStarted,
    ConfigurationText,
    WinnersChanged,
)
from tui_tuner.tensile.outcome import RoundOutcome

TEXTS = [
    "",
    "a: [1, 2]  # one\n",
    'quoted: "\\t"\r\n\tcontrol \x01\x7f, umlauts \u00e4, separators \u2028, emoji \U0001f600\n',
]
STEP = Step(id=2, title="Round 1")
EVENTS_TOLD = [
    BenchmarkStarted(round=1, candidate="a93bcabf1afc", permutations=8, sizes=3, elapsed=1.5),
    BenchmarkFinished(round=1, candidate="a93bcabf1afc", outcome=RoundOutcome(seconds=2.0), elapsed=3.5),
    WinnersChanged(round=1, winners=[], elapsed=3.5),
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_configuration_is_written_and_named_with_the_keys_of_the_journals(text: str) -> None:
    ours = ConfigurationText(source=text, file="gemm.yaml", title="round 1")
    recorded = Candidate(source=text, kernel="gemm.yaml", launch=Launch(), title="round 1")
    assert isinstance(ours, Source)
    assert ours.id == recorded.id
    assert ours.model_dump_json() == recorded.model_dump_json()
    proposals = [Proposal(step=STEP, candidate=source, rationale="why") for source in (ours, recorded)]
    assert proposals[0].model_dump(mode="json") == proposals[1].model_dump(mode="json")
    told = [CandidateProposed(step=2, candidate=source).model_dump_json() for source in (ours, recorded)]
    assert told[0] == told[1]


def test_the_name_is_that_of_the_text_and_not_of_its_title() -> None:
    ours = ConfigurationText(source="a: 1\n", file="gemm.yaml", title="as given")
    assert ours.id == "a93bcabf1afc"
    assert ours.id == ours.model_copy(update={"title": "round 1"}).id
    assert ours.id != ours.model_copy(update={"file": "other.yaml"}).id


def test_what_the_user_edited_is_another_text_of_the_same_file() -> None:
    ours = ConfigurationText(source="a: 1\n", file="gemm.yaml", title="round 1")
    assert Decision(action="approve").applied_to(ours) is ours
    edited = Decision(action="edit", source="a: 2\n").applied_to(ours)
    assert edited == ConfigurationText(source="a: 2\n", file="gemm.yaml", title="round 1, edited")


def test_lines_of_tensile_are_not_among_the_events_that_are_printed_as_json() -> None:
    assert BenchmarkOutput(round=1, text="40%").transient
    assert not CandidateProposed(step=1, candidate=ConfigurationText(source="", file="a.yaml")).transient


def test_what_is_printed_as_json_is_read_again_as_the_event_that_it_is() -> None:
    told = [CandidateProposed(step=1, candidate=ConfigurationText(source="a: 1\n", file="a.yaml")), *EVENTS_TOLD]
    lines = [event.model_dump_json() for event in told]
    again = [Event.model_validate_json(line) for line in lines]
    assert [type(event) for event in again] == [type(event) for event in told]
    assert [event.model_dump_json() for event in again] == lines


def test_a_type_of_nobodys_is_no_event() -> None:
    with pytest.raises(ValueError, match="no event of the type 'other'"):
        Event.model_validate({"type": "other", "elapsed": 1.0})
