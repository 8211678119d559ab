"""The effects of a session, each of them journaled: runs of Tensile, and what its own parser says."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from tui_tuner.errors import JournalError
from tui_tuner.journal.recall import Recall
from tui_tuner.session.budget import Budget
from tui_tuner.session.conversation import Conversation
from tui_tuner.session.events import Note
from tui_tuner.session.plan import Emit, Inbox, Plan
from tui_tuner.session.talk import Talk
from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.tensile.document import BenchmarkConfiguration, ProblemSizes
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged, text_of
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import FINALS, RoundOutcome, Winner, mean_gain
from tui_tuner.tensile.program import Acceptance, Verdict, check_installed
from tui_tuner.tensile.rehearsal import rehearse
from tui_tuner.tensile.run_directory import UNLIMITED, TensileOptions, TensileRun
from tui_tuner.tensile.several import measure_on_all

_FIRST = "installed_first"
"""Kind of the record of what the installed Tensile said before the first run."""


class TensileEffects(Talk):
    """The session as the rounds see it: awaited effects. Asked again with the same content, the journal answers.

    Args:
        bench: None in a replay.

    Attributes:
        given_refused: why the installed Tensile does not take the configuration as given; empty where it does.
    """

    def __init__(
        self,
        run: TensileRun,
        bench: TensileBench | None,
        recall: Recall,
        budget: Budget,
        conversation: Conversation,
        plan: Plan,
        inbox: Inbox,
        emit: Emit,
    ) -> None:
        super().__init__(conversation, plan, inbox, budget, emit)
        self._run = run
        self._bench = bench
        self._recall = recall
        self._told_not_asked = False
        self._gain = 1.0
        self.given_refused = ""

    @property
    def given(self) -> BenchmarkConfiguration:
        """The configuration as the user gave it."""
        return self._run.configuration

    @property
    def sizes(self) -> ProblemSizes | None:
        """The sizes of a file of their own, as the alternate format has it."""
        return self._run.sizes

    @property
    def options(self) -> TensileOptions:
        """The user's settings."""
        return self._run.settings

    @property
    def asks_again(self) -> bool:
        """Whether the user is asked again where their own version of the file cannot be used."""
        return self._run.asks_again

    @property
    def elapsed(self) -> float:
        """Seconds since the session began, as first recorded."""
        return self._recall.elapsed

    @property
    def permutations_left(self) -> int | None:
        """How many more may be measured; None for no limit."""
        unlimited = self._run.options.max_evaluations >= UNLIMITED
        return None if unlimited else self.budget.evaluations_left

    def take_words(self) -> None:
        """Begin to take what the user says."""
        self._open()

    def show_winners(self, number: int, winners: Sequence[Winner]) -> None:
        """Tell the best at every problem size, after a round."""
        self._gain = mean_gain(winners) or 1.0
        self._emit(WinnersChanged(round=number, winners=list(winners)))

    def _check_asking(self) -> None:
        self.budget.check_target(self._gain)

    async def start(self) -> dict[str, Any]:
        """Which Tensile measures; recorded once.

        Raises:
            JournalError: this is another one than the session began with.
        """

        async def live() -> dict[str, Any]:
            return self._here()

        recorded = await self._recall.once("tensile", {}, live)
        if self._bench is not None and self._here()["version"] != recorded["version"]:
            here, then = self._here()["version"] or "?", recorded["version"] or "?"
            raise JournalError(
                f"the session was measured with Tensile {then}; here is {here}",
                hint="name that one with --tensile, or begin a new session",
            )
        return recorded

    async def first_verdict(self) -> Verdict | None:
        """What the installed Tensile says of the configuration as given, and of its own parameters; recorded once.

        None where the session began before this was asked.
        """
        recorded = self._recall.known(_FIRST, {})
        if recorded is None and not self._recall.is_live:
            return None

        async def live() -> dict[str, Any]:
            run, tensile = self._run, self._have_bench().tensile
            verdict = await check_installed(tensile, run.configuration.text, run.sizes_text, table=True)
            return verdict.model_dump(mode="json")

        verdict = Verdict.model_validate(recorded or await self._recall.once(_FIRST, {}, live))
        self._tell_of(verdict, self._run.configuration)
        self.given_refused = _refused(verdict)
        return verdict

    def _have_bench(self) -> TensileBench:
        if self._bench is None:
            raise RuntimeError("a replay runs nothing")
        return self._bench

    def _here(self) -> dict[str, Any]:
        tensile = self._have_bench().tensile
        return {"program": tensile.program.name, "version": tensile.version}

    async def refusal(self, configuration: BenchmarkConfiguration) -> str:
        """Why the installed Tensile would not take a configuration; empty if it would, or cannot be asked."""
        content = {"text": _digest(configuration.text), "sizes": _digest(self._run.sizes_text or "")}
        verdict = await self._recall.once_as(
            Verdict,
            "installed",
            content,
            lambda: check_installed(self._have_bench().tensile, configuration.text, self._run.sizes_text),
        )
        self._tell_of(verdict, configuration)
        return _refused(verdict)

    async def rehearsal(self, configuration: BenchmarkConfiguration) -> RoundOutcome | None:
        """What Tensile makes of a configuration's permutations, before anything is built; recorded once.

        None where that is not asked, or the session was recorded before it was.
        """
        if not self._run.settings.rehearse:
            return None
        content = {"text": _digest(configuration.text), "sizes": _digest(self._run.sizes_text or "")}
        if self._recall.recorded("rehearsal", content) is None and not self._recall.is_live:
            return None
        return await self._recall.once_as(
            RoundOutcome, "rehearsal", content, lambda: rehearse(self._have_bench(), configuration)
        )

    async def starting_points(self, gpu: str, words: Callable[[], str]) -> str:
        """Where to begin on a GPU, computed once, so that prompts stay as they were; empty in older recordings."""
        kind, content = "starting_points", {"gpu": gpu}
        if self._recall.recorded(kind, content) is None and not self._recall.is_live:
            return ""

        async def live() -> dict[str, Any]:
            return {"words": await asyncio.to_thread(words)}

        return str((await self._recall.once(kind, content, live))["words"])

    def _tell_of(self, verdict: Verdict, configuration: BenchmarkConfiguration) -> None:
        if verdict.standing is Acceptance.NOT_ASKED and not self._told_not_asked:
            self._told_not_asked = True
            self._emit(Note(text=f"Tensile's own parser is not asked about edits: {verdict.message}"))
        ours = tuple(group.permutations for group in configuration.size_groups)
        if verdict.permutations and verdict.permutations != ours:
            text = f"Tensile itself counts {sum(verdict.permutations):,} permutations, this program {sum(ours):,}"
            self._emit(Note(level="warning", text=text))

    async def benchmark(self, number: int, configuration: BenchmarkConfiguration) -> RoundOutcome:
        """Let Tensile measure a configuration as this round; a failure is in the outcome and costs only this run.

        Raises:
            BudgetSpent: the budget allows no further run.
        """
        self._inbox.effect_begins()
        candidate = text_of(configuration).id
        started = BenchmarkStarted(
            round=number, candidate=candidate, permutations=configuration.permutations, sizes=configuration.sizes
        )
        content = {"round": number, "text": _digest(configuration.text), "sizes": _digest(self._run.sizes_text or "")}

        async def live() -> dict[str, Any]:
            stopped = self._stopped(configuration)
            if stopped:
                return {"stopped": stopped}
            self._emit(started)
            outcome = await self._measure(number, configuration)
            return outcome.model_dump(mode="json")

        result = self._recall.known("benchmark", content)
        if result is None:
            result = await self._recall.once("benchmark", content, live)
        elif "stopped" not in result:
            self._emit(started)
        if "stopped" in result:
            raise BudgetSpent(result["stopped"])
        outcome = RoundOutcome.model_validate(result)
        self.budget.book_evaluations(configuration.permutations)
        self._emit(BenchmarkFinished(round=number, candidate=candidate, outcome=outcome))
        for text in outcome.notes:
            self._emit(Note(level="warning", text=text))
        return outcome

    async def _measure(self, number: int, configuration: BenchmarkConfiguration) -> RoundOutcome:
        label = f"{number:02d}" if number < FINALS else f"finals-{number - FINALS + 1}"

        def tell(line: str) -> None:
            self._emit(BenchmarkOutput(round=number, text=line))

        directory = self._run.directory_of(label)
        try:
            return await measure_on_all(self._have_bench(), configuration, directory, tell)
        except OSError as error:
            hint = "make room or mend what is wrong there, then resume the run"
            raise JournalError(f"cannot be written: {error.strerror}", hint=hint, file=directory) from error

    def _stopped(self, configuration: BenchmarkConfiguration) -> str:
        """Why this run is not begun; empty if it may be."""
        left = self.budget.allowed_of(configuration.permutations)
        if configuration.permutations > left:
            return f"the run would measure {configuration.permutations:,} permutations, {left:,} are left"
        try:
            self.budget.check_time(self._recall.elapsed)
        except BudgetSpent as spent:
            return str(spent)
        return ""


def _refused(verdict: Verdict) -> str:
    return verdict.message if verdict.standing is Acceptance.REFUSED else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
