"""Every way through the strategy `explicit`."""

from __future__ import annotations

from tests.session.fakes import PROBLEM
from tests.strategies.branch import (
    APPROVE,
    DELETED,
    GONE,
    KEPT,
    NEVER,
    NO_JSON,
    NOT_FASTER,
    NOT_REACHED,
    NOT_WORTH,
    ON_FRESH_DATA,
    SHOWS,
    SKIP,
    SKIPPED,
    TIME_IS_UP,
    TUNED,
    UNTOLD,
    WORTH,
    Branch,
    apply,
    edited,
    no,
    nonsense,
    rejected,
    silence,
)
from tests.strategies.branches_one_prompt import why
from tests.strategies.world import Answer, kernel, rewrite, worth
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.tuning_step import TuningStep
from tui_tuner.session.plan import AddStep, DeleteStep, EditStep, MoveStep, Say, Thaw
from tui_tuner.strategies.explicit import ExplicitStrategy


def step(name: str, *depends_on: str, **fields: object) -> TuningStep:
    return TuningStep(id=name, prompt_template=f"Do {name}.", depends_on=list(depends_on), **fields)


def unjudged(name: str, *depends_on: str, **fields: object) -> TuningStep:
    return step(name, *depends_on, skip_evaluation=True, **fields)


def explicit(*steps: TuningStep, **options: object) -> ExplicitStrategy:
    return ExplicitStrategy(steps=list(steps), **options)


ONE = explicit(step("one"))
TWO = explicit(step("one"), step("two"))
CHAIN = explicit(step("one"), step("two", "one"))
QUICK = explicit(unjudged("one"), unjudged("two"))
FOUR = explicit(step("one"), step("two"), step("three"), step("four"))
UNFIT_THREE = worth(False, "no", four="no")
UNFIT: Answer = ("worth_step", worth(False, "no", two="too little", three="done by the kernel"))
INSTEAD = explicit(step("one"), step("two", unless=["one"]))
REFUSED = "skipped (not worth doing here: done already)"

