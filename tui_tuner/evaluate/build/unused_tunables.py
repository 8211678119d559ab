"""Tunables that no build can depend on: configurations that differ in nothing else are built once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from tui_tuner.evaluate.build.compilers.base import Headers
from tui_tuner.evaluate.build.refuse import logical_lines
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration

_WORD = re.compile(r"\w+", re.ASCII)
_INCLUDE = re.compile(r"\s*(?:#|%:)\s*(?:include|include_next|import)\b\s*[<\"](?P<name>[^>\"]+)[>\"]")
_STANDARD = re.compile(
    r"[a-z_]+"
    r"|(?:assert|complex|ctype|errno|fenv|float|inttypes|limits|locale|math|omp|setjmp|signal|stdarg|stdbool|stddef"
    r"|stdint|stdio|stdlib|string|tgmath|time|wchar)\.h"
)
"""Headers of C and C++, whose words are their own, or begin with an underscore, or have no small letter (NDEBUG)."""


def unused_tunables(
    candidate: Candidate, configuration: Configuration, options: Sequence[str], headers: Headers | None
) -> frozenset[str]:
    """The tunables of a configuration whose definition no build of a candidate can notice.

    That is one whose name is no word of the source, is not put together from words there by `##`, and does not stand
    in a header that is read, an option or another tunable's value. Where a header is included that is neither the
    toolkit's nor the standard library's, or an option names a file, there is none.

    Args:
        options: the user's own compiler options.
        headers: of the toolkit; None where they are not known.
    """
    source = _Source.read(candidate.source)
    if headers is None or any("/" in option for option in options) or not source.is_known(headers):
        return frozenset()
    said = " ".join([candidate.kernel, *options, *map(str, configuration.values())])
    words = source.words.union(_WORD.findall(said))
    absent = frozenset(name for name in configuration if _is_ordinary(name) and not is_made_of(name, words))
    return absent - _in_headers(absent, headers, source.includes) if absent else absent


def _is_ordinary(name: str) -> bool:
    """Whether a name is not of the kind that steers a standard header."""
    return not name.startswith("_") and name != name.upper()


def is_made_of(name: str, words: frozenset[str]) -> bool:
    """Whether a name is one of the words or several of them, one after the other."""
    ends = {0}
    for end in range(1, len(name) + 1):
        if any(name[start:end] in words for start in ends):
            ends.add(end)
    return len(name) in ends


class _Source:
    """What of a source matters here.

    Attributes:
        words: all of it but comments, in words; of strings and of what conditions leave out as well.
        includes: names of the headers.
    """

    def __init__(self, text: str) -> None:
        lines = [line for _, line in logical_lines(text)]
        self.words = frozenset(_WORD.findall("\n".join(lines)))
        self.includes = frozenset(found["name"] for line in lines if (found := _INCLUDE.match(line)))

    @staticmethod
    @lru_cache(maxsize=32)
    def read(text: str) -> _Source:
        """A source, read once."""
        return _Source(text)

    def is_known(self, headers: Headers) -> bool:
        """Whether the source includes headers of the toolkit and of the standard library only."""
        return all(_STANDARD.fullmatch(name) or _found(name, headers.directories) for name in self.includes)


@lru_cache(maxsize=64)
def _in_headers(names: frozenset[str], headers: Headers, includes: frozenset[str]) -> frozenset[str]:
    """The names that stand in a header which a source with these includes may read."""
    word = re.compile(rf"\b(?:{'|'.join(names)})\b", re.ASCII)
    return frozenset(found for path in _reached(headers, includes) for found in word.findall(_text(path)))


def _reached(headers: Headers, includes: frozenset[str]) -> Iterator[Path]:
    """The toolkit's headers that are included, by whatever condition, and by one another."""
    pending = [path for name in {*headers.implied, *includes} for path in _found(name, headers.directories)]
    seen = set(pending)
    while pending:
        path = pending.pop()
        yield path
        names = (named["name"] for line in _text(path).splitlines() if (named := _INCLUDE.match(line)))
        new = {file for name in names for file in _found(name, (path.parent, *headers.directories))} - seen
        pending += new
        seen |= new


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _found(name: str, directories: Sequence[Path]) -> list[Path]:
    """Wherever there is such a header: which of them is taken, a compiler's order decides."""
    return [path.resolve() for directory in directories if (path := directory / name).is_file()]
