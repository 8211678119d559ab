"""What a session leaves behind: result.json, and the tuned kernel as files that compile and tune on by themselves."""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import dropwhile
from pathlib import Path
from typing import Literal

import tomlkit
from pydantic import BaseModel, ConfigDict
from tomlkit import TOMLDocument
from tomlkit.items import Table

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.results import Comparison, DeviceInfo, Evaluation
from tui_tuner.format import assigned_words, factor_in_lines, time_words
from tui_tuner.journal.reading import RESULT
from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.expressions import names_in
from tui_tuner.problem.model import Configuration, Launch, Problem, Value
from tui_tuner.problem.triton import triton_file
from tui_tuner.problem.triton.result import TunedKernel, whole_numbers, with_result
from tui_tuner.resources import write_whole
from tui_tuner.text import flattened


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
        sizes: at which was timed; None where an earlier version wrote the result.
        problem_key: digest of language and arguments; empty where an earlier version wrote the result.
        library: what the library needs that the problem names.
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
    sizes: dict[str, int] | None = None
    problem_key: str = ""
    library: LibraryTime | None = None

    @property
    def paired_times(self) -> tuple[float, float] | None:
        """Times of the kernel as given and of the best, interleaved, ms."""
        comparison = self.comparison
        if comparison is None or comparison.incumbent is None or comparison.challenger is None:
            return None
        return comparison.incumbent.median, comparison.challenger.median

    @property
    def how_timed(self) -> str:
        """What the speed-up rests on, in words."""
        is_record = kind_named(self.device.kind).is_record
        return how_timed(confirmed=self.confirmed, is_record=is_record, nothing_faster=self.best == self.baseline)

    def write(self, directory: Path) -> Path:
        """Write result.json, whole or not at all."""
        path = directory / RESULT
        write_whole(path, self.model_dump_json(indent=2) + "\n")
        return path


