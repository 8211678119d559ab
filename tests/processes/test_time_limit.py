"""A limit of time counts no time in which this program is stopped."""

from __future__ import annotations

import asyncio

import pytest

from tui_tuner.processes.time_limit import time_limit


async def test_an_answer_that_came_while_the_program_was_stopped_is_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    answer, stopped_s, clock = loop.create_future(), 0.0, loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + stopped_s)

    async def read() -> str:
        for _ in range(10):
            await asyncio.sleep(0)
        answer.set_result("faster")
        return str(await answer)

    async with time_limit(60.0):
        stopped_s = 3600.0
        assert await read() == "faster"


async def test_what_takes_longer_is_ended() -> None:
    with pytest.raises(TimeoutError):
        async with time_limit(0.02):
            await asyncio.Event().wait()
