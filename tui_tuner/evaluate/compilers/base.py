"""What the builder needs of a compiler: how to call it, and how to read what it printed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from tui_tuner.evaluate.results import Failure, FailureKind, Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_KERNEL = re.compile(r"(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:<[\w :<>,*&()+-]*>)?", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*", re.ASCII)
_SEPARATE = ("-I", "-isystem", "-include")
_INCLUDE = re.compile(r"(?:-I|-isystem=?|-include=?)(?P<path>/.*)")


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
class Recipe:
    """How to build one configuration in a work directory.

    Attributes:
        files: name to text, written into the work directory.
        command: run there; the first word is the absolute path of a program.
        artifact: the file that the command writes.
        read: extra paths the compiler must read.
        devices: device nodes it must open read-write (an OpenCL compiler).
        shared: what the quick command needs.
        quick: builds the same from the shared part; used where that can be had.
    """

    files: Mapping[str, str]
    command: tuple[str, ...]
    artifact: str
    read: tuple[Path, ...] = ()
    devices: tuple[Path, ...] = ()
    shared: SharedPart | None = None
    quick: tuple[str, ...] = ()


class Compiler(Protocol):
    """A compiler for one device."""

    @property
    def toolchain(self) -> str:
        """Name, version and architecture; part of every build's key."""
        ...

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """How to build the configuration with extra compiler options.

        Raises:
            Refused: it is not built at all.
        """
        ...

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The name of the kernel inside the artifact, from what a successful compiler printed.

        Raises:
            Refused: no kernel, or more than one, answers to the candidate's name.
        """
        ...

    def resources(self, log: str, symbol: str) -> Resources:
        """What the kernel needs, as far as the compiler printed it."""
        ...


class BuildRefusal(Exception):
    """A configuration that is not built.

    Args:
        failure: why not.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def macros(configuration: Configuration) -> list[str]:
    """The tunables as compiler options, `-Dname=value` each, and `-Dkernel_tuner=1`.

    Raises:
        Refused: a name or a value is not a single harmless token.
    """
    return [*(f"-D{_name(name)}={_token(name, value)}" for name, value in configuration.items()), "-Dkernel_tuner=1"]


def checked_name(kernel: str) -> str:
    """The name of a kernel, with namespaces and template arguments, fit to stand in a source file of ours.

    Raises:
        Refused: it is something else.
    """
    if not _KERNEL.fullmatch(kernel):
        raise BuildRefusal(Failure(kind=FailureKind.INVALID, message=f"{kernel!r} is not the name of a kernel"))
    return kernel


def include_paths(options: Sequence[str]) -> tuple[Path, ...]:
    """The absolute paths that the options tell a compiler to include from."""
    joined = [*options, *("".join(pair) for pair in pairwise(options) if pair[0] in _SEPARATE)]
    return tuple(Path(found["path"]) for option in joined if (found := _INCLUDE.fullmatch(option)))


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BuildRefusal(Failure(kind=FailureKind.INVALID, message=f"'{name}' is not a name that can be a macro"))
    return name


def _token(name: str, value: Value) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, str) and _TOKEN.fullmatch(value):
        return value
    raise BuildRefusal(
        Failure(kind=FailureKind.INVALID, message=f"{name} = {value!r}: not a single number or identifier")
    )
