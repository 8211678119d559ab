"""When rounds have converged. An improvement counts only where it lies outside of the measurement's interval."""

from __future__ import annotations

from tui_tuner.evaluate.results import Timing
from tui_tuner.format import counted_in_lines
from tui_tuner.search.rounds import RoundOptions

_LOOKED_BACK = 2
"""Rounds over which the gain must reach `min_improvement`."""


class Progress:
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

    @property
    def converged(self) -> str:
        """Why there is no further round, in words; empty if there is one."""
        options, best = self._options, self._best[-1]
        if best is not None and options.target_ms is not None and best.median <= options.target_ms:
            return f"the target of {options.target_ms:g} ms is met"
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
