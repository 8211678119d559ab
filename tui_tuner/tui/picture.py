"""What the terminal shows, cell by cell, so that of a frame only what changes is written.

Textual 8.2 writes all cells of whatever it draws again, and draws the whole screen when the focus moves or the style of
the screen changes, and once more each time that a layout settles: a key was two to four frames of 18 kB each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import NamedTuple

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip


class Look(NamedTuple):
    """How a cell is drawn: the codes that a terminal takes for it (SGR), and the address of a link."""

    attributes: str = ""
    foreground: str = ""
    background: str = ""
    link: str = ""


Cell = tuple[str, Look]
"""Text and look. What has signs of another width than one stands in its first cell, the rest are empty: terminals do
not agree about such widths, so that its parts are written together or not at all."""
_PLAIN = Look()
_ANY = "any"
"""The foreground of a blank, on which nothing of it is seen."""
_UNSEEN = {"", "1", "2", "3"}
"""Attributes that make no difference to a blank: bold, dim, italic."""
_OFF = {"1": "22", "2": "22", "3": "23", "4": "24", "7": "27", "9": "29"}
"""What ends an attribute; bold and dim have one end."""
_NOWHERE = -2
_SHORT_GAP = 4
"""So many cells are written again rather than passed over, which takes as many bytes."""


class Picture:
    """What is on a terminal, as far as it is known; nothing at first."""

    def __init__(self) -> None:
        self._lines: defaultdict[int, list[Cell | None]] = defaultdict(list)
        self._region: Region | None = None

    def forget(self) -> None:
        """Know nothing of what the terminal shows: whatever is drawn next is written in full."""
        self._lines.clear()

    def less(self, update: LayoutUpdate | ChopsUpdate, console: Console) -> Changes:
        """An update that writes only what is not there yet of another one; it is there from then on."""
        return Changes(self.written(update, console._color_system or ColorSystem.TRUECOLOR))

    def written(self, update: LayoutUpdate | ChopsUpdate, colors: ColorSystem) -> str:
        """What to write to a terminal for an update, which is there from then on."""
        if isinstance(update, LayoutUpdate) and update.region != self._region:
            self.forget()  # what was drawn since the terminal has this size went to other places
            self._region = update.region
        pen = _Pen()
        for x, y, strips in _pieces(update):
            cells = _cells(strips, colors)
            line = self._lines[y]
            line.extend(repeat(None, x + len(cells) - len(line)))
            before = line[x : x + len(cells)]
            if before != cells:
                line[x : x + len(cells)] = cells
                pen.write(x, y, cells, before)
        return pen.all_written()


class Changes(CompositorUpdate):
    """What of an update was not on the terminal yet.

    Attributes:
        text: what is to be written for it.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def render_segments(self, console: Console) -> str:
        """What to write."""
        del console
        return self.text


def _pieces(update: LayoutUpdate | ChopsUpdate) -> Iterator[tuple[int, int, Iterable[Strip]]]:
    """The parts of lines that an update has, each with the column and the line where it begins."""
    if isinstance(update, LayoutUpdate):
        for y, strips in enumerate(update.strips, update.region.y):
            yield update.region.x, y, strips
        return
    for y, begin, end in update.spans:
        for part_end, (x, strip) in zip(update.chop_ends[y], update.chops[y].items(), strict=False):
            if strip is not None and x < end and part_end > begin:
                yield x, y, [strip if part_end <= end else strip.crop(0, end - x)]


def _cells(strips: Iterable[Strip], colors: ColorSystem) -> list[Cell]:
    cells: list[Cell] = []
    for text, style, _ in chain.from_iterable(strips):
        look = _PLAIN if style is None else _look(style, colors, blank=not text.strip(" "))
        cells += zip(text if text.isascii() else _in_cells(text), repeat(look))
    return cells


@lru_cache(maxsize=1024)
def _in_cells(text: str) -> Sequence[str]:
    """A text cell by cell; as one where not all of its signs are one cell wide. A mark that stands alone takes none."""
    if all(cell_len(sign) == 1 for sign in text):
        return text
    return [text, *repeat("", cell_len(text) - 1)][: cell_len(text)]


