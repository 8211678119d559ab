"""What a parameter of Tensile does, and what the words of tuning a GEMM mean, each in a line or two."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tui_tuner.tensile.knowledge.toml_data import Table, shipped, users_own


class Terminology(Table):
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
