"""Headers that only hosts have, as PyTorch's, and those of a project that need them: the device's part."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tui_tuner.problem.conditionals import active_source
from tui_tuner.problem.headers import (
    INCLUDE,
    OF_PYTORCH,
    header_named,
    holds_other_projects,
    is_of_host_library,
    is_of_other_project,
    place_of,
    texts_reached,
)
from tui_tuner.problem.host_code import without_host_parts
from tui_tuner.problem.syntax import code_only, spaces

_NAMES_PYTORCH = re.compile(r"\b(?:torch|at|c10)\s*::")
_OF_DEVICE = Path(__file__).with_name("pytorch_device.h")
"""What takes the place of PyTorch's headers."""


class ForDevice(NamedTuple):
    """A source as it is built, and the headers that are written beside it, by name."""

    source: str
    headers: Mapping[str, str]


def with_adapted_headers(source: str, directories: tuple[Path, ...], macros: frozenset[str] = frozenset()) -> ForDevice:
    """A source with headers of its project as a compiler of device code takes them, where one needs what hosts have.

    That is PyTorch, or another library that comes neither with CUDA nor with the system.

    What is the host's is left out of them then, line for line, and with it headers of libraries that hosts call. In the
    place of PyTorch's own stands what kernels take from them.

    Args:
        macros: those that the build defines.
    """
    files = _Files(source, directories)
    own = INCLUDE.sub(lambda one: _included() if files.is_of_pytorch(one, None) else one.group(), source)
    adapted = files.of_project() if files.need_hosts(macros) else []  # all: what one needs may come by another
    names = {path: files.name(path) for path in adapted}
    texts = {names[path]: files.adapted(path, names) for path in adapted}
    if own != source or any(_included() in text for text in texts.values()):
        texts[_OF_DEVICE.name] = _OF_DEVICE.read_text("utf-8")
    return ForDevice(files.named(own, None, names), texts)


def _included() -> str:
    return f'#include "{_OF_DEVICE.name}"'


class _Files:
    """The headers around a source, with how they include each other."""

    def __init__(self, source: str, directories: Sequence[Path]) -> None:
        self._directories = directories
        self.texts = texts_reached(source, directories)

    def of_project(self) -> list[Path]:
        """Those that are no other project's."""
        around = os.path.commonpath([*self._directories, *self.texts]) if self.texts else ""
        return [one for one in self.texts if not any(map(holds_other_projects, one.relative_to(around).parents))]

    def need_hosts(self, macros: frozenset[str]) -> bool:
        """Whether one of them, as these macros have it, needs libraries for hosts that are in no directory."""
        active = {path: active_source(text, {"__CUDACC__", *macros}) for path, text in self.texts.items()}
        found = [(one, path) for path, text in active.items() for one in INCLUDE.finditer(text)]
        is_named = any(_NAMES_PYTORCH.search(code_only(text)) for text in active.values())
        return is_named or any(self.is_of_pytorch(*one) or self._is_of_other_project(*one) for one in found)

    def name(self, path: Path) -> str:
        """A name for it beside the source: its path with no directory in it."""
        return "_".join(self._relative(path).parts)

    def adapted(self, path: Path, names: Mapping[Path, str]) -> str:
        """The text that is built in its place."""
        text = without_host_parts(self.texts[path])

        def kept(found: re.Match[str]) -> str:
            if self.is_of_pytorch(found, path):
                return _included()
            return spaces(found.group()) if is_of_host_library(header_named(found)) else found.group()

        return self.named(INCLUDE.sub(kept, text), path, names)

    def named(self, text: str, includer: Path | None, names: Mapping[Path, str]) -> str:
        """A text that includes headers by these names, and others as one of the directories has them."""

        def renamed(found: re.Match[str]) -> str:
            header = place_of(found, self._directories, includer)
            if header is None or (includer is None and header not in names):
                return found.group()
            return f'#include "{names.get(header, self._relative(header).as_posix())}"'

        return INCLUDE.sub(renamed, text)

    def is_of_pytorch(self, include: re.Match[str], includer: Path | None) -> bool:
        """Whether a directive means a header of PyTorch's that is in none of the directories."""
        is_own = place_of(include, self._directories, includer) is not None
        return OF_PYTORCH.fullmatch(header_named(include)) is not None and not is_own

    def _is_of_other_project(self, include: re.Match[str], includer: Path) -> bool:
        is_own = place_of(include, self._directories, includer) is not None
        return is_of_other_project(header_named(include)) and not is_own

    def _relative(self, path: Path) -> Path:
        """Its path beneath the first of the directories that has it."""
        around = next((one for one in self._directories if path.is_relative_to(one)), path.parent)
        return path.relative_to(around)
