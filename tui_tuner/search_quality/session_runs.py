"""A run in which a model chooses: a real session on the recorded device, and what its evaluations gave."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.choices import Choices, prepare
from tui_tuner.errors import ModelError
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.headless import ApproveAll
from tui_tuner.search_quality.tasks import Task
from tui_tuner.session import events

_STRATEGY = "llm_search"


async def found_by_session(task: Task) -> list[float | None]:
    """What the evaluations gave in the order in which they finished, the default configuration first.

    Raises:
        UserError: there is no model, it never answers, or the session cannot be run.
    """
    if task.runs is not None:
        return await _evaluations(task, task.runs / task.label)
    with TemporaryDirectory(prefix="tuner-tui-") as directory:
        return await _evaluations(task, Path(directory) / "run")


async def _evaluations(task: Task, directory: Path) -> list[float | None]:
    problem, device = task.data.recording, "auto"
    if task.data.problem_file is not None:
        problem, device = task.data.problem_file, f"recorded:{task.data.recording}"
    choices: Choices = {
        "strategy": _STRATEGY,
        "search": task.strategy,
        "model": task.llm,
        "device": device,
        "max_evaluations": max(1, task.evaluations - 1),
        "seed": task.seed,
        "memory": False,
        "cache_replies": False,
        "run_directory": directory,
    }
    prepared = await prepare(problem, choices)
    if prepared.run.options.strategy != _STRATEGY:
        raise ModelError("; ".join(prepared.notes) or "there is no model")
    async with aclosing(prepared.session.events(ApproveAll())) as stream:
        return _in_order([event async for event in stream])


def _in_order(told: Sequence[events.Event]) -> list[float | None]:
    """What the evaluations of a session gave, the kernel as given first.

    Raises:
        ModelError: the model was asked and never answered, so that all of it is somebody else's work.
    """
    asked = any(isinstance(event, events.PromptSent) for event in told)
    if asked and not any(isinstance(event, events.ReplyReceived) for event in told):
        warnings = [event.text for event in told if isinstance(event, events.Note) and event.level == "warning"]
        raise ModelError(f"the model gave no reply: {warnings[0] if warnings else 'nobody says why'}")
    given = [event.given for event in told if isinstance(event, events.BaselineMeasured) and event.tuned is None]
    others = [event.evaluation for event in told if isinstance(event, events.EvaluationFinished)]
    return [_time(evaluation) for evaluation in (*given, *others) if evaluation.is_counted]


def _time(evaluation: Evaluation) -> float | None:
    return None if evaluation.timing is None else evaluation.timing.median
