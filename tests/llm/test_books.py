from __future__ import annotations

import pytest

from tests.llm.fakes import FakeBackend
from tests.llm.wires import REQUEST
from tui_tuner.llm import Chunk, Message, Request, Usage
from tui_tuner.llm.errors import BrokenOff, Service
from tui_tuner.llm.prices import (
    FREE,
    Counts,
    Price,
    cost,
    estimate,
    estimate_messages,
    estimated_usage,
    fewest,
    price_of,
    worst_cost,
)
from tui_tuner.llm.streams import complete


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("ollama:qwen3-coder:30b", FREE),
        ("ollama:gpt-oss:120b-cloud", None),
        ("openai:qwen@localhost:8000", FREE),
        ("openai:qwen@[::1]:8000", FREE),
        ("openai:gpt-4.1@gateway.example", None),
        ("openai:gpt-unheard-of", None),
        ("command:llm", None),
        ("replay:session.jsonl", FREE),
    ],
)
def test_what_runs_here_is_free_and_what_is_unknown_is_unknown(name: str, price: Price | None) -> None:
    assert price_of(name) == price


def test_a_dated_model_has_the_price_of_its_name() -> None:
    assert price_of("anthropic:claude-haiku-4-5-20251001") == price_of("anthropic:claude-haiku-4-5")
    assert price_of("openai:gpt-4.1-2025-04-14") == price_of("openai:gpt-4.1")
    assert price_of("openai:gpt-4.1") != price_of("openai:gpt-4.1-mini")


def test_each_kind_of_token_has_its_price() -> None:
    price = Price(2.0, 10.0, cached=0.5, cache_write=3.0)

    assert cost(price, Counts(1_000_000, 100_000, 400_000, 100_000)) == pytest.approx(1.0 + 0.2 + 0.3 + 1.0)
    assert cost(Price(2.0, 10.0), Counts(1_000_000, 0, 400_000, 100_000)) == pytest.approx(2.0)


def test_beyond_the_prompt_that_a_price_holds_for_the_cost_is_unknown() -> None:
    price = Price(1.0, 1.0, up_to=1000)

    assert cost(price, Counts(1000, 1)) is not None
    assert cost(price, Counts(1001, 1)) is None
    assert cost(None, Counts(1, 1)) is None


def test_the_worst_case_covers_prompt_schema_and_the_whole_reply_limit() -> None:
    name = "anthropic:claude-haiku-4-5"
    worst = worst_cost(name, REQUEST)
    likely = estimated_usage(name, REQUEST, "short").cost

    assert worst is not None
    assert likely is not None
    assert worst > likely + (REQUEST.max_tokens - 10) * 5 / 1e6
    assert worst_cost("openai:gpt-unheard-of", REQUEST) is None
    assert worst_cost("ollama:m", REQUEST) == 0.0


async def test_a_reply_that_broke_off_is_booked_by_estimate() -> None:
    backend = FakeBackend([Chunk("x" * 30), Chunk(thinking="y" * 30), BrokenOff("cut", Service("fake", ""))])

    with pytest.raises(BrokenOff) as caught:
        await complete(backend, REQUEST)

    assert caught.value.usage == Usage(estimate_messages(REQUEST.messages), 20, 0.0, estimated=True)


async def test_a_call_that_failed_before_its_first_word_is_not_booked() -> None:
    with pytest.raises(BrokenOff) as caught:
        await complete(FakeBackend([BrokenOff("cut", Service("fake", ""))]), REQUEST)

    assert caught.value.usage is None


def test_the_estimate_is_cautious_for_code_and_for_scripts_of_many_bytes() -> None:
    assert estimate("x" * 300) == 100
    assert estimate("x") == 1
    assert estimate("") == 0
    assert estimate("漢字" * 50) == 100


def test_the_fewest_tokens_are_far_below_the_estimate() -> None:
    messages = Request("p", (Message("user", "float x = a[i];" + " " * 1000),)).messages

    assert fewest(messages) < 5 < estimate_messages(messages)
