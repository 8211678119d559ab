"""`tui_tuner.tune`, `tune_async` and `tuning`: results, events, what the user says, early ends, mistakes."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from types import SimpleNamespace

import pytest

import tui_tuner
from tests.api.model import Model, plan
from tests.end_to_end.kernels import write_kernel
from tests.session.fakes import FakeEvaluator, reply
from tests.waiting import reached
from tui_tuner import (
    AddStep,
    AutonomousStrategy,
    Decision,
    Effects,
    NotFaster,
    OnePromptStrategy,
    Proposal,
    RetryPolicy,
    Say,
    SearchStrategy,
    Settings,
    Strategy,
    UserError,
    WrongResult,
)
from tui_tuner.cli import main
from tui_tuner.errors import JournalError, ProblemError, SettingsError
from tui_tuner.headless import ApproveAll
from tui_tuner.journal import Journal
from tui_tuner.session.events import EvaluationFinished, Note, SessionFinished, SessionStarted, StepChanged

HERE = {"device": "emulator", "max_evaluations": 12}


def model(**answers: str) -> Model:
    return Model(**{"one_prompt": reply(), "apply_step": reply(), **answers})


def header(run: Path) -> dict[str, object]:
    return Journal.read(run / "journal.jsonl").header


def test_a_kernel_is_tuned_on_the_emulator_in_one_call(tmp_path: Path) -> None:
    kernel, double = write_kernel(tmp_path, passes=[400, 100]), Model()
    result = tui_tuner.tune(
        str(kernel),
        strategy="one_prompt",
        model=double,
        device="emulator",
        max_evaluations=4,
        run_directory=tmp_path / "run",
    )

    assert result.speedup[1] > 1
    assert result.outcome.status == "finished"
    assert result.configuration == {"block_size_x": 64, "passes": 5}
    assert result.best_source == tmp_path / "run" / "best.cu"
    assert result.source == result.best_source.read_text()
    assert "#define passes 5" in result.source
    assert "passes = [5]" in result.best_problem.read_text()
    assert result.notes == ()
    assert double.purposes == ["propose_tests", "one_prompt"]
    assert not double.closed, "the caller may use its model again"


def test_a_finished_run_is_told_again_without_a_call_or_an_evaluation(
    kernel: Path, tmp_path: Path, evaluators: list[FakeEvaluator]
) -> None:
    choices = {"strategy": OnePromptStrategy(), "run_directory": tmp_path / "run", **HERE}
    first = tui_tuner.tune(kernel, model=model(), **choices)
    again = model()
    second = tui_tuner.tune(kernel, model=again, **choices)

    assert second.outcome.model_copy(update={"elapsed_s": first.outcome.elapsed_s}) == first.outcome
    assert again.requests == []
    assert evaluators[1].evaluated == []


def test_the_screen_can_replay_and_resume_a_run_of_a_strategy_that_was_an_object(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy = AutonomousStrategy(with_replanning=False, retry_policy=RetryPolicy(attempts=2))
    run = tmp_path / "run"
    tui_tuner.tune(kernel, strategy=strategy, model=model(plan=plan("A")), run_directory=run, **HERE)

    options = header(run)["options"]
    assert isinstance(options, dict)
    assert options["strategy"] == "autonomous"
    assert options["strategy_options"] == {"with_replanning": False, "retry_policy": {"attempts": 2}}
    assert main(["replay", str(run), "--auto"]) == 0
    assert "finished: the strategy is done" in capsys.readouterr().out


def test_failures_that_are_final_stand_in_the_journal_by_name_and_the_run_goes_on_with_them(
    kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy = OnePromptStrategy(retry_policy=RetryPolicy(attempts=5, final=(WrongResult, NotFaster)))
    run = tmp_path / "run"
    tui_tuner.tune(kernel, strategy=strategy, model=model(), run_directory=run, **HERE)

    options = header(run)["options"]
    assert isinstance(options, dict)
    policy = {"attempts": 5, "final": ["WrongResult", "NotFaster"]}
    assert options["strategy_options"] == {"retry_policy": policy}
    again = model()
    tui_tuner.tune(kernel, strategy=strategy, model=again, run_directory=run, **HERE)
    assert again.requests == []
    with pytest.raises(JournalError, match="another strategy_options"):
        tui_tuner.tune(kernel, strategy=OnePromptStrategy(), model=again, run_directory=run, **HERE)
    assert main(["replay", str(run), "--auto"]) == 0
    assert "finished: the strategy is done" in capsys.readouterr().out


async def test_it_can_be_awaited_several_at_a_time(kernel: Path, tmp_path: Path) -> None:
    results = await asyncio.gather(
        *(
            tui_tuner.tune_async(kernel, strategy="one_prompt", model=model(), run_directory=tmp_path / name, **HERE)
            for name in ("a", "b")
        )
    )

    assert results[0].configuration == results[1].configuration
    assert [result.run_directory.name for result in results] == ["a", "b"]


async def test_the_blocking_call_names_the_other_one_where_a_loop_runs(kernel: Path) -> None:
    with pytest.raises(SettingsError, match="tune_async") as caught:
        tui_tuner.tune(kernel, model=None)
    assert "event loop" in caught.value.message


async def test_the_events_come_as_they_happen_and_the_result_afterwards(kernel: Path, tmp_path: Path) -> None:
    running = tui_tuner.tuning(kernel, strategy="search", run_directory=tmp_path / "run", **HERE)
    with pytest.raises(UserError, match="not begun"):
        _ = running.run_directory
    seen = []
    async for event in running:
        seen.append(event)
        if isinstance(event, SessionStarted):
            assert running.run_directory == tmp_path / "run"
            with pytest.raises(UserError, match="not at its end"):
                _ = running.result

    assert isinstance(seen[0], SessionStarted)
    assert isinstance(seen[-1], SessionFinished)
    assert running.result.speedup == seen[-1].speedup


async def test_words_and_steps_that_are_told_reach_the_model_and_the_plan(kernel: Path) -> None:
    double = model(plan=plan("A"), replan=json.dumps({"summary": "Done.", "steps": []}))
    titles = set()
    async with tui_tuner.tuning(kernel, model=double, **HERE) as running:
        running.tell(Say(text="shared memory is broken on this board"))
        async for event in running:
            if isinstance(event, StepChanged):
                if event.step.title == "A" and "A" not in titles:
                    running.tell(AddStep(title="mine"))
                titles.add(event.step.title)

    assert "mine" in titles
    asked = [request for request in double.requests if request.purpose == "plan"]
    assert "shared memory is broken on this board" in asked[0].messages[-1].content
    assert double.purposes.count("apply_step") == 2


async def test_an_approver_decides_on_each_step(kernel: Path) -> None:
    asked = []

    class No:
        async def decide(self, proposal: Proposal) -> Decision:
            asked.append(proposal.step.title)
            return Decision(action="skip")

    result = await tui_tuner.tune_async(kernel, strategy=SearchStrategy(), approver=No(), **HERE)

    assert asked == ["Tune the parameters of the kernel as given"]
    assert result.outcome.status == "no_improvement"


async def test_an_approver_that_answers_something_else_is_told_what_is_wanted(kernel: Path) -> None:
    class Nothing:
        async def decide(self, _: Proposal) -> None: ...

    with pytest.raises(SettingsError, match=r"decide\(\) of the approver returned None\n  return a Decision"):
        await tui_tuner.tune_async(kernel, strategy=SearchStrategy(), approver=Nothing(), **HERE)


@pytest.mark.parametrize("way", ["with", "aclose", "break"])
async def test_a_tuning_that_is_closed_early_can_be_gone_on_with(
    kernel: Path, tmp_path: Path, evaluators: list[FakeEvaluator], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    # What nobody iterates over any more is closed some turns of the loop later: it must not have ended then.
    compare = FakeEvaluator.compare

    async def slow(*arguments: object) -> object:
        for _ in range(20):
            await asyncio.sleep(0)
        return await compare(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeEvaluator, "compare", slow)
    choices = {"strategy": "search", "search": "brute_force", "run_directory": tmp_path / "run", **HERE}
    if way == "with":
        async with tui_tuner.tuning(kernel, **choices) as running:
            async for event in running:
                if isinstance(event, EvaluationFinished):
                    break
    elif way == "aclose":
        running = tui_tuner.tuning(kernel, **choices)
        async for event in running:
            if isinstance(event, EvaluationFinished):
                await running.aclose()
                break
    else:
        async for event in tui_tuner.tuning(kernel, **choices):
            if isinstance(event, EvaluationFinished):
                break
        gc.collect()
        written = tmp_path / "run" / "result.json"
        await reached(lambda: written.exists() and len(asyncio.all_tasks()) == 1)

    left = json.loads((tmp_path / "run" / "result.json").read_text())
    assert (left["status"], left["confirmed"]) == ("interrupted", False)
    result = await tui_tuner.tune_async(kernel, **choices)
    assert result.outcome.evaluations == 3
    assert len(evaluators[0].evaluated) + len(evaluators[1].evaluated) == 3, "nothing is evaluated twice"


def test_a_run_directory_of_something_else_is_not_gone_on_with(kernel: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    tui_tuner.tune(kernel, strategy="search", run_directory=run, **HERE)

    with pytest.raises(JournalError, match="began with another strategy"):
        tui_tuner.tune(kernel, strategy="one_prompt", model=model(), run_directory=run, **HERE)
    with pytest.raises(JournalError, match="began with another seed"):
        tui_tuner.tune(kernel, strategy="search", run_directory=run, seed=1, **HERE)
    kernel.write_text(kernel.read_text().replace("2.0f", "3.0f"))
    with pytest.raises(JournalError, match="began with another problem"):
        tui_tuner.tune(kernel, strategy="search", run_directory=run, **HERE)
    kernel.write_text(kernel.read_text().replace("3.0f", "2.0f"))
    assert tui_tuner.tune(kernel, strategy="search", run_directory=run, **{**HERE, "max_evaluations": 20})


class Doubtful(Strategy):
    """Asks nobody and changes nothing."""

    patience: int = 1

    async def run(self, session: Effects) -> None:
        await session.evaluate(session.baseline, [{"block_size_x": 128}])


def test_a_run_of_an_object_of_your_own_class_goes_on_from_python_alone(
    kernel: Path, tmp_path: Path, evaluators: list[FakeEvaluator], capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    tui_tuner.tune(kernel, strategy=Doubtful(patience=3), run_directory=run, **HERE)
    tui_tuner.tune(kernel, strategy=Doubtful(patience=3), run_directory=run, **HERE)

    assert evaluators[1].evaluated == []
    assert main(["resume", str(run), "--auto"]) == 2
    told = capsys.readouterr().err
    assert "an object of the class tests.api.test_tune:Doubtful" in told
    assert "run_directory=" in told
    with pytest.raises(JournalError, match="another strategy_options"):
        tui_tuner.tune(kernel, strategy=Doubtful(), run_directory=run, **HERE)


class Reasoned(Doubtful):
    """Has an option that is code."""

    why: Callable[[], str]


def test_an_option_that_cannot_be_written_down_is_named_before_a_run_is_begun(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kernel.parent)
    with pytest.raises(SettingsError, match="an option of Reasoned cannot be written down") as caught:
        tui_tuner.tune(kernel, strategy=Reasoned(why=lambda: "so"), **HERE)
    assert "exclude=True" in (caught.value.hint or "")
    assert not Path("tuner-runs").exists()


def test_without_a_model_the_strategy_is_the_search_and_a_note_says_why(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    wanted = tui_tuner.tune(kernel, model=None, **HERE)
    found = tui_tuner.tune(kernel, model="auto", **HERE)

    assert wanted.outcome.strategy == found.outcome.strategy == "search"
    assert wanted.notes == ()
    assert "no language model" in found.notes[0]


async def test_that_there_is_no_model_is_told_among_the_events_too(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    async with tui_tuner.tuning(kernel, **HERE) as running, aclosing(running.__aiter__()) as stream:
        first, second = await anext(stream), await anext(stream)
    assert isinstance(first, SessionStarted)
    assert isinstance(second, Note)
    assert second.text.startswith("no language model")


def test_settings_come_from_the_users_file_unless_they_are_given(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[session]\nseed = 7\nstrategy = 'search'\n")
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(file))

    assert tui_tuner.tune(kernel, **HERE).outcome.seed == 7
    assert tui_tuner.tune(kernel, seed=3, **HERE).outcome.seed == 3
    assert tui_tuner.tune(kernel, settings=Settings(), strategy="search", **HERE).outcome.seed == 0


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"max_evaluation": 3}, "there is no choice 'max_evaluation'\n  did you mean 'max_evaluations'?"),
        ({"max_evaluations": 0}, "max_evaluations: input should be greater than or equal to 1, it is 0"),
        ({"max_evals": 3}, "there is no choice 'max_evals'\n  here it is 'max_evaluations'"),
        ({"target": 1}, "target: input should be greater than 1, it is 1"),
        ({"seed": "x"}, "seed: input should be a valid integer"),
        ({"strategy": "autonomos"}, "did you mean 'autonomous'?"),
        ({"strategy": AutonomousStrategy}, "strategy is no strategy but AutonomousStrategy"),
        ({"strategy": 3}, "strategy is no strategy but int"),
        ({"model": "olama"}, "did you mean 'ollama'?"),
        ({"model": 3}, "model is no model but a int"),
        ({"model": SimpleNamespace(name="mine", stream=print)}, "model is no model but a SimpleNamespace"),
        ({"device": "emulater"}, "did you mean 'emulator'?"),
        ({"approver": 3}, "approver is no approver but int\n  give an object with `async def decide(self, proposal)`"),
        ({"approver": ApproveAll}, "approver is no approver but ApproveAll"),
        ({"approver": SimpleNamespace(decide=print)}, "approver is no approver but SimpleNamespace"),
        ({"settings": 3}, "settings are no settings but int"),
        ({"run_directory": 3}, "run_directory is no path but int"),
        ({"search": "hybrid_vnd"}, "did you mean 'hybrid_vndx'?"),
    ],
)
def test_a_mistake_in_the_arguments_is_named_and_begins_no_run(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, choices: dict[str, object], told: str
) -> None:
    monkeypatch.chdir(kernel.parent)
    with pytest.raises(SettingsError) as caught:
        tui_tuner.tune(kernel, **choices)
    assert told in str(caught.value)
    assert not Path("tuner-runs").exists()


def test_a_problem_that_is_none_or_is_not_there_is_named(kernel: Path) -> None:
    with pytest.raises(SettingsError, match="problem is a int"):
        tui_tuner.tune(3)
    with pytest.raises(ProblemError, match="there is no kernel file"):
        tui_tuner.tune(kernel.with_name("absent.cu"))


def test_a_run_that_failed_at_its_start_leaves_its_place_free(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise ProblemError("the kernel as given does not build")

    choices = {"strategy": "search", "run_directory": tmp_path / "run", **HERE}
    with monkeypatch.context() as patched:
        patched.setattr(FakeEvaluator, "start", fail)
        with pytest.raises(ProblemError, match="does not build"):
            tui_tuner.tune(kernel, **choices)
    assert not (tmp_path / "run" / "journal.jsonl").exists()
    assert tui_tuner.tune(kernel, **choices).outcome.status == "finished"


def test_every_public_name_is_there_and_no_other_is() -> None:
    assert all(getattr(tui_tuner, name) is not None for name in tui_tuner.__all__)
    assert set(tui_tuner.__all__) <= set(dir(tui_tuner))
    with pytest.raises(AttributeError, match="no attribute 'tunes'"):
        _ = tui_tuner.tunes


def loaded_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.slow
def test_the_import_loads_nothing_but_itself_and_the_call_no_screen_and_no_vendors_package() -> None:
    screens_and_vendors = {"textual", "rich", "pycuda", "cuda", "cupy", "pyopencl", "kernel_tuner", "ollama", "openai"}

    assert not loaded_after("import tui_tuner") & (screens_and_vendors | {"pydantic", "numpy", "httpx"})
    every = "import tui_tuner\nfor name in tui_tuner.__all__: getattr(tui_tuner, name)"
    loaded = loaded_after(every)
    assert "tui_tuner.api" in loaded
    assert not loaded & screens_and_vendors
