"""What prompts tell of earlier kernels: their code beside what came of them, the latest most; and what else is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.session.fakes import DEVICE
from tests.strategies.branch import APPROVE, YES, apply, edited, planned
from tests.strategies.branches_planning import ONCE
from tests.strategies.world import FIXED, kernel, played
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch
from tui_tuner.strategies.history import CODE_LINES, Attempt, Outcome, changed_lines, history_facts
from tui_tuner.strategies.steps import Step, StepState

GIVEN = "".join(f"line {number}\n" for number in range(100))


def candidate(source: str) -> Candidate:
    return Candidate(source=source, kernel="k", launch=Launch())


def tried(number: int, *sources: str, state: StepState = StepState.REJECTED) -> Outcome:
    """A step for which these kernels were written, the last of them its own."""
    step = Step(id=number, title=f"title {number}", detail=f"detail {number}", state=state, reason=f"reason {number}")
    attempts = tuple(Attempt(candidate(s), candidate(GIVEN), f"said of {s[:9]}", f"fate of {s[:9]}") for s in sources)
    return Outcome(step, attempts[-1].candidate if attempts else None, attempts=attempts)


def changed(line: int, to: str) -> str:
    return GIVEN.replace(f"line {line}\n", f"{to}\n")


def test_a_short_change_is_a_whole_diff_with_a_line_around_it():
    assert changed_lines(GIVEN, changed(50, "other"), 10) == [
        "@@ -50,3 +50,3 @@",
        " line 49",
        "-line 50",
        "+other",
        " line 51",
    ]
    assert changed_lines(GIVEN, GIVEN, 10) == []


def test_a_long_change_is_what_it_adds_and_no_longer_than_allowed():
    added = "".join(f"new {number}\n" for number in range(40))
    told = changed_lines(GIVEN, added, 60)
    assert told[0] == "(without the 100 lines that it takes out)"
    assert [line for line in told if line.startswith("+")] == [f"+new {number}" for number in range(40)]
    cut = changed_lines(GIVEN, added, 12)
    assert len(cut) == 12
    assert cut[-1] == "(and 31 lines more)"
    assert len(changed_lines(GIVEN, "x" * 1000, 9)[-1]) < 200


def test_the_last_three_kernels_are_told_with_their_code_the_rejected_ones_too():
    outcomes = [tried(1, changed(10, "a")), tried(2, changed(20, "b"), changed(30, "c")), tried(3, changed(40, "d"))]
    told = history_facts(outcomes, code_beside=candidate(GIVEN))
    assert len(CODE_LINES) == 3
    assert [line for line in told.splitlines() if line.startswith("+")] == ["+b", "+c", "+d"]
    assert "asked for: detail 1" not in told
    assert "another kernel: said of line 0 li came of it: fate of" in told.replace("\n", " ")
    assert told.count("came of it") == 1, "what came of a step's own kernel is what came of the step"
    second = told.partition('<step id="2"')[2].partition("</step>")[0]
    assert second.index("+b") < second.index("+c")
    assert "asked for: detail 2" in second


def test_the_kernel_that_the_prompt_shows_is_not_told_twice():
    told = history_facts([tried(1, changed(10, "a"))], code_beside=candidate(changed(10, "a")))
    assert "(its code is the kernel above)" in told
    assert "+a" not in told


def test_without_a_kernel_beside_it_a_history_has_no_code():
    assert "kernel:" not in history_facts([tried(1, changed(10, "a"))])


def test_of_a_kernel_that_was_not_faster_its_other_configurations_are_told_too():
    slow = tried(1, changed(10, "a"))
    best, other = (
        Evaluation(candidate="k", configuration={"x": x}, timing=Timing(median=x, low=x, high=x, samples=9))
        for x in (2.0, 3.0)
    )
    slow = replace(slow, best=best)
    told = history_facts([slow], known=lambda _: [other, best])
    assert "its best: x=2.0: 2 ms" in told
    assert "others of it: x=3.0: 3 ms\n" in told, "and the best is not told twice"
    assert "others of it" not in history_facts([slow])


TWO = [planned("one", "two"), YES, apply(fail="crash"), apply(0.9), YES, apply(3)]


async def test_a_step_is_told_what_was_written_before_and_what_is_to_come(tmp_path):
    _, script = await played(tmp_path, ONCE, TWO, problem=FIXED, search="brute_force")
    first, last = script.prompt(3), script.prompt(6)
    assert "<to_come>\n- two\n</to_come>" in first, "and not the step itself"
    assert "<inputs>\nx: float32 array, filled" in first
    assert "infinities" not in first
    assert "mma.sync" in first
    assert "mma.sync" in script.prompt(1)
    assert "+// fail crash" in last
    assert "came of it: crash: told by crash" in last
    assert "+// speed 0.9" in last
    assert "<to_come>" not in last


async def test_what_the_user_wrote_is_the_code_that_is_told(tmp_path):
    answers = [planned("one", "two"), YES, apply(0.9), YES, apply(3)]
    decisions = [APPROVE, edited(kernel(0.9, extra="// mine\n"))]
    told, script = await played(tmp_path, ONCE, answers, decisions, problem=FIXED)
    assert told.best_speed == 3
    assert "\n+// mine\n" in script.prompt(5)


@pytest.mark.parametrize(
    ("capability", "variant", "there", "absent"),
    [
        (75, "sm_75", "mma.sync", "cuda::pipeline"),
        (86, "sm_86", "cuda::pipeline", "__cluster_dims__"),
        (90, "sm_90a", "wgmma", "tcgen05"),
        (90, "sm_90", "__cluster_dims__", "wgmma"),
        (100, "sm_100a", "tcgen05", "wgmma"),
    ],
)
def test_the_means_of_a_cuda_device_are_those_of_its_architecture(capability, variant, there, absent):
    device = DEVICE.model_copy(update={"architecture": f"sm_{capability}", "toolchain": f"nvcc 13 {variant}"})
    said = kind_named("cuda").means(device)
    assert there in said
    assert absent not in said
    assert "no tensor maps" in said
    assert ("tensormap.replace" in said) == (variant == "sm_90a")
    assert "tensormap.replace" not in kind_named("cuda").means(device, tensor_maps=False)
    assert ("through volatile they are a race" in said) == (capability >= 90)


@pytest.mark.parametrize("kind", ["emulator", "opencl", "c"])
def test_other_devices_have_no_means_of_cuda(kind):
    assert kind_named(kind).means(DEVICE.model_copy(update={"kind": kind})) == ""
