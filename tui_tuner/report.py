"""What a session leaves behind: result.json, and the tuned kernel as files that compile and tune on by themselves."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import BaseModel, ConfigDict
from tomlkit import TOMLDocument

from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Problem, Value
from tui_tuner.resources import write_whole

FILE = "result.json"


class SessionOutcome(BaseModel):
    """The outcome of a session; times in ms, speed-ups as median and 95 % interval.

    Attributes:
        status: "interrupted" as long as the session has not come to its end.
        confirmed: whether the best was timed interleaved with the kernel as given, as every session does at its end;
            before, `speedup` is what it was found with.
        model_fault: why no reply of the model could be used; empty where one could, or none was asked for.
        speedup: how much faster the best is than the kernel as given, timed interleaved.
        speedup_over_tuned: how much faster it is than the kernel as given with its own parameters tuned.
        comparison: the paired measurement behind `speedup`.
        failures: how many evaluations failed, by kind.
        time_unit: "ms", or "CPU ms" where no GPU was timed.
    """

    model_config = ConfigDict(frozen=True)

    format: int = 1
    program: str
    kernel: str
    status: Literal["finished", "no_improvement", "interrupted"]
    reason: str
    strategy: str
    model: str | None
    seed: int
    device: DeviceInfo
    sandbox: str
    time_unit: str
    baseline: Evaluation
    baseline_tuned: Evaluation | None
    best: Evaluation
    best_title: str
    confirmed: bool = True
    speedup: tuple[float, float, float]
    speedup_over_tuned: tuple[float, float, float] | None
    comparison: Comparison | None
    evaluations: int
    builds: int
    failures: dict[str, int]
    model_calls: int
    model_fault: str = ""
    cost: float | None
    elapsed_s: float

    @property
    def paired_times(self) -> tuple[float, float] | None:
        """Times of the kernel as given and of the best, interleaved, ms."""
        comparison = self.comparison
        if comparison is None or comparison.incumbent is None or comparison.challenger is None:
            return None
        return comparison.incumbent.median, comparison.challenger.median

    def write(self, directory: Path) -> Path:
        """Write result.json, whole or not at all."""
        path = directory / FILE
        write_whole(path, self.model_dump_json(indent=2) + "\n")
        return path


def count_failures(evaluations: Iterable[Evaluation]) -> dict[str, int]:
    """How many evaluations failed, by kind."""
    return dict(Counter(str(e.failure.kind) for e in evaluations if e.failure is not None))


def title_of(candidate: Candidate) -> str:
    """A few words for a candidate."""
    return candidate.title or candidate.id


def write_best(
    directory: Path, problem: Problem, problem_text: str, candidate: Candidate, configuration: Configuration
) -> None:
    """Write best.<ext> and best.toml; only the latter where the kernel's source is not known."""
    source = directory / f"best{problem.kernel.source.suffix}"
    if candidate.source:
        text = with_definitions(candidate.source, configuration) if problem.is_compiled else candidate.source
        write_whole(source, text)
    table = directory / "best.toml"
    document = tuned_problem(source, problem, problem_text, candidate, configuration)
    write_whole(table, tomlkit.dumps(document))


def write_as_written(directory: Path, kernel: str, written: str) -> None:
    """Write best_config.py, for a kernel whose configuration is an object of its framework; else nothing.

    Args:
        written: the configuration as the kernel's file would have it, as in `helion.Config(num_warps=4)`.
    """
    if written:
        framework = written.partition(".")[0]
        text = (
            f'"""The tuned configuration of {kernel}, ready to paste."""\n\nimport {framework}\n\nconfig = {written}\n'
        )
        write_whole(directory / "best_config.py", text)


def with_definitions(source: str, configuration: Configuration) -> str:
    """The source with its tunables defined, each still open to a definition on the command line."""
    lines = [f"#ifndef {name}\n#define {name} {macro_value(value)}\n#endif" for name, value in configuration.items()]
    return "".join(f"{line}\n" for line in lines) + source


def macro_value(value: Value) -> str:
    """A tunable's value as C text."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def tuned_problem(
    source: Path, problem: Problem, problem_text: str, candidate: Candidate, configuration: Configuration
) -> TOMLDocument:
    """The user's problem file, comments kept, with source, launch and tunables of the tuned kernel."""
    directory = source.parent
    document = tomlkit.parse(problem_text)
    kernel = document["kernel"]
    if candidate.source:
        kernel["source"] = source.name
    kernel["name"] = candidate.kernel
    if problem.is_compiled:
        launch = tomlkit.table()
        for key, value in candidate.launch.model_dump(exclude_none=True).items():
            launch[key] = value
        document["launch"] = launch
    tunables = tomlkit.table()
    for name, value in configuration.items():
        tunables[name] = [value]
    document["tunables"] = tunables
    for gone in ("defaults", "search"):
        document.pop(gone, None)
    if problem.reference is not None:
        document["reference"]["python"] = _seen_from(directory, problem, problem.reference.python)
    return document


def _seen_from(directory: Path, problem: Problem, reference: str) -> str:
    path, _, function = reference.rpartition(":")
    return f"{os.path.relpath(problem.directory / path, directory)}:{function}"
