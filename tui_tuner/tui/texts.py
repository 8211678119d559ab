"""What the dialogs say about one evaluation and about a finished session."""

from __future__ import annotations

import shlex

from textual.content import Content

from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.format import cost, counted, factor_interval, interval, milliseconds, share, tunable_value
from tui_tuner.session.events import SessionFinished, SessionStarted
from tui_tuner.tui.plain import hanging, one_line, plain
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label


def pairs_table(pairs: list[tuple[str, str]]) -> Content:
    """Names and what belongs to them, a line each; those without anything are left out."""
    width = max(len(name) for name, _ in pairs)
    labels = {name: hanging(Content.styled(f"{name:<{width}}  ", "$foreground-muted")) for name, _ in pairs}
    return Content("\n").join(labels[name] + one_line(value) for name, value in pairs if value)


def _measured(evaluation: Evaluation, unit: str) -> list[tuple[str, str]]:
    timing, resources = evaluation.timing, evaluation.resources
    pairs: list[tuple[str, str]] = []
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
    values = "\n".join(f"  {name} = {tunable_value(value)}" for name, value in row.configuration.items())
    parts = [
        pairs_table([("candidate", f"{title} ({row.candidate})")]),
        Content.assemble(("configuration", "$foreground-muted"), "\n", plain(values)),
    ]
    if row.evaluation is None:
        return Content("\n").join([*parts, Content.styled("running", "italic")])
    failure = row.evaluation.failure
    if failure is not None:
        parts.append(plain(f"{failure.kind.value}: {failure.message}", "bold $text-error"))
    parts.append(pairs_table(_measured(row.evaluation, unit)))
    if row.diagnosis is not None:
        cause = Content.styled("held by  ", "$foreground-muted") + plain(row.diagnosis.cause, "bold")
        parts += [cause, *map(plain, row.diagnosis.facts)]
    if failure is not None and failure.detail:
        parts.append(Content("\n") + plain(failure.detail))
    return Content("\n").join(parts)


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
    pairs = [
        ("speed-up", speedup),
        ("reason", finished.reason),
        ("evaluations", f"{finished.evaluations:,}"),
        ("model", model_effort(finished)),
        ("result", finished.result or ""),
    ]
    if view_model.started is not None:
        best = f"best.* in {view_model.started.directory}" if finished.speedup else ""
        pairs += [("best kernel", best), way_on(finished, view_model.started)]
    return pairs_table(pairs)


def model_effort(finished: SessionFinished) -> str:
    """Calls of the model and their price."""
    return f"{counted(finished.model_calls, 'call')}, {cost(finished.cost)}"


def resume_command(started: SessionStarted) -> str:
    """What goes on with the run."""
    return f"tuner-tui resume {shlex.quote(started.run)}"


def way_on(finished: SessionFinished, started: SessionStarted) -> tuple[str, str]:
    """The command that shows the session again or goes on with it, after what it does."""
    if finished.status == "interrupted":
        return "go on", resume_command(started)
    return "see it again", f"tuner-tui replay {shlex.quote(started.run)}"
