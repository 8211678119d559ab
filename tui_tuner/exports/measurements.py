"""All that was measured, for other programs: a cache file of kernel_tuner, T4 and CSV.

Cache file: as kernel_tuner 1.x writes and simulates it; it has no words for a wrong result or a time-out, which become
`RuntimeFailedConfig` there. T4: the schema that kernel_tuner ships, which has them. All times in ms.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tui_tuner.evaluate.results import Evaluation, FailureKind
from tui_tuner.exports import ToldRun
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.expression_nodes import ExpressionValue
from tui_tuner.problem.expressions import evaluate, names_in, respelt
from tui_tuner.report import title_of

T4_VERSION = "1.0.0"

_ERRORS = {
    FailureKind.INVALID: ("InvalidConfig", "constraints"),
    FailureKind.REFUSED: ("CompilationFailedConfig", "compile"),
    FailureKind.COMPILE: ("CompilationFailedConfig", "compile"),
    FailureKind.BUILD_TIMEOUT: ("CompilationFailedConfig", "timeout"),
    FailureKind.TIMEOUT: ("RuntimeFailedConfig", "timeout"),
    FailureKind.WRONG_RESULT: ("RuntimeFailedConfig", "correctness"),
    FailureKind.IMPLAUSIBLE: ("RuntimeFailedConfig", "correctness"),
}
"""What kernel_tuner calls a failure, and what T4 calls it; any other is one at run time."""


def cache_file(told: ToldRun, candidate: Candidate) -> str:
    """The evaluations of one kernel as a cache file of kernel_tuner."""
    names = [*candidate.tunables]
    entries = {
        ",".join(str(evaluation.configuration[name]) for name in names): _entry(told, seconds, evaluation, names)
        for seconds, evaluation in _of(told, candidate)
    }
    head = {
        "device_name": told.device.name,
        "kernel_name": candidate.kernel,
        "problem_size": [_extent(extent, told.problem.sizes) for extent in candidate.launch.problem_size],
        "tune_params_keys": names,
        "tune_params": candidate.tunables,
        "objective": "time",
    }
    lines = [f"{json.dumps(key)}: {json.dumps(entry)}" for key, entry in entries.items()]
    text = json.dumps({**head, "cache": {}}, indent="")
    return text[: text.rindex("{}")] + "{\n" + ",\n".join(lines) + "}\n}\n"


def t4_file(told: ToldRun, candidate: Candidate) -> str:
    """The evaluations of one kernel in the T4 format of autotuning results."""
    names = [*candidate.tunables]
    results = [
        _result(_entry(told, seconds, evaluation, names), evaluation) for seconds, evaluation in _of(told, candidate)
    ]
    content = {"schema_version": T4_VERSION, "metadata": {"timeunit": "milliseconds"}, "results": results}
    return json.dumps(content, indent=1) + "\n"


def _extent(extent: str | int, sizes: Mapping[str, int]) -> ExpressionValue:
    """A number, or a text over tunables as kernel_tuner has it, which knows no names of sizes."""
    if names_in(extent) <= sizes.keys():
        return evaluate(extent, sizes)
    return respelt(str(extent), {name: str(size) for name, size in sizes.items()})


def _of(told: ToldRun, candidate: Candidate) -> Iterable[tuple[float, Evaluation]]:
    """The evaluations of a kernel with a value for each of its tunables, each configuration once."""
    last: dict[tuple[object, ...], tuple[float, Evaluation]] = {}
    for seconds, evaluation in told.evaluations:
        if evaluation.candidate == candidate.id and candidate.tunables.keys() <= evaluation.configuration.keys():
            last[tuple(evaluation.configuration[name] for name in candidate.tunables)] = (seconds, evaluation)
    return last.values()


def _entry(told: ToldRun, seconds: float, evaluation: Evaluation, names: Sequence[str]) -> dict[str, Any]:
    """An evaluation as kernel_tuner has it in a cache file."""
    entry: dict[str, Any] = {name: evaluation.configuration[name] for name in names}
    timing, failure = evaluation.timing, evaluation.failure
    if timing is not None:
        # samples are not kept one by one: their median is, and the ends of its interval
        entry |= {"time": timing.median, "times": [timing.median], "time_low": timing.low, "time_high": timing.high}
    elif failure is not None:
        entry["__error__"] = _ERRORS.get(failure.kind, ("RuntimeFailedConfig", ""))[0]
    if evaluation.resources.registers is not None:
        entry["num_regs"] = evaluation.resources.registers
    return entry | {
        "compile_time": evaluation.build_ms,
        "verification_time": evaluation.verify_ms,
        "benchmark_time": evaluation.measure_ms,
        "strategy_time": 0.0,
        "framework_time": 0.0,
        "timestamp": _timestamp(told, seconds),
    }


def _timestamp(told: ToldRun, seconds: float) -> str:
    """When an evaluation ended: seconds of a session leave its pauses out."""
    created = datetime.fromisoformat(str(told.run.journal.header["created"]))
    return (created + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _result(entry: dict[str, Any], evaluation: Evaluation) -> dict[str, Any]:
    failure = evaluation.failure
    invalidity = "correct" if failure is None else _ERRORS.get(failure.kind, ("", "runtime"))[1]
    measured = [("time", "ms"), ("time_low", "ms"), ("time_high", "ms"), ("num_regs", "")]
    return {
        "timestamp": entry["timestamp"],
        "configuration": evaluation.configuration,
        "times": {
            "compilation": entry["compile_time"],
            "compilation_time": entry["compile_time"],
            "benchmark": entry["benchmark_time"],
            "framework": entry["framework_time"],
            "search_algorithm": entry["strategy_time"],
            "validation": entry["verification_time"],
            "runtimes": entry.get("times", []),
        },
        "invalidity": invalidity,
        "correctness": float(invalidity != "correctness"),
        "measurements": [
            {"name": name, "value": entry[name], "unit": unit} for name, unit in measured if name in entry
        ],
        "objectives": ["time"],
    }


_COLUMNS = (
    "number", "elapsed_s", "kernel", "title", "time_ms", "low_ms", "high_ms", "samples", "cpu_time", "roofline_share",
    "error", "registers", "spill_bytes", "shared_bytes", "build_ms", "verify_ms", "measure_ms", "failure", "reason",
)  # fmt: skip


def csv_file(told: ToldRun) -> str:
    """Every evaluation of every kernel, one a row; a tunable that a kernel does not have is empty."""
    tunables = list(dict.fromkeys(name for _, evaluation in told.evaluations for name in evaluation.configuration))
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_COLUMNS, *tunables])
    for number, (seconds, evaluation) in enumerate(told.evaluations, 1):
        values = (evaluation.configuration.get(name, "") for name in tunables)
        rows.writerow([number, f"{seconds:.3f}", *_cells(told, evaluation), *values])
    return text.getvalue()


def _cells(told: ToldRun, evaluation: Evaluation) -> list[object]:
    """An evaluation's own cells, empty where nothing is known."""
    timing, failure, needs = evaluation.timing, evaluation.failure, evaluation.resources
    known = told.candidates.get(evaluation.candidate)
    times: list[object] = [""] * 5
    if timing is not None:
        times = [timing.median, timing.low, timing.high, timing.samples, timing.cpu]
    cells = [
        evaluation.candidate,
        "" if known is None else title_of(known),
        *times,
        evaluation.share,
        evaluation.error,
        needs.registers,
        needs.spill_bytes,
        needs.shared_bytes,
        evaluation.build_ms,
        evaluation.verify_ms,
        evaluation.measure_ms,
        "" if failure is None else str(failure.kind),
        "" if failure is None else failure.message,
    ]
    return ["" if cell is None else cell for cell in cells]