def problem_key(problem: Problem) -> str:
    """A digest of what is computed, beside its sizes: language and arguments."""
    arguments = [argument.model_dump(mode="json") for argument in problem.arguments]
    text = json.dumps([problem.language, arguments], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()[:16]


def count_builds(evaluations: Iterable[Evaluation]) -> int:
    """How many builds there were: evaluations that share one have its time."""
    return len({evaluation.build_ms for evaluation in evaluations if evaluation.build_ms > 0})


def count_failures(evaluations: Iterable[Evaluation]) -> dict[str, int]:
    """How many evaluations failed, by kind."""
    return dict(Counter(str(e.failure.kind) for e in evaluations if e.failure is not None))


def title_of(candidate: Candidate) -> str:
    """A few words for a candidate."""
    return candidate.title or candidate.id


def write_best(
    directory: Path, problem: Problem, problem_text: str, candidate: Candidate, outcome: SessionOutcome
) -> None:
    """Write best.<ext> and best.toml; only the latter where the kernel's source is not known."""
    if candidate.source:
        write_whole(directory / f"best{problem.kernel.source.suffix}", best_text(problem, candidate, outcome))
    values = outcome.best.configuration
    write_whole(directory / "best.toml", best_problem_text(directory, problem, problem_text, candidate, values))


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


def best_text(problem: Problem, candidate: Candidate, outcome: SessionOutcome) -> str:
    """The tuned kernel ready to paste: what was measured where, its tunables defined, and the source."""
    if not problem.is_compiled:
        return _python_text(problem, candidate, outcome)
    comment = "".join(f"// {line}".rstrip() + "\n" for line in measured_lines(problem, candidate, outcome))
    values = outcome.best.configuration
    return comment + definitions(values) + _without_empty_guards(_without_comment(candidate.source), values)


def _python_text(problem: Problem, candidate: Candidate, outcome: SessionOutcome) -> str:
    """The file of a kernel in Python: as it is, or with the rewritten kernel and launches that fit it."""
    if candidate.source == problem.source_text:
        return candidate.source
    best, name = outcome.best, candidate.kernel
    taken = [one.arg for one in triton_file(problem.source_text).functions[name].parameters]
    grid, before = candidate.launch.grid, [*problem.tunables]
    tuned = TunedKernel(name, best.as_written, best.configuration, grid, before, taken)
    sizes = [text for text in candidate.restrictions if names_in(text) & problem.sizes.keys()]
    told = [*measured_lines(problem, candidate, outcome), *(f"right only where {text}" for text in sizes)]
    return with_result(candidate.source, tuned, told)


def definitions(configuration: Configuration) -> str:
    """The tunables as macros, each still open to a definition on the command line."""
    lines = [f"#ifndef {name}\n#define {name} {macro_value(value)}\n#endif" for name, value in configuration.items()]
    return "".join(f"{line}\n" for line in lines)


def _without_empty_guards(source: str, names: Collection[str]) -> str:
    """The source without `#ifndef NAME` and `#endif` around nothing, where a value was that is defined above."""
    for name in names:
        guard = rf"^[ \t]*#[ \t]*ifndef[ \t]+{re.escape(name)}\b[^\n]*\n(?:[ \t]*\n)*[ \t]*#[ \t]*endif[^\n]*\n?"
        source = re.sub(guard, "", source, flags=re.MULTILINE)
    return source


_TUNED_BY = "Tuned by tuner-tui"


def _without_comment(source: str) -> str:
    """The source without what an earlier tuning said of its own."""
    lines = source.splitlines(keepends=True)
    if not source.startswith(f"// {_TUNED_BY}"):
        return source
    return "".join(dropwhile(lambda line: line.startswith("//"), lines))


def measured_lines(problem: Problem, candidate: Candidate, outcome: SessionOutcome) -> Iterator[str]:
    """What was measured where, and how the best is launched; a line each, for a comment."""
    device, unit = outcome.device, outcome.time_unit
    sizes = kind_named(device.kind).sized(problem).sizes
    of = assigned_words(sizes if problem.is_compiled else whole_numbers(sizes))
    named = f"{device.backend}, {device.toolchain}".split(", ")  # a framework of Python is both
    place = ", ".join(dict.fromkeys(filter(None, named)))
    given, best = outcome.paired_times or (outcome.baseline.ms or math.nan, outcome.best.ms or math.nan)
    yield f"{_TUNED_BY} {outcome.program} on {flattened(f'{device.name} ({place})')}"
    yield f"{time_words(best, unit)} instead of {time_words(given, unit)} at {of or 'its only size'}:"
    yield f"{factor_in_lines(outcome.speedup)} over the kernel as given, {outcome.how_timed}"
    if not problem.is_compiled:
        yield f"launched as {outcome.best.as_written}{_grid_in_words(candidate.launch)}"
        return
    launched = geometry(candidate.launch, sizes, outcome.best.configuration)
    yield f"there launched with grid {launched.grid}, block {launched.block}, {launched.shared_bytes} B shared memory"


def _grid_in_words(launch: Launch) -> str:
    """The grid of a rewritten kernel, where it is not the one that the program gives."""
    return "" if launch.grid is None else f" with the grid ({', '.join(map(str, launch.grid))})"


def how_timed(*, confirmed: bool, is_record: bool, nothing_faster: bool) -> str:
    """What the speed-up of a session rests on, in words."""
    if nothing_faster:
        return "nothing faster was found"
    if is_record:
        return "both as recorded"
    return "both timed in turns on fresh data" if confirmed else "not yet timed in turns on fresh data"


def macro_value(value: Value) -> str:
    """A tunable's value as C text."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def best_problem_text(
    directory: Path, problem: Problem, problem_text: str, candidate: Candidate, configuration: Configuration
) -> str:
    """The user's problem file, comments kept, with source, launch and tunables of the tuned kernel.

    Args:
        directory: where it is to stand, beside the kernel.
    """
    document: TOMLDocument = pickle.loads(_parsed(problem_text))  # noqa: S301 - our own
    kernel = document["kernel"]
    if candidate.source:
        kernel["source"] = f"best{problem.kernel.source.suffix}"
    kernel["name"] = candidate.kernel
    if "compiler_options" in kernel:
        kernel["compiler_options"] = problem.kernel.compiler_options  # their paths are whole
    if problem.kernel.host is not None:
        kernel["host"] = os.path.relpath(problem.directory / problem.kernel.host, directory)
    if problem.is_compiled:
        document["launch"] = launch_table(candidate.launch)
    elif candidate.launch.grid is not None:
        document["launch"] = {"grid": candidate.launch.grid}
    tunables = tomlkit.table()
    for name, value in configuration.items():
        tunables[name] = [value]
    document["tunables"] = tunables
    for gone in ("defaults", "search"):
        document.pop(gone, None)
    for table, named in (("reference", problem.reference), ("library", problem.library)):
        if named is not None:
            document[table]["python"] = _seen_from(directory, problem, named.python)
    return tomlkit.dumps(document)


@lru_cache(maxsize=1)
def _parsed(problem_text: str) -> bytes:
    """A problem file as tomlkit has it, pickled: to parse it anew for each new best takes six times as long."""
    return pickle.dumps(tomlkit.parse(problem_text))


def launch_table(launch: Launch) -> Table:
    """A launch as the problem file has it."""
    table = tomlkit.table()
    table.update(launch.model_dump(exclude_none=True))
    return table


def _seen_from(directory: Path, problem: Problem, reference: str) -> str:
    path, _, function = reference.rpartition(":")
    return f"{os.path.relpath(problem.directory / path, directory)}:{function}"
