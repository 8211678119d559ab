"""Every way in which the strategy `autonomous` carries out a step, and what the user may do to its steps."""

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
    ON_FRESH_DATA,
    SHOWS,
    SKIP,
    SKIPPED,
    UNTOLD,
    YES,
    Branch,
    apply,
    declined,
    edited,
    no,
    nonsense,
    parts,
    planned,
    rejected,
    replanned,
    silence,
)
from tests.strategies.branches_one_prompt import why
from tests.strategies.branches_planning import NO_STEP, ONCE, PLANNED, REPLANNED, again
from tests.strategies.world import kernel
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, MoveStep, Say
from tui_tuner.strategies.autonomous import AutonomousStrategy

BY_PLAN = AutonomousStrategy(with_replanning=False)
"""No step is judged by itself."""
NO_CODE = "code: the source has no kernel 'scale'"
DECLINES = [
    Branch(
        "a step that the model does not think worth doing by now: the next is done", BY_PLAN,
        [planned("one", "two"), declined("It is bound by memory."), apply()],
        [PLANNED, "one: skipped (not worth doing: It is bound by memory.)", "two: accepted"],
        best=2, calls=3, says={2: ["leave `code` empty"], 3: ["skipped: not worth doing: It is bound by memory."]},
        passes={"one": "proposed > running > skipped"},
    ),
    Branch(
        "a step whose kernel was wrong, and that the model leaves at that", BY_PLAN,
        [planned("one"), apply(fail="wrong result"), declined("No other way.")],
        [PLANNED, f"one: rejected ({why('wrong result')}; then the model leaves it at that: No other way.)"],
        best=1, calls=3,
    ),
    Branch(
        "a step of the user's own is not declined", BY_PLAN,
        [planned("one"), declined("I would not."), apply()],
        [PLANNED, f"one: {DELETED}", "mine: accepted"], instructions={1: [DeleteStep(step=3), AddStep(title="mine")]},
        best=2, calls=3, refused=[NO_CODE], keeps_silent={2: ["leave `code` empty"]},
    ),
]  # fmt: skip

FAILURES = [
    *(
        Branch(
            f"{kind}, then a faster kernel", ONCE,
            [planned("one"), YES, apply(fail=kind), apply()], [PLANNED, "one: accepted"],
            best=2, calls=4, says={4: [f"{kind}: told by {kind}", f"the log of {kind}", "Do one."]},
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} three times: the next step is done", ONCE,
            [planned("one", "two"), YES, *[apply(fail=kind)] * 3, YES, apply()],
            [PLANNED, f"one: rejected ({why(kind)})", "two: accepted"],
            best=2, calls=7, says={7: [f"told by {kind}"]},
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} on fresh data, then a faster kernel", ONCE,
            [planned("one"), YES, apply(fail=f"{kind} later"), apply()], [PLANNED, "one: accepted"],
            best=2, calls=4, says={4: [f"{kind}: {ON_FRESH_DATA}"]},
        )
        for kind in FailureKind
    ),
    Branch(
        "wrong on fresh data three times", ONCE,
        [planned("one"), YES, *[apply(fail="wrong result later")] * 3],
        [PLANNED, f"one: rejected (wrong result: {ON_FRESH_DATA})"],
        best=1, calls=5,
    ),
    Branch(
        "not faster: no second attempt, the next step is done from the best kernel", ONCE,
        [planned("one", "two"), YES, apply(0.9), YES, apply()],
        [PLANNED, f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=2, calls=5, keeps_silent={5: [SHOWS + "0.9"]},
    ),
    Branch(
        "replies that cannot be read cost the step alone", ONCE,
        [planned("one", "two"), YES, *[nonsense("apply_step")] * 3, YES, apply()],
        [PLANNED, f"one: rejected ({NEVER})", "two: accepted"],
        best=2, calls=7, refused=[NO_JSON] * 3, says={6: [UNTOLD]}, keeps_silent={6: [NO_JSON]},
    ),
    Branch(
        "the model cannot be reached once: it costs the step alone", ONCE,
        [planned("one", "two"), YES, silence("apply_step"), YES, apply()],
        [PLANNED, f"one: rejected ({NOT_REACHED})", "two: accepted"],
        best=2, calls=5, says={4: [UNTOLD], 5: [UNTOLD]},
        keeps_silent={4: ["connection refused"], 5: ["connection refused"]},
    ),
    Branch(
        "a failed kernel, then the model cannot be reached: the next prompt knows of the failure alone", ONCE,
        [planned("one", "two"), YES, apply(fail="crash"), silence("apply_step"), YES, apply()],
        [PLANNED, f"one: rejected (crash: told by crash; then {NOT_REACHED})", "two: accepted"],
        best=2, calls=6, says={5: ["rejected: crash: told by crash\n"]}, keeps_silent={5: ["connection refused"]},
    ),
    Branch(
        "the model cannot be reached twice in a row: it is gone, the best kernel stays", ONCE,
        [planned("one", "two", "three"), YES, apply(), YES, silence("apply_step"), silence("validate_step")],
        [PLANNED, "one: accepted", f"two: rejected ({NOT_REACHED})", "three: proposed"],
        best=2, calls=6, reason=GONE,
    ),
]  # fmt: skip

