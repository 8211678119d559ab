"""Every way through the strategies `one_prompt` and `search`."""

from __future__ import annotations

from tests.session.fakes import PROBLEM
from tests.strategies.branch import (
    APPROVE,
    NEVER,
    NO_JSON,
    NOT_FASTER,
    NOT_REACHED,
    ON_FRESH_DATA,
    SKIP,
    SKIPPED,
    TIME_IS_UP,
    TUNED,
    Branch,
    edited,
    no,
    nonsense,
    one_prompt,
    rejected,
    silence,
)
from tests.strategies.world import kernel, rewrite
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.strategies.single_step import OnePromptStrategy, SearchStrategy

ONE = OnePromptStrategy()
SHARED = {kind for kind in FailureKind if kind.is_shared}
STEP = "Rewrite the kernel"
SEARCH = "Tune the parameters of the kernel as given"
TUNABLE = [("work", [1, 2], 1)]
TWO_REASONS = "launch failure else implausible time"
ASKED = "awaiting you"
UNBUILT = edited(kernel(7, fail=FailureKind.COMPILE))
HUGE = [(name, list(range(1, 14)), 1) for name in "abcde"]
TOO_MANY = "tunables: 371293 combinations of values, at most 200000: offer fewer"
WIDE = {"problem": PROBLEM}


def why(kind: FailureKind) -> str:
    """The reason of a step whose kernel fails in this way in every configuration."""
    return f"{kind}: told by {kind}"


REPLIES = [
    Branch(
        "a faster kernel is accepted", ONE,
        [one_prompt()], [f"{STEP}: accepted"],
        best=2, calls=1, passes={STEP: "proposed > running > awaiting you > running > accepted"},
    ),
    Branch(
        "a reply that cannot be read, then a faster kernel", ONE,
        [nonsense("one_prompt"), one_prompt()], [f"{STEP}: accepted"],
        best=2, calls=2, refused=[NO_JSON], says={2: [NO_JSON]},
    ),
    Branch(
        "replies that cannot be read", ONE,
        [nonsense("one_prompt")] * 3, [f"{STEP}: rejected ({NEVER})"],
        best=1, calls=3, refused=[NO_JSON] * 3,
    ),
    Branch(
        "a failed kernel, then a reply that cannot be read, then a faster kernel", ONE,
        [one_prompt(fail="crash"), nonsense("one_prompt"), one_prompt()], [f"{STEP}: accepted"],
        best=2, calls=3, refused=[NO_JSON], says={2: ["crash: told by crash"], 3: ["crash: told by crash", NO_JSON]},
    ),
    Branch(
        "a reply that cannot be read, then failed kernels: three attempts in all", ONE,
        [nonsense("one_prompt"), one_prompt(fail="crash"), one_prompt(fail="time-out")],
        [f"{STEP}: rejected (time-out: told by time-out)"],
        best=1, calls=3, refused=[NO_JSON],
    ),
    Branch(
        "a failed kernel, then replies that cannot be read: the step tells both", ONE,
        [one_prompt(fail="crash"), nonsense("one_prompt"), nonsense("one_prompt")],
        [f"{STEP}: rejected (crash: told by crash; then no usable reply in 2 calls: {NO_JSON})"],
        best=1, calls=3, refused=[NO_JSON] * 2,
    ),
    Branch(
        "more combinations of values than can be searched, then a faster kernel", ONE,
        [("one_prompt", rewrite(kernel(2, tunables="a b c d e"), HUGE)), one_prompt()], [f"{STEP}: accepted"],
        best=2, calls=2, refused=[TOO_MANY], says={2: [TOO_MANY]},
    ),
    Branch(
        "the model cannot be reached", ONE,
        [silence("one_prompt")], [f"{STEP}: rejected ({NOT_REACHED})"],
        best=1, calls=1,
    ),
    Branch(
        "the model cannot be reached after a failed kernel", ONE,
        [one_prompt(fail="crash"), silence("one_prompt")],
        [f"{STEP}: rejected (crash: told by crash; then {NOT_REACHED})"],
        best=1, calls=2,
    ),
    Branch(
        "the model cannot be reached after a reply that cannot be read", ONE,
        [nonsense("one_prompt"), silence("one_prompt")], [f"{STEP}: rejected ({NOT_REACHED})"],
        best=1, calls=2, refused=[NO_JSON],
    ),
]  # fmt: skip

