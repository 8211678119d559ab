"""What an event loop leaves behind: told when it closes, by the test that did it, and not by whichever collects it."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import LIMIT_S, children


def watch(patch: pytest.MonkeyPatch) -> None:
    """Have every loop that closes fail where a pipe or socket is still listened to, or a task has not ended."""
    patch.setattr(asyncio.SelectorEventLoop, "close", _looking(asyncio.SelectorEventLoop.close))


def _looking(close: Callable[[asyncio.SelectorEventLoop], None]) -> Callable[[asyncio.SelectorEventLoop], None]:
    @wraps(close)
    def closed(loop: asyncio.SelectorEventLoop) -> None:
        left = [] if loop.is_closed() else _left(loop)
        close(loop)
        assert not left, f"an event loop was closed on {', '.join(left)}"

    return closed


def _left(loop: asyncio.SelectorEventLoop) -> list[str]:
    own = loop._ssock.fileno()  # type: ignore[attr-defined]
    keys = loop._selector.get_map().values()  # type: ignore[attr-defined]
    return [repr(key.data) for key in keys if key.fd != own] + [repr(task) for task in asyncio.all_tasks(loop)]


async def assert_can_be_cancelled_anywhere(work: Callable[[], Coroutine[Any, Any, object]], waits: int = 100) -> None:
    """Cancel something at each of its waits, before and just as that is over: all it opened and started is gone.

    Args:
        waits: so many at most.
    """
    with suppress(asyncio.CancelledError):
        await work()  # what stays for good, as a server of forks, is there
    before = _held()
    for number, late in itertools.product(range(1, waits + 1), (False, True)):
        task = asyncio.create_task(_waits_of(_cancelled(work(), number, late=late)))
        await asyncio.wait({task})
        if not task.cancelled():
            assert task.exception() is None, f"cancelled at wait {number}"
            assert task.result() < number, f"its wait {number} was cancelled, and it went on"
            return
        await _settled(before, f"cancelled {'as' if late else 'before'} wait {number} was over")


async def _settled(before: tuple[set[str], set[str]], when: str) -> None:
    end = time.monotonic() + LIMIT_S
    while left := [*itertools.chain(*(now - then for now, then in zip(_held(), before, strict=True)))]:
        assert time.monotonic() < end, f"{when}, it leaves {left}"
        await asyncio.sleep(0.002)


def _held() -> tuple[set[str], set[str]]:
    """What this process has open, and the processes that it started."""
    opened = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            opened.add(f"{descriptor.name}: {descriptor.readlink()}")
    return opened, {f"{number}: {command}" for number, command in children(os.getpid()).items()}


async def _waits_of(cancelled: Awaitable[int]) -> int:
    """As a coroutine, since Python 3.12 makes a task of nothing else."""
    return await cancelled


@types.coroutine
def _cancelled(work: Coroutine[Any, Any, object], number: int, *, late: bool) -> Generator[Any, Any, int]:
    """Do something, cancelled at its wait of this number; how many there were."""
    task, waits = asyncio.current_task(), 0
    proceed: Callable[[], Any] = partial(work.send, None)
    while True:
        try:
            future = proceed()
        except StopIteration:
            return waits
        waits += 1
        if waits == number:
            if late and future is not None:
                future.add_done_callback(lambda _: task.cancel())
            else:
                asyncio.get_running_loop().call_soon(task.cancel)
        try:
            yield future
        except BaseException as error:
            proceed = partial(work.throw, error)
        else:
            proceed = partial(work.send, None)
