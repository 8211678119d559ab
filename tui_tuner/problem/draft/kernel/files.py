"""Files that kernels stand in: in which language, their text, which of their kernels does most."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import islice
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.kernel.device_words import local_headers
from tui_tuner.problem.draft.kernel.misplaced import refuse_text
from tui_tuner.problem.draft.kernel.work import work_of
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import find_kernels
from tui_tuner.problem.syntax import MOST_BYTES, code_only

_HEADERS = (".cuh", ".h", ".hpp", ".inl")
_LAUNCHED = re.compile(r"\b(\w+)\s*(?:<(?:[^<>;]|<[^<>;]*>)*>\s*)?<<<")
_MOST_BESIDE = 64


def ranked_kernels(source_path: Path) -> list[str]:
    """The kernels of a file, those first that seem to do the most work.

    Those that are launched in a single block come last, behind these those that nothing uses where others are used.
    """
    language = language_of(source_path)
    if language is None:
        return []
    source = source_of(source_path)
    code = code_only(source)

    def is_small(name: str) -> bool:
        grids = re.findall(rf"\b{re.escape(name)}\s*(?:<[^<>]*>)?\s*<<<\s*(?:dim3\s*\(\s*)?(\w+)", code)
        return bool(grids) and set(grids) == {"1"}

    kernels = find_kernels(source, language)
    used = {one.name for one in kernels if re.search(rf"\b{re.escape(one.name)}\b\s*[^\s(]", code)}
    found = sorted(kernels, key=lambda one: (bool(used) and one.name not in used, is_small(one.name), -work_of(one)))
    return [one.name for one in found]


def language_of(file: Path) -> Language | None:
    """The language that a file's ending says; CUDA for a header too."""
    return "cuda" if file.suffix in _HEADERS else LANGUAGES.get(file.suffix)


def known_language(file: Path) -> Language:
    """The language that a file's ending says.

    Raises:
        ProblemError: it says none, or another than the file is in; with what to do.
    """
    refuse_text(file)
    if (language := language_of(file)) is not None:
        return language
    if file.suffix == ".py":
        raise ProblemError(f"{file} needs no problem file", hint=f"kernels in Python are tuned by: tuner-tui {file}")
    raise ProblemError(f"the ending of {file} says no language", hint=f"known endings: {', '.join(LANGUAGES)}")


def file_of_kernels(file: Path, kernel: str | None = None) -> Path:
    """The file, or one beside it where it has no kernel: the first that it includes, or whose kernel it launches.

    Args:
        kernel: which kernel it has to be, where several are beside it.
    """
    if language_of(file) != "cuda" or not file.is_file() or ranked_kernels(file):
        return file
    name = (kernel or "").partition("<")[0]
    included = [one for one in local_headers(text_of(file), file) if language_of(one) == "cuda"]
    found = {one: names for one in included if (names := ranked_kernels(one))} or _beside(file)
    return next((one for one, names in found.items() if name in names), next(iter(found), file))


def _beside(file: Path) -> dict[Path, list[str]]:
    """The files beside one that have a kernel that it launches, with these kernels."""
    launched, found = {*_LAUNCHED.findall(code_only(text_of(file)))}, dict[Path, list[str]]()
    others = (one for one in sorted(file.parent.glob("*.cu")) if one != file)
    for one in islice(others if launched else (), _MOST_BESIDE):
        with suppress(ProblemError):  # it is no text, or too long
            if names := [name for name in ranked_kernels(one) if name in launched]:
                found[one] = names
    return found


def source_of(file: Path) -> str:
    """The text of a kernel's file.

    Raises:
        ProblemError: it cannot be read, is no UTF-8, or longer than what is built.
    """
    source = text_of(file)
    if len(source.encode()) > MOST_BYTES:
        message = f"the source is longer than {MOST_BYTES // 1024} KiB, which is not built"
        raise ProblemError(message, hint="take out of it what this kernel does not need", file=file)
    return source


def text_of(file: Path, instead: str = "give a kernel's file") -> str:
    """The text of a source file.

    Raises:
        ProblemError: it cannot be read, or is no UTF-8.
    """
    try:
        return file.read_text("utf-8-sig")
    except OSError as error:
        raise ProblemError(f"{file} cannot be read: {error.strerror}", hint=instead) from None
    except UnicodeDecodeError:
        if b"\0" in file.read_bytes():
            raise ProblemError("this is no text, but a binary file", hint=instead, file=file) from None
        hint = f"save it as UTF-8, as by: iconv -f latin1 -t utf-8 {file.name}"
        raise ProblemError("this is not UTF-8 text", hint=hint, file=file) from None
