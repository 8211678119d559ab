"""Of a frame only what the terminal does not show yet is written, and what it shows then is the frame."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping

import pytest
from rich.cells import cell_len
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Offset, Region
from textual.strip import Strip

from tui_tuner.tui.in_turn import InTurn
from tui_tuner.tui.picture import Picture

_WIDTH, _HEIGHT = 24, 5
_PIECE = re.compile(r"\x1b\[([0-9;]*)([HGm])|\x1b\]8;[^;]*;(.*?)\x1b\\|([^\x1b])")
_LOOKS = [
    Style.parse(words)
    for words in (
        "white on black",
        "red on black",
        "bold white on black",
        "bold dim white on black",
        "italic underline blue",
        "reverse",
        "strike",
        "underline2 green",
        "link https://example.org",
        "none",
    )
]
_WORDS = ["tile", "    ", " ", "a b", "─", "漢", "é", "e\u0301", "🙂", "0.5 ms", "\u0301"]

Shown = dict[tuple[int, int], tuple[str, frozenset[str], str, str, str]]


class Terminal:
    """What a terminal shows that knows moves, looks and links, and is one with Rich about how wide a sign is."""

    def __init__(self) -> None:
        self.shown: Shown = {}
        self._x = self._y = 0
        self._attributes: set[str] = set()
        self._front = self._back = self._link = ""

    def take(self, text: str) -> None:
        """Take what is written to it."""
        for codes, kind, link, sign in _PIECE.findall(text.replace("\n", "")):
            if sign:
                self._put(sign)
            elif kind == "m":
                self._turn(iter(codes.split(";")))
            elif kind:
                *line, column = (int(code) for code in codes.split(";"))
                self._x, self._y = column - 1, line[0] - 1 if line else self._y
            else:
                self._link = link

    def _put(self, sign: str) -> None:
        width = cell_len(sign)
        seen = self._attributes - {"1", "2", "3"} if sign == " " else self._attributes
        front = "" if sign == " " and not seen and not self._link else self._front
        for place in range(width):
            look = (frozenset(seen), front, self._back, self._link)
            self.shown[self._x + place, self._y] = (sign if place == 0 else "", *look)
        self._x += width

    def _turn(self, codes: Iterator[str]) -> None:
        for code in codes:
            if code in ("", "0"):
                self._attributes, self._front, self._back = set(), "", ""
            elif code in ("38", "48"):
                kind = next(codes)
                color = ";".join([code, kind, *(next(codes) for _ in range({"5": 1, "2": 3}[kind]))])
                self._front, self._back = (color, self._back) if code == "38" else (self._front, color)
            elif code in ("22", "23", "24", "27", "29"):
                self._attributes -= {"22": {"1", "2"}}.get(code, {code[1]})
            elif code[0] == "3" and len(code) == 2:
                self._front = "" if code == "39" else code
            elif code[0] == "4" and len(code) == 2:
                self._back = "" if code == "49" else code
            else:
                self._attributes.add(code)


def _frame(*lines: str, style: str = "white on black") -> LayoutUpdate:
    look = Style.parse(style)
    strips = [[Strip([Segment(line.ljust(_WIDTH), look)])] for line in lines]
    return LayoutUpdate(strips, Region(0, 0, _WIDTH, len(lines)))  # type: ignore[arg-type]


def _written(picture: Picture, update: LayoutUpdate | ChopsUpdate) -> str:
    return picture.written(update, ColorSystem.EIGHT_BIT)


def test_what_is_there_already_is_not_written_again() -> None:
    picture = Picture()
    first = _written(picture, _frame("one", "two", "three"))
    assert "one" in first
    assert "three" in first
    assert _written(picture, _frame("one", "two", "three")) == ""


def test_of_a_line_that_changes_only_that_word_is_written() -> None:
    picture = Picture()
    _written(picture, _frame("elapsed 0:01 of a run", "two", "three"))
    assert re.sub(r"\x1b\[[0-9;]*[mHG]", "", _written(picture, _frame("elapsed 0:02 of a run", "two", "three"))) == "2"


def test_a_blank_is_not_written_again_for_a_color_that_it_does_not_show() -> None:
    picture = Picture()
    _written(picture, _frame("", style="white on black"))
    assert _written(picture, _frame("", style="bold red on black")) == ""
    assert _written(picture, _frame("", style="underline red on black")) != ""


def test_what_is_forgotten_is_written_in_full() -> None:
    picture = Picture()
    first = _written(picture, _frame("one", "two"))
    picture.forget()
    assert _written(picture, _frame("one", "two")) == first


def test_a_frame_of_another_size_is_written_in_full() -> None:
    picture = Picture()
    _written(picture, _frame("one", "two", "three"))
    assert "one" in _written(picture, _frame("one", "two"))


async def test_what_stands_there_already_is_no_write_at_all_unless_the_cursor_moves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Over SSH a write is a packet, a hundred bytes for the six that put the cursor where it is."""
    written: list[object] = []
    app = InTurn[None](None, None)
    async with app.run_test(size=(_WIDTH, _HEIGHT)):
        monkeypatch.setattr(App, "_display", lambda _app, _screen, update: written.append(update))
        for cursor in (0, 0, 3):
            app.cursor_position = Offset(cursor, 0)
            app._display(app.screen, _frame("one", "two"))  # type: ignore[arg-type]
            app._previous_cursor_position = app.cursor_position
    assert [update is None for update in written[:3]] == [False, True, False]


