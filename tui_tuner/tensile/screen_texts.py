"""What the dialogs say about one problem size and about a finished Tensile session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.content import Content

from tui_tuner.format import counted, factor, factor_interval
from tui_tuner.session.events import SessionFinished, SessionStarted
from tui_tuner.tensile.outcome import Contender, SizeOutcome, Winner, size_text
from tui_tuner.tensile.screen_model import TensileViewModel
from tui_tuner.tensile.screen_table import SizeRow
from tui_tuner.tensile.words import gflops_words, seconds_words, value_text, values_words
from tui_tuner.tui.dialogs.texts import model_effort, pairs_table, way_on
from tui_tuner.tui.plain import one_line, plain


def size_dialog(row: SizeRow, model: TensileViewModel) -> tuple[Content, Content]:
    """Title and text: the winner, the ranking of the last run that measured the size, and what was rejected."""
    groups = {group for group, _ in model.winners.keys() | model.outcomes.keys()}
    title = size_text(row.size) + (f" · size group {row.group}" if len(groups) > 1 else "")
    parts = [_winner(row.winner) if row.winner is not None else Content.styled("no valid solution yet", "italic")]
    if row.measured is not None:
        parts.append(_measured(row.measured, row.measured_in or 0))
        parts += _rejected(row, model)
    return one_line(title), Content("\n\n").join(parts)


def _winner(winner: Winner) -> Content:
    gain = ""
    if winner.gain is not None and winner.first_gflops is not None:
        gain = f"{factor(winner.gain)} the {gflops_words(winner.first_gflops)} of the first run"
    time = "" if winner.microseconds is None else f"{winner.microseconds:,.2f} µs"
    pairs = [
        ("winner", winner.solution),
        ("found in", f"round {winner.round}"),
        ("speed", f"{gflops_words(winner.gflops)} GFLOP/s"),
        ("gain", gain),
        ("a launch", time),
    ]
    values = "\n".join(f"  {name} = {value_text(value)}" for name, value in winner.values.items())
    return pairs_table(pairs) + (plain(f"\n{values}") if values else "")


def _measured(outcome: SizeOutcome, number: int) -> Content:
    """The ranking of one run."""
    failed = f", {outcome.failed:,} failed validation" if outcome.failed else ""
    head = plain(f"round {number}: {counted(outcome.measured, 'solution')} timed{failed}; GFLOP/s", "$foreground-muted")
    rest = outcome.measured - len(outcome.slowest)
    varied = _varied([*outcome.ranked, *outcome.slowest])
    lines = list(_ranking(outcome.ranked, 1, varied))
    if outcome.slowest and rest >= len(outcome.ranked):
        lines += [Content.styled("the slowest", "$foreground-muted"), *_ranking(outcome.slowest, rest + 1, varied)]
    return Content("\n").join([head, *lines])


def _varied(contenders: Sequence[Contender]) -> list[str]:
    """The parameters that tell the contenders apart; all where nothing does."""
    names = list(dict.fromkeys(name for one in contenders for name in one.values))
    return [name for name in names if len({str(one.values.get(name)) for one in contenders}) > 1] or names


def _ranking(contenders: Sequence[Contender], first: int, names: Sequence[str]) -> Iterator[Content]:
    """A line a contender, with its values of some parameters."""
    for place, one in enumerate(contenders, start=first):
        values = {name: one.values[name] for name in names if name in one.values}
        what = one_line(values_words(values) or one.solution)
        yield Content(f"{place:>4} {gflops_words(one.gflops):>9}  ") + what


def _rejected(row: SizeRow, model: TensileViewModel) -> list[Content]:
    """The permutations of the size's group that Tensile made no kernel of, by reason."""
    run = model.runs.get(row.measured_in) if row.measured_in is not None else None
    groups = [] if run is None or run.outcome is None else run.outcome.groups
    reasons = next((group.rejected for group in groups if group.group == row.group), {})
    if not reasons:
        return []
    head = Content.styled("rejected permutations", "$foreground-muted")
    lines = [Content(f"{number:>4}  ") + one_line(reason) for reason, number in reasons.items()]
    return [Content("\n").join([head, *lines])]


def tensile_result(finished: SessionFinished, started: SessionStarted | None, model: TensileViewModel) -> Content:
    """What came of the session, where it lies, and how to see it again."""
    gain = ""
    if finished.speedup is not None:
        gain = factor_interval(finished.speedup)
    elif model.gain is not None:
        gain = factor(model.gain)
    of = f", geometric mean of {len(model.winners)} sizes" if len(model.winners) > 1 else ""
    runs = f"{counted(len(model.ended), 'run')}, {seconds_words(model.seconds)}"
    pairs = [
        ("gain", f"{gain} in GFLOP/s over the configuration as given{of}" if gain else ""),
        ("reason", finished.reason),
        ("measured", f"{counted(finished.evaluations, 'permutation')} in {runs}"),
        ("model", model_effort(finished)),
        ("result", finished.result or ""),
    ]
    if started is not None:
        best = f"best.yaml in {started.directory}" if finished.result else ""
        pairs += [("best", best), way_on(finished, started)]
    return pairs_table(pairs)
