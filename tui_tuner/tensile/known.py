"""What is known of Tensile beside a configuration: valid values, words, GPUs; with what the user adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.knowledge.gpus import gpu_facts
from tui_tuner.tensile.knowledge.terminology import Terminology, terminology
from tui_tuner.tensile.knowledge.valid_values import ValidValues, table_for, tables

TERMS, GPUS, VALUES = "terminology.toml", "gpus.toml", "valid_values"
"""A user's files and directory in the directory of knowledge."""


@dataclass(frozen=True)
class Knowledge:
    """All of it, for one configuration.

    Attributes:
        table: of the Tensile that knows most of the configuration's parameters.
        directory: the user's own files; None for none.
    """

    table: ValidValues
    words: Terminology
    directory: Path | None = None

    def explain(self, parameter: str) -> str | None:
        """What a parameter does."""
        return self.words.explain(parameter)

    @property
    def general_terms(self) -> Mapping[str, str]:
        """Words that are no parameters."""
        return self.words.terms

    def gpu_words(self, name: str) -> str:
        """Facts of a GPU in a few lines; its name where nothing else is known."""
        facts = gpu_facts(name, _own(self.directory, GPUS)) if name else None
        return name if facts is None else facts.words()


def knowledge_for(configuration: Configuration, directory: Path | None = None) -> Knowledge:
    """What there is for a configuration.

    Args:
        directory: the user's own files, where there are any.

    Raises:
        SettingsError: a mistake in one of them.
    """
    found = tables(_own(directory, VALUES))
    table = table_for(configuration.named_parameters, found)
    return Knowledge(table, terminology(_own(directory, TERMS)), directory)


def _own(directory: Path | None, name: str) -> Path | None:
    """A file of the user's that is there."""
    if directory is None or not (directory / name).exists():
        return None
    return directory / name
