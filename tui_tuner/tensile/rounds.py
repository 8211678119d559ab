"""The rounds: benchmark, prompt, advice, edit, approval, benchmark; the best at every problem size is kept.

The published generator that this follows makes one shot and prints the whole file again; here a model names typed
operations, and is told what came of them.
"""

from __future__ import annotations

from tui_tuner.errors import ProblemError
from tui_tuner.strategies.base import BudgetSpent, ModelFailed
from tui_tuner.strategies.steps import EditedAgain, Step, StepState, as_wanted
from tui_tuner.tensile.document.judging import EditedConfiguration, EditLimits, apply_edits
from tui_tuner.tensile.document.reading import parse_configuration
from tui_tuner.tensile.effects import TensileEffects
from tui_tuner.tensile.events import ConfigurationText, text_of
from tui_tuner.tensile.history import Advice, History, MeasuredRound, edit_lines, faults
from tui_tuner.tensile.knowledge.known import Knowledge
from tui_tuner.tensile.knowledge.starting_points import starting_facts
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome, RunFailure, RunFailureKind
from tui_tuner.tensile.prompt import PromptContext, prompt
from tui_tuner.tensile.rehearsal import by_edit, counts, is_poor, is_refusal

_EXPLORE = "Choose a first space that is worth a run: the edits are carried out, then it is measured."
REDUCE = (
    "The configuration has {count:,} permutations, too many to measure: only {limit:,} are allowed. Reduce it to those "
    "that are most likely to hold the best for every problem size, and keep enough variety to learn from."
)
_TRIES = 2
"""Runs without a result from the first on, after which nothing more is tried; and advice that Tensile refuses."""
_EDIT_AGAIN = "Nothing is measured yet: {}. Edit it again, or skip the round."


class OwnUnusable(Exception):
    """The user's own version of the file cannot be measured; says why."""


