"""What a compiler printed, made fit for a screen and a prompt, and what it comes down to."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.text import clean, redact

MAX_ERRORS = 8
MAX_CHARACTERS = 4000
MAX_LINE = 500

_HEADER_ROOTS = (Path("/usr/include"), Path("/usr/lib/gcc"))
_PLACE = re.compile(
    r"^(?P<file>[^\s:()][^:()]*)(?:\((?P<line>\d+)\)|:(?P<gcc_line>\d+)(?::\d+)?)\s*:\s*"
    r"(?=(?:fatal |catastrophic |internal )?(?:error|warning|note|remark))",
)
_FOUND_IN = re.compile(r"(?:In file included)?\s*from (?P<file>[^:]+):\d+")
_SPEAKER = re.compile(
    r"(?:nvcc|ptxas|cicc|nvlink|cc1plus|g\+\+|gcc|as|ld|NVRTC_ERROR)\b[^/]*:|NVRTC_ERROR|<command-line>"
)
_ERROR = re.compile(r"\b(?:error|fatal|out of memory|memory exhausted)\b", re.IGNORECASE)
_CHATTER = re.compile(r"ptxas (?:info|\s+\.)|\d+ errors? detected|compilation terminated|NVRTC_ERROR", re.IGNORECASE)
_RESOURCE = re.compile(r"ptxas (?:error|fatal)\s*: (?:Entry function '[^']*' )?(?P<what>.*\buses too much\b.*)")
_BYTES = re.compile(r"0x[0-9a-f]+")


def compile_failure(log: str, directory: Path, read: Sequence[Path]) -> Failure:
    """The failure that a log tells of.

    Args:
        log: all that the compiler printed.
        directory: the work directory.
        read: what else the compiler could read; messages about headers in there are kept.
    """
    detail = cleaned(log, directory, read)
    resource = _RESOURCE.search(detail)
    if resource is not None:
        what = _BYTES.sub(lambda number: str(int(number[0], 16)), resource["what"])
        return Failure(kind=FailureKind.LAUNCH, message=what, detail=detail)
    message = next((line for line in detail.splitlines() if _ERROR.search(line)), "the compiler gave no reason")
    return Failure(kind=FailureKind.COMPILE, message=message.strip(), detail=detail)


def cleaned(log: str, directory: Path, read: Sequence[Path]) -> str:
    """The log without foreign files, private paths, keys and control characters, cut to its first errors."""
    lines = _without_foreign(_lines(log), directory, (*read, *_HEADER_ROOTS))
    text = "\n".join(_first_errors(_PLACE.sub(_uniform, line) for line in lines if not _CHATTER.match(line)))
    text = redact(text.strip("\n"), {directory: "<work>", directory.resolve(): "<work>", Path.home(): "~"})
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}\n[cut]"


def _lines(log: str) -> Iterator[str]:
    """The lines without what could steer a terminal; each is cut first, so that none takes long to search."""
    return (clean(line[:MAX_LINE]) for line in log.split("\n"))


def _without_foreign(lines: Iterable[str], directory: Path, roots: Sequence[Path]) -> list[str]:
    """The lines that do not belong to a message about a file that is neither the candidate nor a header."""
    kept, ours = [], True
    for line in lines:
        named = _PLACE.match(line) or _FOUND_IN.match(line)
        if named is not None:
            ours = _is_ours(named["file"], directory, roots)
        elif _SPEAKER.match(line):
            ours = True
        if ours:
            kept.append(line)
    return kept


def _is_ours(file: str, directory: Path, roots: Sequence[Path]) -> bool:
    if "/" not in file:
        return True  # in the work directory, or no file at all
    path = Path(os.path.normpath(file))
    in_toolkit = "include" in path.parts and any(path.is_relative_to(root) for root in roots)
    return in_toolkit or path.is_relative_to(directory)


def _uniform(place: re.Match[str]) -> str:
    """`kernel.cu(12): ` as `kernel.cu:12: `, whichever part of the compiler speaks."""
    return f"{place['file']}:{place['line']}: " if place["line"] else place[0]


def _first_errors(lines: Iterable[str]) -> list[str]:
    kept, errors = [], 0
    for line in lines:
        errors += bool(_PLACE.match(line) and _ERROR.search(line))
        if errors > MAX_ERRORS:
            kept.append("[more errors left out]")
            break
        kept.append(line)
    return kept
