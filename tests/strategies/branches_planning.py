"""Every way through the plans of the strategy `autonomous`: planning, validation, breaking down, planning again."""

from __future__ import annotations

from tests.strategies.branch import (
    APPROVE,
    DELETED,
    GONE,
    KEPT,
    NEVER,
    NO,
    NO_JSON,
    NOT_FASTER,
    NOT_REACHED,
    SKIP,
    TIME_IS_UP,
    UNTOLD,
    UNWANTED,
    YES,
    Branch,
    apply,
    no,
    nonsense,
    parts,
    planned,
    replanned,
    silence,
    unwanted,
)
from tests.strategies.world import kernel, rewrite, valid
from tui_tuner.session.plan import AddStep, DeleteStep
from tui_tuner.strategies.autonomous import AutonomousStrategy

ONCE = AutonomousStrategy(validate_steps=True, with_replanning=False)
"""The default but for planning again, so that the rows are short."""
PLAN, AGAIN = "Make a plan", "Plan again"
PLANNED, REPLANNED = f"{PLAN}: done", f"{AGAIN}: done"
NO_STEP = "skipped (no tuning step: profiling)"
NOTHING_LEFT = f"{AGAIN}: done (nothing left to try: The idea.)"
NO_CALLS = "the {} model calls allowed are made"
EMPTY = "steps: a first plan needs at least one step"