class TensileRounds:
    """One session's rounds."""

    def __init__(self, session: TensileEffects, knowledge: Knowledge, noise: float | None) -> None:
        self._session = session
        self._knowledge = knowledge
        self._options = session.options
        self._limit = session.options.limit(session.given)
        self._flat = 0
        self._foreseen = ""
        self.history = History(session.given, knowledge.table.default, noise=noise)

    async def run(self) -> str:
        """Measure, ask and edit until it is enough.

        Returns:
            Why it ended.

        Raises:
            ModelFailed: the model gives no usable reply, and nothing was measured.
            BudgetSpent: the budget is spent; what is known is in the history.
        """
        await self._measure_given()
        reason = await self._until_enough()
        return self._without_results() or reason

    async def _until_enough(self) -> str:
        for number in range(1, self._options.max_rounds + 1):
            reason = await self._round(number)
            if reason:
                return reason
            if self._flat >= self._options.patience:
                return f"{self._flat} rounds without a gain"
        return _done(self._options.max_rounds)

    def _without_results(self) -> str:
        """Why no run gave results; empty if one did, or none was begun."""
        if self.history.first is not None or not self.history.rounds:
            return ""
        failure = self.history.rounds[-1].outcome.failure
        return "" if failure is None else f"no run gave results; the last one: {failure.message}"

    # --- the configuration as given

    async def _measure_given(self) -> None:
        given = self._session.given
        if not self._options.measure_given:
            return
        if given.permutations > self._limit:
            self._session.note(
                f"the configuration as given has {given.permutations:,} permutations, more than the {self._limit:,} "
                "allowed: it is reduced before it is measured"
            )
            return
        step = self._session.add_step("Benchmark the configuration as given")
        if self._session.given_refused:
            self._refused(step, self._session.given_refused)
            return
        step = self._session.update_step(step.now(StepState.RUNNING))
        added = await self._measured(0, EditedConfiguration(given), step)
        failure = added.outcome.failure
        if failure is not None:
            self._session.update_step(step.now(StepState.REJECTED, reason=f"{failure.kind}: {failure.message}"))
        else:
            detail = f"{given.permutations:,} permutations in {added.outcome.seconds:.0f} s"
            self._session.update_step(step.now(StepState.DONE, detail=detail))

    def _refused(self, step: Step, why: str) -> None:
        """Record that the installed Tensile refuses the configuration as given, which is then not run."""
        failure = RunFailure(kind=RunFailureKind.REFUSED, message=why.splitlines()[0], detail=why)
        groups = [
            GroupOutcome(group=one.number, permutations=one.permutations) for one in self._session.given.size_groups
        ]
        self.history.add(0, self._session.given, RoundOutcome(seconds=0, groups=groups, failure=failure))
        self._session.note(f"Tensile itself refuses the configuration as given: {why}", warning=True)
        self._session.update_step(step.now(StepState.REJECTED, reason=f"{failure.kind}: {failure.message}"))

    # --- one round

    async def _round(self, number: int) -> str:
        """Why the rounds end with this one; empty if they go on."""
        step = self._session.add_step(f"Round {number}")
        step = self._session.update_step(step.now(StepState.RUNNING))
        try:
            advice, edited = await self._advice(number)
        except ModelFailed as failed:
            self._session.update_step(step.now(StepState.SKIPPED, reason=f"the model failed: {failed}"))
            if self.history.first is None:
                raise
            self._flat += 1
            return ""
        except BudgetSpent as spent:
            self._session.update_step(step.now(StepState.SKIPPED, reason=str(spent)))
            raise
        if advice.stop and not advice.edits:
            self._session.update_step(step.now(StepState.SKIPPED, reason=advice.analysis))
            return "the model sees nothing left that is worth a run"
        wanted, step = await self._approved(number, step, edited, advice)
        if wanted is None:  # not measured, so it says nothing about what is left to gain
            return ""
        added = await self._measured(number, wanted, step)
        self._settle(step, added)
        return self._without_results() if len(self.history.rounds) >= _TRIES else ""

    async def _measured(self, number: int, edited: EditedConfiguration, step: Step) -> MeasuredRound:
        try:
            return await self._benchmark(number, edited)
        except BudgetSpent as spent:
            self._session.update_step(step.now(StepState.SKIPPED, reason=str(spent)))
            raise

    def _rules(self) -> EditLimits:
        return EditLimits(self._knowledge.table, self._limit, self.history.incumbents())

    async def _advice(self, number: int) -> tuple[Advice, EditedConfiguration]:
        """The model's advice, and the configuration with its edits, which Tensile takes where it can be asked.

        Raises:
            ModelFailed: there is no usable reply.
        """
        for last in (attempt == _TRIES for attempt in range(1, _TRIES + 1)):
            advice = await self._asked(number)
            edited, _ = apply_edits(self.history.current, advice.edits, self._rules())
            refusal = await self._session.refusal(edited.configuration) if edited.steps else ""
            if not refusal:
                refusal, poor = await self._rehearsed(number, advice, edited)
                if not refusal and (last or not poor):
                    return advice, edited
                if not refusal:
                    continue
            words = "; ".join(edit.words() for edit in advice.edits)
            self.history.remarks.append(f"round {number}: Tensile itself refuses these edits: {words}: {refusal}")
            self._session.note(f"Tensile refuses the edited configuration: {refusal}", warning=True)
        raise ModelFailed("Tensile itself refuses the edited configuration")

    async def _rehearsed(self, number: int, advice: Advice, edited: EditedConfiguration) -> tuple[str, bool]:
        """Why there would be nothing to measure, and whether too little would; told to the model and the user."""
        self._foreseen = ""
        if not edited.steps:
            return "", False
        outcome = await self._session.rehearsal(edited.configuration)
        if outcome is None or (outcome.failure is not None and not is_refusal(outcome)):
            return "", False
        if outcome.failure is not None:
            return outcome.failure.message, False
        self._foreseen = f"before anything is built: {counts(outcome)}"
        successes = self.history.successes
        if not is_poor(outcome, successes[-1].outcome if successes else None):
            return "", False
        lines = [counts(outcome), *await self._by_edit(advice)]
        self.history.remarks.append(f"round {number}: Tensile tried these edits and built nothing: {'; '.join(lines)}")
        self._session.note(f"most of what the edits add makes no kernel: {counts(outcome)}", warning=True)
        return "", True

    async def _by_edit(self, advice: Advice) -> list[str]:
        """What each of several edits added, one after the other."""
        if len(advice.edits) == 1:
            return []
        outcomes: list[RoundOutcome] = []
        for number in range(len(advice.edits) + 1):
            partly, _ = apply_edits(self.history.current, advice.edits[:number], self._rules())
            outcome = await self._session.rehearsal(partly.configuration)
            if outcome is None or outcome.failure is not None:
                break
            outcomes.append(outcome)
        return by_edit([edit.words() for edit in advice.edits], outcomes)

    async def _asked(self, number: int) -> Advice:
        asked = self._ask(number, await self._gpu_facts())
        messages, left_out = prompt(asked, await self._session.model.prompt_tokens())
        if left_out:
            self._session.note(f"left out of the prompt, for the model's context: {left_out}")

        def check(advice: Advice) -> list[str]:
            return faults(advice, self.history.current, self._rules(), self.history)

        before = self._session.elapsed
        try:
            return await self._session.ask(asked.purpose, messages, Advice, check)
        finally:
            self.history.model_seconds += self._session.elapsed - before

    async def _gpu_facts(self) -> str:
        """The facts of the GPU, and where to start on it; as long as nothing better is known."""
        gpu, given = self._options.gpu or self._device(), self._session.given
        facts, table = self._knowledge.gpu(gpu), self._knowledge.table
        starts = await self._session.starting_points(gpu, lambda: starting_facts(given, facts, table))
        return "\n".join(part for part in (self._knowledge.gpu_words(gpu), starts) if part)

    def _ask(self, number: int, gpu: str) -> PromptContext:
        current = self.history.current
        why = None
        if self.history.first is None:
            too_many = current.permutations > self._limit
            why = REDUCE.format(count=current.permutations, limit=self._limit) if too_many else _EXPLORE
        return PromptContext(
            current,
            self.history,
            self._knowledge,
            gpu,
            self._limit,
            self._session.permutations_left,
            number,
            self._options.max_rounds,
            flat=self._flat > 0,
            why=why,
        )

    def _device(self) -> str:
        first = self.history.first
        return "" if first is None else first.outcome.device

    async def _approved(
        self, number: int, step: Step, edited: EditedConfiguration, advice: Advice
    ) -> tuple[EditedConfiguration | None, Step]:
        """What the user wants measured: the edits, their own version of the file, or nothing."""
        lines = edit_lines(edited)
        step = self._session.update_step(step.now(StepState.RUNNING, detail="\n".join(lines)))
        proposed = text_of(edited.configuration, f"round {number}")
        parts = (advice.analysis, *lines, self._foreseen, advice.expected)
        rationale = "\n".join(part for part in parts if part)

        async def read(source: ConfigurationText) -> EditedConfiguration:
            return edited if source == proposed else await self._own(source.source)

        wanted = await as_wanted(
            lambda source, words: self._session.approve(step, source, words),
            proposed,
            rationale,
            read,
            EditedAgain(OwnUnusable, _EDIT_AGAIN, asks=self._session.asks_again),
        )
        if wanted.decision.action == "skip":
            return None, self._session.update_step(step.now(StepState.SKIPPED, reason="by hand"))
        if wanted.decision.action == "reject":
            words = wanted.decision.message or "no reason given"
            self.history.remarks.append(f"round {number}: the programmer rejected the edits: {words}")
            return None, self._session.update_step(step.now(StepState.REJECTED, reason=words))
        if wanted.result is None or wanted.result is edited:
            state = StepState.RUNNING if wanted.result else StepState.REJECTED
            reason = str(wanted.fault or "")
            return wanted.result, self._session.update_step(step.now(state, reason=reason))
        self.history.remarks.append(f"round {number}: the programmer edited the file by hand")
        return wanted.result, self._session.update_step(step.now(StepState.RUNNING, detail="as you edited it"))

    async def _own(self, source: str) -> EditedConfiguration:
        """The user's own version of the file.

        Raises:
            OwnUnusable: it cannot be read, is about something else, or Tensile itself does not take it.
        """
        try:
            own = parse_configuration(source, self._session.given.file, self._session.sizes)
        except ProblemError as error:
            place = "" if error.line is None else f"line {error.line}: "
            raise OwnUnusable(f"your version of the file cannot be used: {place}{error.message}") from None
        if len(own.size_groups) != len(self._session.given.size_groups):
            raise OwnUnusable("your version of the file has other size groups: begin a session of its own with it")
        if self._session.asks_again and (refusal := await self._session.refusal(own)):
            raise OwnUnusable(f"Tensile itself refuses your version of the file: {refusal}")
        return EditedConfiguration(own)

    async def _benchmark(self, number: int, edited: EditedConfiguration) -> MeasuredRound:
        outcome = await self._session.benchmark(number, edited.configuration)
        added = self.history.add(number, edited.configuration, outcome, edited.steps)
        if outcome.failure is None:
            self._session.show_winners(number, list(self.history.winners.values()))
        return added

    def _settle(self, step: Step, added: MeasuredRound) -> None:
        """Where the step stands now, and whether the round was flat."""
        failure = added.outcome.failure
        if failure is not None:
            self._flat += 1
            self._session.update_step(step.now(StepState.REJECTED, reason=f"{failure.kind}: {failure.message}"))
            return
        if added.gain is None:
            self._session.update_step(step.now(StepState.DONE, reason="the first results"))
            return
        gained = added.gain >= 1 + self._options.min_gain
        self._flat = 0 if gained else self._flat + 1
        state = StepState.ACCEPTED if gained else StepState.NEUTRAL
        reason = "" if gained else f"a gain of {added.gain - 1:.1%} at the mean"
        factor = (added.gain, added.gain, added.gain) if gained else None
        self._session.update_step(step.now(state, reason=reason, factor=factor))


def _done(rounds: int) -> str:
    if not rounds:
        return "only the configuration as given was to be measured"
    return "the round is done" if rounds == 1 else f"the {rounds} rounds are done"
