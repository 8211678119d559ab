"""The strategy `autonomous` with the real program: from the plan to the result, killed in the middle, out of calls."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tests.end_to_end import answers
from tests.end_to_end.kernels import rewrite, write_kernel
from tests.end_to_end.program import Ended, ModelDouble, kinds, records, start, tuner_tui, wait_until
from tui_tuner.session.events import Event, PromptSent, StepChanged

FASTER, SLOWER, NO_STEP = "Cut the passes", "Add passes", "Profile it"
IDEA = "Most passes are for nothing."
ANSWERS = [
    answers.to("plan", answers.plan(FASTER, NO_STEP, SLOWER, summary=IDEA)),
    answers.to("validate_step", answers.valid(), step=FASTER),
    answers.to("validate_step", answers.valid(False, "A profile changes nothing."), step=NO_STEP),
    answers.to("validate_step", answers.valid(), step=SLOWER),
    answers.to("apply_step", rewrite(block_size=(64,), passes=(100, 5)), step=FASTER),
    answers.to("apply_step", rewrite(block_size=(64,), passes=(800,), summary="More passes."), step=SLOWER),
    answers.to("replan", answers.plan(summary="It is as fast as it gets.")),
]
PURPOSES = ["plan", "validate_step", "apply_step", "validate_step", "validate_step", "apply_step", "replan"]
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True)
class Bench:
    """A kernel and a model in a directory of their own."""

    directory: Path
    model: ModelDouble

    @property
    def run(self) -> Path:
        return self.directory / "run"

    @property
    def arguments(self) -> tuple[object, ...]:
        budget = ("--max-evals", 12, "--run-dir", "run")
        return (
            "scale.cu",
            "--auto",
            "--device",
            "emulator",
            *self.model.asked_by("autonomous"),
            *budget,
            "--set",
            "validate_steps=true",
        )

    @property
    def result(self) -> dict[str, object]:
        content: dict[str, object] = json.loads((self.run / "result.json").read_text())
        return content

    def program(self, *arguments: object) -> Ended:
        return tuner_tui(*arguments, cwd=self.directory)


def new_bench(directory: Path, script: Sequence[answers.Answer] = ANSWERS, sizes: Sequence[int] = (333,)) -> Bench:
    write_kernel(directory, tests=sizes, passes=[400, 80])
    return Bench(directory, ModelDouble(directory / "model", script))


@dataclass(frozen=True)
class Finished(Bench):
    ended: Ended

    @property
    def events(self) -> list[Event]:
        return [_EVENT.validate_json(line) for line in self.ended.out.splitlines()]

    @property
    def plan(self) -> list[tuple[str, str]]:
        """Title and state of each step at the end, in the order of their ids."""
        last = {event.step.id: event.step for event in self.events if isinstance(event, StepChanged)}
        return [(step.title, step.state.value) for _, step in sorted(last.items())]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    bench = new_bench(tmp_path_factory.mktemp("uninterrupted"))
    return Finished(bench.directory, bench.model, bench.program(*bench.arguments, "--output", "json"))


def test_a_plan_is_worked_through_and_a_plan_without_steps_ends_it(uninterrupted: Finished) -> None:
    assert uninterrupted.ended.code == 0, uninterrupted.ended.err
    assert uninterrupted.plan == [
        ("Tune the parameters of the kernel as given", "accepted"),
        ("Make a plan", "done"),
        (FASTER, "accepted"),
        (NO_STEP, "skipped"),
        (SLOWER, "rejected"),
        ("Plan again", "done"),
    ]


def test_each_step_is_asked_about_once_and_for_a_kernel_once(uninterrupted: Finished) -> None:
    assert [event.purpose for event in uninterrupted.events if isinstance(event, PromptSent)] == PURPOSES
    assert len(uninterrupted.model.prompts) == len(PURPOSES)


def test_the_result_is_the_accepted_step_with_its_best_configuration(uninterrupted: Finished) -> None:
    result = uninterrupted.result

    assert (result["status"], result["strategy"], result["best_title"]) == ("finished", "autonomous", FASTER)
    assert (result["evaluations"], result["model_calls"]) == (4, len(PURPOSES))
    assert isinstance(best := result["best"], dict)
    assert best["configuration"] == {"block_size_x": 64, "passes": 5}
    assert "#define passes 5" in (uninterrupted.run / "best.cu").read_text()


def test_the_story_tells_what_became_of_each_step_and_why(uninterrupted: Finished) -> None:
    story = uninterrupted.ended.err

    assert f"step 2 Make a plan: done ({IDEA})\n" in story
    assert f"step 3 {FASTER}: validated\n" in story
    assert f"step 3 {FASTER}: accepted " in story
    assert f"step 4 {NO_STEP}: skipped (no tuning step: A profile changes nothing.)\n" in story
    assert f"step 5 {SLOWER}: validated\n" in story
    rejected = next(line for line in story.splitlines() if f"step 5 {SLOWER}: rejected 0." in line)
    assert rejected.endswith("(not faster than the best so far)")
    assert "step 6 Plan again: done (nothing left to try: It is as fast as it gets.)\n" in story


def test_the_next_plan_is_asked_for_with_what_became_of_the_steps(uninterrupted: Finished) -> None:
    history = uninterrupted.model.prompts[-1].partition("<history>")[2].partition("</history>")[0]

    assert f'title="{FASTER}">\naccepted ' in history
    assert f'title="{NO_STEP}">\nskipped: no tuning step' in history
    assert f'title="{SLOWER}">\nrejected 0.' in history
    assert "passes=800" in history


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run that was killed while the kernel of its last step was built, when the first step was accepted; resumed."""
    bench = new_bench(tmp_path_factory.mktemp("killed"))
    process = start(*bench.arguments, cwd=bench.directory)
    wait_until(lambda: kinds(bench.run).count("ask") == len(PURPOSES) - 1, "the kernel of the last step")
    process.send_signal(signal.SIGKILL)
    _, story = process.communicate()
    assert f"step 3 {FASTER}: accepted" in story
    assert f"step 5 {SLOWER}: rejected" not in story, "killed too late to interrupt anything"
    return Finished(bench.directory, bench.model, bench.program("resume", "run", "--auto", "--output", "json"))


