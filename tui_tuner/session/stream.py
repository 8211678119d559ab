"""What every kind of session is made of, and its story as one stream of events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from tui_tuner.errors import MachineError, UserError, machine_faults
from tui_tuner.journal import Journal
from tui_tuner.journal.recall import Recall, RecordEnds, SessionClock
from tui_tuner.llm import Backend
from tui_tuner.log import fields
from tui_tuner.prompts import WORDING
from tui_tuner.session.beside import Pairs, Questions, SideRequests
from tui_tuner.session.budget import Budget, limits_of
from tui_tuner.session.controls import AtOnce, Controls, RaiseBudget
from tui_tuner.session.conversation import Conversation, Models
from tui_tuner.session.events import Event, Note, SessionFinished, SessionStarted
from tui_tuner.session.live import LiveRun
from tui_tuner.session.plan import Ask, Compare, Inbox, Instruction, Withdraw
from tui_tuner.session_options import SessionOptions
from tui_tuner.strategies.steps import Approver, Factor, Helper
from tui_tuner.subjects import Source, Subject

_LOG = logging.getLogger(__name__)
HELD_S = 600.0
"""So long a device is kept after the end, and after each comparison then."""
SessionStatus = Literal["finished", "no_improvement", "failed", "interrupted"]


class KeptRun(Protocol):
    """Where a session is kept, and what its user chose."""

    @property
    def path(self) -> Path:
        """The run's directory."""

    @property
    def journal(self) -> Journal:
        """The run's journal."""

    @property
    def options(self) -> SessionOptions:
        """What all sessions have in common."""

    @property
    def model(self) -> str | None:
        """Name of the model, None where there is none."""


def _log(event: Event) -> None:
    """Put an event into the log: what the user is told, beginning and end; of the others that they were."""
    match event:
        case Note():
            _LOG.log(logging.WARNING if event.level == "warning" else logging.INFO, event.text)
        case SessionStarted() | SessionFinished():
            _LOG.info(event.type, extra=fields(**event.model_dump(mode="json", exclude={"baseline", "type"})))
        case _ if not event.transient and _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug(str(getattr(event, "type", "event")), extra=fields(elapsed=event.elapsed))


