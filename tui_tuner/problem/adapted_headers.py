"""PyTorch's headers, which no compiler of device code has, and those of a project that need them: the device's part."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tui_tuner.problem.conditionals import active_source
from tui_tuner.problem.headers import INCLUDE, is_header, is_of_host_library
from tui_tuner.problem.host_code import OF_PYTORCH, without_host_parts
from tui_tuner.problem.syntax import spaces

_MOST = 200
_OF_DEVICE = Path(__file__).with_name("pytorch_device.h")
"""What takes the place of PyTorch's headers."""


class ForDevice(NamedTuple):
    """A source as it is built, and the headers that are written beside it, by name."""

    source: str
    headers: Mapping[str, str]


def with_adapted_headers(source: str, directories: tuple[Path, ...]) -> ForDevice:
    """A source with headers of its project as a compiler of device code takes them, where one of them needs PyTorch.

    What is the host's is left out of them then, line for line, and with it headers of libraries that hosts call. In the
    place of PyTorch's own stands what kernels take from them.
    """
    files = _Files(directories)
    own = INCLUDE.sub(lambda one: _included() if files.is_of_pytorch(one, None) else one.group(), source)
    headers = files.reached(source)
    adapted = headers if files.need_pytorch() else []  # all: what others need may come by the one that is left out
    names = {path: files.name(path) for path in adapted}
    texts = {names[path]: files.adapted(path, names) for path in adapted}
    if own != source or any(_included() in text for text in texts.values()):
        texts[_OF_DEVICE.name] = _OF_DEVICE.read_text("utf-8")
    return ForDevice(files.named(own, None, names), texts)


def _included() -> str:
    return f'#include "{_OF_DEVICE.name}"'


class _Files:
    """The headers around a source, with how they include each other."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._directories = directories
        self._texts: dict[Path, str] = {}
        self._included: dict[Path, list[Path]] = {}

    def reached(self, source: str) -> list[Path]:
        """The headers of the project that a source includes, itself or through others."""
        waiting = self._in(source, None)
        while waiting and len(self._texts) < _MOST:
            path = waiting.pop()
            if path not in self._texts:
                self._texts[path] = path.read_text("utf-8", "replace")
                self._included[path] = self._in(self._texts[path], path)
                waiting += self._included[path]
        return [*self._texts]

    def need_pytorch(self) -> bool:
        """Whether one of them includes headers of PyTorch's that are in none of the directories."""
        active = {path: active_source(text, {"__CUDACC__"}) for path, text in self._texts.items()}
        return any(self.is_of_pytorch(found, path) for path in active for found in INCLUDE.finditer(active[path]))

    def name(self, path: Path) -> str:
        """A name for it beside the source: its path with no directory in it."""
        return "_".join(self._relative(path).parts)

    def adapted(self, path: Path, names: Mapping[Path, str]) -> str:
        """The text that is built in its place."""
        text = without_host_parts(self._texts[path])

        def kept(found: re.Match[str]) -> str:
            if self.is_of_pytorch(found, path):
                return _included()
            return spaces(found.group()) if is_of_host_library(_name(found)) else found.group()

        return self.named(INCLUDE.sub(kept, text), path, names)

    def named(self, text: str, includer: Path | None, names: Mapping[Path, str]) -> str:
        """A text that includes headers by these names, and others as one of the directories has them."""

        def renamed(found: re.Match[str]) -> str:
            header = self._place(found, includer)
            if header is None or (includer is None and header not in names):
                return found.group()
            return f'#include "{names.get(header, self._relative(header).as_posix())}"'

        return INCLUDE.sub(renamed, text)

    def _in(self, text: str, includer: Path | None) -> list[Path]:
        return [place for one in INCLUDE.finditer(text) if (place := self._place(one, includer)) is not None]

    def _place(self, include: re.Match[str], includer: Path | None) -> Path | None:
        """The header of the project that a directive means."""
        beside = [includer.parent] if includer is not None and include["quoted"] else []
        for directory in [*beside, *self._directories]:
            place = Path(os.path.normpath(directory / _name(include)))
            if is_header(place):
                return place
        return None

    def is_of_pytorch(self, include: re.Match[str], includer: Path | None) -> bool:
        """Whether a directive means a header of PyTorch's that is in none of the directories."""
        return OF_PYTORCH.fullmatch(_name(include)) is not None and self._place(include, includer) is None

    def _relative(self, path: Path) -> Path:
        """Its path beneath the first of the directories that has it."""
        around = next((one for one in self._directories if path.is_relative_to(one)), path.parent)
        return path.relative_to(around)


def _name(include: re.Match[str]) -> str:
    return include["quoted"] or include["angled"]
