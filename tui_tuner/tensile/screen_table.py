"""The table of problem sizes: its rows as data, the widget that keeps the selected one, and all about one size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import DataTable

from tui_tuner.session.events import SessionFinished
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import Contender, SizeKey, SizeOutcome, Winner, round_words, size_text
from tui_tuner.tensile.screen_model import TensileViewModel
from tui_tuner.tensile.words import counted_words, gflops_words, seconds_words, value_text, values_words, work_words
from tui_tuner.text import clean
from tui_tuner.tui.best_chart import best_chart
from tui_tuner.tui.dialogs.texts import pairs_table
from tui_tuner.tui.formatting import factor
from tui_tuner.tui.panes.benchmark_contents import Contents, shown_of
from tui_tuner.tui.picture import Picture
from tui_tuner.tui.plain import one_line, plain

SizeOrder = Literal["file", "gain"]

LIMIT = 500
"""At most so many rows are shown."""

_ABSENT = "·"
_LABELS = {
    "group": "group",
    "size": "problem size",
    "gflops": "GFLOP/s",
    "gain": "gain",
    "microseconds": "µs",
    "round": "round",
    "winner": "winner",
}
_WINNER_WIDTH = 120
"""Cells for the winner's values; longer ones are cut, and whole behind Enter."""


@dataclass(frozen=True)
class SizeRow:
    """One problem size.

    Attributes:
        place: in the file, from 0.
        winner: the best solution so far; None where none was valid.
        measured: what the last run said that measured it; None where none has.
        measured_in: the round of that run.
    """

    place: int
    group: int
    size: tuple[int, ...]
    winner: Winner | None = None
    measured: SizeOutcome | None = None
    measured_in: int | None = None

    @property
    def key(self) -> str:
        """Names the row."""
        return f"{self.group}:{size_text(self.size)}"


def size_rows(model: TensileViewModel) -> list[SizeRow]:
    """A row for every problem size that was measured, in the order of the file."""
    keys = sorted({**model.outcomes, **model.winners}, key=lambda key: key[0])
    return [_row(place, key, model) for place, key in enumerate(keys)]


def _row(place: int, key: SizeKey, model: TensileViewModel) -> SizeRow:
    measured_in, measured = model.outcomes.get(key, (None, None))
    return SizeRow(place, *key, model.winners.get(key), measured, measured_in)


def visible_sizes(rows: Sequence[SizeRow], order: SizeOrder, words: Sequence[str], limit: int = LIMIT) -> list[SizeRow]:
    """The rows to show, in order: as in the file, or the largest gain first and those without one at the end."""
    chosen = [row for row in rows if all(word in _searched(row) for word in words)]
    if order == "gain":
        chosen.sort(key=lambda row: -(row.winner.gain or 0.0) if row.winner is not None else 0.0)
    return chosen[:limit]


def _searched(row: SizeRow) -> str:
    """All that a filter looks at, values as in `DepthU=64`."""
    winner = row.winner
    words = [size_text(row.size), f"group={row.group}"]
    if winner is not None:
        words += [f"round={winner.round}", winner.solution, values_words(winner.values)]
        words += [f"{name}={value_text(value)}" for name, value in winner.values.items()]
    return " ".join(words).lower()


@dataclass(frozen=True)
class SizeCells:
    """What a row says, a text a column."""

    group: str
    size: str
    gflops: str
    gain: str
    microseconds: str
    round: str
    winner: str


def telling_first(rows: Sequence[SizeRow]) -> list[str]:
    """The winners' parameters: first those that tell the winners apart, as the column is cut at its end."""
    winners = [row.winner.values for row in rows if row.winner is not None]
    names = list(dict.fromkeys(name for values in winners for name in values))
    return sorted(names, key=lambda name: len({str(values.get(name)) for values in winners}) == 1)


def size_cells(row: SizeRow, names: Sequence[str]) -> SizeCells:
    """The cells of a row; what no run has found is a dot.

    Args:
        names: of the winners' parameters, in the order in which their values are told.
    """
    fixed, winner = (str(row.group), size_text(row.size)), row.winner
    if winner is None:
        return SizeCells(*fixed, _ABSENT, "", "", "", "no valid solution")
    values = {name: winner.values[name] for name in names if name in winner.values}
    return SizeCells(
        *fixed,
        gflops_words(winner.gflops),
        _ABSENT if winner.gain is None else factor(winner.gain),
        "" if winner.microseconds is None else f"{winner.microseconds:,.1f}",
        str(winner.round),
        " ".join(clean(values_words(values) or winner.solution).split()),
    )


