"""Replies that choose configurations: what each brought, and which evaluation is owed to which proposal."""

from __future__ import annotations

import json

import pytest

from tests.dataset.runs import exported, record
from tests.session.fakes import PROBLEM
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind, Timing
from tui_tuner.lab.attribution import Attribution, assigned
from tui_tuner.memory import proposals_in
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Launch
from tui_tuner.session import events
from tui_tuner.strategies.steps import Step, StepState

KERNEL = Candidate(
    source="void f() {}", kernel="f", launch=Launch(problem_size=[64]), tunables={"x": [1, 2, 4, 8], "y": [1, 2]}
)


def evaluation(configuration: Configuration, ms: float | None) -> Evaluation:
    timing = None if ms is None else Timing(median=ms, low=ms * 0.99, high=ms * 1.01, samples=9)
    failure = Failure(kind=FailureKind.COMPILE, message="no") if ms is None else None
    return Evaluation(candidate=KERNEL.id, configuration=configuration, timing=timing, failure=failure)


def finished(x: int, y: int, ms: float | None) -> events.EvaluationFinished:
    return events.EvaluationFinished(number=1, evaluation=evaluation({"x": x, "y": y}, ms))


def asked(call: int, purpose: str, *proposals: Configuration) -> list[events.Event]:
    text = json.dumps({"analysis": "", "configurations": list(proposals)})
    return [
        events.PromptSent(call=call, purpose=purpose, text="?", tokens=1),
        events.ReplyReceived(call=call, text=text),
    ]


def attributed(*stream: events.Event) -> Attribution:
    told = Attribution()
    for event in [events.BaselineMeasured(given=evaluation({"x": 1, "y": 1}, 8.0)), *stream]:
        told.take(event)
    return told


def new_best(x: int, y: int, ms: float) -> list[events.Event]:
    found = evaluation({"x": x, "y": y}, ms)
    comparison = Comparison(ratio=8 / ms, low=8 / ms, high=8 / ms, pairs=9)
    return [
        events.Compared(candidate=KERNEL.id, configuration=found.configuration, comparison=comparison),
        events.IncumbentChanged(candidate=KERNEL, evaluation=found, speedup=(8 / ms, 8 / ms, 8 / ms)),
    ]


def end() -> events.Event:
    return events.SessionFinished(status="finished", reason="done", evaluations=1, model_calls=1)


ROUND_DONE = events.Note(text="round 1 of 5")


def test_each_round_has_its_own_configurations_and_neither_seeds_nor_the_search_behind_it():
    first = asked(1, "first_configurations", {"x": 2, "y": 1}, {"x": 4, "y": 3}, {"x": 1, "y": 1})
    more = asked(2, "more_configurations", {"x": 8, "y": 2})
    told = attributed(
        *first,
        finished(1, 2, 7.0),  # a seed
        finished(2, 1, 4.0),
        finished(4, 2, None),  # the repair of y = 3
        ROUND_DONE,
        *more,
        finished(8, 2, 2.0),
        ROUND_DONE,
        finished(4, 1, 1.0),  # the local search
        end(),
    )
    one, two = (call.outcome(told.steps) for call in told.calls)
    assert [(e.configuration, e.origin, e.ms) for e in one.evaluations] == [
        ({"x": 2, "y": 1}, "reply", 4.0),
        ({"x": 4, "y": 2}, "repair", None),
    ]
    assert one.choices is not None
    assert (one.choices.proposed, one.choices.repeated, one.choices.repaired) == (3, 1, 1)
    assert [(e.configuration, e.ms) for e in two.evaluations] == [({"x": 8, "y": 2}, 2.0)]
    assert [call.score(8.0) for call in told.calls] == [1.0, 2.0]


def test_the_new_best_is_owed_to_the_round_that_chose_it_however_late_it_is_known():
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}),
        finished(2, 1, 4.0),
        ROUND_DONE,
        *asked(2, "more_configurations", {"x": 4, "y": 1}),
        finished(4, 1, 5.0),
        ROUND_DONE,
        *new_best(2, 1, 4.0),
        end(),
    )
    one, two = (call.outcome(told.steps) for call in told.calls)
    assert one.new_best == (2.0, 2.0, 2.0)
    assert len(one.comparisons) == 1
    assert two.new_best is None


