from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from tui_tuner.search.connection import SearchProcess


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def process() -> AsyncIterator[SearchProcess]:
    """What the searches of all tests run in, one after another: its libraries take a second to load."""
    process = SearchProcess()
    yield process
    await process.close()
