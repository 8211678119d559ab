from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from tests.strategies.branch import YES, apply, edited, nonsense, one_prompt, planned, replanned, silence
from tests.strategies.world import FIXED, Script, User, World, kernel, new_run, played, rewrite, tell_all
from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure, FailureKind, FailureStage, Timing
from tui_tuner.prompts import WORDING
from tui_tuner.session.session import Session
from tui_tuner.strategies.autonomous import AutonomousStrategy
from tui_tuner.strategies.base import Incumbent
from tui_tuner.strategies.choose import strategy_named
from tui_tuner.strategies.rewriting import failures
from tui_tuner.strategies.rewriting.failures import (
    BuildFailed,
    CandidateFailed,
    CompileFailed,
    EvaluationFailed,
    InvalidConfiguration,
    LaunchFailed,
    NoneRight,
    NotFaster,
    Rejected,
    RetryPolicy,
    RunFailed,
    WrongResult,
    failure_of,
)
from tui_tuner.strategies.rewriting.line import challenge_incumbent
from tui_tuner.strategies.single_step import OnePromptStrategy
from tui_tuner.strategies.steps import Step, StepState


def failed(kind: FailureKind, message: str = "why", detail: str = "", **configuration: int) -> Evaluation:
    failure = Failure(kind=kind, message=message, detail=detail)
    return Evaluation(candidate="c", configuration=configuration or {"block_size_x": 64}, failure=failure)


def timed(ms: float) -> Evaluation:
    return Evaluation(
        candidate="c", configuration={"block_size_x": 64}, timing=Timing(median=ms, low=ms, high=ms, samples=7)
    )


HAPPENED = [
    (failed(FailureKind.REFUSED, 'kernel.cu:1: #include of "/etc/passwd"'), ['#include of "/etc/passwd"']),
    (
        failed(FailureKind.COMPILE, "error: expected a ';'", "kernel.cu(3): error: expected a ';'\n  int i\n"),
        ["compiler's own words", "kernel.cu(3): error: expected a ';'", "block_size_x=64"],
    ),
    (failed(FailureKind.BUILD_TIMEOUT, "not built in 60 s"), ["not built in 60 s", "unroll less"]),
    (failed(FailureKind.INVALID, "2048 threads in a block: the device takes 1024"), ["the device takes 1024"]),
    (failed(FailureKind.LAUNCH, "65536 bytes of shared memory: at most 49152"), ["at most 49152", "smaller defaults"]),
    (
        failed(FailureKind.WRONG_RESULT, "at n=1000: y[999] is 0, expected 2.5", block_size_x=32, tile=4),
        ["at n=1000", "y[999] is 0, expected 2.5", "block_size_x=32, tile=4"],
    ),
    (failed(FailureKind.ILLEGAL_ACCESS, "at n=1000: read 4 bytes behind x"), ["read 4 bytes behind x"]),
    (failed(FailureKind.TIMEOUT, "no end within 10 s"), ["no end within 10 s", "loop without end"]),
    (failed(FailureKind.CRASH, "signal 11"), ["signal 11", "recursion"]),
    (failed(FailureKind.IMPLAUSIBLE, "0.001 ms, the bound is 0.02 ms"), ["the bound is 0.02 ms", "leaves out work"]),
]


@pytest.mark.parametrize(("evaluation", "texts"), HAPPENED, ids=[str(e.failure.kind) for e, _ in HAPPENED])
def test_the_model_is_told_what_really_happened_and_what_to_look_at(evaluation, texts):
    message = RetryPolicy().message(failure_of(evaluation))
    assert [text for text in texts if text not in message] == []
    assert f"{evaluation.failure.kind}: {evaluation.failure.message}" in message


def test_no_kind_of_failure_is_told_in_the_words_of_another():
    advice = {kind: RetryPolicy().message(failure_of(failed(kind))).partition("</outcome>")[2] for kind in FailureKind}
    general = RetryPolicy().message(CandidateFailed("why")).partition("</outcome>")[2]
    assert len({general, *advice.values()}) == len(FailureKind) + 1


def test_a_kernel_that_is_not_faster_is_told_with_its_best_configuration_and_time():
    message = RetryPolicy().message(NotFaster("not faster than the best so far", timed(4.5), (0.9, 0.8, 1.0)))
    assert "It is right, but not faster than the best so far" in message
    assert "block_size_x=64: 4.5 ms" in message


def test_failures_of_many_configurations_are_told_once_each_and_five_at_most():
    same = [failed(FailureKind.LAUNCH, "too much", tile=2)] * 3
    others = [failed(FailureKind.LAUNCH, "too much", tile=tile) for tile in range(4, 12)]
    message = RetryPolicy().message(NoneRight([*same, *others]))
    assert [f"tile={tile}\n" in message for tile in (2, 4, 5, 6, 7, 8)] == [True] * 5 + [False]
    assert message.count("tile=2\n") == 1


