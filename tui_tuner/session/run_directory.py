"""The directory of a run: journal, kernels, results; made for a new session, read for resume and replay."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.journal import Journal
from tui_tuner.journal.reading import ELAPSED, FILE, RUNS, journal_of
from tui_tuner.problem.load import Written, parse_problem
from tui_tuner.problem.model import Problem
from tui_tuner.prompts import WORDING
from tui_tuner.resources import __version__
from tui_tuner.search import DEFAULT_METHOD
from tui_tuner.session_options import SessionOptions
from tui_tuner.subjects import Source

_METHOD_OF_OLD_RUNS = "hybrid_vndx"
"""The default search method when journals did not yet name it."""
_WORDING_OF_OLD_RUNS = 1


@dataclass(frozen=True)
class RunDirectory:
    """One run on the disk.

    Attributes:
        problem_text: the problem file as it was when the session began; so is `problem.source_text`.
        model: name of the model, None where there is none.
        wording: of the prompts, as it was when the session began: a reply is found by its prompt.
    """

    path: Path
    journal: Journal
    problem: Problem
    problem_text: str
    options: SessionOptions
    model: str | None
    wording: int = WORDING

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.name

    def keep_kernel(self, candidate: Source) -> None:
        """Write a candidate's source into `kernels/`, for people; nothing where it has none, or where a link is there.

        The directory may come from others, and a link of theirs would have a model's text written anywhere.
        """
        directory = self.path / "kernels"
        if self.journal.writable and candidate.source and not directory.is_symlink():
            directory.mkdir(exist_ok=True)
            file = directory / f"{candidate.id}{self.problem.kernel.source.suffix}"
            with suppress(FileExistsError), file.open("x", encoding="utf-8") as written:
                written.write(candidate.source)

    @property
    def builds(self) -> Path:
        """Built artifacts, so that nothing is built twice."""
        return self.path / "builds"

    @property
    def log(self) -> Path:
        """What device libraries print."""
        return self.path / "runner.log"


def create(
    path: Path,
    problem: Problem,
    problem_file: Path,
    options: SessionOptions,
    model: str | None,
    *,
    problem_text: str | None = None,
    elapsed: float = 0.0,
) -> RunDirectory:
    """Begin a run.

    Args:
        problem_file: what paths in the problem are relative to.
        problem_text: of a problem that is in no file; None to read the file.
        elapsed: seconds that what came before took, as a model's draft of the problem.

    Raises:
        JournalError: there is one already, or it cannot be written.
    """
    options = options.model_copy(update={"search": options.search or DEFAULT_METHOD})
    if problem_text is None:
        problem_text = problem_file.read_text(encoding="utf-8")
    header: dict[str, Any] = {
        "program": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "model": model,
        "wording": WORDING,
        "options": options.model_dump(mode="json"),
        "problem_file": os.path.relpath(problem_file, path),
        "problem": problem_text,
        "source": problem.source_text,
    }
    if elapsed:
        header[ELAPSED] = round(elapsed, 3)
    journal = Journal.create(path / FILE, header)
    return RunDirectory(path, journal, problem, problem_text, options, model)


def is_about(header: Mapping[str, Any], written: Written) -> bool:
    """Whether a run that has this header is of the problem as it is written now."""
    return (header.get("problem"), header.get("source")) == (written.text, written.problem.source_text)


def default_path(kernel: Path) -> Path:
    """A new directory for a run of this kernel, named by the time."""
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    names = (f"{kernel.stem}-{now}{suffix}" for suffix in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(path for name in names if not (path := RUNS / name).exists())


def open_run(path: Path, *, resume: bool) -> RunDirectory:
    """Open a run to go on with it, or to look at it; `path` may be the journal itself.

    Raises:
        JournalError: there is none, or it cannot be used.
        ProblemError: its problem no longer fits this version of the program.
    """
    file = journal_of(path)
    journal = Journal.reopen(file) if resume else Journal.read(file)
    with journal.header_in_use() as header:
        if "kind" in header:
            message = f"this is a run of `tuner-tui {header['kind']}`, not of a kernel"
            raise JournalError(message, hint="`tuner-tui resume` and `tuner-tui replay` take it", file=file)
        problem_file = (file.parent / header["problem_file"]).resolve()
        problem = parse_problem(
            header["problem"], directory=problem_file.parent, file=problem_file, source_text=header["source"]
        )
        options = SessionOptions.model_validate(header["options"])
        options = options.model_copy(update={"search": options.search or _METHOD_OF_OLD_RUNS})
        wording = int(header.get("wording", _WORDING_OF_OLD_RUNS))
        return RunDirectory(file.parent, journal, problem, header["problem"], options, header["model"], wording)