JUDGEMENTS = [
    Branch(
        "two steps that are worth doing", TWO,
        [WORTH, apply(2), WORTH, apply(3)], ["one: accepted", "two: accepted"],
        best=3, calls=4, says={1: ["Do one."], 3: ["Do two.", SHOWS + "2", "accepted 2x"], 4: ["Do two.", SHOWS + "2"]},
        passes={"one": "proposed > validated > running > awaiting you > running > accepted"},
    ),
    Branch(
        "a step that is not worth doing: the next one is judged and done", TWO,
        [NOT_WORTH, WORTH, apply()], [f"one: {REFUSED}", "two: accepted"],
        best=2, calls=3, says={2: ["Do two."], 3: ["Do two."]}, passes={"one": "proposed > skipped"},
    ),
    Branch(
        "steps that are not worth doing are judged with the one before them", FOUR,
        [UNFIT, WORTH, apply()],
        ["one: skipped (not worth doing here: no)", "two: skipped (not worth doing here: too little)",
         "three: skipped (done already: done by the kernel)", "four: accepted"],
        best=2, calls=3, says={1: ["Do one.", "Do two.", "Do three.", "Do four."], 2: ["Do four."], 3: ["Do four."]},
        passes={"three": "proposed > skipped"},
    ),
    Branch(
        "what is said of a step behind one that is worth doing does not hold: the kernel is another then", TWO,
        [("worth_step", worth(True, two="no")), apply(2), WORTH, apply(3)], ["one: accepted", "two: accepted"],
        best=3, calls=4,
    ),
    Branch(
        "a step that is left out, and what is said of those behind it, is asked about", FOUR,
        [("worth_step", worth(False, "no", three="no", four="no")), WORTH, apply(2), ("worth_step", UNFIT_THREE)],
        ["one: skipped (not worth doing here: no)", "two: accepted", "three: skipped (not worth doing here: no)",
         "four: skipped (not worth doing here: no)"],
        best=2, calls=4,
    ),
    Branch(
        "neither a step that is done without being judged nor what depends on one is judged ahead",
        explicit(step("one"), step("after one", "one"), step("two"), unjudged("three"), step("four")),
        [("worth_step", worth(False, "no", two="no")), apply(2), WORTH, apply(3)],
        ["one: skipped (not worth doing here: no)", "after one: skipped (it needs 'one', which was skipped)",
         "two: skipped (not worth doing here: no)", "three: accepted", "four: accepted"],
        best=3, calls=4, keeps_silent={1: ["Do after one.", "Do three.", "Do four."]},
    ),
    Branch(
        "a judgement that cannot be read, then a yes", ONE,
        [nonsense("worth_step"), WORTH, apply()], ["one: accepted"],
        best=2, calls=3, refused=[NO_JSON],
    ),
    Branch(
        "judgements that cannot be read cost the step alone", TWO,
        [*[nonsense("worth_step")] * 3, WORTH, apply()],
        [f"one: rejected (could not be judged: {NEVER})", "two: accepted"],
        best=2, calls=5, refused=[NO_JSON] * 3, says={4: [UNTOLD]}, keeps_silent={4: [NO_JSON]},
    ),
    Branch(
        "the judge cannot be reached once: it costs the step alone", TWO,
        [silence("worth_step"), WORTH, apply()],
        [f"one: rejected (could not be judged: {NOT_REACHED})", "two: accepted"],
        best=2, calls=3, says={2: [UNTOLD], 3: [UNTOLD]},
        keeps_silent={2: ["connection refused"], 3: ["connection refused"]},
    ),
    Branch(
        "the judge cannot be reached twice in a row: the model is gone", TWO,
        [silence("worth_step"), silence("worth_step")],
        [f"one: rejected (could not be judged: {NOT_REACHED})", "two: proposed"],
        best=1, calls=2, reason=GONE,
    ),
    Branch(
        "skip_evaluation: a step is done without being judged", explicit(unjudged("one")),
        [apply()], ["one: accepted"],
        best=2, calls=1, passes={"one": "proposed > running > awaiting you > running > accepted"},
    ),
    Branch(
        "the template is filled with the kernel and its name",
        explicit(TuningStep(id="one", prompt_template="Unroll $name, for $$5, which is:\n$kernel")),
        [WORTH, apply()], ["one: accepted"],
        best=2, calls=2, says={n: ["Unroll scale, for $5, which is:\n__global__ void scale("] for n in (1, 2)},
    ),
]  # fmt: skip