def test_the_step_of_a_search_is_not_its_last_rounds():
    step = Step(id=1, title="Tune", state=StepState.ACCEPTED)
    told = attributed(
        events.StepChanged(step=step.now(StepState.RUNNING)),
        *asked(1, "first_configurations", {"x": 2, "y": 1}),
        finished(2, 1, 9.0),
        ROUND_DONE,
        events.StepChanged(step=step),
        end(),
    )
    outcome = told.calls[0].outcome(told.steps)
    assert (outcome.step, outcome.accepted) == (None, False)


def test_the_line_of_the_next_round_is_no_step_that_the_reply_planned():
    line = Step(id=2, title="Round 2", state=StepState.RUNNING)
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}), finished(2, 1, 4.0), events.StepChanged(step=line), end()
    )
    assert told.calls[0].planned == []


def test_the_closing_measurement_is_no_comparison_of_a_reply():
    again = new_best(2, 1, 4.0)[:1]
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}), finished(2, 1, 4.0), *new_best(2, 1, 4.0), *again, end()
    )
    assert len(told.calls[0].outcome({}).comparisons) == 1


def test_a_configuration_that_is_wrong_on_fresh_data_scores_nothing():
    wrong = Comparison(
        ratio=4, low=4, high=4, pairs=0, failure=Failure(kind=FailureKind.WRONG_RESULT, message="y[3] is 0")
    )
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}, {"x": 4, "y": 1}),
        finished(2, 1, 1.0),
        finished(4, 1, 4.0),
        events.Compared(candidate=KERNEL.id, configuration={"x": 2, "y": 1}, comparison=wrong),
        end(),
    )
    outcome = told.calls[0].outcome({})
    assert outcome.best is not None
    assert outcome.best.configuration == {"x": 4, "y": 1}
    assert told.calls[0].score(8.0) == 1.0


def test_what_the_fallback_measures_after_a_refused_reply_is_nobodys():
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}),
        events.ReplyRefused(call=1, problems=["none of the configurations is new and valid"]),
        finished(2, 1, 4.0),
        ROUND_DONE,
        end(),
    )
    outcome = told.calls[0].outcome({})
    assert (outcome.reply, outcome.evaluations, outcome.choices) == ("refused", [], None)


def test_a_warning_before_the_first_evaluation_does_not_end_the_round():
    told = attributed(
        *asked(1, "first_configurations", {"x": 2, "y": 1}),
        events.Note(level="warning", text="2 of 3 proposed configurations were not valid"),
        finished(2, 1, 4.0),
        end(),
    )
    assert told.calls[0].score(8.0) == 1.0


def test_of_a_kernel_that_a_reply_wrote_the_rounds_configurations_count_for_both():
    wrote = events.CandidateProposed(step=1, candidate=KERNEL)
    told = attributed(
        events.PromptSent(call=1, purpose="apply_step", text="?", tokens=1),
        events.ReplyReceived(call=1, text="{}"),
        wrote,
        finished(1, 1, 8.0),
        *asked(2, "first_configurations", {"x": 2, "y": 1}),
        finished(2, 1, 4.0),
        *new_best(2, 1, 4.0),
        end(),
    )
    kernel, choice = (call.outcome(told.steps) for call in told.calls)
    assert [e.origin for e in kernel.evaluations] == ["reply", "search"]
    assert [e.origin for e in choice.evaluations] == ["reply"]
    assert kernel.new_best == choice.new_best == (2.0, 2.0, 2.0)


def choice(*pairs: tuple[int, int]) -> str:
    listed = [{"reason": "", "block_size_x": size, "work_per_thread": work} for size, work in pairs]
    return json.dumps({"analysis": "", "configurations": listed})


