"""What the user does with the rows of the table: sifts them, reads one, keeps two in sight to be timed in turns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import Evaluation, FailureKind, Timing
from tui_tuner.format import counted, interval, milliseconds, share, tunable_value
from tui_tuner.problem.candidate import Configured
from tui_tuner.problem.expressions import ExpressionError, Parsed, parse_expression
from tui_tuner.session.events import PairAsked, PairCompared
from tui_tuner.text import flattened, nearest, suggestion
from tui_tuner.tui.text import Pairs, listed, one_line, pairs_table, plain
from tui_tuner.tui.view_model import EvaluationRow, ViewModel, time_label


def state_words(row: EvaluationRow, title: str) -> str:
    """The state of a row in words: running, incumbent, verified or why not, or why it failed; then the title."""
    if row.evaluation is None:
        words = "running"
    elif row.evaluation.failure is not None:
        failure = row.evaluation.failure
        return flattened(f"{failure.kind.value}: {failure.message}")
    else:
        words = "incumbent" if row.incumbent else "verified" if row.doubt is None else "in doubt"
    return f"{words} · {flattened(title)}" if title else words


def matches(row: EvaluationRow, title: str, words: Sequence[str]) -> bool:
    """Whether every word occurs in what the row says, tunables as in `block_size_x=64`."""
    values = " ".join(f"{name}={tunable_value(value)}" for name, value in row.configuration.items())
    text = f"{row.number} {values} {state_words(row, title)}".lower()
    return all(word in text for word in words)


def _as_name(kind: FailureKind) -> str:
    return kind.value.replace(" ", "_").replace("-", "_")


def _state(row: EvaluationRow) -> str:
    if row.evaluation is None:
        return "running"
    return "ok" if row.evaluation.failure is None else "failed"


def _of(value: Callable[[Evaluation], object]) -> Callable[[EvaluationRow], object]:
    return lambda row: None if row.evaluation is None else value(row.evaluation)


_BEFORE = "status"
"""What the state was called before."""
_MEASURES: dict[str, Callable[[EvaluationRow], object]] = {
    "number": lambda row: row.number,
    "candidate": lambda row: row.candidate,
    "state": _state,
    _BEFORE: _state,
    "reason": _of(lambda evaluation: "" if evaluation.failure is None else _as_name(evaluation.failure.kind)),
    "time": _of(lambda evaluation: evaluation.timing and evaluation.timing.median),
    "low": _of(lambda evaluation: evaluation.timing and evaluation.timing.low),
    "high": _of(lambda evaluation: evaluation.timing and evaluation.timing.high),
    "roofline": _of(lambda evaluation: evaluation.share),
    "registers": _of(lambda evaluation: evaluation.resources.registers),
    "spill": _of(lambda evaluation: evaluation.resources.spill_bytes),
    "shared": _of(lambda evaluation: evaluation.resources.shared_bytes),
}
"""Names that an expression may read, beside those of tunables and `speedup`; times in ms."""
_WORDS = frozenset({"ok", "failed", "running", *map(_as_name, FailureKind)})
"""Names that stand for themselves, as in `state == ok`."""
_SPEEDUP = "speedup"
_EXPRESSION = re.compile(r"[<>]|==|!=|\bin\s*\(")
"""What is in no word to search for, and makes a text an expression."""


class RowFilter:
    """Which rows are wanted: by words that they contain, or by an expression over their numbers.

    Args:
        text: as in `wrong result` or `time < 0.2 and state == ok`.
        tunables: their names, where an expression is to be refused that names what there is not.
        short: short names of tunables -> their names, as the table has them over its values.

    Attributes:
        text: as given.
        given_ms: time of the kernel as given, what `speedup` is over.

    Raises:
        ExpressionError: the expression is none, or names what is not known.
    """

    def __init__(
        self, text: str, tunables: Collection[str] | None = None, short: Mapping[str, str] | None = None
    ) -> None:
        self.text = text
        self.given_ms: float | None = None
        self._short = short or {}
        self._words = [self._whole(word) for word in text.lower().split()]
        self._expression: Parsed | None = None
        if _EXPRESSION.search(text):
            self._expression = parse_expression(text.strip())
            if tunables is not None:
                self._check(self._expression, {*_MEASURES, _SPEEDUP, *tunables})

    def _check(self, expression: Parsed, names: Collection[str]) -> None:
        """Refuse an unknown name; with the nearest known one, else with those that say what there is to compare."""
        known = {*names, *_WORDS, *self._short}
        for name in sorted(expression.names - known):
            told = known if nearest(name, known) else {*names} - {_BEFORE}
            raise ExpressionError(f"unknown name '{name}' in '{expression.text}': {suggestion(name, sorted(told))}")

    def _whole(self, word: str) -> str:
        """A word such as `bsx=64` with the tunable's name as it is in a row."""
        name, sign, value = word.partition("=")
        return f"{self._short[name].lower()}={value}" if sign and name in self._short else word

    @property
    def compares(self) -> bool:
        """Whether it is an expression."""
        return self._expression is not None

    def takes(self, row: EvaluationRow, title: str) -> bool:
        """Whether a row is wanted; one that lacks a number which is compared is not."""
        if self._expression is None:
            return not self._words or matches(row, title, self._words)
        try:
            return bool(self._expression.value(_RowNames(row, self.given_ms, self._short)))
        except ExpressionError:
            return False


class _RowNames(Mapping[str, object]):
    """What the names in an expression mean for a row; only those that it reads are looked up."""

    def __init__(self, row: EvaluationRow, given_ms: float | None, short: Mapping[str, str]) -> None:
        self._row = row
        self._given_ms = given_ms
        self._short = short

    def __getitem__(self, name: str) -> object:
        measure = _MEASURES.get(name)
        if measure is not None:
            found = measure(self._row)
        elif name == _SPEEDUP:
            found = self._given_ms and self._given_ms / self._row.time
        else:
            whole = self._short.get(name, name)
            found = self._row.configuration.get(whole, name if name in _WORDS else None)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter((*_MEASURES, *self._row.configuration))

    def __len__(self) -> int:
        return len(_MEASURES) + len(self._row.configuration)


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
    if failure is None and row.doubt is not None:
        why = f"another configuration of this kernel passed the checks and failed later: {row.doubt.in_words}"
        pairs.append(("doubt", one_line(why, "$text-warning")))
    pairs += _measured(row.evaluation, unit)
    if row.diagnosis is not None:
        pairs.append(("held by", one_line(row.diagnosis.cause, "bold")))
        pairs += [("", fact) for fact in row.diagnosis.facts]
    table = pairs_table(pairs)
    return table if failure is None or not failure.detail else table + "\n\n" + plain(failure.detail)


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
        return one_line(f"… {second} against {first}: being timed in turns, or waiting for the device", "italic")
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