class Compared:
    """A session in which a comparison fails."""

    def __init__(self, failure: Failure, incumbent: str = "another") -> None:
        self.incumbent = Incumbent(None, timed(2.0).model_copy(update={"candidate": incumbent}), (1.0, 1.0, 1.0))
        self.bench = self
        self._comparison = Comparison.failed(failure)

    async def challenge(self, *_: object) -> Comparison:
        return self._comparison

    def is_faster(self, comparison: Comparison) -> bool:
        return comparison.low > 1


@pytest.mark.parametrize(("wording", "asked"), [(WORDING, [7, 3]), (7, [3])])
async def test_who_edited_what_cannot_be_built_is_asked_before_the_model_but_in_sessions_of_before(
    tmp_path, wording, asked
):
    strategy = OnePromptStrategy()
    run = replace(new_run(tmp_path, strategy, problem=FIXED), wording=wording)
    user = User([edited(kernel(7, fail=FailureKind.COMPILE))])
    await tell_all(Session(run, strategy, World(run.problem), Script([one_prompt(2), one_prompt(3)])), user)
    sources = [proposal.candidate.source for proposal in user.asked if proposal.candidate is not None]
    assert sources[1:] == [kernel(speed, fail="compile error" if speed == 7 else "") for speed in asked]


async def test_what_compiles_to_the_machine_code_of_the_incumbent_is_not_compared_and_not_faster():
    session = Compared(Failure(kind=FailureKind.CRASH, message="it was compared"), incumbent="first")
    best = timed(1.0).model_copy(update={"same_as": ("first", timed(1.0).configuration)})

    with pytest.raises(NotFaster) as caught:
        await challenge_incumbent(session, Step(id=1, title="x"), None, best)

    assert caught.value.reason == "the compiler makes the same machine code of it as of the best so far"
    assert caught.value.factor == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("kind", FailureKind)
async def test_a_failure_on_fresh_data_is_of_its_kind_and_told_as_such_with_both_values(kind):
    failure = Failure(kind=kind, message="at n=4096: y[3] is 0, expected 2", detail="the log")
    with pytest.raises(EvaluationFailed) as caught:
        await challenge_incumbent(Compared(failure), Step(id=1, title="x"), None, timed(1.0))
    assert type(caught.value) is type(failure_of(failed(kind)))
    assert caught.value.told == (
        f"configuration: block_size_x=64\n{kind}: on fresh data, after it passed the checks: "
        "at n=4096: y[3] is 0, expected 2\nthe log"
    )


def test_an_evaluation_that_did_not_fail_has_no_failure():
    with pytest.raises(ValueError, match="did not fail"):
        failure_of(timed(1.0))


def saying(text):
    return lambda failed: f"{text}: {failed.reason}"


def test_an_own_handler_serves_its_class_and_the_classes_below_it_the_nearest_first():
    handlers = {
        EvaluationFailed: saying("evaluated"),
        BuildFailed: saying("built"),
        CompileFailed: saying("compiled"),
        CandidateFailed: saying("anything"),
    }
    policy = RetryPolicy(handlers=handlers)
    told = {
        kind: policy.message(failure_of(failed(kind)))
        for kind in (FailureKind.COMPILE, FailureKind.BUILD_TIMEOUT, FailureKind.CRASH)
    }
    assert told == {
        FailureKind.COMPILE: "compiled: compile error: why",
        FailureKind.BUILD_TIMEOUT: "built: build time-out: why",
        FailureKind.CRASH: "evaluated: crash: why",
    }
    assert policy.message(Rejected("no")) == "anything: rejected by hand: no"


def test_the_default_handler_serves_what_no_own_handler_does():
    policy = RetryPolicy(handlers={RunFailed: saying("ran")}, default_handler=saying("else"))
    assert policy.message(failure_of(failed(FailureKind.WRONG_RESULT))) == "ran: wrong result: why"
    assert policy.message(failure_of(failed(FailureKind.COMPILE))) == "else: compile error: why"
    assert policy.message(Rejected("no")) == "else: rejected by hand: no"


def test_without_a_default_handler_the_others_are_told_as_always():
    policy = RetryPolicy(handlers={RunFailed: saying("ran")})
    assert policy.message(failure_of(failed(FailureKind.COMPILE))) == RetryPolicy().message(
        failure_of(failed(FailureKind.COMPILE))
    )


def test_a_subclass_of_ones_own_is_told_with_the_advice_of_its_kind():
    class StrangeResult(WrongResult):
        pass

    evaluation = failed(FailureKind.WRONG_RESULT)
    assert RetryPolicy().message(StrangeResult(evaluation)) == RetryPolicy().message(failure_of(evaluation))
    assert FailureKind.WRONG_RESULT.advice in RetryPolicy().message(StrangeResult(evaluation))


