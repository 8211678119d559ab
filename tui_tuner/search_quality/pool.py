"""Many runs side by side, each in one of a few processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from tui_tuner.search_quality.runs import carry_out
from tui_tuner.search_quality.tasks import Run, Task


def run_all(tasks: Sequence[Task], jobs: int) -> Iterator[Run]:
    """The runs as they come to their end, in any order; with one job in this very process."""
    if jobs == 1:
        yield from map(carry_out, tasks)
        return
    executor = ProcessPoolExecutor(min(jobs, len(tasks) or 1), multiprocessing.get_context("spawn"))
    try:
        futures = {executor.submit(carry_out, task): task for task in tasks}
        for future in as_completed(futures):
            yield _result(future, futures[future])
    finally:
        executor.shutdown(cancel_futures=True)


def _result(future: Future[Run], task: Task) -> Run:
    try:
        return future.result()
    except BrokenProcessPool:
        return Run(task, failure="the process that ran it died")