FAILURES = [
    *(
        Branch(
            f"{kind}, then a faster kernel", ONE,
            [one_prompt(fail=kind), one_prompt()], [f"{STEP}: accepted"],
            best=2, calls=2,
            says={2: [f"{kind}: told by {kind}", f"the log of {kind}"]},
            passes={STEP: "proposed > running > awaiting you > running > rejected > running > awaiting you > running "
                    "> accepted"},
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} three times", ONE,
            [one_prompt(fail=kind)] * 3, [f"{STEP}: rejected ({why(kind)})"],
            best=1, calls=3,
        )
        for kind in FailureKind
    ),
    *(
        Branch(
            f"{kind} on fresh data, then a faster kernel", ONE,
            [one_prompt(fail=f"{kind} later"), one_prompt()], [f"{STEP}: accepted"],
            best=2, calls=2, says={2: [f"{kind}: {ON_FRESH_DATA}"]},
        )
        for kind in FailureKind
    ),
    Branch(
        "wrong on fresh data three times", ONE,
        [one_prompt(fail="wrong result later")] * 3,
        [f"{STEP}: rejected (wrong result: {ON_FRESH_DATA})"],
        best=1, calls=3,
    ),
    *(
        Branch(
            f"{kind} by default alone: another configuration is taken", ONE,
            [("one_prompt", rewrite(kernel(2, fail=f"{kind} by default", tunables="work"), TUNABLE))],
            [f"{STEP}: accepted"],
            best=2, calls=1,
        )
        for kind in sorted(set(FailureKind) - SHARED)
    ),
    *(
        Branch(
            f"{kind} by default: no other configuration is tried", ONE,
            [("one_prompt", rewrite(kernel(2, fail=f"{kind} by default", tunables="work"), TUNABLE))] * 3,
            [f"{STEP}: rejected ({kind}: told by {kind})"],
            best=1, calls=3,
        )
        for kind in sorted(SHARED)
    ),
    Branch(
        "every configuration fails, for several reasons, then a faster kernel", ONE,
        [("one_prompt", rewrite(kernel(2, fail=TWO_REASONS, tunables="work"), TUNABLE)), one_prompt()],
        [f"{STEP}: accepted"],
        best=2, calls=2,
        says={2: ["No configuration passed the checks:", "launch failure: told by launch failure",
                  "implausible time: told by implausible time"]},
    ),
    Branch(
        "every configuration fails, for several reasons, three times", ONE,
        [("one_prompt", rewrite(kernel(2, fail=TWO_REASONS, tunables="work"), TUNABLE))] * 3,
        [f"{STEP}: rejected (no configuration passed the checks: launch failure: told by launch failure)"],
        best=1, calls=3,
    ),
    *(
        Branch(
            f"every configuration fails, all with {kind}, three times", ONE,
            [("one_prompt", rewrite(kernel(2, fail=f"{kind} else {kind}", tunables="work"), TUNABLE))] * 3,
            [f"{STEP}: rejected ({why(kind)})"],
            best=1, calls=3,
        )
        for kind in sorted(set(FailureKind) - SHARED)
    ),
    Branch(
        "not faster, then faster", ONE,
        [one_prompt(0.9), one_prompt()], [f"{STEP}: accepted"],
        best=2, calls=2, says={2: ["It is right, but not faster", "block_size_x=32: 109.7 ms"]},
    ),
    Branch(
        "not faster three times", ONE,
        [one_prompt(0.9)] * 3, [f"{STEP}: rejected ({NOT_FASTER})"],
        best=1, calls=3,
    ),
    Branch(
        "a gain too small to count", ONE,
        [one_prompt(1.012)] * 3,
        [f"{STEP}: rejected (the gain is too small to count: its whole interval must lie above 1.01)"],
        best=1, calls=3,
    ),
]  # fmt: skip

