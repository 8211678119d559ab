"""Where a kernel's code uses its tunables: the few lines that tell most of what each of them does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tui_tuner.problem.model import Language
from tui_tuner.problem.source_text import code_only, spaces
from tui_tuner.problem.table import COMPILED
from tui_tuner.prompts.use_kinds import Use, by_tree, by_words

LINES = 4
"""Lines a tunable at most."""
WIDTH = 110
"""Characters a line at most, its number aside."""
_CUT = "..."
_GUARD = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+\w+", re.MULTILINE)
_PYTHON_TEXT = re.compile(
    r"#[^\n]*"
    r"|\"{3}[\s\S]*?(?:\"{3}|\Z)|'{3}[\s\S]*?(?:'{3}|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
)


@dataclass(frozen=True)
class _Line:
    """A line of the code with one use in it; `column` counts from 0 in the whole line."""

    use: Use
    number: int
    text: str
    column: int


def tunable_uses(source: str, language: Language, names: Iterable[str]) -> dict[str, list[str]]:
    """For each tunable the lines in which the code uses it, as in "12: for (int k = 0; k < n; k += tile_k) {".

    Comments, the content of strings, and a name's own definition or guard are no use. Of each kind of use one line
    comes first, the most telling kind before the others: shared arrays, index computations, loops, conditions, other
    arrays, constants made from it, pragmas. Source that does not parse is read as far as it goes.

    Returns:
        At most `LINES` lines a name, each at most `WIDTH` characters and its number; none where the code does not
        name it, as with a block size that only the launch knows.
    """
    python = language == "python"
    code = _PYTHON_TEXT.sub(lambda match: spaces(match.group()), source) if python else code_only(source)
    code = code if python else _GUARD.sub(lambda match: spaces(match.group()), code)
    use_at = by_tree(code, language) if language in COMPILED else by_words(code)
    return {name: [_told(line, name) for line in _best(_lines(source, code, name, use_at))] for name in names}


def _lines(source: str, code: str, name: str, use_at: Callable[[int, str], Use]) -> Iterator[_Line]:
    lines = source.split("\n")
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", code):
        number = code.count("\n", 0, match.start())
        column = match.start() - (code.rfind("\n", 0, match.start()) + 1)
        yield _Line(use_at(match.start(), name), number + 1, lines[number].rstrip(), column)


def _best(lines: Iterable[_Line]) -> list[_Line]:
    """The most telling of the lines: one of each kind, then more of the same kinds; the same text only once."""
    distinct: dict[str, _Line] = {}
    for line in sorted(lines, key=lambda line: (line.use, line.number)):
        distinct.setdefault(" ".join(line.text.split()), line)
    seen: Counter[Use] = Counter()
    ranked = []
    for line in distinct.values():
        seen[line.use] += 1
        ranked.append((seen[line.use], line))
    return [line for _, line in sorted(ranked, key=lambda pair: (pair[0], pair[1].use, pair[1].number))[:LINES]]


def _told(line: _Line, name: str) -> str:
    """The line with its number, shortened around the name."""
    indent = len(line.text) - len(line.text.lstrip())
    text, at = line.text[indent:], line.column - indent
    if len(text) > WIDTH:
        start = max(0, min(at + len(name) // 2 - WIDTH // 2, len(text) - WIDTH))
        end = start + WIDTH
        left, right = _CUT if start else "", _CUT if end < len(text) else ""
        text = f"{left}{text[start + len(left) : end - len(right)]}{right}"
    return f"{line.number}: {text}"
