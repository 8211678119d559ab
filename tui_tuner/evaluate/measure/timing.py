"""Timing: enough launches for a narrow interval, few for what is hopeless, two kernels in turns for a verdict.

The clock of a GPU follows the power that a kernel takes, with a delay: what is timed right behind another kernel runs
at the clock of that one. So a kernel is launched until its times have settled before any of them counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tui_tuner.evaluate.measure import median_interval, midmean, quick_interval, ratio_interval, ratio_verdict, settled
from tui_tuner.evaluate.results import Comparison, Timing

TimeLaunches = Callable[[int], list[float]]
"""Times so many launches, ms each."""
Clock = Callable[[], float]
"""Seconds that go by."""
FEWEST = 5
"""Samples of a contender that takes long."""
FIRST_PAIRS = 3
"""Turns of each that show whether two kernels disturb each other."""
ALIKE = 3
"""Turns behind each other of which most say whether a kernel has settled: one alone may have been disturbed."""
SHORT_MS, WHOLE_TURN = 0.05, 16
"""Kernels whose beginning counts and whose power does not, and launches that begin in all ways alike (`CudaTimer`)."""
SLOWER_ANYWAY = 1.25
"""A GPU's clock at its limit of power is not lower by this factor than at rest."""
SAME_FOR_BOTH = 0.02
"""How far times may be from those of other arrays, relative, where they are so for both kernels."""


@dataclass(frozen=True)
class Patience:
    """How long to measure.

    Attributes:
        precision: half width of the interval at which to stop, relative to the median.
        warmup_s: seconds of launches before the first sample.
        limit_s: seconds of samples at most.
        hopeless: multiple of the incumbent's time from which on three samples are enough.
        contender: multiple from which on one batch is, without warming up, if its interval lies above.
        settle_s: seconds that a kernel that is not short is launched in its turn before a time counts, at the least.
        settle_limit_s: seconds of that and of warming up at the most, and for learning how many there must be.
        steady_s: seconds for which times must have stayed the same to be those that they stay at.
        turn_s: seconds that a kernel is timed in its turn; one launch at least.
        clear_pairs: turns of each that are enough where all of them say the same by far.
        few_pairs: turns of each that are enough where all of them say the same.
        pairs: turns of each that are enough for a verdict.
    """

    samples: int = 10
    most_samples: int = 200
    precision: float = 0.005
    warmup_s: float = 0.05
    limit_s: float = 0.6
    hopeless: float = 3.0
    contender: float = 1.2
    settle_s: float = 0.005
    settle_limit_s: float = 0.2
    steady_s: float = 0.12
    turn_s: float = 0.005
    clear_pairs: int = 6
    few_pairs: int = 10
    pairs: int = 30
    most_pairs: int = 120
    pair_limit_s: float = 6.0


CPU_PATIENCE = Patience(
    samples=5, most_samples=40, warmup_s=0.02, limit_s=0.12, settle_s=0.0, settle_limit_s=0.02, turn_s=0.0
)
"""Where a CPU runs the kernel: its clock does not depend on it, and times scatter by percents. A launch a turn."""


def measure(
    launches: TimeLaunches,
    patience: Patience,
    *,
    best_ms: float | None,
    cpu: bool,
    rested: bool = True,
    clock: Clock = time.perf_counter,
) -> Timing:
    """The time of one launch with its 95 % interval.

    Stops when the interval is narrow enough (the stop rule of nvbench, on the median), when the time is spent, or
    early where the incumbent is so much faster that more samples would change nothing.

    Args:
        best_ms: the shortest time known, ms; None for none.
        cpu: whether the times are those of a CPU.
        rested: whether the device was idle until now, so that its clock has to rise first.
    """
    first = launches(1)[0]
    if best_ms is not None and first > patience.contender * best_ms:
        few = 2 if first > patience.hopeless * best_ms else _least(first, patience) - 1
        samples = [first, *launches(few)]
        if quick_interval(samples)[1] > patience.contender * best_ms:
            return _timing(samples, cpu)
    _warm_up(launches, first, patience, patience.warmup_s / 2 if rested else patience.settle_s, clock)
    least = _least(first, patience)
    samples = list(launches(least))
    start = clock()
    while len(samples) < patience.most_samples and clock() - start < patience.limit_s:
        if settled(samples, patience.precision):
            break
        samples += launches(least)
    return _timing(samples, cpu)


