"""The evaluator of a session, started only when something must really be evaluated."""

from __future__ import annotations

import asyncio
import hashlib
from functools import cached_property
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.evaluate.evaluator import Evaluator, Started
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.problem.model import Problem
from tui_tuner.session.recall import Recall


class Machine:
    """The device as the journal knows it, and the live evaluator behind it.

    Args:
        evaluator: None in a replay, which needs no device.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator | None, recall: Recall) -> None:
        self._given_problem = problem
        self._evaluator = evaluator
        self._recall = recall
        self._live = False
        self._lock = asyncio.Lock()
        self._started: Started | None = None

    async def start(self) -> Started:
        """The device and the kernel as given, measured once and recorded."""
        result = await self._recall.once("device", {}, self._start_live)
        self._started = Started(
            device=DeviceInfo.model_validate(result["device"]),
            sandbox=result["sandbox"],
            note=result["note"],
            given=Evaluation.model_validate(result["given"]),
        )
        return self._started

    @property
    def started(self) -> Started:
        """What `start` found."""
        if self._started is None:
            raise RuntimeError("the machine is not started")
        return self._started

    @property
    def device(self) -> DeviceInfo:
        """The device."""
        return self.started.device

    @property
    def problem(self) -> Problem:
        """The problem at the sizes that this device is tuned for."""
        return self._given_problem.on_emulator() if self.device.kind == "emulator" else self._given_problem

    @cached_property
    def context(self) -> dict[str, Any]:
        """What determines an evaluation beside candidate and configuration."""
        problem = self.problem.model_dump_json(exclude={"source_text", "directory", "tunables", "search", "defaults"})
        device = self.device
        return {
            "problem": hashlib.sha256(problem.encode()).hexdigest()[:16],
            "device": [device.kind, device.name, device.architecture, device.toolchain],
        }

    async def evaluator(self) -> Evaluator:
        """The live evaluator, started at the first call of a resumed session.

        Raises:
            JournalError: this machine is not the one that the journal's results come from.
        """
        if self._evaluator is None:
            raise RuntimeError("a replay evaluates nothing")
        async with self._lock:
            if not self._live:
                await self._resume_on(self._evaluator)
        return self._evaluator

    async def close(self) -> None:
        """Give the device back."""
        if self._evaluator is not None:
            await self._evaluator.close()

    async def _start_live(self) -> dict[str, Any]:
        if self._evaluator is None:
            raise RuntimeError("a replay evaluates nothing")
        started = await self._evaluator.start()
        self._live = True
        return {
            "device": started.device.model_dump(mode="json"),
            "sandbox": started.sandbox,
            "note": started.note,
            "given": started.given.model_dump(mode="json"),
        }

    async def _resume_on(self, evaluator: Evaluator) -> None:
        here = (await evaluator.start()).device
        then = self.device
        if (here.kind, here.name, here.toolchain) != (then.kind, then.name, then.toolchain):
            raise JournalError(
                f"the run was measured on {then.name} with {then.toolchain}; here is {here.name} with {here.toolchain}",
                hint="resume it there, or begin a new run here: times of two machines cannot be compared",
            )
        self._live = True