class EventStream(ABC):
    """A session: what drives it runs in a task of its own, and ends with whoever listens.

    Args:
        kept: where it is kept.
        backend: None where there is no model, and in a replay.
        max_tokens: limit of each reply.
        title: a few words for the terminal's title.
        models: makes another model by its name; None where none can be had.

    Attributes:
        stays: whether who listens wants to compare more once it is over, until they listen no more.
        keeps_device: whether it is over and the device stays taken for that.
    """

    seen_as: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, kept: KeptRun, backend: Backend | None, max_tokens: int, title: str, models: Models | None = None
    ) -> None:
        self.title = title
        self.stays = self.keeps_device = False
        self._kept = kept
        journal = kept.journal
        self._resumed = journal.writable and bool(journal.records)
        is_reworded = journal.header.get("wording", WORDING) != WORDING
        self._recall = Recall(journal, SessionClock(journal.last_elapsed), is_reworded=is_reworded)
        self._budget = Budget(kept.options)
        self._controls = Controls(self._recall, self._budget, self._emit)
        self._conversation = Conversation(
            backend,
            self._recall,
            self._budget,
            self._emit,
            self._controls,
            max_tokens,
            models=models,
            required=kept.options.require_model,
        )
        self._inbox = Inbox(self._recall)
        self._budget.when_spent = self._inbox.raise_budget
        self._pairs = Pairs(self._recall, self._inbox, self._emit, kept.options.delta)
        self._questions = Questions(self._conversation, self._recall, self._budget, self._inbox, self._emit, max_tokens)
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._driven: asyncio.Task[None] | None = None
        self._live: LiveRun | None = None
        self._interruption = ""
        self._is_closed = False

    @property
    def _side_requests(self) -> tuple[SideRequests[Any], ...]:
        return self._questions, self._pairs

    @property
    @abstractmethod
    def subject(self) -> Subject:
        """What the session is about; names what shows it."""

    async def events(self, approver: Approver) -> AsyncGenerator[Event, None]:
        """Run while iterated; closing the iterator interrupts the session and leaves it resumable.

        Others may watch and answer, see `tui_tuner.session.live`, unless this is a replay.

        Raises:
            UserError: something that the user must mend; what was found stays in the journal.
        """
        self._conversation.helper = approver if isinstance(approver, Helper) else None
        if self._kept.journal.writable:
            approver = self._live = LiveRun(self._kept.path, approver, self.tell)
            self._live.open()
            if self._conversation.helper is not None:
                self._conversation.helper = self._live
        self._driven = task = asyncio.create_task(self._drive(approver))
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while (event := await self._queue.get()) is not None:
                yield event
            await task
            async with aclosing(self._after_the_end()) as rest:
                async for event in rest:
                    yield event
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
            for beside in self._side_requests:
                await beside.close()
            if self._live is not None:
                self._live.close()
            self._is_closed = True
            await self._close()

    def interrupt(self, reason: str) -> None:
        """End the session where it is, resumable; its last event says so, and `events` ends after it."""
        if self._driven is not None:
            self._interruption = reason
            self._driven.cancel()

    def tell(self, instruction: Instruction) -> bool:
        """Take what the user says at any time: a question or words for the model, changes of the plan, controls.

        Returns:
            False if the session is a replay, which nobody can change.
        """
        if isinstance(instruction, AtOnce):
            if self._recall.writable:
                self._controls.act(instruction)
            return self._recall.writable
        if isinstance(instruction, RaiseBudget) and self._recall.writable:
            self._budget.announce(instruction.max_seconds)
        if isinstance(instruction, Ask):
            return self._questions.ask(instruction)
        if isinstance(instruction, Withdraw):
            return self._questions.withdraw()
        if isinstance(instruction, Compare):
            return not self._is_closed and self._pairs.ask(instruction)
        return self._inbox.tell(instruction)

    def allow(self, wanted: SessionOptions) -> None:
        """Raise the budget to what is wanted, where the recorded one is spent or something new begins.

        What was done with the recorded budget stays as it is: with shares of a larger one it would be done anew.
        """
        recorded = Budget(self._kept.options)
        for told in self._inbox.recorded_raises:
            recorded.raise_to(**told.limits)
        if higher := recorded.higher(**limits_of(wanted)):
            self.tell(RaiseBudget.model_validate(higher))

    async def _after_the_end(self) -> AsyncGenerator[Event, None]:
        """What is still compared: the device stays taken as long as somebody listens, and not longer than `HELD_S`."""
        if not (self.stays and self._pairs.are_possible and self._recall.writable) or self._interruption:
            return
        if self._live is not None:
            self._live.close()
        self._recall.hold(True)  # the session's time is over
        self._recall.must_be_live()
        self._pairs.go_on()
        self.keeps_device = True
        try:
            with contextlib.suppress(TimeoutError):
                while (event := await self._next_held()) is not None:
                    yield event
        finally:
            self.keeps_device = False

    async def _next_held(self) -> Event | None:
        async with asyncio.timeout(HELD_S):
            return await self._queue.get()

    @property
    def paused(self) -> bool:
        """Whether the user holds it."""
        return self._controls.paused

    def _emit(self, event: Event) -> None:
        event = event.model_copy(update={"elapsed": round(self._recall.elapsed, 3)})
        _log(event)
        self._queue.put_nowait(event)
        if self._live is not None:
            self._live.publish(event)
        self._questions.hear(event)
        for beside in self._side_requests:
            beside.go_on()

    async def _drive(self, approver: Approver) -> None:
        self._emit(self._started())
        try:
            with machine_faults():
                await self._tune(approver)
        except RecordEnds:
            self._emit(self._interrupted("the record ends here"))
        except asyncio.CancelledError:
            self._emit(self._interrupted(self._interruption or "left by the user"))
            if not self._interruption:
                raise
        except MachineError as error:
            way_out = f"{error.hint}, then resume the run: it goes on where it stopped" if error.hint else ""
            self._emit(Note(level="warning", text=f"{error.message}: no candidate is to blame. {way_out}".strip()))
            self._emit(self._interrupted(error.message))
        except UserError as error:
            self._emit(self._finished("failed", error.message))
            raise

    @abstractmethod
    def _started(self) -> SessionStarted:
        """The first event; see `_begun`."""

    @abstractmethod
    async def _tune(self, approver: Approver) -> None:
        """Run the session to its end."""

    def _interrupted(self, reason: str) -> SessionFinished:
        """The last event of a session that is ended from outside, once what it found is on disk."""
        return self._finished("interrupted", reason)

    async def _close(self) -> None:
        """Give back what the session holds."""
        try:
            await self._conversation.aclose()
        finally:
            self._kept.journal.close()

    def _begun(self, kernel: str, language: str, strategy: str, baseline: Source) -> SessionStarted:
        """The first event of a session about this."""
        kept = self._kept
        return SessionStarted(
            run=str(kept.path),
            directory=str(kept.path),
            kernel=kernel,
            language=language,
            strategy=strategy,
            model=kept.model,
            seed=kept.options.seed,
            baseline=baseline,
            max_evaluations=kept.options.max_evaluations,
            max_calls=kept.options.max_calls,
            max_seconds=kept.options.max_seconds,
            max_cost=kept.options.max_cost,
            resumed=self._resumed,
        )

    def _finished(
        self,
        status: SessionStatus,
        reason: str,
        *,
        speedup: Factor | None = None,
        times: tuple[float, float] | None = None,
        confirmed: bool = True,
        result: str | None = None,
    ) -> SessionFinished:
        """The last event, with what was spent."""
        return SessionFinished(
            status=status,
            reason=reason,
            evaluations=self._budget.evaluations,
            model_calls=self._budget.model_calls,
            cost=self._budget.cost,
            speedup=speedup,
            times=times,
            confirmed=confirmed,
            model_fault=self._conversation.fault,
            result=result,
        )
