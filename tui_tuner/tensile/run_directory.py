"""The settings of a Tensile session, and the session on the disk: journal, each round's files, the result."""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tui_tuner.journal import Journal
from tui_tuner.journal import reading as journals
from tui_tuner.options import model_field
from tui_tuner.resources import __version__
from tui_tuner.session_options import SessionOptions
from tui_tuner.tensile import LEAST_LIMIT, TENSILE, TENSILE_OPTIONS
from tui_tuner.tensile.document import BenchmarkConfiguration, ProblemSizes
from tui_tuner.tensile.document.reading import parse_configuration, parse_sizes

DEVICES = re.compile(r"^\d{1,3}(,\d{1,3})*$")
"""Numbers of GPUs."""


class TensileOptions(BaseModel):
    """Settings of `[tensile]`; `TENSILE_OPTIONS` has their defaults and describes them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_rounds: int = model_field(TENSILE_OPTIONS, "max_rounds", ge=0)
    patience: int = model_field(TENSILE_OPTIONS, "patience", ge=1)
    min_gain: float = model_field(TENSILE_OPTIONS, "min_gain", ge=0)
    max_permutations: int | None = model_field(TENSILE_OPTIONS, "max_permutations", ge=1)
    max_measured: int | None = model_field(TENSILE_OPTIONS, "max_measured", ge=1)
    measure_given: bool = model_field(TENSILE_OPTIONS, "measure_given")
    rehearse: bool = model_field(TENSILE_OPTIONS, "rehearse")
    repeats: int = model_field(TENSILE_OPTIONS, "repeats", ge=0)
    max_run_seconds: float | None = model_field(TENSILE_OPTIONS, "max_run_seconds", gt=0)
    gpu: str | None = model_field(TENSILE_OPTIONS, "gpu")
    devices: str | None = model_field(TENSILE_OPTIONS, "devices", pattern=DEVICES.pattern)
    tensile: Path | None = model_field(TENSILE_OPTIONS, "tensile")
    knowledge: Path | None = model_field(TENSILE_OPTIONS, "knowledge")

    def limit(self, given: BenchmarkConfiguration) -> int:
        """Permutations that an edited configuration may have at most."""
        return max(LEAST_LIMIT, given.permutations) if self.max_permutations is None else self.max_permutations


KIND = TENSILE.name
"""What the header of such a journal says under `kind`."""
_ASKS_AGAIN = "asks_again"
UNLIMITED = 10**9
"""Permutations that may be measured where the user sets no limit."""


@dataclass(frozen=True)
class TensileRun:
    """One session on the disk.

    Attributes:
        configuration: as it was when the session began.
        sizes_text: of the file of sizes that goes with the alternate format.
        options: what all sessions share; its evaluations are permutations.
        settings: what only these have.
        model: its name, None where there is none.
        asks_again: whether the user is asked again where their own version of the file cannot be used; False in
            sessions that began before they were.
    """

    path: Path
    journal: Journal
    configuration: BenchmarkConfiguration
    sizes_text: str | None
    options: SessionOptions
    settings: TensileOptions
    model: str | None
    asks_again: bool = True

    @property
    def sizes(self) -> ProblemSizes | None:
        """The sizes in the file of sizes."""
        return None if self.sizes_text is None else parse_sizes(self.sizes_text, self.configuration.file)

    def directory_of(self, label: str) -> Path:
        """A new directory for a benchmark; what an interrupted one left stays beside it."""
        base = self.path / "rounds" / label
        names = (base if number == 1 else base.with_name(f"{base.name}-{number}") for number in range(1, 1000))
        return next(path for path in names if not path.exists())


def create(
    path: Path,
    configuration: BenchmarkConfiguration,
    sizes_text: str | None,
    options: SessionOptions,
    settings: TensileOptions,
    model: str | None,
) -> TensileRun:
    """Begin a session.

    Raises:
        JournalError: there is one already, or it cannot be written.
    """
    options = in_permutations(options, settings)
    header = {
        "program": __version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "kind": KIND,
        "model": model,
        "options": options.model_dump(mode="json"),
        "tensile": settings.model_dump(mode="json"),
        "file": os.path.relpath(configuration.file, path),
        "text": configuration.text,
        "sizes": sizes_text,
        _ASKS_AGAIN: True,
    }
    journal = Journal.create(path / journals.FILE, header)
    return TensileRun(path, journal, configuration, sizes_text, options, settings, model)


def in_permutations(options: SessionOptions, settings: TensileOptions) -> SessionOptions:
    """The shared options of such a session: a budget in permutations, and its strategy's name."""
    return options.model_copy(
        update={"strategy": KIND, "strategy_options": {}, "max_evaluations": settings.max_measured or UNLIMITED}
    )


def open_run(path: Path, *, resume: bool) -> TensileRun:
    """Open a run to go on with it, or to look at it; `path` may be the journal itself.

    Raises:
        JournalError: there is none, or it cannot be used.
        ProblemError: its configuration no longer fits this version of the program.
    """
    file = journals.journal_of(path)
    journal = Journal.reopen(file) if resume else Journal.read(file)
    with journal.header_in_use() as header:
        source = Path(os.path.normpath(file.parent / header["file"]))
        sizes_text = header["sizes"]
        sizes = None if sizes_text is None else parse_sizes(sizes_text, source)
        configuration = parse_configuration(header["text"], source, sizes)
        options = SessionOptions.model_validate(header["options"])
        settings = TensileOptions.model_validate(header["tensile"])
        asks_again = bool(header.get(_ASKS_AGAIN, False))
        return TensileRun(
            file.parent, journal, configuration, sizes_text, options, settings, header["model"], asks_again
        )
