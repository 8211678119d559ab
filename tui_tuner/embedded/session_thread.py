"""A session in a thread of its own, for a caller that has no event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.sessions import KernelSessionSetup, begin_session
from tui_tuner.embedded.batches import BatchingEvaluator
from tui_tuner.errors import UserError
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.in_python import Written
from tui_tuner.report.result import SessionOutcome
from tui_tuner.session import events
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.text import clean

Tell = Callable[[str], None]


class SessionThread:
    """Runs a session to its end; a run of the same problem that is at its place already is gone on with.

    Args:
        evaluator: what the session evaluates with; it is told when the session is at its end.
        tell: is given a line for each thing that people should know.
    """

    def __init__(
        self,
        written: Written,
        options: SessionOptions,
        settings: Settings,
        place: Path | None,
        evaluator: BatchingEvaluator,
        tell: Tell,
    ) -> None:
        self._written = written
        self._options = options
        self._settings = settings
        self._place = place
        self._evaluator = evaluator
        self._tell = tell
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[SessionOutcome] | None = None
        self._outcome: SessionOutcome | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tuner-tui session", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Interrupt the session, which leaves the run resumable, and wait for its end."""
        if self._loop is not None and self._task is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()

    def result(self) -> SessionOutcome:
        """Wait for the end; the outcome.

        Raises:
            UserError: something that the user must mend.
        """
        self._thread.join()
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise UserError("the session was interrupted", hint="call the kernel again to go on with the run")
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = asyncio.run(self._tuned())
        except asyncio.CancelledError:
            self._outcome = None
        except BaseException as error:  # raised again where the result is asked for
            self._error = error
        finally:
            self._evaluator.end()

    async def _tuned(self) -> SessionOutcome:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        given = GivenObjects(evaluator=self._evaluator)
        prepared = await begin_session(
            self._written, self._options, self._settings, self._place, given=given, go_on=True
        )
        for note in prepared.notes:
            self._tell(clean(note))
        self._tell(f"run directory: {prepared.run.path}")
        try:
            return await self._followed(prepared)
        except UserError:
            prepared.forget_if_empty()
            raise

    async def _followed(self, prepared: KernelSessionSetup) -> SessionOutcome:
        finished: events.SessionFinished | None = None
        async with aclosing(prepared.session.events(ApproveAll())) as stream:
            async for event in stream:
                if isinstance(event, events.SessionFinished):
                    finished = event
                elif isinstance(event, events.Note):
                    self._tell(clean(event.text))
        if finished is None or finished.result is None:
            raise UserError("the session ended without a result")
        return SessionOutcome.model_validate_json(Path(finished.result).read_text(encoding="utf-8"))
