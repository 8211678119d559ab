"""Child program of searches: `python -m tui_tuner.search.process PARENT SOCKET`, JSON lines over an inherited socket.

In: `{"load": method}`, which has no answer, or a job, then `{"tell": [{"time": ms} | {"error": ""} ...]}` for each ask.
To the surrogate a tell may be shorter than what it asked for, and have `"others": [[configuration, ms | null] ...]`.
Out: `{"ask": [position or configuration ...], "unfinished": N}` until `{"done": reason}` or `{"failed": message}`; then
the next job. What is unfinished of what the surrogate asked for, N at most, it asks for again.
The standard streams carry nothing but what kernel_tuner prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tui_tuner.processes import UNUSED_BY_KERNEL_TUNER, without_packages
from tui_tuner.processes.parent import die_with_parent
from tui_tuner.search import SURROGATE

if TYPE_CHECKING:
    from tui_tuner.problem.model import Configuration
    from tui_tuner.search.surrogate import Times


def main() -> None:
    """Search as the parent asks, and not longer than it lives."""
    die_with_parent(int(sys.argv[1]))
    parent = Parent(socket.socket(fileno=int(sys.argv[2])))
    try:
        while True:
            _serve_one(parent)
    except ParentGoneError:
        os._exit(1)


def _serve_one(parent: Parent) -> None:
    job = parent.receive()
    try:
        if "load" in job:
            _load(job["load"])
            return
        reason = _search(job, parent)
    except ParentGoneError:
        raise
    except Exception as error:
        traceback.print_exc()
        parent.send({"failed": f"{type(error).__name__}: {error}"})
    else:
        parent.send({"done": reason})


class ParentGoneError(Exception):
    """The other end of the socket is closed."""


class Parent:
    """The process at the other end, which gives jobs and answers with times."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile()

    def receive(self) -> dict[str, Any]:
        """Wait for one message."""
        line = self._lines.readline()
        if not line:
            raise ParentGoneError
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        try:
            self._connection.sendall(json.dumps(message).encode() + b"\n")
        except ConnectionError as error:
            raise ParentGoneError from error

    def ask(self, wanted: Sequence[object]) -> list[float | None]:
        """The times of positions or configurations, ms; None for failures."""
        return _times(self.asked(wanted))

    def asked(self, wanted: Sequence[object], unfinished: int = 0) -> dict[str, Any]:
        """The whole answer to a question for times.

        Args:
            unfinished: how many of them need no time yet.
        """
        self.send({"ask": wanted, "unfinished": unfinished})
        return self.receive()


def _times(answer: dict[str, Any]) -> list[float | None]:
    return [one.get("time") for one in answer["tell"]]


def _search(job: dict[str, Any], parent: Parent) -> str:
    return _by_surrogate(job, parent) if job["method"] == SURROGATE else _by_kernel_tuner(job, parent)


def _load(method: str) -> None:
    """Import what a method needs; where that fails, the search itself reports it.

    SciPy, half a second of a processor, the surrogate loads itself while its first choices are evaluated: of few
    evaluations or a small space it is never asked for.
    """
    needed = "surrogate" if method == SURROGATE else "kernel_tuner_strategy"
    with contextlib.suppress(ImportError), without_packages(UNUSED_BY_KERNEL_TUNER):
        import_module(f"tui_tuner.search.{needed}")


def _by_surrogate(job: dict[str, Any], parent: Parent) -> str:
    from tui_tuner.problem.space import SearchSpace
    from tui_tuner.search.surrogate import (
        SurrogateJob,
        run,  # SciPy takes its time to import
    )

    def measured(wanted: list[Configuration], unfinished: int) -> Times:
        answer = parent.asked(wanted, unfinished)
        others = [(configuration, time) for configuration, time in answer["others"]]
        return [*zip(wanted, _times(answer), strict=False), *others]

    del job["method"]
    return run(SurrogateJob(space=SearchSpace.from_description(job.pop("space")), **job), measured)


def _by_kernel_tuner(job: dict[str, Any], parent: Parent) -> str:
    with without_packages(UNUSED_BY_KERNEL_TUNER):
        from tui_tuner.search.kernel_tuner_strategy import (
            StrategyJob,
            run,
            seed_everything,  # kernel_tuner takes its time to import
        )

    seed_everything(job.pop("seed"), job["method"])
    points = [tuple(point) for point in job.pop("points")]
    return run(StrategyJob(points=points, **job), parent.ask)


if __name__ == "__main__":
    main()
