"""The lists of the start screen, kernels and runs, a line each; and two runs against each other."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_tuner.format import counted
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.resources import samples_directory
from tui_tuner.tui.moving import LineList
from tui_tuner.tui.start import GivenFile, RunCard
from tui_tuner.tui.text import Paragraphs, hanging, laid_out, one_line

_W = TypeVar("_W", bound=Widget)
_AROUND = 6
"""Cells of a line that are the list's frame, its padding and its scroll bar."""


_OTHERS = 4
"""Lines of the screen that are neither kernels nor runs: the header, the command and the keys."""


class ChoiceList(LineList):
    """A list of which Enter takes what is selected."""

    OWN: ClassVar[list[Binding]] = [
        Binding("enter", "select", "run the command", tooltip="Run the command above the keys."),
        Binding("tab,shift+tab", "app.focus_next", "next field", show=False,
                tooltip="Go on to the next list or field, or back; Enter opens a picker, Esc leaves a field."),
    ]  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [*OWN[:1]]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Of an empty list nothing can be taken."""
        return action != "select" or self.option_count > 0

    def on_click(self, event: Click) -> None:
        """Select a line; the second of two clicks takes it, where Textual's first one would."""
        event.prevent_default()
        line = event.style.meta.get("option")
        if line is not None:
            self.highlighted = line
            if event.chain == 2:
                self.action_select()

    def relist(self, lines: Sequence[Content]) -> None:
        """Show other lines; as far as there is one, that in the place of the selected one is selected."""
        at = self.highlighted
        self.set_options(map(Option, lines))
        self.highlighted = min(at or 0, len(lines) - 1) if lines else None


class RunList(ChoiceList):
    """The runs, of which one may be marked to be compared with another."""

    def __init__(self) -> None:
        super().__init__(id="runs", compact=True, markup=False)
        self.border_title = "Runs"
        self.cards: Sequence[RunCard] = ()
        self._marked: RunCard | None = None

    @property
    def card(self) -> RunCard | None:
        """The selected run."""
        return None if self.highlighted is None else self.cards[self.highlighted]

    def show(self, cards: Sequence[RunCard]) -> None:
        """Show other runs."""
        self.cards = cards
        self.border_title = "Runs" if cards else "Runs: none yet"
        self.draw()

    def leave(self, height: int) -> int | None:
        """Lines of a screen of so many that are for kernels: two fifths or what runs leave; None without any."""
        return max(height * 2 // 5, height - _OTHERS - len(self.cards) - 2) if self.cards else None

    def draw(self) -> None:
        """Draw in the width that the screen has."""
        self.relist(run_lines(self.cards, self._marked, self.app.size.width))

    def mark(self) -> tuple[RunCard, RunCard] | None:
        """Mark the selected run; where another one is marked, both, and none is any more."""
        card, marked = self.card, self._marked
        self._marked = card if marked is None else None
        self.draw()
        return None if card is None or marked in (None, card) else (marked, card)


def titled(widget: _W, title: str) -> _W:
    """A widget with a title in its frame."""
    widget.border_title = title
    return widget


def files_title(files: Sequence[GivenFile]) -> str:
    """Of the list of what can be tuned: all kinds of it; where there is nothing, how the files of kernels end."""
    kinds = ", ".join(f"{kind}s" for kind in dict.fromkeys(file.kind for file in files))
    return kinds[:1].upper() + kinds[1:] or f"Kernels: no {' '.join(LANGUAGES)}"


def to_try() -> str:
    """What can be done where there is nothing of one's own."""
    return f"A kernel to try it on: {shlex.join(['tuner-tui', str(samples_directory() / 'matmul.cu')])}"


def numbers(files: Sequence[GivenFile]) -> str:
    """How many there are of each kind."""
    kinds = Counter(file.kind for file in files) or {"kernel": 0}
    return ", ".join(counted(number, kind) for kind, number in kinds.items())


def select(options: OptionList, index: int) -> None:
    """Go to a line."""
    options.focus()
    options.highlighted = index


def file_list(files: Sequence[GivenFile]) -> Widget:
    """The list of what can be tuned."""
    lines = map(Option, map(file_line, files))
    return titled(ChoiceList(*lines, id="kernels", compact=True, markup=False), files_title(files))


def file_line(file: GivenFile) -> Content:
    """A file, and what it is where that is no kernel, or that a kernel has no problem file."""
    remark = file.kind if not file.is_kernel else "" if file.has_problem else "no problem file yet"
    return one_line(str(file.path), "bold") + Content.styled(f"  {remark}" if remark else "", "$text-muted")


def run_lines(cards: Sequence[RunCard], marked: RunCard | None, width: int) -> list[Content]:
    """The runs: mark, kernel, gain, state, when it was last at work, strategy, name, as columns.

    The name has its width, for it is what commands take; where the screen of `width` cells has no room for all, columns
    go that it tells as well: the strategy, the time, the kernel.
    """
    columns = [
        (0, _column(("=" if card == marked else "" for card in cards), least=1)),
        (1, _column(card.kernel for card in cards)),
        (0, _column((card.gain for card in cards), right=True)),
        (0, _column(card.state for card in cards)),
        (2, _column(card.last_at_work for card in cards)),
        (3, _column(card.strategy for card in cards)),
        (0, _column(card.path.name for card in cards)),
    ]
    for most in (3, 2, 1, 0):
        shown = [texts for rank, texts in columns if rank <= most and texts and texts[0].cell_length]
        lines = [Content("  ").join(texts) for texts in zip(*shown, strict=True)]
        if not lines or lines[0].cell_length <= width - _AROUND:
            break
    return lines


def _column(texts: Iterable[str], *, least: int = 0, right: bool = False) -> list[Content]:
    """The texts, all as wide as the widest."""
    cells = [one_line(text) for text in texts]
    width = max([least, *(cell.cell_length for cell in cells)])
    blanks = [Content(" " * (width - cell.cell_length)) for cell in cells]
    return [blank + cell if right else cell + blank for cell, blank in zip(cells, blanks, strict=True)]


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