DEPENDENCIES = [
    Branch(
        "a step whose dependency was accepted", CHAIN,
        [WORTH, apply(2), WORTH, apply(3)], ["one: accepted", "two: accepted"],
        best=3, calls=4,
    ),
    Branch(
        "a step whose dependency is neutral begins with its kernel", CHAIN,
        [WORTH, apply(0.9), WORTH, apply(3)], [f"one: neutral ({KEPT})", "two: accepted"],
        best=3, calls=4, says={3: [SHOWS + "0.9"], 4: [SHOWS + "0.9"]},
        passes={"one": "proposed > validated > running > awaiting you > running > neutral"},
    ),
    Branch(
        "a step that does not depend on the neutral one begins with the best kernel",
        explicit(step("one"), step("two"), step("three", "one")),
        [WORTH, apply(0.9), WORTH, apply(0.8), WORTH, apply(3)],
        [f"one: neutral ({KEPT})", f"two: rejected ({NOT_FASTER})", "three: accepted"],
        best=3, calls=6, keeps_silent={4: [SHOWS + "0.9"]}, says={6: [SHOWS + "0.9"]},
    ),
    Branch(
        "a better kernel came after the neutral one: the dependent begins with the better",
        explicit(step("one"), step("two"), step("three", "one")),
        [WORTH, apply(0.9), WORTH, apply(2), WORTH, apply(3)],
        [f"one: neutral ({KEPT})", "two: accepted", "three: accepted"],
        best=3, calls=6, says={6: [SHOWS + "2"]}, keeps_silent={6: [SHOWS + "0.9"]},
    ),
    Branch(
        "a step that is for where another does not help, which did", INSTEAD,
        [WORTH, apply(2)], ["one: accepted", "two: skipped (it is for where 'one' does not help, which did)"],
        best=2, calls=2,
    ),
    Branch(
        "a step that is for where another does not help, which did not", INSTEAD,
        [WORTH, apply(0.9), WORTH, apply(3)], [f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=3, calls=4,
    ),
    Branch(
        "a step waits for the one in whose stead it is, wherever they stand",
        explicit(step("two", unless=["one"]), step("one")),
        [WORTH, apply(2)], ["two: skipped (it is for where 'one' does not help, which did)", "one: accepted"],
        best=2, calls=2,
    ),
    Branch(
        "a step that nothing depends on is never neutral", TWO,
        [WORTH, apply(0.9), WORTH, apply()], [f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=2, calls=4,
    ),
    Branch(
        "less than half the speed is not neutral", CHAIN,
        [WORTH, apply(0.4)], [f"one: rejected ({NOT_FASTER})", "two: skipped (it needs 'one', which was rejected)"],
        best=1, calls=2,
    ),
    Branch(
        "keep_neutral=False: a dependency that is not faster is rejected",
        explicit(step("one"), step("two", "one"), keep_neutral=False),
        [WORTH, apply(0.9)], [f"one: rejected ({NOT_FASTER})", "two: skipped (it needs 'one', which was rejected)"],
        best=1, calls=2,
    ),
    Branch(
        "a step whose dependency failed", CHAIN,
        [WORTH, *[apply(fail="crash")] * 3],
        ["one: rejected (crash: told by crash)", "two: skipped (it needs 'one', which was rejected)"],
        best=1, calls=4,
    ),
    Branch(
        "a step whose dependency was not worth doing, and one that depends on that",
        explicit(step("one"), step("two", "one"), step("three", "two")),
        [NOT_WORTH], [f"one: {REFUSED}", "two: skipped (it needs 'one', which was skipped)",
                      "three: skipped (it needs 'two', which was skipped)"],
        best=1, calls=1,
    ),
    Branch(
        "a step whose dependency could not be judged", CHAIN,
        [nonsense("worth_step")] * 3,
        [f"one: rejected (could not be judged: {NEVER})", "two: skipped (it needs 'one', which was rejected)"],
        best=1, calls=3, refused=[NO_JSON] * 3,
    ),
    Branch(
        "a step whose dependency the user skipped", CHAIN,
        [WORTH, apply()], [f"one: {SKIPPED}", "two: skipped (it needs 'one', which was skipped)"],
        decisions=[SKIP], best=1, calls=2,
    ),
    Branch(
        "a step whose dependency the user deleted", explicit(step("zero"), step("one"), step("two", "one")),
        [WORTH, apply()],
        ["zero: accepted", f"one: {DELETED}", "two: skipped (it needs 'one', which was deleted by hand)"],
        instructions={1: [DeleteStep(step=3)]}, best=2, calls=2,
    ),
    Branch(
        "a step before its dependency in the list waits for it", explicit(step("two", "one"), step("one")),
        [WORTH, apply(2), WORTH, apply(3)], ["two: accepted", "one: accepted"],
        best=3, calls=4, says={1: ["Do one."], 3: ["Do two."]},
    ),
    Branch(
        "a dependent that the user moves to the front waits for its dependency",
        explicit(step("zero"), step("one"), step("two", "one")),
        [WORTH, apply(2), WORTH, apply(3), WORTH, apply(4)], ["zero: accepted", "two: accepted", "one: accepted"],
        instructions={1: [MoveStep(step=4, before=3)]}, best=4, calls=6, says={3: ["Do one."], 5: ["Do two."]},
    ),
    Branch(
        "a step for another language", explicit(step("one", languages=["opencl"]), step("two", "one")),
        [], ["one: skipped (it is for opencl, the kernel is cuda)", "two: skipped (it needs 'one', which was skipped)"],
        best=1, calls=0,
    ),
    Branch(
        "a step for a later architecture", explicit(step("one", min_architecture=100), step("two")),
        [WORTH, apply()], ["one: skipped (it needs a CUDA device of sm_100, this is sm_90)", "two: accepted"],
        best=2, calls=2,
    ),
    Branch(
        "a step for this language and architecture",
        explicit(step("one", languages=["cuda", "opencl"], min_architecture=90)),
        [WORTH, apply()], ["one: accepted"], best=2, calls=2,
    ),
]  # fmt: skip

FAILURES = [
    *(
        Branch(
            f"{kind}, then a faster kernel", ONE,
            [WORTH, apply(fail=kind), apply()], ["one: accepted"],
            best=2, calls=3, says={3: [f"{kind}: told by {kind}", f"the log of {kind}", "Do one."]},
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} three times: the next step is done", TWO,
            [WORTH, *[apply(fail=kind)] * 3, WORTH, apply()], [f"one: rejected ({why(kind)})", "two: accepted"],
            best=2, calls=6, says={6: [f"told by {kind}"]},
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} on fresh data, then a faster kernel", ONE,
            [WORTH, apply(fail=f"{kind} later"), apply()], ["one: accepted"],
            best=2, calls=3, says={3: [f"{kind}: {ON_FRESH_DATA}"]},
        )
        for kind in FailureKind
    ),
    Branch(
        "replies that cannot be read cost the step alone", TWO,
        [WORTH, *[nonsense("apply_step")] * 3, WORTH, apply()], [f"one: rejected ({NEVER})", "two: accepted"],
        best=2, calls=6, refused=[NO_JSON] * 3, says={5: [UNTOLD]}, keeps_silent={5: [NO_JSON]},
    ),
    Branch(
        "the model cannot be reached once while a step is done", TWO,
        [WORTH, silence("apply_step"), WORTH, apply()], [f"one: rejected ({NOT_REACHED})", "two: accepted"],
        best=2, calls=4, says={3: [UNTOLD]}, keeps_silent={3: ["connection refused"]},
    ),
    Branch(
        "the model cannot be reached twice in a row: it is gone, the best kernel stays",
        explicit(step("one"), step("two"), step("three")),
        [WORTH, apply(), WORTH, silence("apply_step"), silence("worth_step")],
        ["one: accepted", f"two: rejected ({NOT_REACHED})", "three: proposed"],
        best=2, calls=5, reason=GONE,
    ),
]  # fmt: skip

