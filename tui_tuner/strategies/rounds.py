"""Rounds: a model proposes configurations, the machine measures them, the model sees what came of it.

default + seeds are measured ---.
ask for the first batch --------+--> measure --> converged? --yes--> end
        ^                                            | no
        '--- ask for the next batch, with all results '
no usable reply --> the batch comes from the fallback
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Sequence

from tui_tuner.evaluate.results import Evaluation, Timing
from tui_tuner.format import counted_in_lines, time_words
from tui_tuner.memory import Recollection
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.nearby import pattern_batch, random_batch
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.tunables import exact_key
from tui_tuner.prompts.ranking import RankedEvaluation
from tui_tuner.session_options import RoundOptions
from tui_tuner.strategies.base import BudgetSpent, Effects, ModelFailed, StepSkipped
from tui_tuner.strategies.history import best_of, memory_facts
from tui_tuner.strategies.round_prompt import Round, SearchKnowledge, measured_in
from tui_tuner.strategies.round_question import RoundQuestion
from tui_tuner.strategies.steps import Step, StepState


class Rounds:
    """The rounds of one search; what they find is among the session's evaluations of the candidate.

    Args:
        candidate: the kernel.
        searched: the candidate with what is frozen at one value.
        space: the valid configurations of `searched`.
        most: evaluations at most.
        found: what earlier sessions found: lines for the first prompt, and configurations to begin with.
        step: the step that searches; where it is given, the plan shows each round behind it.
    """

    def __init__(
        self,
        session: Effects,
        candidate: Candidate,
        searched: Candidate,
        space: SearchSpace,
        most: int,
        found: Recollection,
        step: Step | None,
    ) -> None:
        self._session = session
        self._options = session.options.rounds
        self._candidate = candidate
        self._searched = searched
        self._space = space
        self._unspent = most
        self._found = found
        self._step = step
        self._rng = random.Random(session.seed)  # noqa: S311 (chooses what to measure, guards nothing)
        self._round_of: dict[object, int] = {}
        self._remarks: list[str] = []
        best = self._best()
        self._progress = RoundProgress(self._options, None if best is None else best.timing)
        self._model_is_there = True

    async def run(self) -> str:
        """Go on until the rounds have converged; why they ended, in words.

        Raises:
            BudgetSpent: the session's evaluations or time are spent.
            ModelFailed: the model gave nothing and the fallback is `error`.
        """
        while not (reason := self._ended()):
            await self._round(self._progress.rounds + 1)
        return reason

    @property
    def target_met(self) -> bool:
        """Whether the best time is the one that the user wants."""
        best = self._best()
        return best is not None and bool(self._progress.target_met(best.timing))

    async def finish(self) -> None:
        """Measure what is one step from the best, as long as that brings a better one, and the last few evaluations.

        Raises:
            BudgetSpent: the session's evaluations or time are spent.
        """
        best: Configuration | None = None
        while self._left and (ranked := self._ranked()) and ranked[0] != best:
            best = ranked[0]
            await self._measure(self._knowledge().near(best)[: self._left], 0)
        if self._left <= FEW:
            await self._measure(self._pattern(self._known(), self._left), 0)

    def _pattern(self, taken: Sequence[Configuration], count: int) -> list[Configuration]:
        """What is near the best, then what is near the next best; at random where there is nothing left of that."""
        return pattern_batch(self._space, self._ranked(), taken, count, self._rng, self._knowledge().near)

    def _knowledge(self) -> SearchKnowledge:
        return SearchKnowledge(self._session, self._searched, self._space, self._measured(), memory_facts(self._found))

    def _known(self) -> list[Configuration]:
        return [one.evaluation.configuration for one in self._measured()]

    def _ranked(self) -> list[Configuration]:
        """What is right, the fastest first."""
        timed = [one for one in self._measured() if one.evaluation.timing is not None]
        return [one.evaluation.configuration for one in sorted(timed, key=lambda one: one.milliseconds)]

    async def _round(self, number: int) -> None:
        """One round, with its line in the plan."""
        seeds = self._seeds() if number == 1 else []
        count = max(LEAST_ASKED, self._size(number) - len(seeds))
        wanted = Round(number, count, self._left, self._progress.is_flat, self._remarks)
        line = self._line(wanted, len(seeds))
        try:
            batch = await self._measured_batch(self._question(wanted, seeds), seeds)
        except (BudgetSpent, ModelFailed) as ended:
            self._show(line, StepState.SKIPPED, str(ended))
            raise
        self._tell(line, wanted, len(seeds) + len(batch))

    def _size(self, number: int) -> int:
        """Configurations of a round; where few are left no more than half of them, so that another learns from it."""
        left = self._left
        size = min(left, self._options.batch_size(number))
        if number == self._options.max_rounds or self._session.wording <= _SPENT_AT_ONCE_UP_TO:
            return size
        return min(size, max(WORTH_A_ROUND, -(-left // 2)))

    async def _measured_batch(self, question: RoundQuestion, seeds: Sequence[Configuration]) -> list[Configuration]:
        """Ask while the seeds are measured, then measure what the reply proposes."""
        measuring = asyncio.ensure_future(self._measure(seeds, 0))
        try:
            batch = await self._proposed(question, measuring)
            await measuring
            await self._measure(batch, question.wanted.number)
        except ModelFailed:
            await measuring
            raise
        finally:
            measuring.cancel()
            await asyncio.gather(measuring, return_exceptions=True)
            await self._session.bench.cancel_speculation()
        return batch

    @property
    def _left(self) -> int:
        return min(self._unspent, self._session.budget.evaluations_left)

    def _ended(self) -> str:
        if self._left < LEAST_ASKED:
            return "the evaluations for the rounds are made"
        if self._space.size <= len(self._measured()):
            return "every configuration is measured"
        return self._progress.converged

    def _seeds(self) -> list[Configuration]:
        """The default configuration, those that were offered, and random ones: at most half of the first batch."""
        measured = self._known()
        offered = [*self._session.problem.search.seeds, *self._found.seeds]
        first = [one for one in [self._searched.default_configuration, *offered] if self._space.contains(one)]
        drawn = random_batch(self._space, [*measured, *first], self._options.seeds, self._rng)
        known = {exact_key(configuration) for configuration in measured}
        new = {exact_key(one): one for one in [*first, *drawn] if exact_key(one) not in known}
        most = min(min(self._options.initial_batch_size, self._left) // 2, self._left - LEAST_ASKED)
        return list(new.values())[: min(most, self._options.seeds + 1)]

    def _question(self, wanted: Round, seeds: Sequence[Configuration]) -> RoundQuestion:
        known, best = self._knowledge(), self._best()
        taken = [*(one.evaluation.configuration for one in known.measured), *seeds]
        default = self._searched.default_configuration
        start = default if best is None else {**default, **best.configuration}
        return RoundQuestion(self._session, self._candidate, known, wanted, taken, start)

    async def _proposed(
        self, question: RoundQuestion, under_way: Awaitable[object] | None = None
    ) -> list[Configuration]:
        """What the model proposes, or the fallback in its place.

        Args:
            under_way: what is being measured; a fallback waits for it, so as to begin with the same best every time.

        Raises:
            ModelFailed: it proposes nothing, and the fallback is `error`.
        """
        if self._model_is_there:
            try:
                chooser = await question.ask()
            except StepSkipped:
                raise
            except BudgetSpent as spent:
                self._model_is_there = False
                reason = str(spent)
            except ModelFailed as failed:
                reason = str(failed)
            else:
                self._remarks = chooser.remarks
                if chooser.mostly_invalid:
                    self._flag(f"{chooser.invalid} of {chooser.proposed} proposed configurations were not valid")
                return chooser.chosen
            self._give_up_or_say(reason)
        if under_way is not None:
            await under_way
        return self._fallen_back(question)

    def _flag(self, fault: str) -> None:
        self._session.note(f"round {self._progress.rounds + 1}: {fault}", warning=True)
        self._remarks = [f"{fault}: check value lists and restrictions before you answer", *self._remarks]

    def _give_up_or_say(self, reason: str) -> None:
        if self._options.fallback == "error":
            raise ModelFailed(reason)
        self._session.note(f"{reason}: {self._instead()}", warning=True)

    def _instead(self) -> str:
        return f"{self._options.fallback} configurations instead"

    def _fallen_back(self, question: RoundQuestion) -> list[Configuration]:
        count, taken = question.wanted.count, question.taken
        if self._options.fallback == "random":
            return random_batch(self._space, taken, count, self._rng)
        return self._pattern(taken, count)

    async def _measure(self, batch: Sequence[Configuration], number: int) -> list[Evaluation]:
        for configuration in batch:
            self._round_of.setdefault(exact_key(configuration), number)
        left = self._session.budget.evaluations_left
        evaluations = await self._session.evaluate(self._candidate, batch)
        self._unspent -= left - self._session.budget.evaluations_left
        return evaluations

    def _measured(self) -> list[RankedEvaluation]:
        """The evaluations that lie in the searched space, and what is known of them."""
        return [
            measured_in(
                self._session, self._searched, evaluation, self._round_of.get(exact_key(evaluation.configuration), 0)
            )
            for evaluation in self._session.bench.evaluations_of(self._candidate)
            if self._space.contains(evaluation.configuration)
        ]

    def _best(self) -> Evaluation | None:
        return best_of([one.evaluation for one in self._measured()])

    def _line(self, wanted: Round, seeds: int) -> Step | None:
        """The line of a round in the plan, behind that of the round before."""
        if self._step is None:
            return None
        detail = f"{wanted.count} configurations of the model's" + (f", {seeds} seeds meanwhile" if seeds else "")
        line = self._session.add_step(f"Round {wanted.number}", detail, after=self._step)
        self._step = self._session.update_step(line.now(StepState.RUNNING))
        return self._step

    def _show(self, line: Step | None, state: StepState, reason: str) -> None:
        if line is not None:
            self._session.update_step(line.now(state, reason=reason))

    def _tell(self, line: Step | None, wanted: Round, count: int) -> None:
        """Close a round: its outcome in one line."""
        best = self._best()
        timing = None if best is None else best.timing
        self._progress.round_done(timing)
        found = "nothing is right yet" if timing is None else f"best {time_words(timing.median)}"
        outcome = f"{found}, no improvement" if self._progress.is_flat else found
        self._show(line, StepState.DONE, outcome)
        self._session.note(f"round {wanted.number} of {self._options.max_rounds}: {count} configurations, {outcome}")


LEAST_ASKED = 2
"""A model is asked for so many configurations at least: for the last one a call is too dear."""
WORTH_A_ROUND = 10
"""So few evaluations make one round, not two."""
_SPENT_AT_ONCE_UP_TO = 11
FEW = 8
"""So many evaluations that are left when rounds end are spent near the best: a search could learn nothing from them."""
_LOOKED_BACK = 2
"""Rounds over which the gain must reach `min_improvement`."""


class RoundProgress:
    """The best time after each round.

    Args:
        first: the best known before the first round.
    """

    def __init__(self, options: RoundOptions, first: Timing | None) -> None:
        self._options = options
        self._best = [first]
        self._flat = 0

    @property
    def rounds(self) -> int:
        """How many are done."""
        return len(self._best) - 1

    @property
    def is_flat(self) -> bool:
        """Whether the last round brought no improvement."""
        return self._flat > 0

    def round_done(self, best: Timing | None) -> None:
        """Note the best time known after a round."""
        self._flat = 0 if _improved(self._best[-1], best) else self._flat + 1
        self._best.append(best)

    def target_met(self, best: Timing | None) -> str:
        """Whether the best time is the one that was wanted, in words; empty if it is not."""
        target = self._options.target_ms
        return "" if best is None or target is None or best.median > target else f"the target of {target:g} ms is met"

    @property
    def converged(self) -> str:
        """Why there is no further round, in words; empty if there is one."""
        options = self._options
        if met := self.target_met(self._best[-1]):
            return met
        if self.rounds >= options.max_rounds:
            return f"{counted_in_lines(options.max_rounds, 'round')} done"
        if self._flat >= options.patience:
            return f"no improvement in {counted_in_lines(self._flat, 'round')}"
        if self.rounds > _LOOKED_BACK and self._gain() < options.min_improvement:
            return f"less than {options.min_improvement:.1%} gained in {_LOOKED_BACK} rounds"
        return ""

    def _gain(self) -> float:
        """Relative gain over the last rounds; infinite where nothing was right before."""
        before, now = self._best[-1 - _LOOKED_BACK], self._best[-1]
        if before is None or now is None:
            return float("inf")
        return before.median / now.median - 1


def _improved(before: Timing | None, now: Timing | None) -> bool:
    return now is not None and (before is None or now.high < before.low)