@pytest.mark.slow
def test_a_killed_run_ends_with_the_same_plan(killed: Finished, uninterrupted: Finished) -> None:
    assert killed.ended.code == 0, killed.ended.err
    assert killed.plan == uninterrupted.plan
    for count in ("status", "evaluations", "builds", "model_calls", "failures", "best_title"):
        assert killed.result[count] == uninterrupted.result[count], count


@pytest.mark.slow
def test_no_prompt_is_sent_twice(killed: Finished) -> None:
    assert len(killed.model.prompts) == len(set(killed.model.prompts)) == len(PURPOSES)
    assert kinds(killed.run).count("ask") == len(PURPOSES)


def test_no_configuration_is_measured_twice(killed: Finished, uninterrupted: Finished) -> None:
    def measured(bench: Bench) -> list[str]:
        results = (record["result"] for record in records(bench.run) if record["kind"] == "evaluate")
        return sorted(json.dumps([r["candidate"], r["configuration"]]) for r in results if isinstance(r, dict))

    assert measured(killed) == measured(uninterrupted)
    assert len(set(measured(killed))) == len(measured(killed)) == 4


@pytest.mark.slow
def test_calls_that_are_used_up_end_the_run_with_the_best_and_more_of_them_go_on(tmp_path: Path) -> None:
    bench = new_bench(tmp_path)
    ended = bench.program(*bench.arguments, "--max-calls", 3)

    assert ended.code == 0, ended.err
    assert ended.out.startswith("finished: the 3 model calls allowed are made\n")
    assert "passes=5\n" in ended.out
    assert (bench.result["status"], bench.result["model_calls"]) == ("finished", 3)
    assert len(bench.model.prompts) == 3

    more = bench.program("resume", "run", "--auto", "--max-calls", 20)
    assert more.code == 0, more.err
    assert more.out.startswith("finished: the strategy is done\n")
    assert len(bench.model.prompts) == len(PURPOSES), "nothing is asked twice"


@pytest.mark.slow
def test_where_the_user_gives_no_tests_the_model_proposes_some_before_anything_else(tmp_path: Path) -> None:
    script = [answers.to("propose_tests", answers.tests(1, 99)), answers.to("plan", "no plan")]
    bench = new_bench(tmp_path, script, sizes=())
    ended = bench.program(*bench.arguments, "--max-calls", 2)

    assert "verified as well, as the model proposed: n=1\n" in ended.err
    assert "verified as well, as the model proposed: n=99\n" in ended.err
    assert ended.err.index("(propose_tests)") < ended.err.index("as given: ") < ended.err.index("(plan)")
    assert "n=99" in bench.model.prompts[1]


@pytest.mark.slow
def test_options_of_the_strategy_come_from_the_settings_and_the_command_line_wins(tmp_path: Path) -> None:
    bench = new_bench(tmp_path)
    settings = tmp_path / "mine.toml"
    settings.write_text("[strategies.autonomous]\nwith_replanning = false\nbreakdown_steps = true\n")
    options = ("--set", "breakdown_steps=false", "--max-calls", 20)
    ended = tuner_tui(*bench.arguments, *options, cwd=tmp_path, TUNER_TUI_CONFIG=os.fspath(settings))

    assert ended.code == 0, ended.err
    assert "(replan)" not in ended.err
    assert "(break_down)" not in ended.err
    assert len(bench.model.prompts) == len(PURPOSES) - 1


@pytest.mark.slow
def test_more_evaluations_go_on_where_they_were_spent_and_ask_nothing_anew(tmp_path: Path) -> None:
    bench = new_bench(tmp_path)
    ended = bench.program(*bench.arguments, "--max-evals", 3)
    assert ended.out.startswith("finished: the 3 evaluations allowed are made\n"), ended.err
    asked = kinds(bench.run).count("ask")
    assert 0 < asked < len(PURPOSES)

    more = bench.program("resume", "run", "--auto", "--max-evals", 12)
    assert more.code == 0, more.err
    assert more.out.startswith("finished: the strategy is done\n")
    assert kinds(bench.run).count("ask") == len(bench.model.prompts) == len(PURPOSES), "nothing is asked twice"
    assert bench.result["evaluations"] == 4
    again = bench.program("replay", "run", "--auto")
    assert again.out.splitlines()[:4] == more.out.splitlines()[:4]

    told = kinds(bench.run).count("told")
    assert bench.program("resume", "run", "--auto", "--max-evals", 12).code == 0
    assert kinds(bench.run).count("told") == told == 1, "what is not higher raises nothing"