INTRODUCING = explicit(unjudged("one", tune_params={"tile": [2, 4]}))
MISSING = "tunables: the step introduces 'tile', which occurs neither in the code nor in the launch"
OUTSIDE = "tunables: the default of 'tile' must be one of the step's values [2, 4]"


def tiled(*values: int, default: int) -> tuple[str, str]:
    return "apply_step", rewrite(kernel(2, tunables="tile"), [("tile", list(values), default)])


PARAMETERS = [
    Branch(
        "the tunables of a step are in the prompt and in the kernel", INTRODUCING,
        [tiled(2, 4, default=4)], ["one: accepted"], best=2, calls=1, says={1: ["- tile: 2, 4"]},
    ),
    Branch(
        "a tunable of the step that the reply does not list is taken from the step", INTRODUCING,
        [("apply_step", rewrite(kernel(2, tunables="tile")))], ["one: accepted"], best=2, calls=1,
    ),
    Branch(
        "a tunable of the step that the code lacks is asked for again", INTRODUCING,
        [apply(), tiled(2, 4, default=2)], ["one: accepted"], best=2, calls=2, refused=[MISSING], says={2: [MISSING]},
    ),
    Branch(
        "a tunable of the step that the code never has", INTRODUCING,
        [apply()] * 3, [f"one: rejected (no usable reply in 3 calls: {MISSING})"],
        best=1, calls=3, refused=[MISSING] * 3,
    ),
    Branch(
        "a default that is none of the step's values is asked for again", INTRODUCING,
        [tiled(2, 8, default=8), tiled(2, 4, default=2)], ["one: accepted"], best=2, calls=2, refused=[OUTSIDE],
    ),
    Branch(
        "a step whose tunables the kernel has is done already",
        explicit(*INTRODUCING.steps, step("two", tune_params={"tile": [4, 8]})),
        [tiled(2, 4, default=4)], ["one: accepted", "two: skipped (done already: the kernel has tile)"],
        best=2, calls=1,
    ),
    Branch(
        "a step that is not judged is carried out nevertheless: its values replace those of the kernel",
        explicit(*INTRODUCING.steps, unjudged("two", tune_params={"tile": [4, 8]})),
        [tiled(2, 4, default=4), ("apply_step", rewrite(kernel(3, tunables="tile"), [("tile", [4, 8], 4)]))],
        ["one: accepted", "two: accepted"], best=3, calls=2, offers={1: {"tile": [2, 4]}, 2: {"tile": [4, 8]}},
    ),
    Branch(
        "the step's values count, not those of the reply", INTRODUCING,
        [tiled(1, 2, 3, default=2)], ["one: accepted"], best=2, calls=1,
    ),
]  # fmt: skip

