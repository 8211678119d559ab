"""Markdown of models as content that stays text: lists, tables, code in colour, whole or as far as it has arrived."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING

from textual.content import Content

from tui_tuner.text import clean
from tui_tuner.tui.text import hanging
from tui_tuner.tui.text.highlighting import PYGMENTS_NAMES, coloured

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_STYLES = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}
_TAB = 4
_CODE_INDENT = "  "
_MOST_COLOURED = 400
"""Lines of code; longer code is shown without colour, which would take too long."""


def markdown_text(text: str) -> Content:
    """The text as lines of content, blank lines once; what looks like HTML or markup is shown as it stands.

    Lists and quotes go on under their text where `Paragraphs` breaks them.
    """
    lines = _Lines()
    tokens = _parser().parse(clean(text).expandtabs(_TAB))
    for token in tokens:
        lines.take(token)
    return Content("\n").join(lines.done())


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second, and only where a model has said something

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.at("emphasis", _emphasis)
    return parser


def _emphasis(state: StateInline, silent: bool) -> bool:
    """A star between two words, as in `2*n**3`, multiplies, and `__shared__` is CUDA; any other sign is Markdown's."""
    from markdown_it.rules_inline.emphasis import tokenize

    text, start = state.src, state.pos
    known = _OF_CUDA.match(text, start, state.posMax) or _STARS.match(text, start, state.posMax)
    end = start if known is None else known.end()
    multiplies = 0 < start < end < state.posMax and _ENDS.match(text[start - 1]) and _BEGINS.match(text[end])
    if known is None or (known.re is _STARS and not multiplies):
        return tokenize(state, silent)
    if not silent:
        state.pending += text[start:end]
        state.pos = end
    return not silent


_OF_CUDA, _STARS = re.compile(r"__[a-zA-Z]\w*__(?!\w)"), re.compile(r"\*+")
_ENDS, _BEGINS = re.compile(r"[\w)\]]"), re.compile(r"[\w(]")


class _Lines:
    """Makes lines of the tokens, one after another."""

    def __init__(self) -> None:
        self._done: list[Content] = []
        self._counts: list[int | None] = []
        self._label: Content | None = None
        self._style = ""
        self._quoted = 0
        self._rows: list[list[Content]] | None = None

    def done(self) -> list[Content]:
        """The lines, without blank ones at the end."""
        while self._done and not self._done[-1]:
            self._done.pop()
        return self._done

    def take(self, token: Token) -> None:
        """Add what a token says."""
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                ordered = token.type == "ordered_list_open"
                self._counts.append(int(token.attrGet("start") or 1) if ordered else None)
            case "bullet_list_close" | "ordered_list_close":
                self._counts.pop()
                self._end_of_block(token)
            case "list_item_open":
                self._begin_item()
            case "blockquote_open" | "blockquote_close":
                self._quoted += token.nesting
            case "heading_open" | "heading_close":
                self._style = "bold" if token.nesting > 0 else ""
                self._end_of_block(token)
            case "paragraph_close":
                self._end_of_block(token)
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._add(Content.styled("───", "$foreground-muted"))
            case "inline":
                self._inline(token)
            case _:
                self._table(token)

    def _begin_item(self) -> None:
        count = self._counts[-1]
        label = "• " if count is None else f"{count}. "
        if count is not None:
            self._counts[-1] = count + 1
        self._label = Content("  " * (len(self._counts) - 1) + label)

    def _end_of_block(self, token: Token) -> None:
        """A blank line behind a block that stands by itself."""
        if token.nesting < 0 and not token.hidden and not self._counts and self._done and self._done[-1]:
            self._done.append(Content())

    def _inline(self, token: Token) -> None:
        content = _inline(token.children or [])
        if self._rows is not None:
            self._rows[-1].append(content.stylize(self._style) if self._style else content)
            return
        for line in content.split("\n", allow_blank=True):
            self._add(line.stylize(self._style) if self._style else line)

    def _add(self, line: Content) -> None:
        """A line, behind the label of its list or under it, in its quote."""
        if self._label is not None:
            label, self._label = self._label, None
        else:
            label = Content("  " * len(self._counts))
        if self._quoted:
            label = Content.styled("▏ " * self._quoted, "$foreground-muted") + label
        self._done.append((hanging(label) if label else label) + line)

    def _code(self, token: Token) -> None:
        for line in coloured_lines(token.content.rstrip("\n"), token.info.strip().partition(" ")[0]):
            self._add(hanging(Content(_CODE_INDENT)) + line)
        if not self._counts:
            self._done.append(Content())

    def _table(self, token: Token) -> None:
        match token.type:
            case "table_open":
                self._rows = []
            case "tr_open" if self._rows is not None:
                self._rows.append([])
            case "thead_open" | "thead_close":
                self._style = "bold" if token.nesting > 0 else ""
            case "table_close" if self._rows is not None:
                rows, self._rows = self._rows, None
                for line in table_lines(rows):
                    self._add(line)
                self._done.append(Content())


