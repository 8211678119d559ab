"""What only sessions of this subject tell: runs of Tensile, the best solutions; and the text that they propose."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_serializer
from pydantic_core import to_json

from tui_tuner.session.events import Event
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.outcome import RoundOutcome, Winner, outcome_words, round_words

_LAUNCH: dict[str, Any] = {
    "problem_size": [1],
    "grid_div_x": None,
    "grid_div_y": None,
    "grid_div_z": None,
    "grid": None,
    "block_size": None,
    "shared_memory": 0,
}


class ConfigurationText(BaseModel):
    """The text of a configuration as it is proposed, shown and edited; a `tui_tuner.subjects.Source`.

    Attributes:
        source: the whole file.
        file: its name.
        title: a few words for people.
    """

    model_config = ConfigDict(frozen=True)

    source: str
    file: str = Field(validation_alias=AliasChoices("file", "kernel"))  # as it is recorded
    title: str = ""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this text, its title aside."""
        content = {name: value for name, value in self._as_recorded().items() if name != "title"}
        return hashlib.sha256(to_json(content)).hexdigest()[:12]

    def edited(self, source: str) -> Self:
        """This file with the text as the user left it."""
        return self.model_copy(update={"source": source, "title": f"{self.title}, edited"})

    @model_serializer
    def _as_recorded(self) -> dict[str, Any]:
        """With the keys that journals have of it since there are such sessions: approvals are found by their hash."""
        return {
            "source": self.source,
            "kernel": self.file,
            "launch": _LAUNCH,
            "tunables": {},
            "restrictions": [],
            "defaults": {},
            "title": self.title,
        }


def text_of(configuration: BenchmarkConfiguration, title: str = "") -> ConfigurationText:
    """A configuration as what is proposed and shown."""
    return ConfigurationText(source=configuration.text, file=configuration.file.name, title=title)


class BenchmarkStarted(Event):
    """Tensile measures a configuration; `round` 0 is the one as given."""

    type: Literal["benchmark_started"] = "benchmark_started"
    round: int
    candidate: str
    permutations: int
    sizes: int


class BenchmarkOutput(Event):
    """A line that Tensile prints while it runs."""

    type: Literal["benchmark_output"] = "benchmark_output"
    transient: ClassVar[bool] = True
    round: int
    text: str


class BenchmarkFinished(Event):
    """Tensile has measured a configuration, or failed to."""

    type: Literal["benchmark_finished"] = "benchmark_finished"
    adds: ClassVar[bool] = True
    round: int
    candidate: str
    outcome: RoundOutcome

    @property
    def words(self) -> str:
        """A line of the story."""
        return f"{round_words(self.round)}: {outcome_words(self.outcome)}"


class WinnersChanged(Event):
    """The best solution so far at every problem size; a gain is over the first run's winner."""

    type: Literal["winners_changed"] = "winners_changed"
    round: int
    winners: list[Winner]


EVENTS = (BenchmarkStarted, BenchmarkOutput, BenchmarkFinished, WinnersChanged)
