"""Strategies by name."""

from __future__ import annotations

import difflib

from tui_tuner.errors import SettingsError
from tui_tuner.strategies.base import Strategy
from tui_tuner.strategies.one_prompt import OnePromptStrategy
from tui_tuner.strategies.search import SearchStrategy

STRATEGIES: dict[str, type[Strategy]] = {strategy.name: strategy for strategy in (OnePromptStrategy, SearchStrategy)}


def strategy_named(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none.
    """
    key = name.replace("-", "_")
    if key not in STRATEGIES:
        near = difflib.get_close_matches(key, STRATEGIES, n=1)
        question = f"; did you mean '{near[0]}'?" if near else ""
        raise SettingsError(f"unknown strategy '{name}'{question}", hint=f"strategies: {', '.join(STRATEGIES)}")
    return STRATEGIES[key]()