CHANGES = [
    Branch(
        "the user edits a kernel: theirs is accepted, and the next step begins with it", QUICK,
        [apply(2), apply(5)], ["one: accepted", "two: accepted"], decisions=[edited(kernel(4))],
        best=5, calls=2, says={2: [SHOWS + "4"]},
    ),
    Branch(
        "the user edits a kernel that is kept: the step that depends on it begins with theirs", CHAIN,
        [WORTH, apply(0.7), WORTH, apply(3)], [f"one: neutral ({KEPT})", "two: accepted"],
        decisions=[edited(kernel(0.9))], best=3, calls=4, says={3: [SHOWS + "0.9"], 4: [SHOWS + "0.9"]},
    ),
    Branch(
        "the user rejects a kernel with words, and the next one is accepted", ONE,
        [WORTH, apply(3), apply(2)], ["one: accepted"], decisions=[no("keep it simple")],
        best=2, calls=3, says={3: ["keep it simple"]},
    ),
    Branch(
        "the user rejects every kernel of a step", ONE,
        [WORTH, *[apply()] * 3], [f"one: {rejected('not so')}"], decisions=[no("not so")] * 3, best=1, calls=4,
    ),
    Branch(
        "a step of the user's own is done without being judged", ONE,
        [WORTH, apply(2), apply(3)], ["one: accepted", "mine: accepted"],
        instructions={1: [AddStep(title="mine", detail="Do as I say, for $5 and ${more}.")]}, best=3, calls=3,
        says={3: ["Do as I say, for $5 and ${more}."]},
    ),
    Branch(
        "an edited step is judged and done in the user's words", TWO,
        [WORTH, apply(2), WORTH, apply(3)], ["one: accepted", "better: accepted"],
        instructions={1: [EditStep(step=3, title="better", detail="Do $name well, for $5.")]}, best=3, calls=4,
        says={3: ["better", "Do scale well, for $5."], 4: ["Do scale well, for $5."]}, keeps_silent={3: ["Do two."]},
    ),
    Branch(
        "what the user says stands in every later prompt", TWO,
        [WORTH, apply(2), WORTH, apply(3)], ["one: accepted", "two: accepted"],
        instructions={1: [Say(text="mind the registers")]}, best=3, calls=4,
        says={3: ["mind the registers"], 4: ["mind the registers"]}, keeps_silent={2: ["mind the registers"]},
    ),
]  # fmt: skip


def calls(count: int) -> str:
    return f"the {count} model calls allowed are made"


