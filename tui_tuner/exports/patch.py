"""The tuned kernel as a patch against the user's files: the kernel's, and the problem file where that must follow."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import tomlkit
from tomlkit.items import Table

from tui_tuner.errors import ProblemError
from tui_tuner.exports import ToldRun
from tui_tuner.exports.host_kept import with_host_code
from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.report import best_text, launch_table
from tui_tuner.resources import write_whole

_BOM = "\ufeff"


@dataclass(frozen=True)
class Change:
    """A file of the user's before and after.

    Attributes:
        file: where it is.
        name: how the patch calls it: its path from the directory of the problem file.
        before: None where the file is new.
    """

    file: Path
    name: str
    before: str | None
    after: str

    @property
    def patch(self) -> str:
        """The change as `git apply` and `patch -p1` take it; empty where there is none."""
        before, after = (self.before or "").splitlines(keepends=True), self.after.splitlines(keepends=True)
        origin = "/dev/null" if self.before is None else f"a/{self.name}"
        lines = difflib.unified_diff(before, after, origin, f"b/{self.name}")
        return "".join(_ended(line) for line in lines)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def file_changes(told: ToldRun) -> list[Change]:
    """What has to change in the user's files so that they hold the tuned kernel; a drafted problem becomes a file.

    Raises:
        ProblemError: a file is not what it was when the run began, or its kernel is in no file.
    """
    problem = told.run.problem
    kernel = _changed(problem.directory, problem.kernel.source, problem.source_text, _tuned_source(told))
    table = Path(Path(told.run.journal.header["problem_file"]).name)  # paths are relative to where it is
    tuned = _tuned_problem(told)
    if not (problem.directory / table).exists():
        return [kernel, Change(problem.directory / table, table.as_posix(), None, tuned)]
    return [kernel, _changed(problem.directory, table, told.run.problem_text, tuned)]


def _tuned_source(told: ToldRun) -> str:
    if not told.problem.is_compiled:
        message = "the kernel's file stays as it is: only its configuration is tuned"
        raise ProblemError(message, hint="`tuner-tui best RUN --as configuration` prints it")
    problem, best = told.run.problem, told.best
    tuned = best_text(problem, best, told.outcome)
    if COMPILED_LANGUAGES[problem.language].kernel_mark is None:
        return tuned
    return with_host_code(problem.source_text, tuned, best.source, best.kernel, problem.language)


def _tuned_problem(told: ToldRun) -> str:
    """The problem file with the launch and the search space of the tuned kernel, which begins at the best."""
    candidate, document = told.best, tomlkit.parse(told.run.problem_text)
    document["kernel"]["name"] = candidate.kernel
    if candidate.id != told.outcome.baseline.candidate:
        document["launch"] = launch_table(candidate.launch)
        document["tunables"] = _table(candidate.tunables)
        document["search"] = _table({"restrictions": candidate.restrictions})
    document["defaults"] = _table(told.outcome.best.configuration)
    return tomlkit.dumps(document)


def _table(content: Mapping[str, object]) -> Table:
    table = tomlkit.table()
    table.update({**content})
    return table


def _changed(directory: Path, name: Path, known: str, after: str) -> Change:
    """The change of a file, with its own line ends and byte order mark.

    Raises:
        ProblemError: the file is not what it was.
    """
    file = directory / name
    try:
        before = file.read_bytes().decode("utf-8")
    except OSError as error:
        hint = "`tuner-tui best RUN` prints the tuned kernel as a whole"
        raise ProblemError(f"cannot be read: {error.strerror}", hint=hint, file=file) from None
    except UnicodeDecodeError:
        raise ProblemError("this is not UTF-8 text", file=file) from None
    if before.removeprefix(_BOM).replace("\r\n", "\n") != known:
        hint = "`tuner-tui best RUN` prints the tuned kernel as a whole"
        raise ProblemError("the file is not what it was when the run began", hint=hint, file=file)
    if "\r\n" in before:
        after = after.replace("\n", "\r\n")
    return Change(file, name.as_posix(), before, _BOM + after if before.startswith(_BOM) else after)


def patch_text(told: ToldRun) -> str:
    """The whole patch, to be applied in the directory of the problem file.

    Raises:
        ProblemError: as of `changes`.
    """
    return "".join(change.patch for change in file_changes(told))


def apply_patch(told: ToldRun) -> Iterator[str]:
    """Write the changes; a line for each file.

    Raises:
        ProblemError: as of `changes`, or a file cannot be written.
    """
    for change in file_changes(told):
        try:
            if change.patch:
                write_whole(change.file, change.after)
                yield f"wrote {os.path.relpath(change.file)}"
        except OSError as error:
            raise ProblemError(f"cannot be written: {error.strerror}", file=change.file) from None
