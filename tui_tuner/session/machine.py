"""The evaluator and the search process of a session, started only when something must really be done."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from pydantic import TypeAdapter

from tui_tuner.errors import JournalError
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.evaluator import Evaluator, MachineReport
from tui_tuner.evaluate.recorded import packed, unpacked
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.journal.recall import Recall, RecordEnds
from tui_tuner.problem.model import Problem, Test
from tui_tuner.search.connection import SearchProcess

_OF_NO_EVALUATION = {"source_text", "directory", "tunables", "search", "defaults", "steps", "library"}
"""What a problem says that no result depends on, or only by way of candidate and configuration."""

_REPORT = TypeAdapter(MachineReport)
_ALWAYS_TOLD = {"device", "sandbox", "note", "given", "tests", "dropped"}
"""What of a report is recorded though it be empty."""
NEWS_S = 1.0
"""How often is looked what happens to devices."""
LONG_S = 10.0
"""Silence that people wonder about."""
Outcome = TypeVar("Outcome")


class Machine:
    """The device as the journal knows it, and the live evaluator behind it.

    Args:
        evaluator: None in a replay, which needs no device.
        warn: takes what happens to devices, a line at a time.
        note: takes what a device is at, where that takes long.

    Attributes:
        search_process: what its searches run in, one after another.
    """

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator | None,
        recall: Recall,
        warn: Callable[[str], None] = lambda _: None,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._warn, self._note = warn, note
        self._given_problem = problem
        self._evaluator = evaluator
        self._recall = recall
        self.search_process = SearchProcess()
        self._live = False
        self._lock = asyncio.Lock()
        self._started: MachineReport | None = None

    async def sized(self) -> Problem | None:
        """The problem at the sizes of the device, known without taking it; None where that is not known.

        Raises:
            UserError: there is no such device.
        """
        recorded = self._recall.recorded("device", {})
        if recorded is not None:
            return self._sized(recorded["device"]["kind"])
        return await self._have_evaluator().sized_problem() if self._recall.writable else None

    async def untested(self) -> Problem | None:
        """The problem at the sizes of the device, if tests can be proposed for it before `start`.

        None where it has tests of its own, where nothing is verified, and where the session began in a version
        that proposed none.

        Raises:
            RecordEnds: this is a replay, and the session did not come to its start.
        """
        recorded = self._recall.recorded("device", {})
        if recorded is not None:
            problem = None
            if "tests" in recorded and "members" not in recorded and self._given_problem.is_compiled:
                problem = self._sized(recorded["device"]["kind"])
        else:
            if not self._recall.writable:
                raise RecordEnds
            problem = await self._have_evaluator().sized_problem()
        return None if problem is None or problem.tests else problem

    async def start(self, proposed: Sequence[Test] = (), *, method: str | None = None) -> MachineReport:
        """The device and the kernel as given, measured once and recorded.

        Args:
            proposed: tests for a problem that has none; those that can be used are in force from now on.
            method: of the search that comes next: its libraries are loaded meanwhile.
        """
        result = await self._recall.once("device", {}, lambda: self._start_live(proposed, method))
        report = _REPORT.validate_python({name: value for name, value in result.items() if name != "members"})
        if "members" in result:
            report = replace(report, members=unpacked(result["members"], self._given_problem.tunables))
        self._started = report
        return report

    @property
    def started(self) -> MachineReport:
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
        """The problem at the sizes that this device is tuned for, with the tests in force."""
        problem = self._sized(self.device.kind)
        return problem.with_tests(self.started.tests) if self.started.tests else problem

    @cached_property
    def context(self) -> dict[str, Any]:
        """What determines an evaluation beside candidate and configuration."""
        problem = self.problem.model_dump_json(exclude=_OF_NO_EVALUATION)
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
        evaluator = self._have_evaluator()
        async with self._lock:
            if not self._live:
                await self._resume_on(evaluator)
        return evaluator

    async def watched(self, work: Awaitable[Outcome], *, alone: bool = True, beside: str = "") -> Outcome:
        """What the evaluator does, the user being told meanwhile what happens to devices.

        Args:
            alone: whether nothing else is done beside it, so that what the device is at is told where it takes long.
            beside: what takes long where the device is at nothing.
        """
        telling = [asyncio.ensure_future(self._tell_news())]
        if alone:
            telling.append(asyncio.ensure_future(self._tell_what_takes_long(beside)))
        try:
            return await work
        finally:
            for task in telling:
                task.cancel()
            self._pass_news_on()

    async def _tell_news(self) -> None:
        while True:
            await asyncio.sleep(NEWS_S)
            self._pass_news_on()

    def _pass_news_on(self) -> None:
        for text in self._have_evaluator().news():
            self._warn(text)

    async def _tell_what_takes_long(self, beside: str) -> None:
        while True:
            await asyncio.sleep(LONG_S)
            if doing := self._have_evaluator().doing or beside:
                self._note(f"still at it: {doing}")

    async def close(self) -> None:
        """Give the device back, and end what runs."""
        try:
            await self.search_process.close()
        finally:
            if self._evaluator is not None:
                await self._evaluator.close()

    def _have_evaluator(self) -> Evaluator:
        if self._evaluator is None:
            raise RuntimeError("a replay evaluates nothing")
        return self._evaluator

    def _sized(self, kind: str) -> Problem:
        return kind_named(kind).sized(self._given_problem)

    async def _start_live(self, proposed: Sequence[Test], method: str | None) -> dict[str, Any]:
        if method is not None:
            await self.search_process.load(method)
        started = await self.watched(self._have_evaluator().start(proposed))
        self._live = True
        left_out = {"members"} if len(started.devices) > 1 else {"members", "devices", "jobs"}
        told = _REPORT.dump_python(started, mode="json", exclude=left_out)
        told = {name: value for name, value in told.items() if value or name in _ALWAYS_TOLD}
        if started.members is not None:
            told["members"] = packed(started.members, self._given_problem.tunables)
        return told

    async def _resume_on(self, evaluator: Evaluator) -> None:
        started = await self.watched(evaluator.start(self.started.tests))
        here, then = started.device, self.device
        if (here.kind, here.name, here.toolchain) != (then.kind, then.name, then.toolchain):
            raise JournalError(
                f"the run was measured on {then.name} with {then.toolchain}; here is {here.name} with {here.toolchain}",
                hint="resume it there, or begin a new run here: times of two machines cannot be compared",
            )
        if started.tests != self.started.tests:
            raise JournalError(
                f"the kernel as given no longer passes a test of this run: {'; '.join(started.dropped)}",
                hint="begin a new run: candidates of this one were verified there",
            )
        self._live = True