def _inline(tokens: Sequence[Token]) -> Content:
    parts: list[Content] = []
    styles: list[str] = []
    line = ""
    for token, behind in zip_longest(tokens, tokens[1:]):
        name = token.type.rpartition("_")[0]
        if token.nesting > 0:
            styles.append(_STYLES.get(name, ""))
        elif token.nesting < 0:
            styles.pop()
        elif token.type in ("softbreak", "hardbreak"):
            goes_on = token.type == "softbreak" and _was_wrapped(line, "" if behind is None else behind.content)
            parts.append(Content(" " if goes_on else "\n"))
            line = ""
        else:
            line += token.content
            own = "$text-accent" if token.type == "code_inline" else ""
            style = " ".join(filter(None, (*styles, own)))
            parts.append(Content.styled(token.content, style) if style else Content(token.content))
    return Content("").join(parts)


_WRAPPED = 60
"""Cells of a line that may have ended where it does for its width alone."""


def _was_wrapped(line: str, behind: str) -> bool:
    """Whether a sentence goes on behind a line, which was broken for another width than the pane's."""
    return len(line) >= _WRAPPED and line[-1] not in ".:;!?" and behind[:1].islower()


_WIDEST = 48
"""Cells before the last column of a table; one that is wider has a line for every cell."""


def table_lines(rows: Sequence[Sequence[Content]]) -> Iterator[Content]:
    """Rows with their columns in line, the last of which goes on under itself; the first row is the head."""
    widths = [max((row[i].cell_length for row in rows if i < len(row)), default=0) for i in range(max(map(len, rows)))]
    if sum(widths[:-1]) > _WIDEST:
        yield from _cell_lines(rows)
        return
    for row in rows:
        cells = [cell.pad_right(width - cell.cell_length) for cell, width in zip(row, widths, strict=False)]
        label = Content("  ").join([*cells[:-1], Content()])
        yield (hanging(label) + cells[-1] if label else Content("  ").join(cells)).rstrip()


def _cell_lines(rows: Sequence[Sequence[Content]]) -> Iterator[Content]:
    """Each cell behind what is over it, and a blank line between two rows."""
    head, *others = rows
    for place, row in enumerate(others or rows):
        if place:
            yield Content()
        for over, cell in zip(head, row, strict=False):
            yield hanging(over + ": ") + cell


@lru_cache(maxsize=64)
def coloured_lines(code: str, language: str) -> tuple[Content, ...]:
    """Each line of some code in colour; without colour where it is too long or the highlighter does not keep the lines.

    Args:
        language: ours, or one that Pygments knows.
    """
    lines = code.expandtabs(_TAB).split("\n")
    name = PYGMENTS_NAMES.get(language, language or "c")
    found = coloured(lines, name) if len(lines) <= _MOST_COLOURED else None
    return tuple(found) if found is not None else tuple(Content.styled(line, "$text-accent") for line in lines)