def runs_line(model: TensileViewModel) -> str:
    """What the last run had to do and how long it took, or what it says while it lasts."""
    run = model.last
    if run is None:
        return ""
    work = f"{round_words(run.round)}: {work_words(run.permutations, run.sizes)}"
    if run.outcome is None:
        before = f", {seconds_words(model.seconds)} before it" if model.ended else ""
        return f"{work}{before} · {model.line or 'running'}"
    failure, took = run.outcome.failure, seconds_words(run.outcome.seconds)
    ended = f"{work} in {took}" if failure is None else f"{round_words(run.round)}: {failure.kind} after {took}"
    return f"{ended}, {seconds_words(model.seconds)} in all"


class SizeTable(DataTable[Text]):
    """Problem sizes, a row each, with the best solution so far."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False, id="row_down", tooltip="Select the next row."),
        Binding("k", "cursor_up", "Up", show=False, id="row_up", tooltip="Select the row before."),
    ]

    def __init__(self) -> None:
        super().__init__(cursor_type="row", cell_padding=0, id="sizes")
        self._drawn: list[SizeRow] = []

    def draw(self, rows: Sequence[SizeRow], latest: int) -> None:
        """Show exactly these rows in this order; the cursor stays on its row, or on top if it is there.

        Args:
            latest: the last round; winners of it stand out.
        """
        if self._drawn == list(rows) and self.columns:
            return
        selected = None if self.cursor_row == 0 else self.selected_key
        self._drawn = list(rows)
        with self.app.batch_update():
            self._fill(rows, latest)
            row = next((number for number, row in enumerate(rows) if row.key == selected), 0)
            self.move_cursor(row=row, animate=False, scroll=False)

    @property
    def selected_key(self) -> str | None:
        """The key of the row under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        return self.coordinate_to_cell_key(self.cursor_coordinate).row_key.value

    def _fill(self, rows: Sequence[SizeRow], latest: int) -> None:
        """Write all anew: a run lasts long enough that its end may."""
        names = telling_first(rows)
        texts = {row.key: asdict(size_cells(row, names)) for row in rows}
        shown = [key for key in _LABELS if self._is_told(key, list(texts.values()))]
        widths = {
            key: max([len(_LABELS[key]), *(len(cells[key]) for cells in texts.values())]) + 1 for key in shown
        } | {"winner": _WINNER_WIDTH}
        self.clear(columns=True)
        for key in shown:
            self.add_column(_cell(key, _LABELS[key], widths[key]), key=key, width=widths[key])
        for row in rows:
            new = row.winner is not None and row.winner.round == latest > 0
            style = "dim" if row.winner is None else "bold" if new else ""
            cells = texts[row.key]
            self.add_row(*(_cell(key, cells[key], widths[key], style) for key in shown), key=row.key)

    @staticmethod
    def _is_told(key: str, cells: Sequence[dict[str, str]]) -> bool:
        """Whether a column says anything: groups where there are several, a time where one is known."""
        values = {each[key] for each in cells}
        return len(values) > 1 if key == "group" else key != "microseconds" or bool(values - {""})


def _cell(key: str, text: str, width: int, style: str = "") -> Text:
    """Numbers at the right of a column, after one blank; words at the left."""
    if key == "winner":
        return Text(f"  {text if len(text) < width - 2 else text[: width - 3] + '…'}", style=style)
    return Text(f"{text:<{width}}" if key == "size" else f"{text:>{width}}", style=style)


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
    head = plain(
        f"round {number}: {counted_words(outcome.measured, 'solution')} timed{failed}; GFLOP/s", "$foreground-muted"
    )
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


class SizeContents(Contents):
    """Problem sizes in the order of the file, or the largest gain first."""

    orders = ("file", "gain")
    relevant = (BenchmarkStarted, BenchmarkOutput, BenchmarkFinished, WinnersChanged, SessionFinished)

    def __init__(self, model: TensileViewModel) -> None:
        self._model = model
        self._sizes = SizeTable()
        self.table: DataTable[Text] = self._sizes

    def draw(self, picture: Picture, words: Sequence[str], order: int) -> str:
        """The line below says what the last run had to do and how long it took."""
        rows = size_rows(self._model)
        shown = visible_sizes(rows, "gain" if order else "file", words)
        self._sizes.draw(shown, max(self._model.means, default=0))
        return shown_of(len(shown), len(rows)) + runs_line(self._model)

    def chart(self, picture: Picture, width: int, height: int) -> Content:
        """The geometric mean of the best GFLOP/s after each run."""
        title = "mean of best" if len(self._model.winners) > 1 else "best so far"
        means = list(self._model.means.values())
        return best_chart(means, "GFLOP/s", width, height, title=title, words=gflops_words)

    def about(self, picture: Picture, key: str) -> tuple[Content, Content]:
        """The winner, the ranking of the last run and what was rejected."""
        row = next(row for row in size_rows(self._model) if row.key == key)
        return size_dialog(row, self._model)