def _least(first_ms: float, patience: Patience) -> int:
    """How many samples there are at the least: fewer of a long launch, whose times scatter less."""
    return max(FEWEST, min(patience.samples, int(100 / max(first_ms, 0.01))))


def _warm_up(launches: TimeLaunches, first_ms: float, patience: Patience, turn_s: float, clock: Clock) -> None:
    """Launch in turns of so many seconds, until the times of one are those of the one before."""
    if not turn_s:
        return
    start, before = clock(), 0.0
    count = max(1, min(5, int(turn_s * 1000 / max(first_ms, 0.01))))
    while clock() - start < patience.settle_limit_s:
        now = _for_a_time(launches, count, turn_s, clock)
        if abs(now - before) <= patience.precision * now:
            return
        before = now


def _for_a_time(launches: TimeLaunches, count: int, seconds: float, clock: Clock) -> float:
    """The midmean of all launches, ms."""
    start, samples = clock(), launches(count)
    while clock() - start < seconds:
        samples += launches(count)
    return midmean(samples)


def _timing(samples: Sequence[float], cpu: bool, count: int | None = None) -> Timing:
    middle, low, high = median_interval(samples)
    return Timing(median=middle, low=low, high=high, samples=count or len(samples), cpu=cpu)


@dataclass(frozen=True)
class TimePairs:
    """Times of incumbent and challenger, ms, each the midmean of a turn, and how many launches a turn of each had."""

    times: list[tuple[float, float]]
    launches: tuple[int, int] = (1, 1)

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Incumbent's time / challenger's time: median with the ends of its interval."""
        return ratio_interval(self.times)

    def timing(self, which: int, *, cpu: bool) -> Timing:
        """Time of the incumbent (0) or the challenger (1)."""
        return _timing([pair[which] for pair in self.times], cpu, len(self.times) * self.launches[which])

    def comparison(self, *, cpu: bool) -> Comparison:
        """What the pairs say."""
        (ratio, low, high), (old, new) = self.ratio, (self.timing(which, cpu=cpu) for which in (0, 1))
        return Comparison(ratio=ratio, low=low, high=high, pairs=len(self.times), incumbent=old, challenger=new)


_MOST_LAUNCHES = 96
"""Launches of a turn: a short kernel's turn is mostly what restores arrays and cache."""
_BRIEF_MS = 1.0
"""Of such a kernel one launch says little of what many take."""


