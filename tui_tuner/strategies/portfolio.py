"""A model and the surrogate search together: both propose, and share each batch by what each has earned.

the search's first batch is measured ---.
ask the model -------------------------+--> a batch: some of the model's proposals, the search's own for the rest
        ^                                       |  measured, and told to the search, whoever proposed it
        '-- its proposals are used up, ---------+  what each has brought decides its part of the next batch
            and it has earned another question

A model begins with one of four. If that brings nothing it has cost one evaluation and is left alone; one that finds
better configurations gets most of the next batch. What the search chooses it chooses from all that was measured.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.tunables import exact_key
from tui_tuner.strategies.base import BudgetSpent, ModelFailed
from tui_tuner.strategies.round_prompt import Round
from tui_tuner.strategies.round_question import RoundQuestion
from tui_tuner.strategies.rounds import LEAST_ASKED, Rounds
from tui_tuner.strategies.steps import Step, StepState
from tui_tuner.strategies.views import Proposals

LEARNING = 20.0
"""How fast shares move: a source that gains 5 % more by each of its evaluations comes to e times the weight."""
WASTED = 0.4
"""What an evaluation of the model's that brings nothing costs of the logarithm of its weight."""
MOST_MOVED = 2.0
"""How far one batch may move the logarithm: one lucky find decides nothing for ever."""
FIRST_SHARE = 0.25
"""The share of a model that has shown nothing yet."""
EVEN_SHARE = 0.5
"""The share of a model that gets another chance, and of any that began with a wording up to 6."""
LEAST_SHARE = 0.25
"""A model that has earned less of a batch gets nothing of it."""
WITHOUT_GAIN = 16
"""After so many evaluations without anything better a model that has lost its share is asked again, if it was good."""
GAIN = 0.001
"""Relative gain below which nothing was gained."""
AT_ONCE = 4
"""Configurations of a batch at least: of the model's share of so many the builds begin before its reply is whole."""
_TRUSTED_UP_TO = 6
_ROUNDING = 1e-9


class Earnings:
    """What two sources have brought, and the share of the next batch that the model gets for it.

    Weights are multiplied by the exponential of what was gained for each evaluation (the Hedge rule of Y. Freund and
    R. E. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997).

    Args:
        most: the share of the model at most.
        trusts: as with a wording up to 6: the model begins with half, and what it brings counts also where the search
            brought more by the same batch.
    """

    def __init__(self, most: float, *, trusts: bool = False) -> None:
        self._most = most
        self._trusts = trusts
        self._weight = _weight(EVEN_SHARE if trusts else FIRST_SHARE)
        self._model, self._search = _Account(), _Account()

    @property
    def share(self) -> float:
        """The model's share, from 0 to the most."""
        share = 1 / (1 + math.exp(-self._weight))
        return 0.0 if share < LEAST_SHARE - _ROUNDING else min(share, self._most)

    def book(self, best: float | None, model: Sequence[float | None], search: Sequence[float | None]) -> None:
        """Book the times of one batch, ms, None for failures.

        Args:
            best: known before it, ms; None where nothing was right.
        """
        gained, searched = gain(best, model), gain(best, search)
        if not self._trusts and not gain(min((time for time in search if time is not None), default=None), model):
            gained = 0.0
        self._model.add(gained, len(model))
        self._search.add(searched, len(search))
        if not model:
            return
        moved = LEARNING * (gained / len(model) - searched / max(1, len(search)))
        self._weight += max(-MOST_MOVED, min(MOST_MOVED, moved)) - WASTED * len(model) * (gained < GAIN)
        self._weight = max(-3.0, min(1.5, self._weight))

    @property
    def deserves_another(self) -> bool:
        """Whether the model brought more by each of its evaluations than the search did, in all of the search."""
        return self._model.rate > self._search.rate

    def begin_anew(self) -> None:
        """Give the model another chance."""
        self._weight = _weight(EVEN_SHARE)


def _weight(share: float) -> float:
    """The logarithm of the model's weight over that of the search which gives it a share."""
    return math.log(share / (1 - share))


@dataclass
class _Account:
    """What a source has brought in all, and by how many evaluations."""

    gained: float = 0.0
    evaluations: int = 0

    def add(self, gained: float, evaluations: int) -> None:
        self.gained += gained
        self.evaluations += evaluations

    @property
    def rate(self) -> float:
        return self.gained / max(1, self.evaluations)


def gain(best: float | None, times: Sequence[float | None]) -> float:
    """The logarithm of how many times as fast the fastest of some times is as the best known; 0 if it is not faster."""
    found = min((time for time in times if time is not None), default=math.inf)
    if found == math.inf:
        return 0.0
    return 1.0 if best is None else max(0.0, math.log(best / found))


