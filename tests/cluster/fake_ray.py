"""Ray as far as the program uses it, in this very process: workers are objects, and one that is killed is gone."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class ActorDiedError(RayError):
    pass


class Reference:
    def __init__(self, coroutine: Coroutine[Any, Any, bytes] | None) -> None:
        self._future: concurrent.futures.Future[bytes] = concurrent.futures.Future()
        self.task = None if coroutine is None else asyncio.ensure_future(coroutine)
        if self.task is not None:
            self.task.add_done_callback(self._ended)

    def future(self) -> concurrent.futures.Future[bytes]:
        return self._future

    def fail(self, error: Exception) -> None:
        if not self._future.done():
            self._future.set_exception(error)

    def _ended(self, task: asyncio.Task[bytes]) -> None:
        if self._future.done():
            return
        if task.cancelled():
            self.fail(RayError("cancelled"))
        elif task.exception() is not None:
            self.fail(RayTaskError(repr(task.exception())))
        else:
            self._future.set_result(task.result())


class Actor:
    """A handle; its methods are as those of the worker, with `remote` behind."""

    def __init__(self, worker: Any, options: dict[str, Any]) -> None:
        self.worker = worker
        self.options = options
        self.is_dead = False
        self.under_way: list[Reference] = []
        self.before: Callable[[str], None] = lambda _: None

    def __getattr__(self, verb: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._call(verb, *arguments))

    def _call(self, verb: str, *arguments: bytes) -> Reference:
        assert all(type(argument) is bytes for argument in arguments), "nothing but bytes is handed to Ray"
        self.before(verb)
        reference = Reference(None if self.is_dead else getattr(self.worker, verb)(*arguments))
        if self.is_dead:
            reference.fail(ActorDiedError("The actor died unexpectedly."))
        self.under_way.append(reference)
        return reference

    def die(self) -> None:
        self.is_dead = True
        for reference in self.under_way:
            reference.fail(ActorDiedError("The actor died unexpectedly."))
            if reference.task is not None:
                reference.task.cancel()


class FakeRay:
    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self.actors: list[Actor] = []
        self.killed: list[Actor] = []
        self.cancelled: list[Reference] = []

    def is_initialized(self) -> bool:
        return True

    def nodes(self) -> list[dict[str, Any]]:
        return [*self._nodes]

    def remote(self, worker: type) -> Any:
        def options(**wanted: Any) -> Any:
            def remote() -> Actor:
                self.actors.append(Actor(worker(), wanted))
                return self.actors[-1]

            return SimpleNamespace(remote=remote)

        return SimpleNamespace(options=options)

    def kill(self, actor: Actor) -> None:
        self.killed.append(actor)

    def cancel(self, reference: Reference) -> None:
        self.cancelled.append(reference)
        if reference.task is not None:
            reference.task.cancel()


def node(name: str, *, alive: bool = True, **resources: float) -> dict[str, Any]:
    return {
        "NodeID": f"id-{name}",
        "Alive": alive,
        "NodeManagerHostname": name,
        "NodeManagerAddress": "10.0.0.1",
        "Resources": resources,
    }