class _Turns:
    """One kernel's turns, of equal time whatever a launch takes."""

    def __init__(self, launches: TimeLaunches, patience: Patience, clock: Clock) -> None:
        (first,) = launches(1)
        start = clock()
        times = launches(FEWEST if first < _BRIEF_MS else 1)
        each_s = (clock() - start) / len(times)
        count = max(1, min(_MOST_LAUNCHES, int(patience.turn_s / max(each_s, 1e-6))))
        self.is_short = median(times) < SHORT_MS
        self.count = count - (count % WHOLE_TURN if self.is_short and count > WHOLE_TURN else 0)
        self._launches, self._patience, self._clock = launches, patience, clock

    def settling_s(self) -> float:
        """How long it takes, behind whatever ran before, until its times are those that they stay at."""
        if not self._patience.settle_s:
            return 0.0
        start, turns, ends, unsettled_s = self._clock(), list[float](), list[float](), 0.0
        while not ends or ends[-1] < self._patience.settle_limit_s:
            turns.append(midmean(self._launches(self.count)))
            ends.append(self._clock() - start)
            unsettled_s = self._unsettled_s(turns, ends)
            if len(turns) >= FEWEST and ends[-1] - unsettled_s >= self._patience.steady_s:
                break
        return max(self._patience.settle_s, unsettled_s)

    def _unsettled_s(self, turns: Sequence[float], ends: Sequence[float]) -> float:
        """When the last of these ended from which on most have another time than the last quarter, as that scatters."""
        quarter = turns[-max(1, len(turns) // 4) :]
        last = median(quarter)
        same = max(self._patience.precision, 2 * max(abs(ms / last - 1) for ms in quarter))
        most = (median(turns[first : first + ALIKE]) for first in range(len(turns)))
        return max((end for ms, end in zip(most, ends, strict=True) if abs(ms / last - 1) > same), default=0.0)

    def take(self, settling_s: float) -> float:
        """The midmean of the next turn, ms."""
        start = self._clock()
        while self._clock() - start < settling_s:
            self._launches(self.count)
        return midmean(self._launches(self.count))


def interleaved(
    incumbent: TimeLaunches,
    challenger: TimeLaunches,
    patience: Patience,
    delta: float,
    clock: Clock = time.perf_counter,
    *,
    alone_ms: Sequence[float] = (0.0, 0.0),
) -> TimePairs:
    """Turns of each in random order, so that drift hits both alike; each is timed in the state that it makes itself.

    How long a kernel must run in its turn until that state is reached is learnt first, unless the first turns show
    that each takes what it takes alone, or the challenger far longer, which is enough; where both are short, restoring
    makes it.

    Ends after `patience.pairs` once the interval of the ratio is clear of 1 + delta on either side, earlier where every
    pair is and the interval is narrow, earlier still where every pair is by more than the pairs differ, or when it is
    narrower than delta / 2 or shows that the challenger is as fast or slower, or when time or pairs are used up.

    Args:
        alone_ms: the times of both as they were measured without the other; 0 where that is not known.
    """
    old_turns, new_turns = (_Turns(launches, patience, clock) for launches in (incumbent, challenger))
    settles = not (old_turns.is_short and new_turns.is_short)
    settling_s = patience.settle_s if settles else 0.0
    first = FIRST_PAIRS if settling_s and all(alone_ms) else 0
    times = [(old_turns.take(settling_s), new_turns.take(settling_s)) for _ in range(first)]
    counts = old_turns.count, new_turns.count
    if _is_slower_anyway(times, alone_ms):
        return TimePairs(times, counts)
    if settles and not _are_undisturbed(times, alone_ms, patience):
        settling_s, times = max(old_turns.settling_s(), new_turns.settling_s()), []
    order = np.random.default_rng()
    start = clock()
    while len(times) < patience.most_pairs:
        if order.random() < 0.5:
            old, new = old_turns.take(settling_s), new_turns.take(settling_s)
        else:
            new, old = new_turns.take(settling_s), old_turns.take(settling_s)
        times.append((old, new))
        if _decided(times, patience, delta) or (len(times) >= 8 and clock() - start > patience.pair_limit_s):
            break
    return TimePairs(times, counts)


def _are_undisturbed(times: Sequence[tuple[float, float]], alone_ms: Sequence[float], patience: Patience) -> bool:
    """Whether both take in turns what they take alone, but for what is the same for both, as where arrays lie."""
    if not times:
        return False
    old, new = (float(median(turns)) / ms for turns, ms in zip(zip(*times, strict=True), alone_ms, strict=True))
    return abs(old / new - 1) <= patience.precision and max(abs(old - 1), abs(new - 1)) <= SAME_FOR_BOTH


def _is_slower_anyway(times: Sequence[tuple[float, float]], alone_ms: Sequence[float]) -> bool:
    """Whether the challenger is slower, alone and in each turn, by more than another kernel's clock may make it."""
    return bool(times) and all(new > SLOWER_ANYWAY * old for old, new in (*times, alone_ms))


def _decided(times: list[tuple[float, float]], patience: Patience, delta: float) -> bool:
    if len(times) == patience.clear_pairs:
        return _is_clear([math.log(old / new / (1 + delta)) for old, new in times], delta)
    if len(times) < patience.few_pairs or len(times) % 5:
        return False
    _, low, high = ratio_interval(times)
    if high / low - 1 < delta / 2 or ratio_verdict(low, high, delta) in ("SAME", "SLOW"):
        return True
    if len(times) >= patience.pairs:
        return not low <= 1 + delta <= high
    faster = {old / new > 1 + delta for old, new in times}
    return len(faster) == 1 and high / low - 1 < 2 * delta


def _is_clear(beyond: Sequence[float], delta: float) -> bool:
    """Whether all logarithms of ratios lie on one side of 0, farther from it than from each other, and close together.

    The least and the largest of six enclose the median with 97 % confidence, whatever the distribution.
    """
    low, high = min(beyond), max(beyond)
    return high - low < min(2 * delta, max(low, -high))
