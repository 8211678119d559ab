"""The methods of `CustomStrategy`, each from a strategy that calls it; every session is replayed as well."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from tests.session.fakes import SOURCE
from tests.strategies.world import Answer, Script, Told, User, World, kernel, new_run, played, rewrite, tell_all
from tui_tuner import (
    CandidateFailed,
    CustomStrategy,
    Decision,
    Effects,
    RetryPolicy,
    StrategyError,
    UnusableKernel,
    WrongResult,
    failure_of,
)
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts import WORDING
from tui_tuner.report import SessionOutcome
from tui_tuner.session.session import Session
from tui_tuner.session_options import RoundOptions
from tui_tuner.strategies.base import ModelFailed
from tui_tuner.strategies.steps import StepState

Do = Callable[["Calling", Effects], Awaitable[None]]


class Calling(CustomStrategy):
    """Does what a test wants."""

    do: Do

    async def run(self, session: Effects) -> None:
        await self.do(self, session)


async def run(directory: Path, do: Do, *answers: Answer, attempts: int = 3, **options: object) -> tuple[Told, Script]:
    told, script = await played(
        directory, Calling(do=do, retry_policy=RetryPolicy(attempts=attempts)), answers, **options
    )
    return told, script


def changed(session: Effects, source: str, **changes: object) -> Candidate:
    return session.baseline.model_copy(update={"source": source, "title": "changed", **changes})


async def test_what_a_session_knows_stands_in_its_parts(tmp_path: Path) -> None:
    seen: dict[str, object] = {}

    async def do(me: Calling, session: Effects) -> None:
        tested = await me.run_tests(session, session.baseline, {"block_size_x": 128})
        seen["device"] = session.bench.device.name
        seen["evaluations"] = [session.bench.given, tested] == session.bench.evaluations_of(session.baseline)
        seen["left"] = (session.budget.evaluations_left, session.budget.model_calls)
        seen["options"] = (session.options.search, session.options.rounds.patience)
        seen["tokens"] = await session.model.prompt_tokens()
        seen["seed"] = session.seed

    await run(tmp_path, do, max_evaluations=10, search="random_sample", seed=7)
    assert seen == {
        "device": "Fake GPU",
        "evaluations": True,
        "left": (9, 0),
        "options": ("random_sample", RoundOptions().patience),
        "tokens": None,
        "seed": 7,
    }


# --- run_tests


async def test_a_kernel_is_tested_in_its_default_configuration_or_another_one_and_once_each(tmp_path: Path) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        seen["default"] = await me.run_tests(session, session.baseline)
        for _ in range(2):
            seen["other"] = await me.run_tests(session, session.baseline, {"block_size_x": 128})

    told, _ = await run(tmp_path, do)
    assert seen["default"].configuration == {"block_size_x": 32}
    assert seen["other"].configuration == {"block_size_x": 128}
    assert seen["other"].timing.median < seen["default"].timing.median
    assert told.finished.evaluations == 1, "the kernel as given was tested when the session began"


async def test_a_kernel_that_fails_its_tests_is_a_result_with_the_reason(tmp_path: Path) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        seen["it"] = await me.run_tests(session, changed(session, kernel(2, fail="wrong result")))

    await run(tmp_path, do)
    assert seen["it"].failure.kind is FailureKind.WRONG_RESULT
    assert seen["it"].timing is None


# --- extract_kernel


async def extracted(directory: Path, text: str) -> str | UnusableKernel:
    seen: dict[str, str | UnusableKernel] = {}

    async def do(me: Calling, session: Effects) -> None:
        try:
            seen["it"] = me.extract_kernel(text, session)
        except UnusableKernel as unusable:
            seen["it"] = unusable

    await run(directory, do)
    return seen["it"]


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        f"Here it is:\n```cuda\n{SOURCE}```\nIt is faster.",
        f"```\n{SOURCE}\n```",
        f"Compile with\n```sh\nnvcc x.cu\n```\nand then\n```cpp\n{SOURCE}```",
        f"<think>```cuda\n{SOURCE.replace('2.0f', '9.0f')}```</think>\n```cuda\n{SOURCE}```",
        f"```cuda\n#define block_size_x 256\n{SOURCE}```",
        f"```cuda\n#define block_size_x \\\n    256\n{SOURCE}```",
    ],
    ids=["bare", "fenced", "no-language", "second-block", "thinking", "definition", "continued-definition"],
)
async def test_the_kernel_is_found_in_free_text_without_definitions_of_tunables(tmp_path: Path, text: str) -> None:
    assert await extracted(tmp_path, text) == SOURCE


async def test_macros_that_are_no_tunables_stay_in_the_kernel(tmp_path: Path) -> None:
    text = f"```cuda\n#define block_size_x 64\n#define TWICE(a) \\\n    (2 * (a))\n{SOURCE}```"
    assert await extracted(tmp_path, text) == f"#define TWICE(a) \\\n    (2 * (a))\n{SOURCE}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I cannot do that.", "the source has no kernel 'scale'"),
        ("", "the source has no kernel 'scale'"),
        (f"```cuda\n{SOURCE.replace('int n', 'long n')}```", "argument 3 is 'long n' instead of 'int n'"),
        (f"```cuda\n{SOURCE.replace('scale', 'fast_scale')}```", "the source has no kernel 'scale'"),
        (f'```cuda\n#include "/etc/passwd"\n{SOURCE}```', "#include of an absolute path"),
        (f"```cuda\n{SOURCE}void f() {{ scale<<<1, 1>>>(0, 0, 0); }}\n```", "it launches a kernel"),
    ],
    ids=["words", "nothing", "arguments", "name", "include", "launch"],
)
async def test_text_without_a_usable_kernel_is_a_failure_that_can_be_put_back(
    tmp_path: Path, text: str, reason: str
) -> None:
    unusable = await extracted(tmp_path, text)
    assert isinstance(unusable, UnusableKernel)
    assert reason in unusable.reason
    assert reason in RetryPolicy().message(unusable)


# --- ask_restrictions


def restrictions(*texts: str) -> Answer:
    return "restrictions", json.dumps({"restrictions": texts})


async def restricted(directory: Path, *answers: Answer) -> tuple[Candidate | str, Script]:
    """What comes of a candidate with a tunable `tile` and a restriction of its own."""
    seen: dict[str, Candidate | str] = {}
    tunables = {"block_size_x": [32, 64], "tile": [1, 2, 4]}

    async def do(me: Calling, session: Effects) -> None:
        source = kernel(2, tunables="tile")
        candidate = changed(session, source, tunables=tunables, restrictions=["tile <= block_size_x / 16"])
        try:
            seen["it"] = await me.ask_restrictions(session, candidate)
        except ModelFailed as failed:
            seen["it"] = str(failed)

    _, script = await run(directory, do, *answers)
    return seen["it"], script


async def test_restrictions_are_asked_about_the_candidate_and_added_without_what_always_holds(tmp_path: Path) -> None:
    answer = restrictions("tile != 2 and block_size_x <= 1024", "tile <= block_size_x / 16", "n > 0")
    found, script = await restricted(tmp_path, answer)

    assert isinstance(found, Candidate)
    assert found.restrictions == ["tile <= block_size_x / 16", "tile != 2"]
    assert found.tunables == {"block_size_x": [32, 64], "tile": [1, 2, 4]}
    assert "int use_tile = tile;" in script.prompt(1)
    assert "restriction: tile <= block_size_x / 16" in script.prompt(1)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tile % warp == 0", "'tile % warp == 0'"),
        ("sizeof(float) * tile < 9", "sizeof"),
        ("__import__('os')", "__import__"),
        ("tile > 4", "'tile > 4' holds for none of tile = 1, 2, 4"),
        ("tile == 4", "the defaults are no valid configuration"),
    ],
)
async def test_a_restriction_that_cannot_be_used_is_put_back_with_the_reason(
    tmp_path: Path, text: str, told: str
) -> None:
    found, script = await restricted(tmp_path, restrictions(text), restrictions())

    assert isinstance(found, Candidate)
    assert found.restrictions == ["tile <= block_size_x / 16"]
    assert told in script.prompt(2)


async def test_restrictions_that_stay_unusable_are_a_failure_of_the_model(tmp_path: Path) -> None:
    found, _ = await restricted(tmp_path, *[restrictions("tile > 4")] * 3)
    assert found == "no usable reply in 3 calls: restrictions: 'tile > 4' holds for none of tile = 1, 2, 4"


# --- fix_parameters


def parameters(**values: list[int]) -> Answer:
    listed = [{"name": name, "values": given, "default": given[0]} for name, given in values.items()]
    return "fix_parameters", json.dumps({"parameters": listed})


async def fixed(directory: Path, source: str, names: list[str], *answers: Answer) -> tuple[Candidate | str, Script]:
    seen: dict[str, Candidate | str] = {}

    async def do(me: Calling, session: Effects) -> None:
        try:
            seen["it"] = await me.fix_parameters(session, changed(session, source), names)
        except (ModelFailed, UnusableKernel) as failed:
            seen["it"] = str(failed)

    _, script = await run(directory, do, *answers)
    return seen["it"], script


async def test_new_names_become_tunables_beside_those_in_use_and_lose_their_definitions(tmp_path: Path) -> None:
    source = kernel(2, tunables="block_size_x TILE", extra="#define TILE 8\n")
    found, script = await fixed(tmp_path, source, ["TILE"], parameters(TILE=[4, 8]))

    assert isinstance(found, Candidate)
    assert found.tunables == {"TILE": [4, 8], "block_size_x": [32, 64, 128, 256]}
    assert found.default_configuration == {"TILE": 4, "block_size_x": 32}
    assert "#define" not in found.source
    assert found.launch.block_size is None, "the launch stays as it is written"
    assert "<parameters>\nTILE\n</parameters>" in script.prompt(1)


async def test_another_spelling_of_a_tunable_becomes_that_one_and_is_not_asked_for(tmp_path: Path) -> None:
    found, script = await fixed(tmp_path, kernel(2, tunables="matters"), ["BLOCK_SIZE_X", "gone"])
    assert isinstance(found, Candidate)
    assert script.requests == []

    source = kernel(2, tunables="BLOCK_SIZE_X")
    found, script = await fixed(tmp_path / "2", source, ["BLOCK_SIZE_X"])
    assert isinstance(found, Candidate), found
    assert "int use_BLOCK_SIZE_X = block_size_x;" in found.source
    assert found.tunables == {"block_size_x": [32, 64, 128, 256]}
    assert script.requests == []


async def test_two_names_for_one_tunable_are_a_failure_that_can_be_put_back(tmp_path: Path) -> None:
    found, script = await fixed(tmp_path, kernel(2, tunables="block_size_x BLOCK_DIM_X"), ["BLOCK_DIM_X"])
    assert found == "tunables: 'BLOCK_DIM_X' stands beside 'block_size_x', which is in use; use block_size_x alone"
    assert script.requests == []


async def test_values_that_are_missing_unwanted_or_unusable_are_asked_for_again(tmp_path: Path) -> None:
    many = list(range(1, 20))
    answers = [parameters(ROWS=[1]), parameters(TILE=many), parameters(TILE=[2])]
    found, script = await fixed(tmp_path, kernel(2, tunables="TILE"), ["TILE"], *answers)
    assert isinstance(found, Candidate)
    assert found.tunables["TILE"] == [2]
    assert "parameters: 'TILE' is missing" in script.prompt(2)
    assert "parameters: 'ROWS' was not asked for" in script.prompt(2)
    assert "'TILE' needs 1 to 16 values, it has 19" in script.prompt(3)


# --- tune_parameters and accept


@pytest.mark.parametrize(
    ("source", "neutral_from", "state"),
    [
        (kernel(2), None, StepState.ACCEPTED),
        (kernel(0.8), None, StepState.REJECTED),
        (kernel(0.8), 0.5, StepState.NEUTRAL),
        (kernel(0.3), 0.5, StepState.REJECTED),
        (kernel(2, fail="wrong result"), None, StepState.REJECTED),
        (kernel(2, fail="wrong result later"), None, StepState.REJECTED),
    ],
)
async def test_a_candidate_is_tuned_and_takes_the_place_of_the_best_only_if_it_is_faster(
    tmp_path: Path, source: str, neutral_from: float | None, state: StepState
) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        await me.tune_baseline(session)
        step, candidate = session.add_step("try it"), changed(session, source)
        best = await me.tune_parameters(session, candidate, 4)
        step = await me.accept(session, step, candidate, best, neutral_from)
        seen.update(step=step, best=session.incumbent.candidate.source)

    told, _ = await run(tmp_path, do)
    assert seen["step"].state is state
    assert told.step("try it").state is state
    assert (seen["best"] == source) == (state is StepState.ACCEPTED)
    assert seen["step"].reason or state is StepState.ACCEPTED


async def test_what_does_not_matter_in_an_accepted_candidate_is_held_from_then_on(tmp_path: Path) -> None:
    async def do(me: Calling, session: Effects) -> None:
        tunables = {"matters": [1, 2], "dull": [1, 2]}
        candidate = changed(session, kernel(2, tunables="matters dull"), tunables=tunables)
        best = await me.tune_parameters(session, candidate)
        await me.accept(session, session.add_step("try it"), candidate, best)

    told, _ = await run(tmp_path, do, search="brute_force")
    (held,) = told.frozen
    assert held.keys() == {"dull"}


async def test_without_a_limit_all_evaluations_that_are_left_may_be_spent(tmp_path: Path) -> None:
    async def do(me: Calling, session: Effects) -> None:
        await me.tune_parameters(session, session.baseline)

    told, _ = await run(tmp_path, do, max_evaluations=3, search="brute_force")
    assert told.finished.evaluations == 3


# --- approved


@pytest.mark.parametrize(
    ("decision", "source", "ended"),
    [
        (Decision(action="approve"), kernel(2), "running"),
        (Decision(action="edit", source=kernel(5)), kernel(5), "running"),
        (Decision(action="skip"), None, "skipped (skipped by hand)"),
        (Decision(action="reject", message="no asm"), None, "rejected (rejected by hand: no asm)"),
    ],
)
async def test_a_candidate_is_put_to_the_user_who_may_edit_or_refuse_it(
    tmp_path: Path, decision: Decision, source: str | None, ended: str
) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        candidate = changed(session, kernel(2))
        seen["it"] = await me.approved(session, session.add_step("try it"), candidate, "because")

    told, _ = await played(tmp_path, Calling(do=do), [], [decision])
    assert (seen["it"] and seen["it"].source) == source
    assert told.plan() == [f"try it: {ended}"]


BROKEN = kernel(7, fail=FailureKind.COMPILE)
YES, FIRST, AGAIN = Decision(action="approve"), *(Decision(action="edit", source=it) for it in (BROKEN, kernel(5)))


@pytest.mark.parametrize(
    ("wording", "decisions", "source", "asked", "evaluated"),
    [
        (WORDING, [FIRST, AGAIN], kernel(5), [kernel(2), BROKEN], 2),
        (WORDING, [FIRST, YES], BROKEN, [kernel(2), BROKEN], 1),
        (WORDING, [FIRST, FIRST], BROKEN, [kernel(2), BROKEN], 1),
        (WORDING, [FIRST, Decision(action="skip")], None, [kernel(2), BROKEN], 1),
        (8, [FIRST], BROKEN, [kernel(2)], 0),
    ],
    ids=["mended", "approved as it stands", "not mended", "skipped", "a session of before"],
)
async def test_who_edits_what_cannot_be_built_is_asked_again(
    tmp_path: Path, wording: int, decisions: list[Decision], source: str | None, asked: list[str], evaluated: int
) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        seen["it"] = await me.approved(session, session.add_step("try it"), changed(session, kernel(2)), "because")

    strategy, user = Calling(do=do), User([*decisions])
    new = replace(new_run(tmp_path, strategy), wording=wording)
    told = await tell_all(Session(new, strategy, World(new.problem), Script([])), user)
    assert (seen["it"] and seen["it"].source) == source
    assert [each.candidate.source for each in user.asked if each.candidate] == asked
    assert all("cannot be built: compile error" in each.rationale for each in user.asked[1:])
    assert told.finished.evaluations == evaluated


# --- develop


async def test_a_step_is_developed_from_a_kernel_with_parameters_and_what_came_before(tmp_path: Path) -> None:
    async def do(me: Calling, session: Effects) -> None:
        slow = changed(session, kernel(0.9, extra="// the base\n"))
        first = await me.develop(session, session.add_step("first", "Do the first."))
        await me.develop(
            session, session.add_step("second"), base=slow, parameters={"tile": [1, 2]}, outcomes=[first], evaluations=5
        )
        await me.tune_best(session)

    answers = [
        ("apply_step", rewrite(kernel(2))),
        ("apply_step", rewrite(kernel(3, tunables="tile"), [("tile", [1, 2], 1)])),
    ]
    told, script = await run(tmp_path, do, *answers)

    assert told.best_speed == 3
    assert "Do the first." in script.prompt(1)
    assert "// the base" in script.prompt(2)
    assert "- tile: 1, 2" in script.prompt(2)
    assert '<step id="1" title="first">\naccepted' in script.prompt(2)
    assert "5 configurations of this kernel" in script.prompt(2)
    assert told.proposed[1].tunables["tile"] == [1, 2]


async def test_what_fails_while_a_step_is_developed_is_put_back_as_the_retry_policy_says(tmp_path: Path) -> None:
    async def do(me: Calling, session: Effects) -> None:
        await me.develop(session, session.add_step("it"))

    broken = ("apply_step", rewrite(kernel(2, fail="compile error")))
    told, script = await run(tmp_path, do, broken, broken, attempts=2)
    assert len(script.requests) == 2
    assert "the log of compile error" in script.prompt(2)
    assert told.step("it").state is StepState.REJECTED


# --- ask


class Bottleneck(BaseModel):
    where: str
    share: int


async def test_any_typed_reply_and_free_text_can_be_asked_for(tmp_path: Path) -> None:
    seen = {}

    async def do(me: Calling, session: Effects) -> None:
        prompt = f"Where is the time lost?\n\n{me.facts(session, session.baseline)}"

        def check(reply: Bottleneck) -> list[str]:
            return [] if reply.share <= 100 else ["share: it is a percentage"]

        seen["typed"] = await me.ask(session, prompt, Bottleneck, check, purpose="bottleneck")
        seen["text"] = await me.ask_text(session, "Why?")

    _, script = await run(
        tmp_path,
        do,
        ("bottleneck", '{"where": "loads", "share": 170}'),
        ("bottleneck", '{"where": "loads", "share": 70}'),
        ("custom", '{"text": "Because."}'),
    )
    assert seen == {"typed": Bottleneck(where="loads", share=70), "text": "Because."}
    assert "Fake GPU" in script.prompt(1)
    assert "share: it is a percentage" in script.prompt(2)


class GivesUp(CustomStrategy):
    async def run(self, session: Effects) -> None:
        await self.tune_baseline(session)
        self.extract_kernel("no kernel at all", session)


class Mistaken(CustomStrategy):
    async def run(self, session: Effects) -> None:
        await self.tune_baseline(session)
        raise TypeError("a mistake of its author")


async def test_a_strategy_that_does_not_catch_a_failure_ends_with_the_best_so_far(tmp_path: Path) -> None:
    told, _ = await played(tmp_path, GivesUp(), [])
    assert "the strategy gave up: code: the source has no kernel 'scale'" in told.finished.reason
    assert told.finished.status == "finished"
    assert (tmp_path / "run" / "result.json").exists()


async def test_a_bug_in_a_strategy_is_an_exception_and_the_best_so_far_is_kept(tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match="the strategy failed: TypeError: a mistake of its author") as raised:
        await played(tmp_path, Mistaken(), [])
    assert isinstance(raised.value.__cause__, TypeError)
    assert raised.value.file == __file__
    assert raised.value.line == line_of(Mistaken, "raise TypeError")
    outcome = SessionOutcome.model_validate_json((tmp_path / "run/result.json").read_text())
    assert (outcome.status, outcome.best.configuration["block_size_x"]) == ("interrupted", 256)


class Leaves(CustomStrategy):
    async def run(self, session: Effects) -> None:
        await self.tune_baseline(session)
        sys.exit(3)


async def test_a_strategy_that_leaves_the_program_has_failed(tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match="the strategy failed: SystemExit: 3") as raised:
        await played(tmp_path, Leaves(), [])
    assert raised.value.line == line_of(Leaves, "sys.exit")


def line_of(kind: type, text: str) -> int:
    lines, first = inspect.getsourcelines(kind)
    return first + next(number for number, line in enumerate(lines) if text in line)


async def test_what_a_strategy_may_not_do_is_refused() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Mistaken().count = 3
    with pytest.raises(TypeError, match="positional argument"):
        Mistaken(RetryPolicy())  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        Mistaken(tries=3)


# --- ask_until


class Sketch(BaseModel):
    source: str


async def insisted(directory: Path, *sources: str, attempts: int = 3) -> tuple[object, Script]:
    """What comes of replies with these kernels: the one that is right, or why the last one is not."""
    seen: dict[str, object] = {}

    async def do(me: Calling, session: Effects) -> None:
        async def right(sketch: Sketch) -> str:
            source = me.extract_kernel(sketch.source, session)
            tested = await me.run_tests(session, changed(session, source))
            if tested.failure is not None:
                raise failure_of(tested)
            return source

        try:
            seen["it"] = await me.ask_until(session, "Write one.", Sketch, right, purpose="sketch")
        except CandidateFailed as failed:
            seen["it"] = failed

    replies = [("sketch", json.dumps({"source": source})) for source in sources]
    _, script = await run(directory, do, *replies, attempts=attempts)
    return seen["it"], script


async def test_what_fails_after_a_prompt_of_ones_own_is_put_back_until_it_works(tmp_path: Path) -> None:
    wrong, right = kernel(2, fail="wrong result"), kernel(2)
    found, script = await insisted(tmp_path, "no kernel", wrong, right)
    assert found == right
    assert "the source has no kernel 'scale'" in script.prompt(2)
    assert "wrong result" in script.prompt(3)
    assert len(script.requests) == 3


async def test_the_last_failure_is_raised_when_the_attempts_are_spent(tmp_path: Path) -> None:
    found, script = await insisted(tmp_path, "no kernel", kernel(2, fail="wrong result"), attempts=2)
    assert isinstance(found, WrongResult)
    assert len(script.requests) == 2
