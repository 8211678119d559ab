"""What is read out of a source before it is built: whether it reaches for other files, which tunables matter.

The refusal is a courtesy: the sandbox is what keeps files safe. Spellings that get past this scan are denied there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from tui_tuner.evaluate.build.compilers import Headers
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Configuration, Language
from tui_tuner.problem.syntax import MOST_BYTES

_TRIGRAPHS = dict(zip("=/'()!<>-", "#\\^[]|{}~", strict=True))
_TRIGRAPH = re.compile(r"\?\?([=/'()!<>-])")
_CONTINUED = re.compile(r"\\[ \t\v\f]*$")
_MERGED = "\x00"  # stands for a line break inside a comment; the source itself has none
# What is not closed goes to the end of its line, as for a compiler, a raw string to that of the text: looked for anew
# from each quote, its end would take a time that grows with the square of the length.
_LEXEME = re.compile(
    r"""
      (?P<keep> (?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?:.*?\)(?P=mark)"|.*)   # raw string
              | "(?:\\.|[^"\\\n])*"? | '(?:\\.|[^'\\\n])*'? | [A-Za-z_]\w* | \d[\w']* )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*(?:\#|%:)\s*(?P<name>\w+)\s*(?P<rest>.*)")
_NAMED_FILE = re.compile(r'"(?P<quoted>[^"]*)"|<(?P<angled>[^>]*)>')
_HAS_FILE = re.compile(r"\b__has_(?:include|include_next|embed)\s*\(\s*(?P<argument>[^)]*)")
_DEPENDENCY = re.compile(r"\bGCC\s+dependency\b")
_STRING_SEAM = re.compile(r'"\s*"')
_ASSEMBLER_FILE = re.compile(r'"[^"]*\.\s*(?:incbin|include)\b', re.IGNORECASE)


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def refuse(source: str, language: Language) -> Failure | None:
    """Why the source is not built, or None.

    Args:
        source: the whole text of the kernel's file.
        language: decides the file's name in the message.
    """
    if len(source.encode(errors="replace")) > MOST_BYTES:
        return _failure(f"the source is longer than {MOST_BYTES // 1024} KiB: make it shorter")
    if "\x00" in source:
        return _failure("the source holds a NUL character: send plain text")
    for number, line in logical_lines(source):
        reason = _directive(line) or _has_file(line) or _other(line)
        if reason:
            return _failure(f"kernel{COMPILED_LANGUAGES[language].built_as}:{number}: {reason}")
    return None


def logical_lines(source: str) -> Iterator[tuple[int, str]]:
    """The lines as a preprocessor sees them, each with the number of the line it begins on.

    Trigraphs are translated, continued lines joined, comments replaced by a space.
    """
    text = _TRIGRAPH.sub(lambda found: _TRIGRAPHS[found[1]], source.replace("\r\n", "\n").replace("\r", "\n"))
    numbers, lines = _joined(text.split("\n"))
    index = 0
    for line in _LEXEME.sub(_without_comment, "\n".join(lines)).split("\n"):
        yield numbers[index], line.replace(_MERGED, "")
        index += 1 + line.count(_MERGED)


def _joined(physical: list[str]) -> tuple[list[int], list[str]]:
    """Continued lines made one, with the number of the first."""
    numbers: list[int] = []
    lines: list[str] = []
    continued = False
    for number, line in enumerate(physical, 1):
        text = _CONTINUED.sub("", line)
        if continued:
            lines[-1] += text
        else:
            numbers.append(number)
            lines.append(text)
        continued = text != line
    return numbers, lines


def _without_comment(found: re.Match[str]) -> str:
    comment = found["comment"]
    return found[0] if comment is None else " " + _MERGED * comment.count("\n")


def _directive(line: str) -> str | None:
    found = _DIRECTIVE.match(line)
    if found is None:
        return None
    name, rest = found["name"], found["rest"].strip()
    if name in ("include", "include_next", "import"):
        return _file(f"#{name}", rest)
    if name == "embed":
        return "#embed is not allowed: write the data into the source"
    if (name == "line" and not rest.isdecimal()) or (name.isdecimal() and rest):
        return "a line marker with a file name is not allowed: remove it"
    return None


def _has_file(line: str) -> str | None:
    for found in _HAS_FILE.finditer(line):
        if reason := _file("__has_include", found["argument"]):
            return reason
    return None


def _file(what: str, argument: str) -> str | None:
    named = _NAMED_FILE.match(argument)
    if named is None:
        return f"{what} through a macro is not allowed: name the header itself"
    path = (named["quoted"] or named["angled"] or "").replace("\\", "/")
    if path.startswith(("/", "~")) or path[1:2] == ":":
        return f"{what} of an absolute path is not allowed: include headers of the toolkit by name"
    if ".." in path.split("/"):
        return (
            f"{what} of a path with '..' is only allowed to a header in one of the user's include directories: "
            "put what you need of it into the source"
        )
    return None


def _other(line: str) -> str | None:
    if _DEPENDENCY.search(line):
        return "#pragma GCC dependency is not allowed: remove it"
    if _ASSEMBLER_FILE.search(_STRING_SEAM.sub("", line)):
        return "assembler directives that read files are not allowed: remove them"
    return None


def _failure(message: str) -> Failure:
    return Failure(kind=FailureKind.REFUSED, message=message)


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
