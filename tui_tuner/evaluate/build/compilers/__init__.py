"""How a toolchain builds one configuration: what the builder needs of a compiler, with its output made fit to show."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tui_tuner.evaluate.results import Failure, FailureKind, Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.text import clean, redact

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KERNEL = re.compile(r"(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:<[\w :<>,*&()+-]*>)?", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*", re.ASCII)


UNAVAILABLE = 75
"""Exit status of an attempt for want of a program, whatever the source (EX_TEMPFAIL of sysexits.h)."""


@dataclass(frozen=True)
class SharedPart:
    """What every build of a toolchain has in common, compiled once and kept.

    Attributes:
        directory: where it is kept; complete as soon as it exists.
        files: name to text, written where it is made.
        commands: run there, one after the other.
    """

    directory: Path
    files: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Headers:
    """What a source may include besides the standard library.

    Attributes:
        directories: of the toolkit's headers.
        implied: names of those that are included unasked.
    """

    directories: tuple[Path, ...] = ()
    implied: tuple[str, ...] = ()


@dataclass(frozen=True)
class TextBetween:
    """A text on the way to an artifact, which is changed before the recipe's own command reads it.

    Attributes:
        command: writes it.
        file: its name in the work directory.
        change: makes of it what is read.
    """

    command: tuple[str, ...]
    file: str
    change: Callable[[str], str]


@dataclass(frozen=True)
class Recipe:
    """How to build one configuration in a work directory.

    Attributes:
        files: name to text, written into the work directory.
        command: run there; the first word is the absolute path of a program.
        artifact: the file that the command writes.
        read: extra paths the compiler must read.
        devices: device nodes it must open read-write (an OpenCL compiler).
        made_with: files and directories of the toolchain that decide what is built, beside the command's program.
        headers: that the source can include without an option of the user's; None where that is not known.
        warm: the Python script that the command runs and what its `warm_up` is given, where it may stay loaded
            from one build to the next; see `ForkServer`.
        shared: what the quick command needs.
        quick: builds the same from the shared part; used where that can be had.
        attempt: builds most sources sooner. Where it fails the command has the last word, and where it ends with
            `UNAVAILABLE` it is not run again.
        between: what the command is preceded by.
    """

    files: Mapping[str, str]
    command: tuple[str, ...]
    artifact: str
    read: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()
    made_with: tuple[Path, ...] = ()
    headers: Headers | None = None
    warm: tuple[str, ...] = ()
    shared: SharedPart | None = None
    quick: tuple[str, ...] = ()
    attempt: tuple[str, ...] = ()
    between: TextBetween | None = None


class Compiler(Protocol):
    """A compiler for one device."""

    @property
    def toolchain(self) -> str:
        """Name, version and architecture; part of every build's key."""

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """How to build the configuration with extra compiler options.

        Raises:
            BuildRefusal: it is not built at all.
        """

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The name of the kernel inside the artifact, from what a successful compiler printed.

        Raises:
            BuildRefusal: no kernel, or more than one, answers to the candidate's name.
        """

    def resources(self, log: str, symbol: str) -> Resources:
        """What the kernel needs, as far as the compiler printed it."""


class BuildRefusal(Exception):
    """A configuration that is not built.

    Args:
        kind: of the failure that it is.
        message: why not.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind=kind, message=message)


def macros(configuration: Configuration) -> list[str]:
    """The tunables as compiler options, `-Dname=value` each, and `-Dkernel_tuner=1`.

    Raises:
        BuildRefusal: a name or a value is not a single harmless token.
    """
    return [*(f"-D{_name(name)}={_token(name, value)}" for name, value in configuration.items()), "-Dkernel_tuner=1"]


def checked_name(kernel: str) -> str:
    """The name of a kernel, with namespaces and template arguments, fit to stand in a source file of ours.

    Raises:
        BuildRefusal: it is something else.
    """
    if not _KERNEL.fullmatch(kernel):
        raise BuildRefusal(FailureKind.INVALID, f"{kernel!r} is not the name of a kernel")
    return kernel


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BuildRefusal(FailureKind.INVALID, f"'{name}' is not a name that can be a macro")
    return name


def _token(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, str) and _TOKEN.fullmatch(value):
        return value
    raise BuildRefusal(FailureKind.INVALID, f"{name} = {value!r}: not a single number or identifier")


MAX_ERRORS = 8
MAX_CHARACTERS = 4000
MAX_LINE = 500

_HEADER_ROOTS = (Path("/usr/include"), Path("/usr/lib/gcc"))
_HEADER_ENDINGS = frozenset({".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl"})
_PLACE = re.compile(
    r"^(?P<file>[^\s:()][^:()]*)(?:\((?P<line>\d+)\)|:(?P<gcc_line>\d+)(?::\d+)?)\s*:\s*"
    r"(?=(?:fatal |catastrophic |internal )?(?:error|warning|note|remark))",
)
_FOUND_IN = re.compile(r"(?:In file included)?\s*from (?P<file>[^:]+):\d+")
_SPEAKER = re.compile(
    r"(?:nvcc|ptxas|cicc|nvlink|cc1plus|g\+\+|gcc|as|ld|NVRTC_ERROR)\b[^/]*:|NVRTC_ERROR|<command-line>"
)
_ERROR = re.compile(r"\b(?:error|fatal|out of memory|memory exhausted)\b", re.IGNORECASE)
_CHATTER = re.compile(
    r"ptxas (?:info|\s+\.)|(?:\d+ warnings? and )?\d+ errors? (?:detected|generated)"
    r"|compilation terminated|NVRTC_ERROR",
    re.IGNORECASE,
)
_RESOURCE = re.compile(r"ptxas (?:error|fatal)\s*: (?:Entry function '[^']*' )?(?P<what>.*\buses too much\b.*)")
_REFUSED = re.compile(
    r"^[^\n]*: error: call to \S+ declared with attribute error: (?P<what>[^\n]*)(?:\n +(?:\d+ )?\|[^\n]*)*"
    r"\n(?P<place>[^\s:]+:\d+:\d+): note: in expansion of macro [^\n]*",
    re.MULTILINE,
)
"""What a macro of ours refuses where a build keeps it, which g++ says of the macro first."""
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
    log = _REFUSED.sub(r"\g<place>: error: \g<what>", log)
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
    is_header = "include" in path.parts or path.suffix in _HEADER_ENDINGS
    return path.is_relative_to(directory) or (is_header and any(path.is_relative_to(root) for root in roots))


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
