"""How the tunables of a kernel are searched: by a model's rounds, by a search without one, or both."""

from __future__ import annotations

from dataclasses import dataclass

from tui_tuner.search.methods import DEFAULT_METHOD

LLM, HYBRID = "llm", "hybrid"
MODEL_METHODS = {
    LLM: "a model chooses, round by round",
    HYBRID: f"a model's rounds, then {DEFAULT_METHOD} from all that they found",
}
"""Methods that need a model, beside those of `tui_tuner.search.methods`."""


@dataclass(frozen=True)
class Methods:
    """What searches.

    Attributes:
        rounds: whether a model chooses first.
        local: the method without a model that comes after, or alone; None for none.
    """

    rounds: bool
    local: str | None


def methods_of(name: str) -> Methods:
    """What a method that the user named means."""
    match name:
        case "llm":
            return Methods(rounds=True, local=None)
        case "hybrid":
            return Methods(rounds=True, local=DEFAULT_METHOD)
    return Methods(rounds=False, local=name)
