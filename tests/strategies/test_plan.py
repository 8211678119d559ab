from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from tests.strategies.branch import (
    DELETED,
    NO,
    NOT_WORTH,
    WORTH,
    YES,
    apply,
    no,
    nonsense,
    one_prompt,
    planned,
    replanned,
    unwanted,
)
from tests.strategies.branches_explicit import TWO, explicit, step, unjudged
from tests.strategies.branches_planning import ONCE, again
from tests.strategies.world import FIXED, Script, Told, User, World, kernel, new_run, played, rewrite, tell_all, worth
from tui_tuner.evaluate.profiling.roofline import Moved, Roofline
from tui_tuner.problem.candidate import baseline
from tui_tuner.prompts import WORDING
from tui_tuner.session.events import Note, PlanOrdered, UserSaid
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, MoveStep, Say
from tui_tuner.session.run_directory import open_run
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.single_step import OnePromptStrategy
from tui_tuner.strategies.steps import StepState

THREE = [planned("one", "two", "three"), NO, NO, NO]
"""Steps 3, 4 and 5, all of them dropped."""


def titles(told: Told) -> list[str]:
    return [told.steps[i].title for i in told.order][2:]


async def changed(directory, *instructions, answers=THREE):
    """A session in which the user gives these instructions while they decide on the plan."""
    return await played(directory, ONCE, answers, instructions={1: instructions}, problem=FIXED)


@pytest.mark.parametrize(("allowed", "told_of"), [(2, True), (1, False)])
async def test_breakdowns_that_are_switched_off_are_told_where_more_are_allowed(tmp_path, allowed, told_of):
    strategy = AutonomousStrategy(validate_steps=True, with_replanning=False, max_breakdowns=allowed)
    told, _ = await played(tmp_path, strategy, [planned("one"), NO], problem=FIXED)
    notes = [event.text for event in told.events if isinstance(event, Note)]
    assert ("max_breakdowns changes nothing: set breakdown_steps too" in notes) == told_of


REACHED = "apply_step", rewrite(kernel(2.0, extra="// share 0.984\n"))


@pytest.mark.parametrize(
    ("limits", "enough", "ends"),
    [
        (Roofline(1.0, 0.1), 0.98, True),
        (Roofline(1.0, 0.1), 0.99, False),
        (Roofline(0.1, 1.0), 0.98, False),
        (None, 0.98, False),
    ],
)
async def test_at_the_roofline_of_its_memory_nothing_more_is_begun_or_planned(
    tmp_path, monkeypatch, limits, enough, ends
):
    monkeypatch.setattr("tui_tuner.strategies.single_step.roofline", lambda *_: limits)
    further = [] if ends else [YES, apply(3), replanned()]
    told, script = await played(
        tmp_path,
        AutonomousStrategy(validate_steps=True, stop_at=enough),
        [planned("one", "two"), YES, REACHED, *further],
        problem=FIXED,
    )
    near = "the best is at 98% of the roofline"
    assert told.step("one").state is StepState.ACCEPTED
    assert told.step("two").state is (StepState.SKIPPED if ends else StepState.ACCEPTED)
    assert (told.step("two").reason == near) == ends
    assert ("nothing further is planned: " + near in [e.text for e in told.events if isinstance(e, Note)]) == ends
    assert script.answers == []


@pytest.mark.parametrize(
    ("limits", "wording", "asks"),
    [((1.0, 0.1), WORDING, False), ((1.0, 0.1), 10, True), ((0.1, 1.0), WORDING, True)],
)
async def test_at_the_roofline_of_its_memory_no_step_of_a_list_is_judged_but_one_that_the_list_insists_on_is_done(
    tmp_path, monkeypatch, limits, wording, asks
):
    monkeypatch.setattr("tui_tuner.strategies.single_step.roofline", lambda *_: Roofline(*limits))
    strategy = explicit(step("one"), step("two"), unjudged("three"))
    run = replace(new_run(tmp_path, strategy, problem=FIXED), wording=wording)
    script = Script([WORTH, REACHED, *[NOT_WORTH] * asks, apply(3)])
    told = await tell_all(Session(run, strategy, World(run.problem), script), User())
    near = "the best is at 98% of the roofline"
    assert told.step("two").reason == ("not worth doing here: done already" if asks else near)
    assert told.step("three").state is StepState.ACCEPTED
    assert script.answers == []


@pytest.mark.parametrize(
    ("share", "wording", "ends"),
    [(0.985, WORDING, True), (1.05, WORDING, True), (1.2, WORDING, False), (0.97, WORDING, False), (0.985, 21, False)],
)
async def test_where_no_work_is_declared_the_plan_ends_when_all_arrays_are_moved_as_fast_as_they_can_be(
    tmp_path, monkeypatch, share, wording, ends
):
    ms = 100 / 2 / (1 + 32 / 2560)  # of what is twice as fast as the kernel as given
    moved = Moved(1 << 20, share * ms, "the measured bandwidth of a copy")
    monkeypatch.setattr("tui_tuner.strategies.single_step.moved_once", lambda *_: moved)
    strategy = AutonomousStrategy(validate_steps=True)
    run = replace(new_run(tmp_path, strategy, problem=FIXED), wording=wording)
    further = [] if ends else [YES, apply(3), replanned()]
    script = Script([planned("one", "two"), YES, apply(2), *further])
    told = await tell_all(Session(run, strategy, World(run.problem), script), User())
    near = f"the best is at {share:.0%} of what moving each array once takes, at the measured bandwidth of a copy"
    assert told.step("one").state is StepState.ACCEPTED
    assert told.step("two").state is (StepState.SKIPPED if ends else StepState.ACCEPTED)
    assert (told.step("two").reason == near) == ends
    assert script.answers == []


