"""What is known of a configuration's parameters, terms and GPU, put together for prompts and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tui_tuner.tensile.document.configuration import BenchmarkConfiguration
from tui_tuner.tensile.knowledge.gpus import gpu_facts
from tui_tuner.tensile.knowledge.toml_data import KnowledgeTable, shipped, users_own
from tui_tuner.tensile.knowledge.valid_values import ValidValues, table_for, tables

TERMS, GPUS, VALUES = "terminology.toml", "gpus.toml", "valid_values"
"""A user's files and directory in the directory of knowledge."""


class Terminology(KnowledgeTable):
    """A file of terminology: parameters by name, other terms by the word."""

    parameters: Mapping[str, str] = {}
    terms: Mapping[str, str] = {}

    def explain(self, name: str) -> str | None:
        """What a parameter does or a term means; None for an unknown one. Terms may differ in case."""
        if (text := self.parameters.get(name)) is not None:
            return text
        return next((text for term, text in self.terms.items() if term.lower() == name.lower()), None)


def terminology(extra: Path | None = None) -> Terminology:
    """The terminology of the program with what a user's file adds or replaces.

    Args:
        extra: a user's file; None for none.

    Raises:
        SettingsError: a mistake in the user's file.
    """
    known = _shipped_terms()
    own = None if extra is None else users_own(extra, Terminology)
    if own is None:
        return known
    return Terminology(parameters={**known.parameters, **own.parameters}, terms={**known.terms, **own.terms})


def explain(name: str, extra: Path | None = None) -> str | None:
    """What a parameter does or a term means, None for an unknown one; `extra` as for `terminology`.

    Raises:
        SettingsError: a mistake in the user's file.
    """
    return terminology(extra).explain(name)


@cache
def _shipped_terms() -> Terminology:
    return shipped("terminology.toml", Terminology)


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


def knowledge_for(configuration: BenchmarkConfiguration, directory: Path | None = None) -> Knowledge:
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
