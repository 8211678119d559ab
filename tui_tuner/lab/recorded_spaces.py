"""Recorded search spaces to measure searches on: recordings with the problems that they are about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from tui_tuner.errors import SettingsError
from tui_tuner.evaluate.recorded.cache_file import ENDINGS, stem_of
from tui_tuner.evaluate.recorded.problem import problem_beside, problem_of_recording
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.evaluate.recorded.recording import Recording
from tui_tuner.lab.scores import Landscape
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Configuration, Problem
from tui_tuner.problem.space import SearchSpace


@dataclass(frozen=True)
class RecordedSpace:
    """A recording, and the problem file that is given with it or stands beside it; None for neither."""

    recording: Path
    problem_file: Path | None

    @property
    def name(self) -> str:
        """The name of the file without its endings."""
        return stem_of(self.recording)


def recorded_space(text: str) -> RecordedSpace:
    """The space that the user names: `conv.json.gz`, `conv.toml` beside it, or `conv.json.gz:other.toml`.

    Raises:
        SettingsError: a file is missing.
    """
    recording, _, problem = text.rpartition(":") if text.endswith(".toml") else (text, "", "")
    if not recording:
        return RecordedSpace(_recording_beside(Path(problem)), Path(problem))
    for file in (Path(recording), Path(problem or recording)):
        if not file.is_file():
            hint = "DATA is a recording, or RECORDING:PROBLEM.toml"
            raise SettingsError(f"there is no file {file}", hint=hint)
    return RecordedSpace(Path(recording), Path(problem) if problem else problem_beside(Path(recording)))


def _recording_beside(problem: Path) -> Path:
    for ending in ENDINGS:
        file = problem.parent / f"{problem.stem}{ending}"
        if problem.is_file() and file.is_file():
            return file
    message = f"there is no recording {problem.stem}.json or {problem.stem}.json.gz beside {problem}"
    raise SettingsError(message, hint=f"name it, as in conv.json.gz:{problem}")


@dataclass(frozen=True)
class LoadedSpace:
    """A recorded space in memory."""

    recording: Recording
    problem: Problem

    @cached_property
    def space(self) -> SearchSpace:
        """The configurations on record that the restrictions allow."""
        candidate = baseline(self.problem)
        return candidate.space(sizes=self.problem.sizes, max_threads=None, members=self.recording.members)

    @cached_property
    def landscape(self) -> Landscape:
        """The times of the whole space."""
        return Landscape([self.time(configuration) for configuration in self.space.configurations()])

    def time(self, configuration: Configuration) -> float | None:
        """What is on record of a configuration, ms; None for a failure."""
        entry = self.recording.entry(configuration)
        return None if entry is None else entry.time


@lru_cache(maxsize=8)
def load(data: RecordedSpace) -> LoadedSpace:
    """Read a recorded space; once a process.

    Raises:
        UserError: it cannot be used.
    """
    recording = read_recording(data.recording)
    return LoadedSpace(recording, problem_of_recording(recording, data.problem_file).problem)
