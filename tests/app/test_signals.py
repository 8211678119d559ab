"""Signals that end a session: the first in order, a later one at once; what comes with the first is the same."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tui_tuner.app.attaching import EndingSignals, NeverWaits


@pytest.mark.parametrize(
    ("names", "apart_s", "is_at_once"),
    [
        ([signal.SIGTERM, signal.SIGTERM], 0.01, False),
        ([signal.SIGHUP, signal.SIGTERM], 0.01, False),
        ([signal.SIGINT, signal.SIGINT], 2.0, True),
    ],
    ids=["group", "terminal", "again"],
)
def test_only_a_signal_that_comes_later_ends_at_once(
    names: list[signal.Signals], apart_s: float, is_at_once: bool
) -> None:
    heard: list[str] = []

    async def session() -> None:
        loop, passed = asyncio.get_running_loop(), 0.0
        started = loop.time()
        loop.time = lambda: started + passed  # type: ignore[method-assign]
        signals = EndingSignals(heard.append)
        for name in names:
            os.kill(os.getpid(), name)
            for _ in range(5):
                await asyncio.sleep(0)
            passed += apart_s
        assert signals.came

    if is_at_once:
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(session())
    else:
        asyncio.run(session())
    assert len(heard) == 1


def test_what_never_waits_is_ended_by_a_later_signal() -> None:
    async def session() -> None:
        loop = asyncio.get_running_loop()
        started, passed = loop.time(), 0.0
        loop.time = lambda: started + passed  # type: ignore[method-assign]
        signals = EndingSignals(lambda _: None)
        for apart_s in (0.1, 2.0, 0.1):
            assert not signals.came
            os.kill(os.getpid(), signal.SIGTERM)
            passed += apart_s

    with pytest.raises(NeverWaits, match="never waits") as raised:
        asyncio.run(session())
    assert raised.value.code == 130