DECISIONS = [
    Branch(
        "the user edits the kernel: theirs is measured", ONE,
        [one_prompt(2)], [f"{STEP}: accepted"], decisions=[edited(kernel(4))],
        best=4, calls=1,
    ),
    Branch(
        "the user edits the kernel, which is not faster: the model is told of theirs", ONE,
        [one_prompt(2), one_prompt(3)], [f"{STEP}: accepted"], decisions=[edited(kernel(0.9))],
        best=3, calls=2, says={2: ["speed 0.9", "It is right, but not faster"]}, keeps_silent={2: ["speed 2"]},
    ),
    Branch(
        "the user edits the kernel, which cannot be built: they edit it again", ONE,
        [one_prompt(2)], [f"{STEP}: accepted"], decisions=[UNBUILT, edited(kernel(4))],
        best=4, calls=1, passes={STEP: f"proposed > running > {ASKED} > running > {ASKED} > running > accepted"},
    ),
    Branch(
        "the user edits the kernel, which cannot be built, and approves: the model mends theirs", ONE,
        [one_prompt(2), one_prompt(3)], [f"{STEP}: accepted"], decisions=[UNBUILT, APPROVE],
        best=3, calls=2, says={2: ["speed 7", "told by compile error"]}, keeps_silent={2: ["speed 2"]},
    ),
    Branch(
        "the user edits the kernel, which cannot be built, and insists: the model mends theirs", ONE,
        [one_prompt(2), one_prompt(3)], [f"{STEP}: accepted"], decisions=[UNBUILT, UNBUILT],
        best=3, calls=2, says={2: ["speed 7", "told by compile error"]},
    ),
    Branch(
        "the user edits the kernel, which cannot be built, and skips the step", ONE,
        [one_prompt(2)], [f"{STEP}: {SKIPPED}"], decisions=[UNBUILT, SKIP],
        best=1, calls=1,
    ),
    Branch(
        "the user edits the kernel, which cannot be built, and rejects it with words", ONE,
        [one_prompt(2), one_prompt(3)], [f"{STEP}: accepted"], decisions=[UNBUILT, no("begin anew")],
        best=3, calls=2, says={2: ["The programmer rejected it: begin anew"]},
    ),
    Branch(
        "the user skips the step", ONE,
        [one_prompt(2)], [f"{STEP}: {SKIPPED}"], decisions=[SKIP],
        best=1, calls=1,
    ),
    Branch(
        "the user rejects with words, and the next kernel is accepted", ONE,
        [one_prompt(3), one_prompt(2)], [f"{STEP}: accepted"], decisions=[no("keep it simple")],
        best=2, calls=2, says={2: ["The programmer rejected it: keep it simple"]},
    ),
    Branch(
        "the user rejects without words", ONE,
        [one_prompt(3), one_prompt(2)], [f"{STEP}: accepted"], decisions=[no()],
        best=2, calls=2, says={2: ["The programmer rejected it, without a reason."]},
    ),
    Branch(
        "the user rejects every kernel", ONE,
        [one_prompt()] * 3, [f"{STEP}: {rejected('not so')}"], decisions=[no("not so")] * 3,
        best=1, calls=3,
    ),
    Branch(
        "the user skips the tuning of the kernel as given", ONE,
        [one_prompt()], [f"{SEARCH}: {SKIPPED}", f"{STEP}: accepted"], decisions=[SKIP],
        best=2, calls=1, options=WIDE,
    ),
]  # fmt: skip