async def test_a_plan_is_told_from_which_gain_on_a_kernel_is_kept_and_what_a_step_has(tmp_path):
    strategy = AutonomousStrategy(validate_steps=True, with_replanning=False)
    _, script = await played(tmp_path, strategy, [planned("one"), NO], problem=FIXED)
    prompt = next(request for request in script.requests if request.purpose == "plan").messages[-1].content
    assert "the interval of a speed-up must lie above 1.01" in prompt
    assert "\n  - `title`" in prompt


@pytest.mark.parametrize(
    ("instruction", "order"),
    [
        (MoveStep(step=5, before=3), ["three", "one", "two"]),
        (MoveStep(step=5, before=4), ["one", "three", "two"]),
        (MoveStep(step=3, before=5), ["two", "one", "three"]),
        (MoveStep(step=4, before=4), ["one", "two", "three"]),
        (MoveStep(step=3), ["two", "three", "one"]),
        (MoveStep(step=3, before=99), ["two", "three", "one"]),
        (MoveStep(step=5), ["one", "two", "three"]),
        (DeleteStep(step=4), ["one", "two", "three"]),
    ],
)
async def test_the_plan_has_the_order_that_the_user_gives_it(tmp_path, instruction, order):
    deleted = isinstance(instruction, DeleteStep)
    told, script = await changed(tmp_path, instruction, answers=THREE[: 3 if deleted else 4])
    assert titles(told) == order
    judged = [script.prompt(number).partition('<step title="')[2].partition('"')[0] for number in (2, 3)]
    assert judged == ([title for title in order if title != "two"] if deleted else order[:2])


@pytest.mark.parametrize(
    ("before", "order"),
    [
        (None, ["one", "two", "three", "mine"]),
        (3, ["mine", "one", "two", "three"]),
        (5, ["one", "two", "mine", "three"]),
        (99, ["one", "two", "three", "mine"]),
    ],
)
async def test_a_step_of_the_users_own_goes_where_they_put_it_and_is_marked_as_theirs(tmp_path, before, order):
    answers = {
        order.index("mine"): apply(),
        **{i: NO for i in range(4) if order[i] != "mine"},
    }
    told, _ = await changed(
        tmp_path, AddStep(title="mine", before=before), answers=[THREE[0], *(answers[i] for i in range(4))]
    )
    assert titles(told) == order
    assert [step.title for step in told.steps.values() if step.by_user] == ["mine"]


@pytest.mark.parametrize("from_the_baseline", [True, False])
async def test_a_step_of_the_users_own_starts_from_the_kernel_that_they_name(tmp_path, from_the_baseline):
    run = new_run(tmp_path / "given", ONCE, problem=FIXED)
    run.journal.close()
    given = baseline(run.problem).id
    mine = AddStep(title="mine", base=given if from_the_baseline else "")
    answers = [planned("one"), YES, apply(2.0), apply(3.0)]
    told, script = await played(tmp_path, ONCE, answers, instructions={1: [mine]}, problem=FIXED)

    assert told.best_speed == 3.0
    assert ("// speed 2.0" in script.prompt(4).partition("<kernel")[2].partition("</kernel>")[0]) != from_the_baseline


async def test_several_changes_take_effect_in_the_order_in_which_they_are_given(tmp_path):
    told, _ = await changed(
        tmp_path,
        AddStep(title="mine", before=3),
        EditStep(step=6, title="ours", detail=""),
        MoveStep(step=6),
        DeleteStep(step=6),
        DeleteStep(step=3),
        EditStep(step=3, title="too late", detail=""),
        answers=THREE[:3],
    )
    assert told.plan()[2:] == [
        f"one: {DELETED}",
        "two: skipped (no tuning step: profiling)",
        "three: skipped (no tuning step: profiling)",
        f"ours: {DELETED}",
    ]


@pytest.mark.parametrize("step", [0, 1, 2, 99])
@pytest.mark.parametrize("change", [DeleteStep, MoveStep, lambda step: EditStep(step=step, title="x", detail="y")])
async def test_a_step_that_is_not_to_come_stays_as_it_is_and_the_user_is_told(tmp_path, change, step):
    told, _ = await changed(tmp_path, change(step=step))
    assert titles(told) == ["one", "two", "three"]
    notes = [event.text for event in told.events if isinstance(event, Note)]
    assert f"step {step} is no longer to come: it stays as it is" in notes
    assert not [event for event in told.events if isinstance(event, PlanOrdered)]


