"""A TOML file as tables with the place of everything in it, for messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli

from tui_tuner.errors import ProblemError

_MOST_BYTES = 4 * 2**20


def read_text(file: Path) -> str:
    """The text of a file.

    Raises:
        ProblemError: it cannot be read, is no UTF-8, or too large for what people write.
    """
    try:
        if (size := file.stat().st_size) > _MOST_BYTES:
            raise ProblemError(f"this has {size / 2**20:.0f} MB, at most {_MOST_BYTES >> 20} are read", file=file)
        return file.read_text("utf-8-sig")  # editors of another system put a mark before the text
    except OSError as error:
        raise ProblemError(f"cannot be read: {error.strerror}", file=file) from None
    except UnicodeDecodeError:
        raise ProblemError("this is not UTF-8 text", hint="save it as UTF-8", file=file) from None


def read_toml(text: str, file: Path) -> tuple[dict[str, Any], KeyLocations]:
    """The tables of a TOML text, and where they stand in it.

    Args:
        file: the name that errors give.

    Raises:
        ProblemError: it is not TOML; with the line.
    """
    try:
        return tomli.loads(text), KeyLocations.of(text, file)
    except tomli.TOMLDecodeError as error:
        raise ProblemError(
            not_toml(error, text), hint=_how_in_toml(error, text), file=file, line=error.lineno
        ) from None
    except RecursionError:
        raise ProblemError(TOO_DEEP, file=file) from None
    except ValueError:
        raise ProblemError(TOO_LONG, file=file) from None


def toml_value(text: str) -> Any:  # noqa: ANN401 (whatever it says)
    """The value that a word stands for; one that is no TOML is text, so that words need no quotes."""
    try:
        read = tomli.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return read["value"] if len(read) == 1 else text


def _how_in_toml(error: tomli.TOMLDecodeError, text: str) -> str | None:
    if "\0" in text:
        return None
    if one := re.search(r"^[ \t]*\[(arguments|tests|steps)\]", text, re.MULTILINE):
        return f"each of them is a table of a list: [[{one[1]}]], with two brackets"
    if error.msg.startswith("Cannot"):  # overwrite a value, declare a table twice, change what is complete
        return "each name stands once in a table, and each table once in the file"
    if error.msg.startswith("Unescaped"):
        return "write a path with /, or text with a backslash in single quotes"
    if error.msg.startswith("Expected newline") and "," in text.splitlines()[error.lineno - 1]:
        return "a list stands in brackets: block_size_x = [32, 64]; each key has a line of its own"
    if error.msg != "Invalid value":
        return None
    return 'text needs quotes: name = "matmul"; numbers, true and false do not'


TOO_DEEP = "its lists or tables stand in one another too deep to be read"

TOO_LONG = "one of its numbers has more digits than can be read"


def not_toml(error: tomli.TOMLDecodeError, text: str) -> str:
    """What keeps a text from being TOML, in words."""
    if "\0" in text.splitlines()[error.lineno - 1]:
        return "there is a NUL character, which no text has: the file is damaged, or is none"
    return f"this is not TOML: {error.msg}"


KeyPath = tuple[str | int, ...]

_STRING = r'"""(?:\\[\s\S]|(?!""")[\s\S])*"{3,5}|' + r"'''[\s\S]*?'{3,5}|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'"
_TOKEN = re.compile(
    rf"(?P<comment>\#[^\n]*)|(?P<string>{_STRING})|(?P<mark>[][{{}}=,.\n])|(?P<word>[^\s][^][{{}}=,.\s\#]*)"
)


@dataclass(frozen=True)
class Token:
    """A word, string, bracket, sign or end of line, with its line from 1."""

    text: str
    line: int

    @property
    def key(self) -> str:
        """The text as a key: without its quotes."""
        if self.text[0] in "\"'":
            return str(tomli.loads(f"key = {self.text}")["key"])
        return self.text


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of everything in a well-formed TOML text, by its path, as in ("arguments", 0, "dtype")."""
    return _Scanner(text).scan()


def line_of(lines: Mapping[KeyPath, int], path: Sequence[str | int]) -> int | None:
    """The line of a path, or of the nearest table around it; None for the whole text."""
    for length in range(len(path), 0, -1):
        if (line := lines.get(tuple(path[:length]))) is not None:
            return line
    return None


def _tokens(text: str) -> Iterator[Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        if match["comment"] is None:
            yield Token(match.group(), line)
        line += match.group().count("\n")


class _Scanner:
    """Walks the tokens of one text; a token at a time, never back."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text), Token("\n", text.count("\n") + 1)]
        self._next = 0
        self._lines: dict[KeyPath, int] = {}
        self._elements: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._next < len(self._tokens):
            if self._peek() == "\n":
                self._next += 1
            elif self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _peek(self) -> str:
        return self._tokens[self._next].text

    def _take(self) -> Token:
        self._next += 1
        return self._tokens[self._next - 1]

    def _header(self) -> KeyPath:
        line = self._take().line
        is_array = self._peek() == "["
        if is_array:
            self._next += 1
        path = self._key((), "]")
        self._next += is_array
        if is_array:
            self._elements[path] = self._elements.get(path, -1) + 1
            self._note(path, line)
            path = (*path, self._elements[path])
        self._note(path, line)
        return path

    def _key(self, path: KeyPath, end: str) -> KeyPath:
        """A dotted key up to and including the sign behind it."""
        while (token := self._take()).text != end:
            if token.text == ".":
                continue
            path = (*path, token.key)
            self._note(path, token.line)
            if path in self._elements and self._peek() != end:
                path = (*path, self._elements[path])
        return path

    def _note(self, path: KeyPath, line: int) -> None:
        self._lines.setdefault(path, line)

    def _pair(self, table: KeyPath) -> None:
        self._value(self._key(table, "="))

    def _value(self, path: KeyPath) -> None:
        if self._peek() == "[":
            self._array(path)
        elif self._peek() == "{":
            self._inline_table(path)
        else:
            while self._peek() not in {",", "]", "}", "\n"}:
                self._next += 1

    def _array(self, path: KeyPath) -> None:
        self._next += 1
        index = 0
        while self._peek() != "]":
            if self._peek() in {",", "\n"}:
                self._next += 1
                continue
            self._note((*path, index), self._tokens[self._next].line)
            self._value((*path, index))
            index += 1
        self._next += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._next += 1
        while self._peek() != "}":
            if self._peek() in {",", "\n"}:
                self._next += 1
            else:
                self._pair(path)
        self._next += 1


@dataclass(frozen=True)
class KeyLocations:
    """A file with the lines of its keys."""

    file: Path
    lines: dict[KeyPath, int] = field(repr=False)

    @classmethod
    def of(cls, text: str, file: Path) -> KeyLocations:
        """The places of a well-formed TOML text."""
        return cls(file, key_lines(text))

    def error(self, message: str, *path: str | int, hint: str | None = None) -> ProblemError:
        """The error for the key at this path."""
        return ProblemError(message, hint=hint, file=self.file, line=line_of(self.lines, path))

    def known_part(self, path: Collection[str | int]) -> KeyPath:
        """The path up to the first thing that does not stand in the text."""
        known: KeyPath = ()
        for part in path:
            if (*known, part) not in self.lines:
                break
            known = (*known, part)
        return known


def written(path: KeyPath) -> str:
    """A path as people write it: "arguments[2].shape" with counts from 1, as in a list."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text