KEPT_KERNELS = [
    Branch(
        "an enabling step that is not faster: the next one begins with its kernel", ONCE,
        [planned("!one", "two"), YES, apply(0.9), YES, apply(3)], [PLANNED, f"one: neutral ({KEPT})", "two: accepted"],
        best=3, calls=5, says={5: [SHOWS + "0.9"]},
        passes={"one": "proposed > validated > running > awaiting you > running > neutral"},
    ),
    Branch(
        "an enabling step that is faster is accepted", ONCE,
        [planned("!one", "two"), YES, apply(2), YES, apply(3)], [PLANNED, "one: accepted", "two: accepted"],
        best=3, calls=5,
    ),
    Branch(
        "an enabling step at less than half the speed is rejected", ONCE,
        [planned("!one", "two"), YES, apply(0.4), YES, apply(3)],
        [PLANNED, f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=3, calls=5, keeps_silent={5: [SHOWS + "0.4"]},
    ),
    Branch(
        "an enabling step that is wrong is rejected", ONCE,
        [planned("!one"), YES, *[apply(0.9, fail="wrong result")] * 3],
        [PLANNED, "one: rejected (wrong result: told by wrong result)"],
        best=1, calls=5,
    ),
    Branch(
        "keep_neutral=False: no kernel is kept",
        AutonomousStrategy(validate_steps=True, with_replanning=False, keep_neutral=False),
        [planned("!one", "two"), YES, apply(0.9), YES, apply(3)],
        [PLANNED, f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=3, calls=5, keeps_silent={5: [SHOWS + "0.9"]},
    ),
    Branch(
        "a step between that is dropped leaves the kept kernel for the one after it", ONCE,
        [planned("!one", "two", "three"), YES, apply(0.9), NO, YES, apply(3)],
        [PLANNED, f"one: neutral ({KEPT})", f"two: {NO_STEP}", "three: accepted"],
        best=3, calls=6, says={6: [SHOWS + "0.9"]},
    ),
    Branch(
        "a kept kernel is kept for one step", ONCE,
        [planned("!one", "two", "three"), YES, apply(0.9), YES, apply(0.8), YES, apply(3)],
        [PLANNED, f"one: neutral ({KEPT})", f"two: rejected ({NOT_FASTER})", "three: accepted"],
        best=3, calls=7, keeps_silent={7: [SHOWS + "0.9", SHOWS + "0.8"]},
    ),
    Branch(
        "a step that builds on a rejected kernel begins with it", again(1),
        [planned("one"), YES, apply(0.9), replanned("two<3"), YES, apply(3)],
        [PLANNED, f"one: rejected ({NOT_FASTER})", REPLANNED, "two: accepted"],
        best=3, calls=6, says={6: [SHOWS + "0.9"]},
    ),
    Branch(
        "the first part of a step that builds on a rejected kernel begins with it, the second with the best",
        AutonomousStrategy(validate_steps=True, max_replanning=1, breakdown_steps=True),
        [planned("one"), parts(), apply(0.9), replanned("two<3"), parts("a", "b"), YES, apply(2), YES, apply(3)],
        [PLANNED, f"one: rejected ({NOT_FASTER})", REPLANNED, "two: broken down (It fits.)", "a: accepted",
         "b: accepted"],
        best=3, calls=9, says={7: [SHOWS + "0.9"], 9: [SHOWS + "2"]}, keeps_silent={9: [SHOWS + "0.9"]},
    ),
    Branch(
        "a step that builds on a kernel that the user edited begins with theirs", again(1),
        [planned("one"), YES, apply(0.7), replanned("two<3"), YES, apply(3)],
        [PLANNED, f"one: rejected ({NOT_FASTER})", REPLANNED, "two: accepted"],
        decisions=[APPROVE, edited(kernel(0.9))], best=3, calls=6, says={6: [SHOWS + "0.9"]},
    ),
]  # fmt: skip

DECISIONS = [
    Branch(
        "the user skips the kernel: the next step is done", ONCE,
        [planned("one", "two"), YES, apply(3), YES, apply(2)],
        [PLANNED, f"one: {SKIPPED}", "two: accepted"], decisions=[APPROVE, SKIP],
        best=2, calls=5, says={5: ["skipped: skipped by hand"]},
    ),
    Branch(
        "the user rejects the kernel with words, and the next one is accepted", ONCE,
        [planned("one"), YES, apply(3), apply(2)], [PLANNED, "one: accepted"],
        decisions=[APPROVE, no("keep it simple")], best=2, calls=4, says={4: ["keep it simple"]},
    ),
    Branch(
        "the user rejects every kernel of a step", ONCE,
        [planned("one"), YES, *[apply()] * 3], [PLANNED, f"one: {rejected('not so')}"],
        decisions=[APPROVE, *[no("not so")] * 3], best=1, calls=5,
    ),
    Branch(
        "the user edits the kernel: theirs is accepted, and the next step begins with it", ONCE,
        [planned("one", "two"), YES, apply(2), YES, apply(5)], [PLANNED, "one: accepted", "two: accepted"],
        decisions=[APPROVE, edited(kernel(4))], best=5, calls=5, says={5: [SHOWS + "4"]},
    ),
]  # fmt: skip

OWN = "mine: accepted"
CHANGES = [
    Branch(
        "a step of the user's own is done without being judged", ONCE,
        [planned("one"), NO, apply()], [PLANNED, f"one: {NO_STEP}", OWN],
        instructions={1: [AddStep(title="mine", detail="Do as I say.")]}, best=2, calls=3, says={3: ["Do as I say."]},
        passes={"mine": "proposed > running > awaiting you > running > accepted"},
    ),
    Branch(
        "a step of the user's own goes before another", ONCE,
        [planned("one"), apply(2), NO], [PLANNED, OWN, f"one: {NO_STEP}"],
        instructions={1: [AddStep(title="mine", before=3)]}, best=2, calls=3,
    ),
    Branch(
        "a step of the user's own that comes while the last one is decided on", ONCE,
        [planned("one"), YES, apply(2), apply(3)], [PLANNED, "one: accepted", OWN],
        instructions={2: [AddStep(title="mine")]}, best=3, calls=4,
    ),
    Branch(
        "a deleted step is not done", ONCE,
        [planned("one", "two"), NO], [PLANNED, f"one: {DELETED}", f"two: {NO_STEP}"],
        instructions={1: [DeleteStep(step=3)]}, best=1, calls=2,
    ),
    Branch(
        "a moved step is done at its new place", ONCE,
        [planned("one", "two"), YES, apply(2), NO], [PLANNED, "two: accepted", f"one: {NO_STEP}"],
        instructions={1: [MoveStep(step=4, before=3)]}, best=2, calls=4, says={2: ["Do two."], 4: ["Do one."]},
    ),
    Branch(
        "a step that is moved before itself stays", ONCE,
        [planned("one", "two"), NO, NO], [PLANNED, f"one: {NO_STEP}", f"two: {NO_STEP}"],
        instructions={1: [MoveStep(step=3, before=3)]}, best=1, calls=3,
    ),
    Branch(
        "an edited step is judged and done in the user's words", ONCE,
        [planned("one"), YES, apply()], [PLANNED, "better: accepted"],
        instructions={1: [EditStep(step=3, title="better", detail="Do it well.")]}, best=2, calls=3,
        says={2: ["better", "Do it well."], 3: ["better", "Do it well."]}, keeps_silent={2: ["Do one."]},
    ),
    Branch(
        "a step that is done, and one that is awaited, can no longer be changed", ONCE,
        [planned("one", "two"), NO, YES, apply()], [PLANNED, f"one: {NO_STEP}", "two: accepted"],
        instructions={2: [DeleteStep(step=3), DeleteStep(step=4), MoveStep(step=4, before=3),
                          EditStep(step=4, title="other", detail="")]},
        best=2, calls=4,
    ),
    Branch(
        "what the user says stands in every later prompt", again(1),
        [planned("one"), YES, nonsense("apply_step"), apply(fail="crash"), apply(), replanned()],
        [PLANNED, "one: accepted", "Plan again: done (nothing left to try: The idea.)"],
        instructions={1: [Say(text="mind the registers")], 2: [Say(text="and the cache")]},
        best=2, calls=6, refused=[NO_JSON], keeps_silent={1: ["mind the registers"], 4: ["and the cache"]},
        says={**{n: ["mind the registers"] for n in range(2, 7)}, 5: ["and the cache"], 6: ["and the cache"]},
    ),
]  # fmt: skip

ROWS = [*FAILURES, *DECLINES, *KEPT_KERNELS, *DECISIONS, *CHANGES]
