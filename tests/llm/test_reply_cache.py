"""Replies kept across sessions: what is answered from the cache, what is not, and what is never kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.fakes import FakeBackend, said
from tui_tuner.errors import UserError
from tui_tuner.llm import Message, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import Service, TransportError
from tui_tuner.llm.replay import NOTICE, CachedBackend
from tui_tuner.llm.streams import complete
from tui_tuner.memory import KeptReplies
from tui_tuner.memory.sessions import Database

REQUEST = Request("plan", (Message("user", "Which?"),), {"type": "object"}, max_tokens=100)
SETTINGS = {"temperature": 0.7}
LONG = "so " * 100


@pytest.fixture
def store(tmp_path: Path) -> KeptReplies:
    return KeptReplies(Database(tmp_path / "memory.sqlite3"))


async def answers(store: KeptReplies, *requests: Request, settings: object = None, name: str = "m") -> list[str]:
    """What a session gets that asks these, where the model would answer "live"."""
    backend = FakeBackend(*(said("live") for _ in requests))
    backend.name = name
    cached = CachedBackend(backend, store, SETTINGS if settings is None else settings)  # type: ignore[arg-type]
    return [(await complete(cached, request)).text for request in requests]


async def keep(store: KeptReplies, *texts: str, name: str = "m") -> None:
    backend = FakeBackend(*(said(text) for text in texts))
    backend.name = name
    cached = CachedBackend(backend, store, SETTINGS)
    for text in texts:
        assert (await complete(cached, REQUEST)).text == text


async def test_the_next_session_gets_the_kept_reply_in_pieces_for_nothing_and_is_told(store: KeptReplies) -> None:
    first = CachedBackend(FakeBackend(said(LONG, "hm " * 50)), store, SETTINGS)
    assert (await complete(first, REQUEST)).usage.cost == 0.25

    nobody = FakeBackend()
    pieces: list[str] = []
    reply = await complete(CachedBackend(nobody, store, SETTINGS), REQUEST, lambda chunk: pieces.append(chunk.text))
    assert reply == Reply(LONG, "hm " * 50, Stop.COMPLETE, Usage(10, 5, 0.0), NOTICE)
    assert len([piece for piece in pieces if piece]) > 3
    assert nobody.requests == []


@pytest.mark.parametrize(
    "changed",
    [
        replace(REQUEST, purpose="replan"),
        replace(REQUEST, messages=(Message("user", "Which ?"),)),
        replace(REQUEST, messages=(Message("system", "Which?"),)),
        replace(REQUEST, schema=None),
        replace(REQUEST, max_tokens=101),
    ],
)
async def test_another_request_is_asked(store: KeptReplies, changed: Request) -> None:
    await keep(store, "kept")
    assert await answers(store, changed) == ["live"]
    assert await answers(store, REQUEST) == ["kept"]


async def test_another_model_or_temperature_is_asked(store: KeptReplies) -> None:
    await keep(store, "kept")
    assert await answers(store, REQUEST, name="other") == ["live"]
    assert await answers(store, REQUEST, settings={"temperature": 0.0}) == ["live"]


async def test_the_same_question_put_again_in_a_session_gets_another_answer(store: KeptReplies) -> None:
    await keep(store, "kept")
    assert await answers(store, REQUEST, REQUEST) == ["kept", "live"]
    assert await answers(store, REQUEST, REQUEST, REQUEST) == ["kept", "live", "live"], "the second one is kept as well"


async def test_a_resumed_session_counts_what_it_was_answered_before(store: KeptReplies) -> None:
    await keep(store, "kept")
    backend = FakeBackend(said("live"))
    backend.name = "m"
    resumed = CachedBackend(backend, store, SETTINGS, [(REQUEST.purpose, REQUEST.messages)])
    assert (await complete(resumed, REQUEST)).text == "live"


@pytest.mark.parametrize("script", [said("cut off", stop=Stop.LENGTH), said("no", stop=Stop.REFUSED), said(" ")])
async def test_what_is_cut_refused_or_empty_is_not_kept(store: KeptReplies, script: list[object]) -> None:
    await complete(CachedBackend(FakeBackend(script), store, SETTINGS), REQUEST)  # type: ignore[arg-type]
    assert store.count() == (0, 0)


async def test_a_reply_that_broke_off_is_not_kept_and_the_question_counts_as_not_answered(store: KeptReplies) -> None:
    await keep(store, "kept")
    error = TransportError("gone", Service("m", "nowhere"))
    backend = FakeBackend([said("half")[0], error], said("whole"))
    backend.name = "other"
    cached = CachedBackend(backend, store, SETTINGS)
    with pytest.raises(TransportError):
        await complete(cached, REQUEST)
    assert (await complete(cached, REQUEST)).text == "whole"
    assert await answers(store, REQUEST, name="other") == ["whole"]


async def test_a_store_that_cannot_be_used_is_told_once_and_the_model_answers(tmp_path: Path) -> None:
    file = tmp_path / "memory.sqlite3"
    file.write_bytes(b"nonsense" * 1000)
    cached = CachedBackend(FakeBackend(said("one"), said("two")), KeptReplies(Database(file)), SETTINGS)
    first, second = await complete(cached, REQUEST), await complete(cached, REQUEST)
    assert (first.text, second.text) == ("one", "two")
    assert "no replies are cached in this session: " in first.notice
    assert "file is not a database" in first.notice
    assert second.notice == ""


class FullStore:
    """Can be read and not written."""

    def get(self, key: str) -> Reply | None:
        return None

    def put(self, *_: object) -> None:
        raise UserError("the disk is full")


async def test_a_store_that_is_full_is_told_beside_what_the_model_says_of_its_reply() -> None:
    script = said("text")
    script[1] = replace(script[1], notice="rounded up")
    reply = await complete(CachedBackend(FakeBackend(script), FullStore(), SETTINGS), REQUEST)
    assert reply.notice == "rounded up; no replies are cached in this session: the disk is full"


async def test_it_takes_name_context_and_end_from_the_model(store: KeptReplies) -> None:
    backend = FakeBackend(said("text"))
    cached = CachedBackend(backend, store, SETTINGS)
    assert (cached.name, cached.context_tokens) == ("ollama:fake", 4096)
    backend.context_tokens = 8192
    await complete(cached, REQUEST)
    assert cached.context_tokens == 8192
    await cached.aclose()
    assert backend.closed
