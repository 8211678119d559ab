"""What the dialogs say about one evaluation and about a finished session."""

from __future__ import annotations

import shlex
from pathlib import Path

from textual.content import Content

from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.format import cost, counted, factor_interval, interval, milliseconds, share, tunable_value
from tui_tuner.journal.runs import STOPPED
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.session.events import SessionFinished, SessionStarted
from tui_tuner.text import in_line
from tui_tuner.tui.text import Pairs, listed, one_line, pairs_table, plain
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label


def _measured(evaluation: Evaluation, unit: str) -> Pairs:
    timing, resources = evaluation.timing, evaluation.resources
    pairs: Pairs = []
    if timing is not None:
        ends = interval(timing.low, timing.high, timing.median)
        samples = counted(timing.samples, "sample")
        pairs.append(("time", f"{milliseconds(timing.median)} {unit}, 95 % interval {ends}, {samples}"))
        pairs.append(("warm caches", "" if timing.warm is None else f"{milliseconds(timing.warm)} {unit}"))
        pairs.append(("device", _state_of_device(timing)))
    known = {
        "registers": resources.registers,
        "spilled": resources.spill_bytes,
        "shared memory": resources.shared_bytes,
        "local memory": resources.local_bytes,
    }
    pairs += [("roofline", share(evaluation.share))]
    pairs += [
        (name, f"{value} a thread" if name == "registers" else f"{value:,} bytes")
        for name, value in known.items()
        if value is not None
    ]
    if evaluation.error is not None:
        pairs.append(("deviation", f"{evaluation.error:.2g} of what is allowed"))
    if evaluation.same_as is not None:
        candidate, configuration = evaluation.same_as
        values = ", ".join(f"{name}={tunable_value(value)}" for name, value in configuration.items())
        pairs.append(("measured as", f"{candidate}, {values}: the same machine code"))
    took = (("build", evaluation.build_ms), ("verify", evaluation.verify_ms), ("measure", evaluation.measure_ms))
    pairs.append(("took", ", ".join(f"{name} {value:,.0f} ms" for name, value in took if value)))
    return pairs


def _state_of_device(timing: Timing) -> str:
    """Clock and temperature at which a time was taken, as in "1755 MHz, 64 °C, held down by power cap"."""
    parts = [
        "" if timing.clock_mhz is None else f"{timing.clock_mhz} MHz",
        "" if timing.temperature_c is None else f"{timing.temperature_c} °C",
        f"held down by {', '.join(timing.throttled_by)}" if timing.throttled_by else "",
        f"{timing.dropped} times dropped" if timing.dropped else "",
    ]
    return ", ".join(filter(None, parts))


def evaluation_text(row: EvaluationRow, title: str, unit: str) -> Content:
    """Everything about one evaluation; the log of a failure stands at the end."""
    values = {name: tunable_value(value) for name, value in row.configuration.items()}
    pairs: Pairs = [("candidate", f"{title} ({row.candidate})"), *listed("configuration", values)]
    if row.evaluation is None:
        return pairs_table([*pairs, ("state", Content.styled("running", "italic"))])
    failure = row.evaluation.failure
    if failure is not None:
        pairs.append(("failure", one_line(f"{failure.kind.value}: {failure.message}", "bold $text-error")))
    elif row.incumbent:
        pairs.append(("state", one_line("incumbent, the best so far", "bold $text-success")))
    pairs += _measured(row.evaluation, unit)
    if row.diagnosis is not None:
        pairs.append(("held by", one_line(row.diagnosis.cause, "bold")))
        pairs += [("", fact) for fact in row.diagnosis.facts]
    table = pairs_table(pairs)
    return table if failure is None or not failure.detail else table + "\n\n" + plain(failure.detail)


_HEADLINES = {
    "finished": ("✓ finished", "bold $text-success"),
    "no_improvement": ("· finished without an improvement", "bold $text-warning"),
    "failed": ("✗ failed", "bold $text-error"),
    "interrupted": ("· interrupted", "bold $text-warning"),
}


def result_title(finished: SessionFinished) -> Content:
    """The status with its sign."""
    return Content.styled(*_HEADLINES[finished.status])


def result_text(finished: SessionFinished, view_model: ViewModel) -> Content:
    """What came of the session, where it lies, and how to see it again."""
    unit = time_label(view_model.device)
    speedup = "" if finished.speedup is None else f"{factor_interval(finished.speedup)} over the kernel as given"
    if speedup and unit != "ms":
        speedup += f", in {unit}"
    pairs: Pairs = [
        ("speed-up", speedup),
        ("reason", in_line(finished.reason)),
        ("evaluations", f"{finished.evaluations:,}"),
        ("model", model_effort(finished) if finished.model_calls else ""),
        ("result", finished.result or ""),
    ]
    if view_model.started is not None:
        pairs.append(("best kernel", best_file(finished, view_model.started)))
        if finished.status == "finished" and finished.speedup is not None:
            pairs.append(("take it over", f"tuner-tui best {shlex.quote(view_model.started.run)} --apply"))
        pairs.append(way_on(finished, view_model.started))
    return pairs_table(pairs)


def best_file(finished: SessionFinished, started: SessionStarted) -> str:
    """Where the best kernel is; empty where nothing was measured."""
    if finished.speedup is None:
        return ""
    if finished.status == "no_improvement":
        return "the one as given: nothing faster was accepted"
    suffix = Path(started.kernel).suffix
    return f"{started.directory}/best{suffix if suffix in LANGUAGES else '.toml'}"


def model_effort(finished: SessionFinished) -> str:
    """Calls of the model and their price."""
    fault = f"; was of no use: {in_line(finished.model_fault)}" if finished.model_fault else ""
    return f"{counted(finished.model_calls, 'call')}, {cost(finished.cost)}{fault}"


def resume_command(started: SessionStarted | None) -> str:
    """What goes on with the run, as far as one is known."""
    return "tuner-tui resume" if started is None else f"tuner-tui resume {shlex.quote(started.run)}"


def way_on(finished: SessionFinished, started: SessionStarted) -> tuple[str, str]:
    """The command that goes on with the session, or shows it again where it is over, after what it does."""
    if finished.status == "interrupted" or finished.reason == STOPPED:
        return "go on", resume_command(started)
    return "see it again", f"tuner-tui replay {shlex.quote(started.run)}"
