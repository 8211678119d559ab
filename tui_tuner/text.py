"""Untrusted text made safe for a terminal, printed there, rid of paths and keys; what to say of unknown names."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path


def is_utf8(text: str) -> bool:
    """Whether a file can hold the text as UTF-8; of what the system names files by not all can be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known name most like the word, or None where none is like it."""
    folded = {name.lower(): name for name in known}
    matches = get_close_matches(word.lower(), folded, n=1)
    return folded[matches[0]] if matches else None


def suggestion(word: str, known: Collection[str], what: str = "names") -> str:
    """A hint in words: the nearest known name, else all of them."""
    match = nearest(word, known)
    if match is not None:
        return f"did you mean '{match}'?"
    return f"known {what}: {', '.join(known)}" if known else f"there are no {what} here"


_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[ -/]+[0-~]"  # character sets and the like
)
_SUSPECT = re.compile(r"[^\t\n -~]")
_INVISIBLE = frozenset({"Cc", "Cf", "Zl", "Zp"})  # controls, format characters (bidi, zero width, tags), separators
_CONTROL_PICTURES = 0x2400

_KEY = re.compile(
    r"""
    \b(?: sk-[\w-]{16,}                       # OpenAI, Anthropic, OpenRouter
        | gh[pousr]_\w{20,} | github_pat_\w{20,} | glpat-[\w-]{16,}
        | hf_\w{20,} | gsk_\w{20,} | nvapi-[\w-]{20,}
        | A[KS]IA[0-9A-Z]{16} | AIza[\w-]{30,} | xox[abeprs]-[\w-]{10,}
        | eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*     # JSON web token
      )
    | (?<=Bearer\ )[\w.~+/=-]{8,}
    | -----BEGIN\ [A-Z ]*PRIVATE\ KEY-----(?:[^-]*-----END\ [A-Z ]*PRIVATE\ KEY-----)?
    """,
    re.VERBOSE,
)
_ASSIGNED_SECRET = re.compile(r"\b([A-Z0-9_]*(?:API_KEY|TOKEN|SECRET|PASSWORD)=)[^\s'\"]{6,}")
_MASK = "[key]"
_SHORTEST_SECRET = 6


def clean(text: str) -> str:
    """Return text that cannot steer a terminal or hide what it says.

    Complete escape sequences are removed. Other control characters appear as control
    pictures, invisible and direction-changing characters as `<U+202E>`, lone surrogates as
    U+FFFD. Tabs and line feeds stay; CR LF becomes a line feed.
    """
    text = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return _SUSPECT.sub(_visible, text)


def flattened(text: str) -> str:
    """The text without control characters, every run of white space made one blank."""
    return " ".join(clean(text).split())


def in_line(text: str) -> str:
    """What went wrong in one line: a hint, which an error has in a line of its own, is set off from it."""
    told = ""
    for line in filter(None, (" ".join(line.split()) for line in clean(text).splitlines())):
        told += ("; " if told and told[-1] not in ".:;,!?" else " ") + line
    return told.strip()


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    if category not in _INVISIBLE:
        return character
    code = ord(character)
    if code == 0x7F:
        return "\u2421"
    return chr(_CONTROL_PICTURES + code) if code < 0x20 else f"<U+{code:04X}>"


def tell(text: str) -> None:
    """Print a line of what a command is for, on standard output."""
    print(clean(text))  # noqa: T201


def say(text: str) -> None:
    """Print a line of the story, on standard error."""
    print(clean(text), file=sys.stderr, flush=True)  # noqa: T201


def redact(text: str, directories: Mapping[Path, str] | None = None, secrets: Iterable[str] = ()) -> str:
    """Return the text without private paths and without anything that looks like an API key.

    Args:
        text: a message of a compiler, a server or a model.
        directories: what each private directory is called instead, as in `{Path.home(): "~"}`;
            the longest match wins.
        secrets: literal values that must not appear.
    """
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, _MASK)
    text = _KEY.sub(_MASK, _ASSIGNED_SECRET.sub(rf"\1{_MASK}", text))
    return _without_directories(text, directories or {})


def _without_directories(text: str, directories: Mapping[Path, str]) -> str:
    names = {str(path): name for path, name in directories.items() if len(path.parts) > 1}
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])")
    return pattern.sub(lambda match: names[match.group(1)], text)
