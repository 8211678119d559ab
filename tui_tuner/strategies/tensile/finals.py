"""The last runs: the first winners and the best, measured again in one configuration, run after run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from tui_tuner.strategies.base import BudgetSpent
from tui_tuner.strategies.steps import StepState
from tui_tuner.strategies.tensile.effects import TensileEffects
from tui_tuner.strategies.tensile.history import History
from tui_tuner.strategies.tensile.metrics import ratio_in
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.excerpt import only
from tui_tuner.tensile.document.splices import Immovable
from tui_tuner.tensile.outcome import FINALS, Place, RoundOutcome, Values, geometric_mean


@dataclass(frozen=True)
class Finals:
    """What they said.

    Attributes:
        winners: a configuration with nothing but the best of every size; None where it cannot be written.
        gains: of each run, the mean over all sizes of best over first winner.
    """

    winners: Configuration | None = None
    runs: list[RoundOutcome] = field(default_factory=list)
    gains: list[float] = field(default_factory=list)

    @property
    def speedup(self) -> tuple[float, float, float] | None:
        """Median of the runs with the lowest and the highest; None without."""
        return (median(self.gains), min(self.gains), max(self.gains)) if self.gains else None


async def run_finals(session: TensileEffects, history: History) -> Finals:
    """Compare again what won in the first run and what is best now, so that no gain is a lucky run's."""
    if history.first is None:
        return Finals()
    winners = _written(session, history, [history.held])
    both = _written(session, history, [history.starts, history.held]) if history.held != history.starts else None
    if both is None or not session.options.repeats:
        return Finals(winners)
    step = session.add_step("Compare the first winners and the best again")
    step = session.update_step(step.now(StepState.RUNNING))
    runs: list[RoundOutcome] = []
    try:
        for number in range(session.options.repeats):
            outcome = await session.benchmark(FINALS + number, both)
            if outcome.failure is not None:
                session.note(f"a run of the finalists failed: {outcome.failure.message}", warning=True)
                continue
            runs.append(outcome)
    except BudgetSpent as spent:
        session.note(str(spent))
    gains = [gain for run in runs if (gain := _gain(history, run)) is not None]
    finals = Finals(winners, runs, gains)
    state = StepState.DONE if gains else StepState.SKIPPED
    session.update_step(step.now(state, factor=finals.speedup, reason="" if gains else "no run gave results"))
    return finals


def _gain(history: History, run: RoundOutcome) -> float | None:
    ratios = (ratio_in(history, run, place) for place in history.winners)
    return geometric_mean(ratio for ratio in ratios if ratio is not None)


def _written(
    session: TensileEffects, history: History, chosen: Sequence[Mapping[Place, Values]]
) -> Configuration | None:
    """The configuration in force with these solutions only, each once; None where that cannot be written."""
    wanted: dict[int, list[Values]] = {}
    for (group, _), values in (pair for solutions in chosen for pair in solutions.items()):
        known = wanted.setdefault(group, [])
        if values not in known:
            known.append(values)
    try:
        return only(history.current, wanted, session.sizes)
    except Immovable as error:
        session.note(f"the best solutions cannot be written as a configuration of their own: {error}", warning=True)
        return None