@pytest.mark.parametrize("colors", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
@pytest.mark.parametrize("seed", range(8))
def test_the_terminal_shows_what_it_would_if_all_were_written(seed: int, colors: ColorSystem) -> None:
    drawn = random.Random(seed)  # noqa: S311  # no secret
    picture, least, whole = Picture(), Terminal(), Terminal()
    for number in range(60):
        strips = [[_strip(drawn, _WIDTH)] for _ in range(_HEIGHT)]
        if number % 4 == 0:
            update: LayoutUpdate | ChopsUpdate = LayoutUpdate(strips, Region(0, 0, _WIDTH, _HEIGHT))  # type: ignore[arg-type]
        else:
            update = _parts(drawn)
        least.take(picture.written(update, colors))
        whole.take(_textuals(update, colors))
        assert least.shown == whole.shown


def _textuals(update: LayoutUpdate | ChopsUpdate, colors: ColorSystem) -> str:
    """All that Textual would write."""

    class Console:
        _color_system = colors

    for style in _LOOKS:
        style._ansi = None  # Rich keeps the codes of the colors that it was asked for first
    return update.render_segments(Console())  # type: ignore[arg-type]


def _parts(drawn: random.Random) -> ChopsUpdate:
    """Some of the parts of two lines; the last one is cut."""
    middle = drawn.randrange(4, _WIDTH - 4)
    chops: list[Mapping[int, Strip | None]] = [
        {0: _strip(drawn, middle), middle: _strip(drawn, _WIDTH - middle)} for _ in range(_HEIGHT)
    ]
    lines = sorted(drawn.sample(range(_HEIGHT), 2))
    spans = [(y, drawn.choice([0, middle]), drawn.choice([middle, _WIDTH - 2, _WIDTH])) for y in lines]
    return ChopsUpdate(chops, [(y, min(x, end), end) for y, x, end in spans], [[middle, _WIDTH]] * _HEIGHT)


def _strip(drawn: random.Random, width: int) -> Strip:
    """Words of a few looks, as wide as that."""
    segments: list[Segment] = []
    while sum(segment.cell_length for segment in segments) < width:
        words = "".join(drawn.choices(_WORDS, k=drawn.randrange(1, 4)))
        segments.append(Segment(words, drawn.choice(_LOOKS)))
    return Strip(segments).crop(0, width)