@pytest.mark.parametrize(
    ("kind", "given"), [(AddStep, {"detail": "Do as I say."}), (EditStep, {"step": 3, "detail": "Do as I say."})]
)
def test_a_step_without_a_title_is_no_instruction_that_a_session_could_be_given(kind, given):
    assert kind(title="x", **given).detail == "Do as I say."
    with pytest.raises(ValidationError, match=r"title\n.*at least 1 character"):
        kind(title="", **given)


async def test_steps_that_are_added_during_a_plan_that_is_not_wanted_are_done_all_the_same(tmp_path):
    answers = [planned("one"), planned("two"), apply(), NO]
    instructions = {1: [AddStep(title="mine")]}
    told, _ = await played(tmp_path, ONCE, answers, [no("no")], instructions, problem=FIXED)
    assert told.plan()[2:] == [
        f"one: {unwanted('no')}",
        "mine: accepted",
        "two: skipped (no tuning step: profiling)",
    ]


async def test_what_is_told_while_the_model_plans_comes_before_the_steps_of_its_plan(tmp_path):
    answers = [planned("one"), apply(), NO]
    told, _ = await played(tmp_path, ONCE, answers, while_asked={1: [AddStep(title="mine")]}, problem=FIXED)
    assert told.plan()[2:] == ["mine: accepted", "one: skipped (no tuning step: profiling)"]
    assert [told.step(title).id for title in ("mine", "one")] == [3, 4]


async def test_a_step_that_is_changed_while_it_is_judged_with_one_before_it_is_asked_about(tmp_path):
    judged = "worth_step", worth(False, "no", two="no")
    changed = {1: [EditStep(step=3, title="better", detail="Do it well.")]}
    told, script = await played(tmp_path, TWO, [judged, WORTH, apply()], while_asked=changed, problem=FIXED)
    assert told.plan()[1:] == ["one: skipped (not worth doing here: no)", "better: accepted"]
    assert "Do two." in script.prompt(1)
    assert "Do it well." in script.prompt(2)


async def test_all_words_of_the_user_stand_in_every_later_prompt_in_their_order_and_in_no_earlier_one(tmp_path):
    answers = [planned("one"), YES, nonsense("apply_step"), apply(fail="crash"), apply(0.5), replanned("two"), NO]
    told, script = await played(
        tmp_path,
        again(1),
        answers,
        instructions={1: [Say(text="first"), Say(text="second")]},
        while_asked={2: [Say(text="third")]},
        problem=FIXED,
    )
    heads = {1: "", 2: "first\n\nsecond", **dict.fromkeys(range(3, 8), "first\n\nsecond\n\nthird")}
    for number, words in heads.items():
        prompt = script.prompt(number)
        assert (f"<programmer>\n{words}\n</programmer>" in prompt) == bool(words)
        assert ("third" in prompt) == (number > 2)
    assert [event.text for event in told.events if isinstance(event, UserSaid)] == ["first", "second", "third"]


async def test_the_words_of_the_user_stand_once_in_a_prompt(tmp_path):
    answers = [planned("one"), YES, apply(fail="crash"), apply(fail="crash"), apply()]
    _, script = await played(tmp_path, ONCE, answers, instructions={1: [Say(text="mind the registers")]}, problem=FIXED)
    assert [script.prompt(number).count("mind the registers") for number in range(1, 6)] == [0, 1, 1, 1, 1]


async def test_words_that_come_while_the_model_answers_stand_in_the_prompt_that_puts_its_reply_back(tmp_path):
    answers = [nonsense("one_prompt"), one_prompt()]
    said = {1: [Say(text="mind the registers")]}
    _, script = await played(tmp_path, OnePromptStrategy(), answers, while_asked=said, problem=FIXED)
    assert "mind the registers" in script.prompt(2)


async def test_a_step_that_is_given_up_after_a_kernel_that_was_not_faster_keeps_its_factor(tmp_path):
    answers = [one_prompt(0.9), nonsense("one_prompt"), nonsense("one_prompt")]
    told, _ = await played(tmp_path, OnePromptStrategy(), answers, problem=FIXED)
    assert told.step("Rewrite the kernel").factor == pytest.approx((0.9, 0.8955, 0.9045))


async def test_the_next_plan_is_made_knowing_which_steps_the_user_deleted(tmp_path):
    answers = [planned("one", "two"), NO, replanned()]
    instructions = {1: [DeleteStep(step=4)]}
    _, script = await played(
        tmp_path, AutonomousStrategy(validate_steps=True), answers, [], instructions, problem=FIXED
    )
    assert '<step id="4" title="two">\nskipped: deleted by hand\n</step>' in script.prompt(3)
    assert script.prompt(3).count("deleted by hand") == 1


async def test_nobody_can_tell_a_replay_anything(tmp_path):
    run = new_run(tmp_path, OnePromptStrategy(), problem=FIXED)
    run.journal.close()
    replay = Session(open_run(run.path, resume=False), OnePromptStrategy(), None, None)
    assert not replay.tell(Say(text="first"))
    told = await tell_all(replay)
    assert not [event for event in told.events if isinstance(event, UserSaid)]
