"""`--auto`: the result on standard output, the story on standard error, and exit codes for scripts."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from pydantic import TypeAdapter

from tests.end_to_end.kernels import SOURCE, rewrite, write_kernel
from tests.end_to_end.program import (
    Ended,
    ModelDouble,
    end_of,
    kinds,
    orphans_come_here,
    start,
    tuner_tui,
    tuner_tui_process,
    wait_until,
)
from tui_tuner.session.events import EvaluationFinished, Event, SessionFinished, SessionStarted, StepChanged
from tui_tuner.strategies.steps import StepState

EMULATOR = ("--auto", "--device", "emulator")
NO_MODEL = (*EMULATOR, "--llm", "none")


@dataclass(frozen=True)
class Finished:
    directory: Path
    ended: Ended

    @property
    def run(self) -> Path:
        return self.directory / "a run"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("text")
    write_kernel(directory)
    return Finished(directory, tuner_tui_process("scale.cu", *NO_MODEL, "--run-dir", "a run", cwd=directory))


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    directory = tmp_path_factory.mktemp("stream")
    write_kernel(directory, tests=[333], passes=[400, 40])
    model = ModelDouble(directory / "model", rewrite(block_size=(64,), passes=(10, 5)))
    options = (*model.asked_by("one_prompt"), "--output", "json", "--max-evals", 4, "--run-dir", "a run")
    return Finished(directory, tuner_tui("scale.cu", *EMULATOR, *options, cwd=directory))


def events_of(finished: Finished) -> list[Event]:
    adapter: TypeAdapter[Event] = TypeAdapter(Event)
    return [adapter.validate_json(line) for line in finished.ended.out.splitlines()]


def test_a_faster_kernel_is_exit_code_0_and_standard_output_is_the_result_alone(text: Finished) -> None:
    assert text.ended.code == 0, text.ended.err
    words = [line.split()[0] for line in text.ended.out.splitlines()]
    assert words == ["finished:", "as", "best", "speed-up", "effort", "written"]
    assert "passes=4" in text.ended.out
    assert "CPU" in text.ended.out, "times that are no GPU's are called so"


def test_the_story_on_standard_error_is_one_line_an_event_with_the_time_before_it(text: Finished) -> None:
    lines = text.ended.err.splitlines()
    assert all(re.match(r"\[\d\d:\d\d\] \S", line) for line in lines), text.ended.err
    story = "\n".join(line[8:] for line in lines)
    for part in (
        "started: scale.cu, strategy search",
        "device: CPU emulator",
        "as given: ",
        "#2 ",
        "#3 ",
        "new best: ",
    ):
        assert story.count(f"\n{part}") + story.startswith(part) == 1, part
    assert len(set(lines)) == len(lines), "nothing is said twice"


def test_the_run_directory_holds_the_result_and_the_tuned_kernel(text: Finished) -> None:
    result = json.loads((text.run / "result.json").read_text())

    assert (result["status"], result["evaluations"], result["builds"], result["model_calls"]) == ("finished", 2, 3, 0)
    assert result["best"]["configuration"] == {"block_size_x": 64, "passes": 4}
    assert result["speedup"][1] > 1
    assert "#define passes 4" in (text.run / "best.cu").read_text()
    assert "passes = [4]" in (text.run / "best.toml").read_text()


@pytest.mark.slow
def test_the_tuned_kernel_can_be_tuned_on_from_its_own_problem_file(text: Finished) -> None:
    again = tuner_tui(text.run / "best.cu", *NO_MODEL, "--run-dir", "again", cwd=text.directory)

    assert again.code == 3, again.err
    assert again.out.startswith("no improvement: ")
    before, after = (json.loads((text.directory / run / "result.json").read_text()) for run in ("a run", "again"))
    assert after["baseline"]["timing"]["median"] < before["baseline"]["timing"]["median"] / 2


def test_what_a_run_found_is_given_out_by_commands(text: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*arguments: object) -> str:
        ended = tuner_tui(*arguments, cwd=text.directory)
        assert (ended.code, ended.err) == (0, ""), ended.err
        return ended.out

    assert said("show", text.run).startswith("scale.cu on CPU emulator")
    assert said("best", text.run) == (text.run / "best.cu").read_text()
    assert said("best", text.run, "--as", "problem") == (text.run / "best.toml").read_text()
    (text.directory / "journal alone").mkdir()
    shutil.copy(text.run / "journal.jsonl", text.directory / "journal alone")
    assert said("best", "journal alone", "--as", "problem") == (text.run / "best.toml").read_text()
    assert json.loads(said("best", text.run, "--as", "configuration")) == {"block_size_x": 64, "passes": 4}
    assert "grid_x(" in said("best", text.run, "--as", "header")
    assert said("best", text.run, "--as", "patch").startswith("--- a/scale.cu\n+++ b/scale.cu\n")
    assert said("export", text.run).count("\n") == 4
    assert len(json.loads(said("export", text.run, "--as", "cache"))["cache"]) == 3
    assert len(json.loads(said("export", text.run, "--as", "t4"))["results"]) == 3
    assert said("report", text.run, "--as", "markdown").startswith("# scale.cu on CPU emulator")
    wrong = tuner_tui("export", text.run, "--kernel", "no", cwd=text.directory)
    assert (wrong.code, "the run has no kernel 'no'" in wrong.err) == (2, True)
    nothing = tuner_tui("best", "--last", cwd=text.directory)
    assert (nothing.code, "there are no runs here" in nothing.err) == (1, True)
    quiet = tuner_tui("resume", text.run, "--auto", "--quiet", cwd=text.directory)
    assert (quiet.code, quiet.err) == (0, "")
    assert quiet.out.splitlines()[:-1] == text.ended.out.splitlines()[:-1], "but the path of the result"
    both = tuner_tui("show", text.run, "--last", cwd=text.directory)
    assert (both.code, "name a RUN, or --last" in both.err) == (2, True)


@pytest.mark.slow
def test_the_best_is_written_into_the_users_files_and_the_newest_run_gone_on_with(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    first = tuner_tui("scale.cu", *NO_MODEL, cwd=tmp_path)
    assert first.code == 0, first.err
    applied = tuner_tui("best", "--last", "--apply", cwd=tmp_path)

    assert applied.code == 0, applied.err
    assert applied.out.startswith("--- a/scale.cu")
    assert applied.err == "wrote scale.cu\nwrote scale.toml\n"
    assert "#define passes 4" in (tmp_path / "scale.cu").read_text()
    assert "passes = 4" in (tmp_path / "scale.toml").read_text()
    again = tuner_tui("resume", "--last", "--auto", cwd=tmp_path)
    assert again.code == 0, again.err
    (run,) = (tmp_path / "tuner-runs").iterdir()
    assert again.err.startswith(f"goes on with tuner-runs/{run.name}\n")
    assert again.out == first.out


@pytest.mark.slow
def test_every_line_of_the_json_stream_is_an_event_from_the_start_to_the_end(stream: Finished) -> None:
    events = events_of(stream)

    assert stream.ended.code == 0, stream.ended.err
    assert isinstance(events[0], SessionStarted)
    assert isinstance(events[-1], SessionFinished)
    assert sum(isinstance(event, SessionStarted | SessionFinished) for event in events) == 2
    assert [event.elapsed for event in events] == sorted(event.elapsed for event in events)


@pytest.mark.slow
def test_every_line_of_the_json_stream_keeps_to_the_schema_that_is_shipped(stream: Finished) -> None:
    printed = tuner_tui("schema", "events", cwd=stream.directory)
    schema = json.loads(printed.out)
    jsonschema.Draft202012Validator.check_schema(schema)
    valid = jsonschema.Draft202012Validator(schema)
    for line in stream.ended.out.splitlines():
        valid.validate(json.loads(line))
    first = json.loads(stream.ended.out.splitlines()[0])
    assert first["format"] == 1
    with pytest.raises(jsonschema.ValidationError):
        valid.validate({**first, "seed": "none"})
    result = json.loads((stream.run / "result.json").read_text())
    jsonschema.validate(result, json.loads(tuner_tui("schema", "result", cwd=stream.directory).out))


@pytest.mark.slow
def test_the_json_stream_agrees_with_the_result_file(stream: Finished) -> None:
    events = events_of(stream)
    finished = events[-1]
    result = json.loads((stream.run / "result.json").read_text())

    assert isinstance(finished, SessionFinished)
    assert finished.status == result["status"] == "finished"
    assert list(finished.speedup or ()) == result["speedup"]
    evaluations = [event for event in events if isinstance(event, EvaluationFinished)]
    assert len(evaluations) == finished.evaluations == result["evaluations"] == 3
    assert finished.model_calls == result["model_calls"] == 1
    states = [event.step.state for event in events if isinstance(event, StepChanged) and event.step.id == 2]
    assert states[0] is StepState.PROPOSED
    assert StepState.AWAITING in states
    assert states[-1] is StepState.ACCEPTED


def test_the_json_stream_leaves_the_story_on_standard_error(stream: Finished) -> None:
    assert "reply 1: " in stream.ended.err
    assert "proposed for step 2: Fewer passes." in stream.ended.err


@pytest.mark.slow
def test_nothing_to_gain_is_exit_code_3_and_still_leaves_a_result(tmp_path: Path) -> None:
    write_kernel(tmp_path, passes=[4])
    ended = tuner_tui("scale.cu", *NO_MODEL, "--run-dir", "run", cwd=tmp_path)

    assert ended.code == 3, ended.err
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "no_improvement"
    assert "there is nothing to choose from" in ended.err


@pytest.mark.slow
def test_a_kernel_that_does_not_build_is_exit_code_1_with_the_compilers_words(tmp_path: Path) -> None:
    broken = SOURCE.replace("2.0f * x[i]", "2.0f * z[i]")
    write_kernel(tmp_path, source=broken)
    ended = tuner_tui("scale.cu", *NO_MODEL, "--run-dir", "run", cwd=tmp_path)

    assert ended.code == 1
    assert ended.out == ""
    assert "scale.cu: the kernel as given does not build" in ended.err
    assert "scale.cu:4:54: error: " in ended.err
    assert "kernel.cu" not in ended.err
    assert not (tmp_path / "run").exists()

    write_kernel(tmp_path, passes=[4])
    mended = tuner_tui("scale.cu", *NO_MODEL, "--run-dir", "run", cwd=tmp_path)
    assert mended.code == 3, "a run that never began does not stand in the way of the next"


@pytest.mark.slow
def test_a_kernel_that_disagrees_with_its_reference_is_exit_code_1(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    (tmp_path / "reference.py").write_text("def scale(y, x, n):\n    return {'y': 3 * x}\n")
    with (tmp_path / "scale.toml").open("a") as problem:
        problem.write('\n[reference]\npython = "reference.py:scale"\n')
    ended = tuner_tui("scale.cu", *NO_MODEL, cwd=tmp_path)

    assert ended.code == 1
    assert "does not match its reference at n=128" in ended.err


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_leaves_the_result_so_far_and_a_command_that_goes_on(tmp_path: Path, name: str, code: int) -> None:
    directory = tmp_path / "a place"
    write_kernel(directory, passes=[400, *range(100, 40, -1)])  # more than are tried before the signal comes
    run = directory / "run"
    with orphans_come_here() as descendants:
        process = start("a place/scale.cu", *NO_MODEL, "--run-dir", run, cwd=tmp_path)
        wait_until(lambda: "approve" in kinds(run), "the beginning of the search")
        process.send_signal(signal.Signals[name])
        interrupted = end_of(process)
        wait_until(lambda: not descendants(), "the end of all that the program had started")

    assert interrupted.code == code
    assert interrupted.out.startswith("interrupted: ")
    assert "as given  " in interrupted.out
    last = interrupted.err.splitlines()[-1]
    assert last.startswith("interrupted; go on with: tuner-tui resume "), interrupted.err
    assert json.loads((run / "result.json").read_text())["status"] == "interrupted"
    assert "resumable" in tuner_tui("runs", directory, cwd=tmp_path).out

    if name == "SIGINT":
        known = kinds(run).count("evaluate")
        arguments = shlex.split(last.partition("tuner-tui ")[2])
        resumed = tuner_tui(*arguments, "--auto", "--max-evals", known + 2, cwd=tmp_path)
        assert resumed.code == 0, resumed.err
        assert kinds(run).count("evaluate") == known + 2


@pytest.mark.slow
def test_a_reader_of_the_stream_that_goes_away_interrupts_the_run(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    process = start("scale.cu", *NO_MODEL, "--output", "json", "--run-dir", "run", cwd=tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    ended = end_of(process)

    assert ended.code == 130
    assert ended.err.splitlines()[-1] == "interrupted; go on with: tuner-tui resume run"


@pytest.mark.slow
def test_a_smaller_budget_is_kept_and_a_larger_one_goes_on_where_the_run_ended(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    small = tuner_tui(
        "scale.cu", *NO_MODEL, "--search", "brute_force", "--max-evals", 1, "--run-dir", "run", cwd=tmp_path
    )
    assert small.code == 0, small.err
    assert "1 evaluation, " in small.out
    large = tuner_tui("resume", "run", "--auto", "--max-evals", 2, cwd=tmp_path)

    assert large.code == 0, large.err
    assert "2 evaluations, " in large.out
    assert "passes=4" in large.out
    assert kinds(tmp_path / "run").count("evaluate") == 2


@pytest.mark.slow
def test_a_kernel_in_a_fenced_block_is_asked_for_tuned_and_accepted(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400])
    reply = json.loads(rewrite(block_size=(64,), passes=(10,)))
    code = reply.pop("code")
    model = ModelDouble(
        tmp_path / "model", f"The kernel:\n```cuda\n{code}```\nand how it is launched:\n{json.dumps(reply)}"
    )
    options = (*model.asked_by("one_prompt"), "--max-evals", 3, "--run-dir", "run")
    ended = tuner_tui("scale.cu", *EMULATOR, *options, cwd=tmp_path, TUNER_TUI_MODEL_STRUCTURED="fenced")

    assert ended.code == 0, ended.err
    assert "passes=10" in ended.out
    (prompt,) = model.prompts
    assert "First the whole `code` in one fenced block" in prompt
    assert '"code": {"type"' not in prompt


@pytest.mark.slow
def test_a_target_that_is_met_ends_the_run(tmp_path: Path) -> None:
    write_kernel(tmp_path, tests=[333], passes=[400, 4])
    model = ModelDouble(tmp_path / "model", "never asked")
    ended = tuner_tui("scale.cu", *EMULATOR, *model.asked_by("one_prompt"), "--target", "1.5x", cwd=tmp_path)

    assert ended.code == 0, ended.err
    assert ended.out.startswith("finished: the target of 1.5x is met")
    assert model.prompts == []