STAGES = {FailureStage.CHECK: InvalidConfiguration, FailureStage.BUILD: BuildFailed, FailureStage.RUN: RunFailed}


@pytest.mark.parametrize("kind", FailureKind)
def test_the_class_of_a_kind_stands_below_the_class_of_its_stage(kind):
    failure = failure_of(failed(kind))
    assert isinstance(failure, STAGES[kind.stage])
    assert failure.kind is kind


@pytest.mark.parametrize("kind", FailureKind)
def test_a_kind_is_written_down_and_read_by_its_words_alone(kind):
    failure = failed(kind).failure
    assert failure.model_dump(mode="json")["kind"] == str(kind) == kind.value
    assert Failure.model_validate_json(failure.model_dump_json()).kind is kind
    assert copy.deepcopy(kind) is kind


@pytest.mark.parametrize("stage", FailureStage)
def test_a_kind_without_a_class_of_its_own_is_told_as_a_failure_of_its_stage(monkeypatch, stage):
    kind = next(kind for kind in FailureKind if kind.stage is stage)
    monkeypatch.delitem(failures._BY_KIND, kind)
    failure = failure_of(failed(kind))
    assert type(failure) is STAGES[stage]
    assert failure.kind is kind
    assert kind.advice in RetryPolicy().message(failure)


def test_final_failures_and_their_subclasses_are_not_put_back():
    policy = RetryPolicy(final=(BuildFailed,))
    assert not policy.puts_back(failure_of(failed(FailureKind.COMPILE)))
    assert policy.puts_back(failure_of(failed(FailureKind.CRASH)))


@pytest.mark.parametrize("attempts", [0, -1])
def test_a_policy_without_an_attempt_is_refused(attempts):
    with pytest.raises(ValueError, match="attempts must be 1 or more"):
        RetryPolicy(attempts=attempts)


@pytest.mark.parametrize(
    "answers",
    [
        [one_prompt(fail="crash")] * 5,
        [nonsense("one_prompt")] * 5,
        [one_prompt(fail="crash"), nonsense("one_prompt")] * 3,
        [nonsense("one_prompt"), nonsense("one_prompt"), one_prompt(0.5), one_prompt(fail="crash later")] * 2,
    ],
    ids=["failed", "refused", "both", "both in another order"],
)
@pytest.mark.parametrize("attempts", [1, 2, 4, 5])
async def test_refused_replies_and_failed_kernels_count_together_against_the_attempts(tmp_path, attempts, answers):
    strategy = OnePromptStrategy(retry_policy=RetryPolicy(attempts=attempts, final=()))
    told, script = await played(tmp_path, strategy, answers, problem=FIXED)
    assert told.finished.model_calls == len(script.requests) == attempts


async def test_what_an_own_handler_says_is_the_next_prompt(tmp_path):
    policy = RetryPolicy(handlers={BuildFailed: saying("it did not build"), RunFailed: saying("it did not run")})
    answers = [one_prompt(fail="compile error"), one_prompt(fail="illegal access"), one_prompt()]
    _, script = await played(tmp_path, OnePromptStrategy(retry_policy=policy), answers, problem=FIXED)
    assert script.requests[1].messages[-1].content == "it did not build: compile error: told by compile error"
    assert script.requests[2].messages[-1].content == "it did not run: illegal access: told by illegal access"


@pytest.mark.parametrize(
    ("kind", "handled"), [(FailureKind.LAUNCH, LaunchFailed), (FailureKind.INVALID, InvalidConfiguration)]
)
async def test_a_handler_of_a_failure_that_every_configuration_shares_is_asked(tmp_path, kind, handled):
    policy = RetryPolicy(handlers={handled: saying("mine")})
    everywhere = kernel(2, fail=f"{kind} else {kind}", tunables="work")
    answers = [("one_prompt", rewrite(everywhere, [("work", [1, 2, 4], 1)])), one_prompt()]
    _, script = await played(tmp_path, OnePromptStrategy(retry_policy=policy), answers, problem=FIXED)
    assert script.requests[1].messages[-1].content.startswith("mine")


async def test_a_handler_of_a_failure_is_asked_when_it_happens_on_fresh_data(tmp_path):
    policy = RetryPolicy(handlers={WrongResult: saying("mine")})
    answers = [one_prompt(fail="wrong result later"), one_prompt()]
    _, script = await played(tmp_path, OnePromptStrategy(retry_policy=policy), answers, problem=FIXED)
    assert script.requests[1].messages[-1].content.startswith("mine: wrong result: on fresh data")