FIRST_PLANS = [
    Branch(
        "a plan of two steps, both accepted", ONCE,
        [planned("one", "two"), YES, apply(2), YES, apply(3)], [PLANNED, "one: accepted", "two: accepted"],
        best=3, calls=5,
        passes={PLAN: "proposed > running > awaiting you > done",
                "one": "proposed > validated > running > awaiting you > running > accepted"},
        says={4: ["Do two.", "speed 2", 'title="one"', "accepted 2x"]},
    ),
    Branch(
        "a plan that cannot be read, then a good one", ONCE,
        [nonsense("plan"), planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=[NO_JSON],
    ),
    Branch(
        "plans that cannot be read", AutonomousStrategy(validate_steps=True),
        [nonsense("plan")] * 3, [f"{PLAN}: rejected ({NEVER})"],
        best=1, calls=3, refused=[NO_JSON] * 3,
    ),
    Branch(
        "an empty first plan, then a good one", ONCE,
        [planned(), planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=[EMPTY], says={2: [EMPTY]},
    ),
    Branch(
        "empty first plans", ONCE,
        [planned()] * 3, [f"{PLAN}: rejected (no usable reply in 3 calls: {EMPTY})"],
        best=1, calls=3, refused=[EMPTY] * 3,
    ),
    Branch(
        "a plan of too many steps, then a good one", ONCE,
        [planned(*"abcdefg"), planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=["steps: at most 6, there are 7"],
    ),
    Branch(
        "a first plan that builds on a step, then a good one", ONCE,
        [planned("one<3"), planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=["steps: step 1 builds on 3, which has no right kernel; 0 or there is none yet"],
    ),
    Branch(
        "a step without a title, then a good plan", ONCE,
        [planned("one", " "), planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=["steps: step 2 needs a title and a description"],
    ),
    Branch(
        "the planner cannot be reached", AutonomousStrategy(validate_steps=True),
        [silence("plan")], [f"{PLAN}: rejected ({NOT_REACHED})"],
        best=1, calls=1,
    ),
    Branch(
        "no plan, but the user has a step of their own", AutonomousStrategy(validate_steps=True),
        [nonsense("plan"), nonsense("plan"), planned("one"), apply()],
        [f"{PLAN}: {UNWANTED}", f"one: {UNWANTED}", "mine: accepted"],
        decisions=[no()], instructions={1: [AddStep(title="mine")]},
        best=2, calls=4, refused=[NO_JSON] * 2,
    ),
]  # fmt: skip

USERS_OF_PLANS = [
    Branch(
        "the user rejects a plan with words, and takes the next", ONCE,
        [planned("one"), planned("two"), YES, apply()],
        [PLANNED, f"one: {unwanted('shared memory first')}", "two: accepted"],
        decisions=[no("shared memory first")], best=2, calls=4,
        says={2: ["did not want your plans", "shared memory first"]},
        keeps_silent={1: ["did not want"], 2: ["deleted by hand"], 3: ["deleted by hand"]},
        passes={PLAN: "proposed > running > awaiting you > running > awaiting you > done",
                "one": "proposed > skipped"},
    ),
    Branch(
        "the user rejects two plans with words: the third prompt holds both", ONCE,
        [planned("one"), planned("two"), planned("three"), YES, apply()],
        [PLANNED, f"one: {unwanted('not that')}", f"two: {unwanted('nor that')}", "three: accepted"],
        decisions=[no("not that"), no("nor that")], best=2, calls=5, says={3: ["not that\nnor that"]},
    ),
    Branch(
        "the user rejects every plan with words", AutonomousStrategy(validate_steps=True),
        [planned("one"), planned("two"), planned("three")],
        [f"{PLAN}: {UNWANTED}", *(f"{title}: {unwanted('no')}" for title in ("one", "two", "three"))],
        decisions=[no("no")] * 3, best=1, calls=3,
    ),
    Branch(
        "the user rejects the plan without words", AutonomousStrategy(validate_steps=True),
        [planned("one")], [f"{PLAN}: {UNWANTED}", f"one: {UNWANTED}"], decisions=[no()], best=1, calls=1,
    ),
    Branch(
        "the user skips the plan", AutonomousStrategy(validate_steps=True),
        [planned("one")], [f"{PLAN}: {UNWANTED}", f"one: {UNWANTED}"], decisions=[SKIP], best=1, calls=1,
    ),
    Branch(
        "the user rejects a plan with words, and there is no other", AutonomousStrategy(validate_steps=True),
        [planned("one"), *[nonsense("plan")] * 3],
        [f"{PLAN}: rejected ({NEVER})", f"one: {unwanted('not that')}"],
        decisions=[no("not that")], best=1, calls=4, refused=[NO_JSON] * 3,
    ),
    Branch(
        "the user deletes a step of a plan and then rejects it: the step was deleted", ONCE,
        [planned("one", "two"), planned("three"), YES, apply()],
        [PLANNED, f"one: {unwanted('not that')}", f"two: {DELETED}", "three: accepted"],
        decisions=[no("not that")], instructions={1: [DeleteStep(step=4)]}, best=2, calls=4,
    ),
    Branch(
        "the user deletes all of a plan: a first plan is asked for again",
        AutonomousStrategy(validate_steps=True, max_replanning=1),
        [planned("one"), planned("two"), YES, apply()],
        [PLANNED, f"one: {DELETED}", REPLANNED, "two: accepted"],
        instructions={1: [DeleteStep(step=3)]}, best=2, calls=4,
        says={2: ['title="one"', "skipped: deleted by hand"]},
    ),
]  # fmt: skip

VALIDATIONS = [
    Branch(
        "a step that is no tuning step is dropped, the next is done", ONCE,
        [planned("one", "two"), NO, YES, apply()], [PLANNED, f"one: {NO_STEP}", "two: accepted"],
        best=2, calls=4, says={3: ["skipped: no tuning step: profiling"]},
    ),
    Branch(
        "a judgement that cannot be read, then a yes", ONCE,
        [planned("one"), nonsense("validate_step"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=[NO_JSON],
    ),
    Branch(
        "judgements that cannot be read cost the step alone", ONCE,
        [planned("one", "two"), *[nonsense("validate_step")] * 3, YES, apply()],
        [PLANNED, f"one: rejected (could not be validated: {NEVER})", "two: accepted"],
        best=2, calls=6, refused=[NO_JSON] * 3, says={5: [UNTOLD]}, keeps_silent={5: [NO_JSON]},
    ),
    Branch(
        "the judge cannot be reached once: it costs the step alone", ONCE,
        [planned("one", "two"), silence("validate_step"), YES, apply()],
        [PLANNED, f"one: rejected (could not be validated: {NOT_REACHED})", "two: accepted"],
        best=2, calls=4, says={3: [UNTOLD], 4: [UNTOLD]},
        keeps_silent={3: ["connection refused"], 4: ["connection refused"]},
    ),
    Branch(
        "the judge cannot be reached twice in a row: the model is gone", ONCE,
        [planned("one", "two"), silence("validate_step"), silence("validate_step")],
        [PLANNED, f"one: rejected (could not be validated: {NOT_REACHED})", "two: proposed"],
        best=1, calls=3, reason=GONE,
    ),
    Branch(
        "the model cannot be reached twice, with an answer between: it is not gone", ONCE,
        [planned("one", "two", "three"), silence("validate_step"), YES, silence("apply_step"), YES, apply()],
        [PLANNED, f"one: rejected (could not be validated: {NOT_REACHED})", f"two: rejected ({NOT_REACHED})",
         "three: accepted"],
        best=2, calls=6,
    ),
    Branch(
        "a step that builds on a kept kernel is judged on that kernel", ONCE,
        [planned("!one", "two"), YES, apply(0.9), YES, apply(3)],
        [PLANNED, f"one: neutral ({KEPT})", "two: accepted"],
        best=3, calls=5, says={4: ["speed 0.9"], 5: ["speed 0.9"]},
    ),
]  # fmt: skip

BROKEN = "broken down (It fits.)"
WITH_PARTS = AutonomousStrategy(validate_steps=True, with_replanning=False, breakdown_steps=True)
ONE_PART = "steps: none, or 2 to 6 parts, there is 1"


def allowing(breakdowns: int) -> AutonomousStrategy:
    return AutonomousStrategy(
        validate_steps=True, with_replanning=False, breakdown_steps=True, max_breakdowns=breakdowns
    )


BREAKDOWNS = [
    Branch(
        "a step needs no parts", WITH_PARTS,
        [planned("one"), parts(), apply()], [PLANNED, "one: accepted"],
        best=2, calls=3,
    ),
    Branch(
        "parts come before the next step and are judged again", WITH_PARTS,
        [planned("one", "two"), parts("a", "b"), YES, apply(2), NO, parts(), apply(3)],
        [PLANNED, f"one: {BROKEN}", "a: accepted", f"b: {NO_STEP}", "two: accepted"],
        best=3, calls=7, passes={"one": "proposed > broken down", "a": "proposed > validated > running > awaiting you "
                                 "> running > accepted"},
    ),
    Branch(
        "the parts but the last are enabling: the next one begins with their kernel", WITH_PARTS,
        [planned("one"), parts("a", "b"), YES, apply(0.9), YES, apply(0.8)],
        [PLANNED, f"one: {BROKEN}", f"a: neutral ({KEPT})", f"b: rejected ({NOT_FASTER})"],
        best=1, calls=6, says={6: ["speed 0.9"]},
    ),
    Branch(
        "the last part of an enabling step is enabling", WITH_PARTS,
        [planned("!one"), parts("a", "b"), YES, apply(0.9), YES, apply(0.8)],
        [PLANNED, f"one: {BROKEN}", f"a: neutral ({KEPT})", f"b: neutral ({KEPT})"],
        best=1, calls=6,
    ),
    Branch(
        "one part is none", WITH_PARTS,
        [planned("one"), parts("a"), parts(), apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=[ONE_PART], says={3: [ONE_PART]},
    ),
    Branch(
        "too many parts", WITH_PARTS,
        [planned("one"), parts(*"abcdefg"), parts(), apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=["steps: none, or 2 to 6 parts, there is 7"],
    ),
    Branch(
        "a part without a title", WITH_PARTS,
        [planned("one"), parts("a", ""), parts(), apply()], [PLANNED, "one: accepted"],
        best=2, calls=4, refused=["steps: each part needs a title and a description"],
    ),
    Branch(
        "a step that is no tuning step has no parts", WITH_PARTS,
        [planned("one"), ("break_down", valid(False, "profiling", parts=["a", "b"]))], [PLANNED, f"one: {NO_STEP}"],
        best=1, calls=2,
    ),
    Branch(
        "answers that cannot be read cost the step alone", WITH_PARTS,
        [planned("one", "two"), *[nonsense("break_down")] * 3, parts(), apply()],
        [PLANNED, f"one: rejected (could not be validated: {NEVER})", "two: accepted"],
        best=2, calls=6, refused=[NO_JSON] * 3,
    ),
    Branch(
        "the model cannot be reached for the parts", WITH_PARTS,
        [planned("one", "two"), silence("break_down"), parts(), apply()],
        [PLANNED, f"one: rejected (could not be validated: {NOT_REACHED})", "two: accepted"],
        best=2, calls=4, says={3: [UNTOLD]}, keeps_silent={3: ["connection refused"]},
    ),
    Branch(
        "max_breakdowns=0: nothing is broken down", allowing(0),
        [planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=3,
    ),
    Branch(
        "max_breakdowns=1: parts are not broken down", allowing(1),
        [planned("one"), parts("a", "b"), YES, apply(2), YES, apply(3)],
        [PLANNED, f"one: {BROKEN}", "a: accepted", "b: accepted"],
        best=3, calls=6,
    ),
    Branch(
        "max_breakdowns=2: parts are broken down, their parts are not", allowing(2),
        [planned("one"), parts("a", "b"), parts("c", "d"), YES, apply(2), YES, apply(3), parts(), apply(4)],
        [PLANNED, f"one: {BROKEN}", f"a: {BROKEN}", "c: accepted", "d: accepted", "b: accepted"],
        best=4, calls=9,
    ),
    Branch(
        "breakdown_steps=False: nothing is broken down",
        AutonomousStrategy(validate_steps=True, with_replanning=False, max_breakdowns=2),
        [planned("one"), YES, apply()], [PLANNED, "one: accepted"],
        best=2, calls=3,
    ),
]  # fmt: skip


def again(most: int) -> AutonomousStrategy:
    return AutonomousStrategy(validate_steps=True, max_replanning=most)


REPLANS = [
    *(
        Branch(
            f"max_replanning={most}: so many further plans", again(most),
            [planned("one"), YES, apply(2), *[replanned("more"), NO] * most],
            [PLANNED, "one: accepted", *[REPLANNED, f"more: {NO_STEP}"] * most],
            best=2, calls=3 + 2 * most,
        )
        for most in range(4)
    ),
    Branch(
        "with_replanning=False: no further plan", ONCE,
        [planned("one"), YES, apply()], [PLANNED, "one: accepted"], best=2, calls=3,
    ),
    Branch(
        "the model has no further steps", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply(), replanned()], [PLANNED, "one: accepted", NOTHING_LEFT],
        best=2, calls=4, says={4: ['title="one"', "accepted 2x", "its best: block_size_x=32: 49.38 ms"]},
    ),
    Branch(
        "the next plan is made knowing why each step failed", again(1),
        [planned("one", "two", "three"), YES, *[apply(fail="wrong result")] * 3, NO, YES, apply(0.9), replanned()],
        [PLANNED, "one: rejected (wrong result: told by wrong result)", f"two: {NO_STEP}",
         f"three: rejected ({NOT_FASTER})", NOTHING_LEFT],
        best=1, calls=9,
        says={9: ["rejected: wrong result: told by wrong result", "skipped: no tuning step: profiling",
                  "rejected 0.9x [0.895, 0.904] over the best before: not faster",
                  "its kernel is right and can be built on (builds_on 5)"]},
    ),
    Branch(
        "a further plan that cannot be read, then a good one", again(1),
        [planned("one"), NO, nonsense("replan"), replanned("two"), YES, apply()],
        [PLANNED, f"one: {NO_STEP}", REPLANNED, "two: accepted"],
        best=2, calls=6, refused=[NO_JSON],
    ),
    Branch(
        "further plans that cannot be read end the strategy", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply(), *[nonsense("replan")] * 3],
        [PLANNED, "one: accepted", f"{AGAIN}: rejected ({NEVER})"],
        best=2, calls=6, refused=[NO_JSON] * 3,
    ),
    Branch(
        "a further plan that builds on a wrong kernel, then a good one", again(1),
        [planned("one"), YES, *[apply(fail="crash")] * 3, replanned("two<3"), replanned("two"), YES, apply()],
        [PLANNED, "one: rejected (crash: told by crash)", REPLANNED, "two: accepted"],
        best=2, calls=9, refused=["steps: step 1 builds on 3, which has no right kernel; 0 or there is none yet"],
    ),
    Branch(
        "the model cannot be reached for a further plan", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply(), silence("replan")],
        [PLANNED, "one: accepted", f"{AGAIN}: rejected ({NOT_REACHED})"],
        best=2, calls=4,
    ),
    Branch(
        "the user rejects the further plan", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply(), replanned("two")],
        [PLANNED, "one: accepted", f"{AGAIN}: {UNWANTED}", f"two: {UNWANTED}"],
        decisions=[APPROVE, APPROVE, no()], best=2, calls=4,
    ),
    Branch(
        "the user rejects the further plan with words, and takes the next", again(1),
        [planned("one"), NO, replanned("two"), replanned("three"), NO],
        [PLANNED, f"one: {NO_STEP}", REPLANNED, f"two: {unwanted('too slow')}", f"three: {NO_STEP}"],
        decisions=[APPROVE, no("too slow")], best=1, calls=5, says={4: ["too slow"]},
        keeps_silent={4: ["deleted by hand"]},
    ),
]  # fmt: skip

TUNABLE = ("apply_step", rewrite(kernel(2, tunables="matters"), [("matters", [1, 2, 4, 8, 16, 32, 64, 128], 1)]))
BUDGETS = [
    Branch(
        "no call is allowed", AutonomousStrategy(validate_steps=True),
        [], [f"{PLAN}: skipped ({NO_CALLS.format(0)})"], options={"max_calls": 0},
        best=1, calls=0, reason=NO_CALLS.format(0),
    ),
    Branch(
        "the calls end before the plan is asked for again", AutonomousStrategy(validate_steps=True),
        [planned("one")],
        [f"{PLAN}: skipped ({NO_CALLS.format(1)})", f"one: {unwanted('not that')}"], options={"max_calls": 1},
        decisions=[no("not that")], best=1, calls=1, reason=NO_CALLS.format(1),
    ),
    Branch(
        "the calls end before a step is judged", ONCE,
        [planned("one")], [PLANNED, "one: proposed"], options={"max_calls": 1},
        best=1, calls=1, reason=NO_CALLS.format(1),
    ),
    Branch(
        "the calls end before a step is broken down", WITH_PARTS,
        [planned("one")], [PLANNED, "one: proposed"], options={"max_calls": 1},
        best=1, calls=1, reason=NO_CALLS.format(1),
    ),
    Branch(
        "the calls end before a step is carried out", ONCE,
        [planned("one"), YES], [PLANNED, f"one: skipped ({NO_CALLS.format(2)})"], options={"max_calls": 2},
        best=1, calls=2, reason=NO_CALLS.format(2),
    ),
    Branch(
        "the calls end before a failed step is tried again", ONCE,
        [planned("one"), YES, apply(fail="crash")], [PLANNED, f"one: skipped ({NO_CALLS.format(3)})"],
        options={"max_calls": 3}, best=1, calls=3, reason=NO_CALLS.format(3),
    ),
    Branch(
        "the calls end before a further plan", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply()], [PLANNED, "one: accepted", f"{AGAIN}: skipped ({NO_CALLS.format(3)})"],
        options={"max_calls": 3}, best=2, calls=3, reason=NO_CALLS.format(3),
    ),
    Branch(
        "the evaluations end between two steps: the model is asked no more", ONCE,
        [planned("one", "two"), YES, apply()], [PLANNED, "one: accepted", "two: proposed"],
        options={"max_evaluations": 1}, best=2, calls=3, reason="the 1 evaluations allowed are made",
    ),
    Branch(
        "the evaluations end between two attempts: the model is asked no more", ONCE,
        [planned("one"), YES, apply(fail="crash")],
        [PLANNED, "one: skipped (the 1 evaluations allowed are made)"], options={"max_evaluations": 1},
        best=1, calls=3, reason="the 1 evaluations allowed are made",
    ),
    Branch(
        "what evaluations are left go to the best kernel", ONCE,
        [planned("one", "two", "three"), YES, TUNABLE, NO, NO],
        [PLANNED, "one: accepted", f"two: {NO_STEP}", f"three: {NO_STEP}",
         "Tune the parameters of the best kernel: accepted"],
        options={"max_evaluations": 8, "search": "brute_force"}, best=2, calls=5,
    ),
    Branch(
        "the time ends before a step is judged", ONCE,
        [planned("one")], [PLANNED, "one: proposed"], options={"max_seconds": 60, "slow_question": 1},
        best=1, calls=1, reason=TIME_IS_UP,
    ),
    Branch(
        "the time ends before a step is carried out", ONCE,
        [planned("one"), YES], [PLANNED, f"one: skipped ({TIME_IS_UP})"], options={"max_seconds": 60, "slow_reply": 2},
        best=1, calls=2, reason=TIME_IS_UP,
    ),
    Branch(
        "the time ends before a kernel is measured", ONCE,
        [planned("one"), YES, apply()], [PLANNED, f"one: skipped ({TIME_IS_UP})"],
        options={"max_seconds": 60, "slow_question": 2}, best=1, calls=3, reason=TIME_IS_UP,
    ),
    Branch(
        "the time ends before a plan is asked for again", ONCE,
        [planned("one")], [f"{PLAN}: skipped ({TIME_IS_UP})", f"one: {unwanted('not that')}"],
        options={"max_seconds": 60, "slow_question": 1}, decisions=[no("not that")],
        best=1, calls=1, reason=TIME_IS_UP,
    ),
    Branch(
        "the target is met by a step: the others stay", AutonomousStrategy(validate_steps=True),
        [planned("one", "two"), YES, apply()], [PLANNED, "one: accepted", "two: proposed"], options={"target": 1.5},
        best=2, calls=3, reason="the target of 1.5x is met",
    ),
    Branch(
        "the target is met by the last step: no further plan", AutonomousStrategy(validate_steps=True),
        [planned("one"), YES, apply()], [PLANNED, "one: accepted", f"{AGAIN}: skipped (the target of 1.5x is met)"],
        options={"target": 1.5}, best=2, calls=3, reason="the target of 1.5x is met",
    ),
]  # fmt: skip

ROWS = [*FIRST_PLANS, *USERS_OF_PLANS, *VALIDATIONS, *BREAKDOWNS, *REPLANS, *BUDGETS]
