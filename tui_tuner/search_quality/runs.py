"""One run of a search on a data set: what its evaluations gave, in their order.

Every search begins with the default configuration, as a session does, and that counts as its first evaluation; plain
random sampling has no beginning.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from tui_tuner.errors import SettingsError, UserError
from tui_tuner.search.client import SearchClient
from tui_tuner.search.methods import METHODS, method_named
from tui_tuner.search_quality.data_sets import load
from tui_tuner.search_quality.session_runs import found_by_session
from tui_tuner.search_quality.tasks import Run, Task
from tui_tuner.strategies.parameters.methods import MODEL_METHODS

RANDOM = "random"
"""Sampling without replacement and without a start: what the score's baseline expects."""


def check_strategy(name: str, llm: str | None) -> None:
    """Whether there is a strategy of this name, and a model if it needs one.

    Raises:
        SettingsError: there is not.
    """
    if name in MODEL_METHODS:
        if llm is None or llm.strip().lower() == "none":
            raise SettingsError(f"the strategy '{name}' needs a model", hint="name it: --llm PROVIDER:MODEL")
    elif name != RANDOM:
        try:
            method_named(name)
        except SettingsError as error:
            known = ", ".join([RANDOM, *METHODS, *MODEL_METHODS])
            raise SettingsError(error.message, hint=f"strategies: {known}, or all without a model: all") from None


def carry_out(task: Task) -> Run:
    """Run a task to its end; what fails is told in the result, so that others go on."""
    began = time.monotonic()
    try:
        run = Run(task, tuple(asyncio.run(_found(task))))
    except UserError as error:
        run = Run(task, failure=str(error))
    except Exception as error:  # one search that breaks ends no benchmark
        run = Run(task, failure=f"{type(error).__name__}: {error}")
    return replace(run, seconds=time.monotonic() - began)


async def _found(task: Task) -> list[float | None]:
    return await (found_by_session(task) if task.strategy in MODEL_METHODS else _by_method(task))


async def _by_method(task: Task) -> list[float | None]:
    """What a method without a model finds when its questions are looked up."""
    data = load(task.data)
    is_random = task.strategy == RANDOM
    found: list[float | None] = []
    async with SearchClient(
        data.space,
        max_evaluations=task.evaluations,
        method="random_sample" if is_random else task.strategy,
        seed=task.seed,
        start=None if is_random else data.problem.default_configuration,
    ) as search:
        async for batch in search:
            times = [data.time(configuration) for configuration in batch]
            found += times
            await search.tell(times)
    return found