class Portfolio(Rounds):
    """The search of one candidate by a model and the surrogate together."""

    async def run_with(self, batches: Proposals) -> str:
        """Go on until the evaluations are spent; why it ended, in words.

        Args:
            batches: what the surrogate chooses.

        Raises:
            BudgetSpent: the session's evaluations or time are spent.
            ModelFailed: the model gave nothing and the fallback is `error`.
        """
        self._earned = Earnings(1 - self._options.local_share, trusts=self._session.wording <= _TRUSTED_UP_TO)
        self._queue: list[Configuration] = []
        self._due = 0.0  # what is left of the model's share where it was no whole number
        self._without_gain = 0
        self._question_open: _OpenQuestion | None = None
        reason, part = "every configuration is measured", self._first
        async for chosen in batches:
            if reason := self._ended():
                break
            own, models = await part(chosen)
            await batches.tell([one.ms for one in own], [(one.configuration, one.ms) for one in models])
            part = self._shared
        self._close_round()
        return reason or "the evaluations are made"

    def _ended(self) -> str:
        best = self._best()
        return self._progress.target_met(None if best is None else best.timing) if self._left else "evaluations spent"

    async def _first(self, chosen: Sequence[Configuration]) -> tuple[list[Evaluation], list[Evaluation]]:
        """Measure what the search begins with and what was offered while the model's first reply is on its way."""
        offered = self._offered(chosen)
        own = [*chosen][: max(1, self._left // 2 - len(offered))]
        measuring = asyncio.ensure_future(self._measure([*own, *offered], 0))
        try:
            await self._ask([*own, *offered])
        except ModelFailed:
            await measuring
            raise
        else:
            evaluations = await measuring
        finally:
            measuring.cancel()
            await asyncio.gather(measuring, return_exceptions=True)
        return evaluations[: len(own)], evaluations[len(own) :]

    def _offered(self, chosen: Sequence[Configuration]) -> list[Configuration]:
        """What the problem and the memory offer to begin with."""
        known = {exact_key(one) for one in [*chosen, *(one.evaluation.configuration for one in self._measured())]}
        offered = {exact_key(one): one for one in [*self._session.problem.search.seeds, *self._found.seeds]}
        new = [one for key, one in offered.items() if key not in known and self._space.contains(one)]
        return new[: min(self._options.seeds, self._left // 2)]

    async def _shared(self, chosen: Sequence[Configuration]) -> tuple[list[Evaluation], list[Evaluation]]:
        """Measure a batch of the search and the model together: the evaluations of each."""
        if self._is_asked():
            await self._ask([])
        size = min(len(chosen), self._left)
        own, models = self._divided(chosen, size)
        best = self._best()
        try:
            evaluations = await self._measure([*own, *models], 0)
        finally:
            await self._session.bench.cancel_speculation()
        self._book(None if best is None else best.ms, evaluations, len(own))
        return evaluations[: len(own)], evaluations[len(own) :]

    def _divided(self, chosen: Sequence[Configuration], size: int) -> tuple[list[Configuration], list[Configuration]]:
        """What the search chose and what the model did, so many of both as the model has earned."""
        self._due += self._earned.share * size if self._queue else 0.0
        count = min(int(self._due + _ROUNDING), len(self._queue), size)
        own = [*chosen][: size - count]
        taken = {exact_key(one) for one in own}
        waiting = [one for one in self._queue if exact_key(one) not in taken]
        models, self._queue = waiting[:count], waiting[count:]
        self._due -= count
        return own, models

    def _book(self, best: float | None, evaluations: Sequence[Evaluation], of_search: int) -> None:
        times = [evaluation.ms for evaluation in evaluations]
        self._earned.book(best, times[of_search:], times[:of_search])
        self._without_gain = 0 if gain(best, times) > GAIN else self._without_gain + len(times)
        if self._question_open is not None:
            self._question_open.measured += len(times)

    def _is_asked(self) -> bool:
        """Whether it is the model's turn: its proposals were of use and are used up, or the search finds nothing."""
        asked = self._progress.rounds + (self._question_open is not None)
        if not self._model_is_there or self._left < LEAST_ASKED or asked >= self._options.max_rounds:
            return False
        if self._question_open is not None and self._question_open.measured < self._question_open.least:
            return False
        if self._earned.share:
            return not self._queue
        if self._without_gain < WITHOUT_GAIN or not self._earned.deserves_another:
            return False
        self._earned.begin_anew()
        self._without_gain = 0
        return True

    async def _ask(self, taken: Sequence[Configuration]) -> None:
        """Put the next question; what is proposed waits for its place in a batch."""
        self._close_round()
        options, number = self._options, self._progress.rounds + 1
        count = min(max(LEAST_ASKED, options.batch_size(number) // 2), max(LEAST_ASKED, self._left - len(taken)))
        wanted = Round(number, count, self._left, self._progress.is_flat, self._remarks)
        line = self._line(wanted, len(taken))
        self._question_open = _OpenQuestion(wanted, line, len(taken))
        sure = int(self._earned.share * AT_ONCE)
        try:
            self._queue = await self._proposed(replace(self._question(wanted, taken), sure=sure))
        except (BudgetSpent, ModelFailed) as ended:
            self._show(line, StepState.SKIPPED, str(ended))
            self._question_open = None
            raise
        self._question_open.least = 0 if self._queue else options.refinement_batch_size
        for configuration in self._queue:
            self._round_of.setdefault(exact_key(configuration), number)

    def _close_round(self) -> None:
        if self._question_open is not None:
            one, self._question_open = self._question_open, None
            self._tell(one.line, one.wanted, one.measured)

    def _fallen_back(self, question: RoundQuestion) -> list[Configuration]:
        """Nothing: the search has the whole batch."""
        return []

    def _instead(self) -> str:
        return "the search chooses alone for now"


@dataclass
class _OpenQuestion:
    """The question whose proposals are being measured.

    Attributes:
        measured: evaluations since it was put, whoever chose them.
        least: of them before the next question.
    """

    wanted: Round
    line: Step | None
    measured: int
    least: int = 0
