"""Two rows that stay in sight over the table, and what came of timing them in turns."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.format import counted, milliseconds, tunable_value
from tui_tuner.problem.candidate import Configured
from tui_tuner.session.events import PairAsked, PairCompared
from tui_tuner.tui.text import one_line
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label

PIN = "◆"
Pair = PairAsked | PairCompared
_STYLES = {"FAST": "bold $text-success", "SLOW": "bold $text-error", "WRONG": "bold $text-error"}


class Pins:
    """The rows that are pinned, at most two: the second is held against the first."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def toggle(self, number: int) -> bool:
        """Pin a row, in the place of the second if there are two, or let it go; whether there are two to compare."""
        if number in self.numbers:
            self.numbers.remove(number)
            return False
        self.numbers = [*self.numbers[:1], number]
        return len(self.numbers) == 2


def configured(row: EvaluationRow) -> Configured:
    """What a row measured."""
    return Configured(candidate=row.candidate, configuration=row.configuration)


def pair_words(pair: Pair, view_model: ViewModel) -> Content:
    """What is known of a pair by now."""
    first, second = (_name(one, view_model) for one in (pair.first, pair.second))
    if isinstance(pair, PairAsked):
        return one_line(f"… {second} against {first}: timed in turns as soon as the device is free", "italic")
    if pair.comparison is None or pair.verdict is None:
        return one_line(f"✗ {second} against {first}: {pair.fault}", "$text-error")
    found = pair.comparison
    verdict = Content.styled(f"{pair.verdict} ", _STYLES.get(pair.verdict, "bold $text-warning"))
    if found.failure is not None:
        return verdict + one_line(f"{second} on fresh inputs: {found.failure.in_words}")
    is_record = view_model.device is not None and kind_named(view_model.device.kind).is_record
    how = "as recorded, nothing was measured" if is_record else f"{counted(found.pairs, 'pair')} in turns"
    ratio = f"{found.ratio:.3f}x [{found.low:.3f},{found.high:.3f}]"
    return verdict + one_line(f"{second} is {ratio} as fast as {first}, {how}")


def pairs_about(row: EvaluationRow, view_model: ViewModel) -> list[Content]:
    """What came of every comparison in which a row took part, the latest first."""
    this = configured(row)
    pairs = [pair for pair in view_model.pairs.values() if this in (pair.first, pair.second)]
    return [pair_words(pair, view_model) for pair in reversed(pairs)]


def _name(one: Configured, view_model: ViewModel) -> str:
    return next(
        (f"#{row.number}" for row in reversed(view_model.rows.values()) if configured(row) == one), one.candidate
    )


class PinLines(Vertical):
    """A line a pinned row, and one for what came of comparing them; nothing where none is pinned."""

    def __init__(self) -> None:
        super().__init__(id="pins")
        self.display = False
        self._rows = Static(id="pinned", markup=False)
        self._outcome = Static(markup=False)

    def compose(self) -> ComposeResult:
        """Rows, which are cut where they do not fit, and the outcome, which is not."""
        yield self._rows
        yield self._outcome

    def show(self, rows: Sequence[EvaluationRow], view_model: ViewModel, key: str) -> None:
        """Draw them.

        Args:
            key: that pins, as the user knows it.
        """
        self.display = bool(rows)
        if rows:
            self._rows.update(_row_lines(rows, view_model))
            self._outcome.update(_below(rows, view_model, key))


def _row_lines(rows: Sequence[EvaluationRow], view_model: ViewModel) -> Content:
    """Number and time of each, and of two what differs, of one all values."""
    unit = time_label(view_model.device).partition(" (")[0]
    names = [name for row in rows for name in row.configuration]
    differing = [name for name in names if len({row.configuration.get(name) for row in rows}) > 1] or names
    titled = len({row.candidate for row in rows}) == len(rows)
    lines: list[Content] = []
    for row in rows:
        head = Content.styled(f"{PIN} #{row.number}  {milliseconds(row.time)} {unit}  ", "bold")
        known = (name for name in dict.fromkeys(differing) if name in row.configuration)
        values = " ".join(f"{name}={tunable_value(row.configuration[name])}" for name in known)
        title = view_model.titles.get(row.candidate, "") if titled else ""
        lines.append(head + one_line(f"{values}  {title}"))
    return Content("\n").join(lines)


def _below(rows: Sequence[EvaluationRow], view_model: ViewModel, key: str) -> Content:
    if len(rows) < 2:
        return one_line(f"{key} on another row times both in turns; on this one lets it go", "$foreground-muted")
    these = [configured(row) for row in rows]
    pairs = [pair for pair in view_model.pairs.values() if pair.first in these and pair.second in these]
    if not pairs:
        return one_line("not compared: nothing can be measured here now", "$foreground-muted")
    return pair_words(pairs[-1], view_model)
