from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.python_kernels.fake_child import DEVICE, milliseconds
from tests.python_kernels.fakes import narrow, written
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.results import Comparison, Evaluation, Timing
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Configuration
from tui_tuner.python_kernels.session_thread import (
    BatchingEvaluator,
    EmbeddedChoices,
    EmbeddedComparison,
    EmbeddedEvaluation,
    EmbeddedStart,
    SessionThread,
)
from tui_tuner.session import evaluations
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings, load_settings


class OtherProgram:
    """Builds and times in its own thread, a batch at a time, as Helion does."""

    def __init__(self, written_problem: Written, evaluator: BatchingEvaluator) -> None:
        self.problem = written_problem.problem
        self.evaluator = evaluator
        self.batches: list[int] = []
        self.threads: set[int] = set()

    def work(self, before: Callable[[], None] = lambda: None) -> None:
        while (batch := self.evaluator.next_batch()) is not None:
            before()
            self.threads.add(threading.get_ident())
            self.batches.append(sum(isinstance(asked, EmbeddedEvaluation) for asked in batch))
            for asked in batch:
                match asked:
                    case EmbeddedStart():
                        candidate = baseline(self.problem)
                        given = evaluation(candidate, candidate.default_configuration)
                        asked.answer.set_result(MachineReport(DEVICE, "none", "", given))
                    case EmbeddedEvaluation():
                        asked.answer.set_result(evaluation(asked.candidate, asked.configuration))
                    case EmbeddedComparison():
                        ratio = milliseconds(asked.incumbent) / milliseconds(asked.challenger)
                        asked.answer.set_result(Comparison(ratio=ratio, low=ratio, high=ratio, pairs=30))


def evaluation(candidate: Candidate, configuration: Configuration) -> Evaluation:
    time_ms = milliseconds(configuration)
    timing = Timing(median=time_ms, low=time_ms, high=time_ms, samples=1)
    return Evaluation(candidate=candidate.id, configuration=configuration, timing=timing)


def session(directory: Path, evaluations: int = 12) -> tuple[SessionThread, OtherProgram, list[str]]:
    problem, evaluator, lines = narrow(directory), BatchingEvaluator(), []
    options = SessionOptions(strategy="search", llm="none", max_evaluations=evaluations)
    thread = SessionThread(problem, options, Settings(), directory / "run", evaluator, lines.append)
    return thread, OtherProgram(problem, evaluator), lines


def test_a_session_in_a_thread_is_served_in_batches_by_the_thread_that_owns_the_device(tmp_path):
    thread, other, lines = session(tmp_path)
    thread.start()
    other.work()
    outcome = thread.result()

    assert outcome.speedup[0] > 1
    assert outcome.evaluations == 11
    assert other.threads == {threading.get_ident()}
    assert max(other.batches) > 1
    assert f"run directory: {tmp_path / 'run'}" in lines


@pytest.mark.slow
def test_a_run_that_was_stopped_is_gone_on_with(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluations, "BUILDING", 2)  # with many cores all of the space would be one batch
    thread, other, _ = session(tmp_path)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        other.work(before=lambda: _interrupt_after(other, 2))
    thread.stop()
    with pytest.raises(UserError, match="the session was interrupted"):
        thread.result()
    before = sum(other.batches)

    thread, other, _ = session(tmp_path)
    thread.start()
    other.work()
    assert thread.result().evaluations == 11
    assert before > 0
    assert 0 < sum(other.batches) <= 11 - before


def test_what_the_user_must_mend_is_raised_where_the_result_is_asked_for(tmp_path):
    thread, other, _ = session(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/journal.jsonl").write_text("no journal\n", "utf-8")
    thread.start()
    other.work()

    with pytest.raises(UserError):
        thread.result()


def test_choices_come_from_arguments_then_the_environment_then_the_settings(monkeypatch):
    monkeypatch.setenv("TUNER_TUI_LLM", "ollama")
    monkeypatch.setenv("TUNER_TUI_MAX_EVALS", "30")
    options = EmbeddedChoices(max_evaluations=12).options(load_settings().session)

    assert (options.llm, options.max_evaluations, options.strategy) == ("ollama", 12, "llm_search")


def test_a_choice_that_makes_no_sense_is_named():
    with pytest.raises(SettingsError, match="max_evaluations: "):
        EmbeddedChoices(max_evaluations=0).options(SessionOptions())


def test_the_place_of_runs_may_be_a_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("TUNER_TUI_RUN_DIR", str(tmp_path / "runs"))

    assert EmbeddedChoices().place(written(tmp_path)).parent == tmp_path / "runs"


def test_the_same_kernel_with_the_same_arguments_has_its_run_at_the_same_place(tmp_path):
    choices = EmbeddedChoices(run_dir=tmp_path)
    one, two = choices.place(written(tmp_path)), choices.place(written(tmp_path))

    assert one == two
    assert one is not None
    assert one.parent == tmp_path
    assert one.name.startswith("matmul-")
    assert choices.place(written(tmp_path, "softmax_helion")) != one
    assert EmbeddedChoices().place(written(tmp_path)) is None


def _interrupt_after(other: OtherProgram, batches: int) -> None:
    if len(other.batches) >= batches:
        raise KeyboardInterrupt