@lru_cache(maxsize=4096)
def _look(style: Style, colors: ColorSystem, *, blank: bool) -> Look:
    attributes = Strip.render_ansi(style.without_color, colors)
    front, back = _color(style.color, colors, front=True), _color(style.bgcolor, colors, front=False)
    if blank and not style.link and _is_unseen(attributes):
        return _same(Look("", _ANY, back, ""))
    return _same(Look(attributes, front, back, style.link or ""))


def _is_unseen(attributes: str) -> bool:
    """Whether a blank looks the same without."""
    return _UNSEEN.issuperset(attributes.split(";"))


@lru_cache(maxsize=1024)
def _same(look: Look) -> Look:
    """One object for all that look alike, which are compared at once."""
    return look


def _color(color: Color | None, colors: ColorSystem, *, front: bool) -> str:
    return "" if color is None else ";".join(color.downgrade(colors).get_ansi_codes(front))


class _Pen:
    """Writes cells, and moves and changes its look only where it must."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._look = _PLAIN
        self._x = self._y = _NOWHERE

    def write(self, x: int, y: int, cells: Sequence[Cell], before: Sequence[Cell | None]) -> None:
        """Write those cells of a part of a line, begun at `x`, that differ from before; all if a sign is wide."""
        whole = _has_wide(cells) or _has_wide(before)
        for place, (cell, old) in enumerate(zip(cells, before, strict=True)):
            if cell[0] and (whole or cell != old):
                self._reach(x + place, y, cells[max(self._x - x, 0) : place])
                self._put(*cell)

    def all_written(self) -> str:
        """What was written, with the look as it was at first."""
        self._turn(_PLAIN)
        return "".join(self._parts)

    def _reach(self, x: int, y: int, between: Sequence[Cell]) -> None:
        """Go to a cell, over some that are there already."""
        gap = x - self._x
        if y != self._y:
            self._parts.append(f"\x1b[{y + 1};{x + 1}H")
        elif (
            0 < gap <= _SHORT_GAP
            and len(between) == gap
            and all(self._needed(look) == self._look for _, look in between)
        ):
            self._parts += [text for text, _ in between]
        elif gap:
            self._parts.append(f"\x1b[{x + 1}G")
        self._x, self._y = x, y

    def _needed(self, look: Look) -> Look:
        """The look to write a cell in, as much as it can be the one of the cell before."""
        if look.foreground != _ANY:
            return look
        attributes = self._look.attributes if _is_unseen(self._look.attributes) else ""
        return Look(attributes, self._look.foreground, look.background, "")

    def _put(self, text: str, look: Look) -> None:
        if look is not self._look:
            self._turn(self._needed(look))
        self._parts.append(text)
        self._x = self._x + 1 if len(text) == 1 else _NOWHERE

    def _turn(self, look: Look) -> None:
        before, self._look = self._look, look
        if before == look:
            return
        if codes := ";".join(_codes(before, look)):
            self._parts.append(f"\x1b[{codes}m")
        if before.link != look.link:
            self._parts.append(f"\x1b]8;;{look.link}\x1b\\")


def _has_wide(cells: Sequence[Cell | None]) -> bool:
    return any(cell is not None and cell[0] == "" for cell in cells)


def _codes(before: Look, after: Look) -> Iterator[str]:
    """What turns a look into another one."""
    old, new = (set(filter(None, look.attributes.split(";"))) for look in (before, after))
    if after == _PLAIN or not old - new <= _OFF.keys():
        yield from ("0", *filter(None, after[:3]))
        return
    ended = {_OFF[attribute] for attribute in old - new}
    yield from sorted(ended)
    yield from sorted(attribute for attribute in new if attribute not in old or _OFF.get(attribute) in ended)
    if before.foreground != after.foreground:
        yield after.foreground or "39"
    if before.background != after.background:
        yield after.background or "49"
