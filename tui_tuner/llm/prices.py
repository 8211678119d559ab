"""What a call costs: tokens estimated, known prices by model, and the books of one call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import tomli

from tui_tuner.llm import Message, Request, Usage, is_loopback

_DATE_SUFFIX = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True)
class Price:
    """US dollars a million tokens.

    Attributes:
        cached: for prompt tokens read from the provider's cache; None: as `input`.
        cache_write: for prompt tokens written to it; None: as `input`.
        up_to: the largest prompt, in tokens, that the price holds for.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    up_to: int | None = None


FREE = Price(0.0, 0.0)


@dataclass(frozen=True)
class Counts:
    """Tokens of one call; `input` includes the `cached` and `cache_write` ones."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0


def price_of(name: str) -> Price | None:
    """Return the price of a backend by its name, None if it is unknown.

    Models that run here cost nothing: Ollama's own, and servers on this machine.
    """
    provider, _, model = name.partition(":")
    if provider == "replay":
        return FREE
    if provider == "ollama":
        return None if model.endswith("cloud") else FREE
    model, _, host = model.partition("@") if provider == "openai" else (model, "", "")
    if host:
        return FREE if is_loopback(host) else None
    known = _table().get(provider, {})
    return known.get(model) or known.get(_DATE_SUFFIX.sub("", model))


def cost(price: Price | None, counts: Counts) -> float | None:
    """Return US dollars, None if the price is unknown."""
    if price is None or (price.up_to is not None and counts.input > price.up_to):
        return None
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_write is None else price.cache_write
    plain = max(0, counts.input - counts.cached - counts.cache_write)
    dollars = plain * price.input + counts.cached * cached + counts.cache_write * written
    return (dollars + counts.output * price.output) / 1e6


def usage(name: str, counts: Counts) -> Usage:
    """Return the books of a call to the backend of this name."""
    return Usage(counts.input, counts.output, cost(price_of(name), counts))


def estimated_usage(name: str, request: Request, said: str) -> Usage:
    """Return the books of a call whose provider sent no counts."""
    counts = Counts(estimate_messages(request.messages), estimate(said))
    return Usage(counts.input, counts.output, cost(price_of(name), counts), estimated=True)


def worst_cost(name: str, request: Request) -> float | None:
    """Return what the call may cost at most, in US dollars; None if the price is unknown."""
    prompt = estimate_messages(request.messages) + estimate(json.dumps(request.schema))
    # Writing the provider's cache costs more than plain input.
    return cost(price_of(name), Counts(prompt, request.max_tokens, cache_write=prompt))


@cache
def _table() -> dict[str, dict[str, Price]]:
    text = files("tui_tuner.llm").joinpath("prices.toml").read_text(encoding="utf-8")
    content: dict[str, Any] = tomli.loads(text)
    providers = {name: table for name, table in content.items() if isinstance(table, dict)}
    return {name: {model: Price(**row) for model, row in table.items()} for name, table in providers.items()}


_CHARACTERS_A_TOKEN = 3  # cautious: English and code have about four
_MOST_CHARACTERS_A_TOKEN = 6
_WIDE = re.compile("[^\0-\u07ff]")  # as a range of all that is above it takes 12 ms to compile
_TOKENS_A_MESSAGE = 8  # role markers of the chat template


def estimate(text: str) -> int:
    """Return about how many tokens the text has, rather too many than too few."""
    # Scripts that take several bytes a character take up to a token for each.
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // _CHARACTERS_A_TOKEN)


def estimate_messages(messages: Iterable[Message]) -> int:
    """Return about how many tokens a conversation has, rather too many than too few."""
    return sum(estimate(message.content) + _TOKENS_A_MESSAGE for message in messages)


def fewest(messages: Iterable[Message]) -> int:
    """Return a number of tokens that the conversation surely exceeds."""
    # Tokenizers merge runs of blanks, so indentation counts once.
    return sum(len(re.sub(r"\s+", " ", message.content)) // _MOST_CHARACTERS_A_TOKEN for message in messages)
