"""A session in a thread of its own, inside of another program's tuner: that program builds and times."""

from __future__ import annotations

import asyncio
import hashlib
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.sessions import KernelSessionSetup, begin_session
from tui_tuner.errors import SettingsError, UserError
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.results import Comparison, Evaluation
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.report import SessionOutcome
from tui_tuner.resources import VARIABLES
from tui_tuner.session import events
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies import LLM_SEARCH
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


_CHOICES = ("llm", "search", "max_evaluations", "seed")


@dataclass(frozen=True)
class EmbeddedChoices:
    """Choices; None leaves one to the settings, the place of runs to `TUNER_TUI_RUN_DIR`.

    Attributes:
        llm: as of `--llm`; "none" for no model.
        search: method of the search, as of `--search`.
        max_evaluations: configurations evaluated at most.
        seed: of every random choice.
        run_dir: directory of the runs; a kernel with the same arguments finds its run there again and goes on with it.
    """

    llm: str | None = None
    search: str | None = None
    max_evaluations: int | None = None
    seed: int | None = None
    run_dir: str | Path | None = None

    def options(self, settings: SessionOptions) -> SessionOptions:
        """The session's options.

        Raises:
            SettingsError: a value is out of its range.
        """
        given = {name: value for name in _CHOICES if (value := getattr(self, name)) is not None}
        try:
            return SessionOptions.model_validate({**settings.model_dump(), "strategy": LLM_SEARCH, **given})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise SettingsError(f"{first['loc'][0]}: {first['msg'].lower()}") from None

    def place(self, written: Written) -> Path | None:
        """Where the run of a problem is; None for a new place in `tuner-runs`."""
        directory = self.run_dir or os.environ.get(f"{VARIABLES}RUN_DIR")
        if not directory:
            return None
        content = f"{written.text}\n{written.problem.source_text}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        return Path(directory) / f"{written.problem.kernel.name}-{digest}"


QUIET_S = 0.1
"""A batch is complete when for so long no further evaluation was asked for, seconds."""


@dataclass(frozen=True)
class EmbeddedStart:
    """Somebody waits for the device and the kernel as given."""

    answer: Future[MachineReport] = field(default_factory=Future)


@dataclass(frozen=True)
class EmbeddedEvaluation:
    """Somebody waits for an evaluation."""

    candidate: Candidate
    configuration: Configuration
    answer: Future[Evaluation] = field(default_factory=Future)


@dataclass(frozen=True)
class EmbeddedComparison:
    """Somebody waits for a comparison."""

    incumbent: Configuration
    challenger: Configuration
    delta: float
    answer: Future[Comparison] = field(default_factory=Future)


EmbeddedRequest = EmbeddedStart | EmbeddedEvaluation | EmbeddedComparison


class BatchingEvaluator:
    """Implements `tui_tuner.evaluate.evaluator.Evaluator`; another thread does the work, a batch at a time."""

    doing = ""

    def __init__(self) -> None:
        self._asked: queue.Queue[EmbeddedRequest | None] = queue.Queue()
        self._next: EmbeddedRequest | None = None

    async def sized_problem(self) -> Problem | None:
        """None: a model cannot propose other arguments than those that the kernel was called with."""
        return None

    async def start(self, proposed: Sequence[Test] = ()) -> MachineReport:
        """The device and the kernel as given."""
        asked = EmbeddedStart()
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    def news(self) -> Sequence[str]:
        """Nothing: what the autotuner loses it tells itself."""
        return ()

    async def evaluate(self, candidate: Candidate, configuration: Configuration, best_ms: float | None) -> Evaluation:
        """Build, check and time one configuration."""
        asked = EmbeddedEvaluation(candidate, configuration)
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def compare(
        self,
        incumbent: tuple[Candidate, Configuration],
        challenger: tuple[Candidate, Configuration],
        delta: float,
        *,
        thorough: bool = False,
    ) -> Comparison:
        """Time two configurations, interleaved."""
        asked = EmbeddedComparison(incumbent[1], challenger[1], delta)
        self._asked.put(asked)
        return await asyncio.wrap_future(asked.answer)

    async def profile(self, candidate: Candidate, configuration: Configuration) -> Profile:
        """Nothing: the other program measures, and nothing else."""
        return NO_PROFILE

    async def close(self) -> None:
        """Do nothing: the device is the other program's."""

    def end(self) -> None:
        """Nobody will ask any more."""
        self._asked.put(None)

    def next_batch(self) -> Sequence[EmbeddedRequest] | None:
        """Wait for what is asked next: one start or comparison, or many evaluations; None at the end."""
        first = self._next or self._asked.get()
        self._next = None
        if not isinstance(first, EmbeddedEvaluation):
            return None if first is None else [first]
        batch: list[EmbeddedRequest] = [first]
        while True:
            try:
                asked = self._asked.get(timeout=QUIET_S)
            except queue.Empty:
                return _wanted(batch)
            if not isinstance(asked, EmbeddedEvaluation):
                self._keep(asked)
                return _wanted(batch)
            batch.append(asked)

    def _keep(self, asked: EmbeddedRequest | None) -> None:
        if asked is None:
            self.end()
        self._next = asked


def _wanted(batch: Sequence[EmbeddedRequest]) -> list[EmbeddedRequest]:
    """What is still waited for."""
    return [asked for asked in batch if asked.answer.set_running_or_notify_cancel()]