BUDGETS = [
    Branch("no call is allowed", TWO, [], ["one: proposed", "two: proposed"], options={"max_calls": 0},
           best=1, calls=0, reason=calls(0)),
    Branch("the calls end before a step is done", TWO, [WORTH], [f"one: skipped ({calls(1)})", "two: proposed"],
           options={"max_calls": 1}, best=1, calls=1, reason=calls(1)),
    Branch("the calls end before a failed step is tried again", ONE, [WORTH, apply(fail="crash")],
           [f"one: skipped ({calls(2)})"], options={"max_calls": 2}, best=1, calls=2, reason=calls(2)),
    Branch("the calls end before the next step is judged", TWO, [WORTH, apply()], ["one: accepted", "two: proposed"],
           options={"max_calls": 2}, best=2, calls=2, reason=calls(2)),
    Branch("the evaluations end between two steps: the model is asked no more", TWO, [WORTH, apply()],
           ["one: accepted", "two: proposed"], options={"max_evaluations": 1}, best=2, calls=2,
           reason="the 1 evaluations allowed are made"),
    Branch("the evaluations end between two attempts: the model is asked no more", ONE,
           [WORTH, apply(fail="crash")],
           ["one: skipped (the 1 evaluations allowed are made)"], options={"max_evaluations": 1}, best=1, calls=2,
           reason="the 1 evaluations allowed are made"),
    Branch("the time ends before a step is done", TWO, [WORTH], [f"one: skipped ({TIME_IS_UP})", "two: proposed"],
           options={"max_seconds": 60, "slow_reply": 1}, best=1, calls=1, reason=TIME_IS_UP),
    Branch("the time ends before a kernel is measured", ONE, [WORTH, apply()], [f"one: skipped ({TIME_IS_UP})"],
           options={"max_seconds": 60, "slow_reply": 2}, best=1, calls=2, reason=TIME_IS_UP),
    Branch("the time ends before the next step is judged", TWO, [WORTH, apply()],
           [f"one: {SKIPPED}", "two: proposed"], decisions=[SKIP],
           options={"max_seconds": 60, "slow_question": 1}, best=1, calls=2, reason=TIME_IS_UP),
    Branch("the target is met: the other steps stay", TWO, [WORTH, apply()], ["one: accepted", "two: proposed"],
           options={"target": 1.5}, best=2, calls=2, reason="the target of 1.5x is met"),
]  # fmt: skip

WIDE = {"problem": PROBLEM}
THREE = explicit(unjudged("one"), unjudged("two"), unjudged("three"))
UNROLL = [("unroll", [1, 2], 1)]
BOTH, FIRST = {"unroll": [1, 2]}, {"unroll": [1]}
HELD = "tunable unroll: [1] (held at its best value"


def unrolled(speed: float, tunables: list[tuple[str, list[int], int]], name: str = "unroll") -> tuple[str, str]:
    """A kernel with a tunable that makes no difference."""
    return "apply_step", rewrite(kernel(speed, tunables=name), tunables)


MANY = [(name, [2**i for i in range(16)], 1) for name in ("a", "b", "c")]
"""With these a space has more configurations than are ever searched."""