async def test_a_handler_of_kernels_without_a_right_configuration_is_asked_where_the_reasons_differ(
    tmp_path,
):
    policy = RetryPolicy(handlers={NoneRight: saying("mine"), EvaluationFailed: saying("not mine")})
    fails = kernel(2, fail="launch failure else implausible time", tunables="work")
    answers = [("one_prompt", rewrite(fails, [("work", [1, 2], 1)])), one_prompt()]
    _, script = await played(tmp_path, OnePromptStrategy(retry_policy=policy), answers, problem=FIXED)
    assert script.requests[1].messages[-1].content.startswith("mine: no configuration passed the checks: launch")


FAILS_TWICE = kernel(2, fail="launch failure else implausible time", tunables="work")


async def test_a_model_that_is_asked_again_is_told_how_few_can_be_measured(tmp_path):
    answers = [("one_prompt", rewrite(FAILS_TWICE, [("work", [1, 2], 1)])), one_prompt()]
    _, script = await played(tmp_path, OnePromptStrategy(), answers, problem=FIXED, max_evaluations=3)
    assert script.requests[1].messages[-1].content.endswith("that can still be measured: 1.")


async def test_attempts_given_as_an_option_change_nothing_else_of_a_strategys_policy(tmp_path):
    given = strategy_named("one_prompt", {"retry_policy": {"attempts": 5}})
    assert isinstance(given, OnePromptStrategy)
    assert given.retry_policy == RetryPolicy(attempts=5)
    answers = [*[one_prompt(0.9)] * 3, one_prompt(fail="wrong result"), one_prompt()]
    told, _ = await played(tmp_path, given, answers, problem=FIXED)
    assert told.best_speed == 2


async def test_a_kernel_that_is_not_faster_is_put_back_by_one_prompt_alone_whatever_the_policy(tmp_path):
    policy = RetryPolicy(attempts=5)
    slow = [planned("one"), YES, apply(0.9)]
    told, _ = await played(
        tmp_path / "a",
        AutonomousStrategy(validate_steps=True, with_replanning=False, retry_policy=policy),
        slow,
        problem=FIXED,
    )
    assert told.finished.model_calls == 3
    told, _ = await played(tmp_path / "b", OnePromptStrategy(retry_policy=policy), [one_prompt(0.9)] * 5, problem=FIXED)
    assert told.finished.model_calls == 5


@pytest.mark.parametrize(
    ("final", "answers"),
    [
        (["WrongResult"], [one_prompt(fail="crash"), one_prompt(0.9), one_prompt(fail="wrong result")]),
        (["WrongResult"], [one_prompt(fail="wrong result later")]),
        (["BuildFailed", "Crashed"], [one_prompt(fail="wrong result"), one_prompt(fail="compile error")]),
        (["NotFaster"], [one_prompt(fail="crash"), one_prompt(0.9)]),
        (["CandidateFailed"], [one_prompt(fail="time-out")]),
    ],
)
async def test_classes_of_failures_that_an_option_names_end_the_step_at_once(tmp_path, final, answers):
    policy = {"attempts": 5, "final": final}
    strategy = strategy_named("one_prompt", {"retry_policy": policy})
    told, _ = await played(tmp_path, strategy, answers, problem=FIXED)
    assert told.finished.model_calls == len(answers)
    assert told.step("Rewrite the kernel").state is StepState.REJECTED
    assert strategy.model_dump(mode="json", exclude_defaults=True) == {"retry_policy": policy}
    assert strategy_named("one_prompt", strategy.model_dump(mode="json")) == strategy


@pytest.mark.parametrize(
    ("final", "message"),
    [
        (["WrongAnswer"], "there is no class of failures 'WrongAnswer'; there are CandidateFailed, .*WrongResult"),
        ("WrongResult", "retry_policy.final: Input should be a valid tuple"),
        ([3], "retry_policy.final.0: Input should be a subclass of CandidateFailed"),
    ],
)
def test_an_option_that_names_no_class_of_failures_is_refused(final, message):
    with pytest.raises(SettingsError, match=message):
        strategy_named("one_prompt", {"retry_policy": {"final": final}})


async def test_a_transport_error_stands_in_no_prompt(tmp_path):
    answers = [planned("one", "two"), silence("validate_step"), YES, silence("apply_step"), replanned("three"), YES]
    answers += [apply(fail="crash"), silence("apply_step"), replanned()]
    strategy = AutonomousStrategy(validate_steps=True, max_replanning=2)
    told, script = await played(tmp_path, strategy, answers, problem=FIXED)
    assert "connection refused" in str(told.plan())
    prompts = [script.prompt(number) for number in range(1, len(script.requests) + 1)]
    assert [number for number, text in enumerate(prompts, start=1) if "connection refused" in text] == []