BUDGETS = [
    Branch(
        "no call is allowed", ONE,
        [], [f"{STEP}: skipped (the 0 model calls allowed are made)"], options={"max_calls": 0},
        best=1, calls=0, reason="the 0 model calls allowed are made",
    ),
    Branch(
        "the calls end between two attempts", ONE,
        [one_prompt(fail="crash")], [f"{STEP}: skipped (the 1 model calls allowed are made)"], options={"max_calls": 1},
        best=1, calls=1, reason="the 1 model calls allowed are made",
    ),
    Branch(
        "the calls end after a reply that cannot be read", ONE,
        [nonsense("one_prompt")], [f"{STEP}: skipped (the 1 model calls allowed are made)"], options={"max_calls": 1},
        best=1, calls=1, reason="the 1 model calls allowed are made", refused=[NO_JSON],
    ),
    Branch(
        "the evaluations end between two attempts: the model is asked no more", ONE,
        [one_prompt(fail="crash")], [f"{STEP}: skipped (the 1 evaluations allowed are made)"],
        options={"max_evaluations": 1}, best=1, calls=1, reason="the 1 evaluations allowed are made",
    ),
    Branch(
        "the evaluations end before the rewrite: the model is not asked", ONE,
        [], [TUNED, f"{STEP}: skipped (the 1 evaluations allowed are made)"], options={**WIDE, "max_evaluations": 1},
        best=1, calls=0, reason="the 1 evaluations allowed are made",
    ),
    Branch(
        "the evaluations end within the search: the best so far is taken", ONE,
        [("one_prompt", rewrite(kernel(2, tunables="work"), [("work", [1, 2, 4, 8], 1)]))],
        [f"{STEP}: accepted", f"Tune the parameters of the best kernel: {SKIPPED}"],
        options={"max_evaluations": 2}, decisions=[APPROVE, SKIP], best=2, calls=1,
    ),
    Branch(
        "the time ends before the rewrite is measured", ONE,
        [one_prompt()], [f"{STEP}: skipped ({TIME_IS_UP})"], options={"max_seconds": 60, "slow_reply": 1},
        best=1, calls=1, reason=TIME_IS_UP,
    ),
    Branch(
        "the time ends between two attempts", ONE,
        [one_prompt(3)], [f"{STEP}: skipped ({TIME_IS_UP})"], options={"max_seconds": 60, "slow_question": 1},
        decisions=[no("not so")], best=1, calls=1, reason=TIME_IS_UP,
    ),
    Branch(
        "the time ends before the first prompt", ONE,
        [], [f"{SEARCH}: neutral (no other configuration was measured)", f"{STEP}: skipped ({TIME_IS_UP})"],
        options={**WIDE, "max_seconds": 60, "slow_question": 1}, best=1, calls=0, reason=TIME_IS_UP,
    ),
    Branch(
        "the target is met before the first prompt", ONE,
        [], [TUNED, f"{STEP}: skipped (the target of 1.05x is met)"], options={**WIDE, "target": 1.05},
        best=1, calls=0, reason="the target of 1.05x is met",
    ),
    Branch(
        "the model's price is unknown and the cost is limited", ONE,
        [], [f"{STEP}: skipped (the model's price is unknown, so --max-cost allows no call)"],
        options={"max_cost": 5}, best=1, calls=0, reason="the model's price is unknown, so --max-cost allows no call",
    ),
]  # fmt: skip

NONE = SearchStrategy()
SEARCHES = [
    Branch("the best configuration is accepted", NONE, [], [TUNED], options=WIDE, best=1, calls=0,
           passes={SEARCH: "proposed > awaiting you > running > accepted"}),
    Branch("there is nothing to search", NONE, [], [], best=1, calls=0, passes={SEARCH: "proposed > skipped"}),
    Branch("the user skips the search", NONE, [], [f"{SEARCH}: {SKIPPED}"], decisions=[SKIP],
           options=WIDE, best=1, calls=0),
    Branch("the user rejects the search with words", NONE, [], [f"{SEARCH}: {rejected('not now')}"],
           decisions=[no("not now")], options=WIDE, best=1, calls=0),
    Branch("the default is the best", NONE, [], [f"{SEARCH}: neutral (the configuration that it has is the best)"],
           decisions=[APPROVE], options={"problem": PROBLEM.replace("block_size_x = 32\n", "block_size_x = 256\n")},
           best=1, calls=0),
    Branch("the best is hardly faster than the default", NONE, [],
           [f"{SEARCH}: rejected (not faster than the best so far)"],
           options={"problem": PROBLEM.replace("[32, 64, 128, 256]", "[32, 33]")}, best=1, calls=0),
    Branch("the evaluations end within the search", NONE, [], [TUNED], options={**WIDE, "max_evaluations": 2},
           best=1, calls=0),
]  # fmt: skip

ROWS = [*REPLIES, *FAILURES, *DECISIONS, *BUDGETS, *SEARCHES]
