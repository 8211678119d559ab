"""Two runs against each other: side by side where there is room for both, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from textual.content import Content

from tui_tuner.tui.start.start_world import RunCard
from tui_tuner.tui.text.plain import Paragraphs, hanging, laid_out, one_line

_BESIDE = 96
"""From so many cells on the runs stand side by side; a large dialog has them in a terminal of 120 columns."""
_GAP = "  "
_SIGN = "≠ "
_ABSENT = "–"  # noqa: RUF001  # a sign, not a hyphen
_DIFFERS = "bold $text-warning"


class RunsCompared(Paragraphs):
    """What is known of two runs; it has the form that its width allows."""

    def __init__(self, runs: tuple[RunCard, RunCard]) -> None:
        super().__init__()
        self._runs = runs

    def lines(self, width: int) -> Content:
        """Side by side, or one below the other."""
        return compared(self._runs, width)


def compared(runs: tuple[RunCard, RunCard], width: int) -> Content:
    """Two runs in lines of so many cells."""
    names = list(dict.fromkeys(name for run in runs for name in run.facts))
    rows = [(name, [run.facts.get(name, _ABSENT) for run in runs]) for name in names]
    indent = len(_SIGN) + max(map(len, names), default=0) + len(_GAP)
    if width < _BESIDE:
        below = (_one_run(run, [(name, texts[at], differ(texts)) for name, texts in rows], indent, width)
                 for at, run in enumerate(runs))  # fmt: skip
        return Content("\n\n").join(below)
    half = (width - indent - len(_GAP)) // 2
    heads = [one_line(str(run.path), "bold") for run in runs]
    lines = [*_beside(Content(" " * indent), heads, half)]
    for name, texts in rows:
        lines += _beside(_label(name, differ(texts), indent), [_value(text, differ(texts)) for text in texts], half)
    return Content("\n").join(lines)


def differ(texts: Sequence[str]) -> bool:
    """Whether the runs differ in what is said of them."""
    return len({*texts}) > 1


def _label(name: str, differs: bool, width: int) -> Content:
    sign = Content.styled(_SIGN, _DIFFERS) if differs else Content(" " * len(_SIGN))
    return sign + one_line(name, "$foreground-muted").pad_right(max(0, width - len(_SIGN) - len(name)))


def _value(text: str, differs: bool) -> Content:
    return one_line(text, _DIFFERS if differs else "")


def _beside(label: Content, texts: Sequence[Content], half: int) -> Iterator[Content]:
    """A label and two texts, each broken where its column ends."""
    blank = Content(" " * label.cell_length)
    for number, parts in enumerate(zip_longest(*(text.wrap(half) for text in texts), fillvalue=Content())):
        left, right = parts
        yield (blank if number else label) + left.pad_right(half - left.cell_length) + _GAP + right


def _one_run(run: RunCard, facts: Sequence[tuple[str, str, bool]], indent: int, width: int) -> Content:
    lines = [hanging(_label(name, differs, indent)) + _value(text, differs) for name, text, differs in facts]
    return laid_out(Content("\n").join([one_line(str(run.path), "bold"), *lines]), width)