@pytest.mark.slow
def test_a_recorded_session_of_rounds_is_told_apart_from_its_seeds_and_repairs(tmp_path):
    sizes = ", ".join(str(size) for size in range(32, 513, 32))
    problem = PROBLEM.replace("[32, 64, 128, 256]", f"[{sizes}]\nwork_per_thread = [1, 2, 4, 8, 16]")
    problem += '\n[search]\nrestrictions = ["block_size_x % 64 == 0 or work_per_thread < 8"]\n'
    first, more = choice((512, 16), (480, 16), (64, 1), (64, 1)), choice((256, 8), (512, 16), (448, 4))
    flat = [choice((64 * number, 4)) for number in range(1, 6)]
    journal = record(tmp_path, first, more, *flat, problem=problem, strategy="llm_search", search="llm")
    one, two, *_ = exported(journal, into=tmp_path / "out.jsonl")
    assert [one["meta"]["purpose"], two["meta"]["purpose"]] == ["first_configurations", "more_configurations"]
    assert one["outcome"]["choices"] == {
        "proposed": 4,
        "as_proposed": 2,
        "repaired": 1,
        "repeated": 1,
        "unmeasured": 0,
    }
    assert [e["origin"] for e in one["outcome"]["evaluations"]] == ["reply", "repair", "reply"]
    assert two["outcome"]["choices"]["repeated"] == 1
    assert one["outcome"]["best"]["configuration"] == {"block_size_x": 512, "work_per_thread": 16}
    assert one["outcome"]["new_best"] is not None
    assert two["outcome"]["new_best"] is None
    assert one["score"] > two["score"] > 0


def one(x: int, y: int, z: int) -> Configuration:
    return {"x": x, "y": y, "z": z}


A, B, C, D = one(1, 1, 1), one(2, 2, 2), one(4, 4, 4), one(8, 8, 8)


def test_what_was_proposed_and_evaluated_is_the_replys():
    found = assigned([A, B], [A, B], [])
    assert found.origins == ["reply", "reply"]
    assert found.choices.model_dump() == {
        "proposed": 2,
        "as_proposed": 2,
        "repaired": 0,
        "repeated": 0,
        "unmeasured": 0,
    }


def test_seeds_before_the_batch_are_nobodys():
    assert assigned([A, B], [C, D, A, B], []).origins == [None, None, "reply", "reply"]


def test_an_invalid_proposal_is_matched_with_the_likeness_in_its_place():
    found = assigned([A, one(2, 2, 99), C], [A, B, C], [])
    assert found.origins == ["reply", "repair", "reply"]
    assert (found.choices.as_proposed, found.choices.repaired) == (2, 1)


def test_a_seed_is_not_taken_for_the_repair_of_a_proposal_that_came_to_nothing():
    found = assigned([A, one(2, 2, 99), C], [one(2, 2, 4), A, C], [])
    assert found.origins == [None, "reply", "reply"]
    assert found.choices.unmeasured == 1


def test_too_unlike_is_no_repair():
    found = assigned([one(2, 77, 99)], [one(2, 4, 8)], [])
    assert found.origins == [None]
    assert found.choices.unmeasured == 1


def test_what_was_known_or_proposed_twice_is_repeated():
    found = assigned([A, B, B], [B], [A])
    assert found.origins == ["reply"]
    assert (found.choices.repeated, found.choices.unmeasured) == (2, 0)


def test_values_in_other_letters_and_left_out_values_are_understood():
    assert assigned([{"x": "1", "y": 1.0, "reason": "small"}], [A], []).origins == ["reply"]
    assert assigned([{"x": 1, "y": None}], [one(1, 5, 5)], []).origins == ["reply"]
    assert assigned([{"reason": "none at all"}], [A], []).origins == [None]


def test_proposals_are_read_out_of_a_reply():
    text = json.dumps({"analysis": "wide", "configurations": [{"reason": "r", **A}, "odd", B]})
    assert proposals_in(f"Here:\n```json\n{text}\n```") == [{"reason": "r", **A}, B]


@pytest.mark.parametrize("text", ["", "no JSON", "[1, 2]", '{"configurations": 3}', '{"other": []}', "{"])
def test_a_reply_that_proposes_nothing_readable_has_no_proposals(text):
    assert proposals_in(text) == []