FROZEN = [
    Branch(
        "a tunable that makes no difference is held, and a reply that does not list it keeps it held", THREE,
        [unrolled(2, UNROLL), unrolled(3, []), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"],
        best=4, calls=3, options=WIDE, says={3: [HELD]}, frozen=[{"unroll": 1}],
        tries={1: BOTH, 2: FIRST, 3: FIRST}, offers={2: BOTH, 3: BOTH},
    ),
    Branch(
        "the very next prompt says that it is held", QUICK,
        [unrolled(2, UNROLL), unrolled(3, [])], [TUNED, "one: accepted", "two: accepted"],
        best=3, calls=2, options=WIDE, says={2: [HELD]}, tries={1: BOTH, 2: FIRST},
    ),
    Branch(
        "a reply that lists it with several values frees it, and it is held again where it still does not matter",
        THREE, [unrolled(2, UNROLL), unrolled(3, UNROLL), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"],
        best=4, calls=3, options=WIDE, frozen=[{"unroll": 1}, {}, {"unroll": 1}], tries={2: BOTH, 3: FIRST},
    ),
    Branch(
        "a reply that lists it with the one value keeps it held, and its others are not lost", THREE,
        [unrolled(2, UNROLL), unrolled(3, [("unroll", [1], 1)]), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"], instructions={4: [Thaw(name="unroll")]},
        best=4, calls=3, options=WIDE, says={3: [HELD]}, frozen=[{"unroll": 1}, {}],
        tries={2: FIRST, 3: BOTH}, offers={2: BOTH},
    ),
    Branch(
        "a reply that lists it with another value has its way", QUICK,
        [unrolled(2, UNROLL), unrolled(3, [("unroll", [2], 2)])], [TUNED, "one: accepted", "two: accepted"],
        best=3, calls=2, options=WIDE, frozen=[{"unroll": 1}, {}], tries={2: {"unroll": [2]}},
    ),
    Branch(
        "a reply that lists it in another spelling frees it", QUICK,
        [unrolled(2, UNROLL), unrolled(3, [("UNROLL", [1, 2], 1)], "UNROLL")],
        [TUNED, "one: accepted", "two: accepted"], best=3, calls=2, options=WIDE, tries={2: BOTH},
    ),
    Branch(
        "where the space would be too large, it stays held whatever a reply lists", QUICK,
        [unrolled(2, UNROLL), ("apply_step", rewrite(kernel(3, tunables="unroll a b c"), [*MANY, *UNROLL]))],
        [TUNED, "one: accepted", "two: accepted", f"Tune the parameters of the best kernel: {SKIPPED}"],
        decisions=[APPROVE, APPROVE, APPROVE, SKIP], best=3, calls=2, tries={2: FIRST}, offers={2: BOTH},
        options={**WIDE, "search": "brute_force", "max_evaluations": 30},
    ),
    Branch(
        "a tunable that matters is not held", QUICK,
        [("apply_step", rewrite(kernel(2, tunables="matters"), [("matters", [1, 2], 1)])), apply(9)],
        [TUNED, "one: accepted", "two: accepted"], best=9, calls=2, options=WIDE, frozen=[],
    ),
    Branch(
        "a kernel that is not accepted holds nothing", QUICK,
        [unrolled(0.5, UNROLL), unrolled(3, UNROLL)], [TUNED, f"one: rejected ({NOT_FASTER})", "two: accepted"],
        best=3, calls=2, options=WIDE, frozen=[{"unroll": 1}], tries={1: BOTH, 2: BOTH},
    ),
    Branch(
        "Thaw frees it and it stays free", THREE,
        [unrolled(2, UNROLL), unrolled(3, UNROLL), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"], instructions={3: [Thaw(name="unroll")]},
        best=4, calls=3, options=WIDE, frozen=[{"unroll": 1}, {}], tries={3: BOTH},
    ),
    Branch(
        "Thaw before it was ever held keeps it free", THREE,
        [unrolled(2, UNROLL), unrolled(3, []), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"], instructions={1: [Thaw(name="unroll")]},
        best=4, calls=3, options=WIDE, frozen=[], tries={2: BOTH, 3: BOTH},
    ),
    Branch(
        "Thaw frees it though the best kernel holds it already", THREE,
        [unrolled(2, UNROLL), unrolled(3, []), unrolled(4, [])],
        [TUNED, "one: accepted", "two: accepted", "three: accepted"], instructions={4: [Thaw(name="unroll")]},
        best=4, calls=3, options=WIDE, frozen=[{"unroll": 1}, {}], tries={2: FIRST, 3: BOTH},
    ),
]  # fmt: skip

ROWS = [*JUDGEMENTS, *DEPENDENCIES, *FAILURES, *PARAMETERS, *CHANGES, *BUDGETS, *FROZEN]
