from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest

from tui_tuner.evaluate.devices.base import ClockSample
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.measure import median_interval, midmean, quick_interval, ratio_interval, settled
from tui_tuner.evaluate.measure.cooling import COOLING_LIMIT_S, Cooling
from tui_tuner.evaluate.measure.timing import CPU_PATIENCE, Patience, interleaved, measure
from tui_tuner.evaluate.results import Comparison, Timing


def test_the_interval_holds_the_true_median_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        _, low, high = median_interval(list(rng.normal(10, 1, 25)))
        hits += low <= 10 <= high
    assert 0.88 <= hits / 200 <= 1.0


@pytest.mark.parametrize("count", [5, 10, 50, 200])
def test_the_quick_interval_holds_the_true_median_about_as_often_as_it_says(count: int) -> None:
    rng = np.random.default_rng(count)
    hits = 0
    for _ in range(400):
        middle, low, high = quick_interval(list(rng.exponential(1, count)))
        assert low <= middle <= high
        hits += low <= np.log(2) <= high
    assert 0.9 <= hits / 400 <= 1.0


class Launches:
    """Launches whose times scatter by one in a hundred around a median, ms; all of them are counted."""

    def __init__(self, median: float) -> None:
        self._median = median
        self._random = np.random.default_rng(1)
        self.count = 0

    def __call__(self, count: int) -> list[float]:
        self.count += count
        return [float(time) for time in self._random.normal(self._median, self._median / 100, count)]


@pytest.mark.parametrize(("median", "launched"), [(10.0, 3), (1.5, 10)])
def test_what_is_clearly_slower_than_the_best_is_not_warmed_up_and_timed_a_few_times(
    median: float, launched: int
) -> None:
    launches = Launches(median)
    timing = measure(launches, Patience(), best_ms=1.0, cpu=False)
    assert launches.count == timing.samples == launched
    assert timing.median == pytest.approx(median, rel=0.02)


@pytest.mark.parametrize("best_ms", [None, 1.0])
def test_what_may_be_the_best_is_timed_until_the_interval_is_narrow(best_ms: float | None) -> None:
    timing = measure(Launches(1.0), Patience(), best_ms=best_ms, cpu=False)
    assert 10 <= timing.samples <= 200
    assert (timing.high - timing.low) / 2 < 0.01 * timing.median


def test_equal_samples_have_an_interval_without_width() -> None:
    assert median_interval([2.0] * 10) == (2.0, 2.0, 2.0)


def test_no_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])


def test_drift_that_hits_both_of_a_pair_does_not_widen_the_ratio() -> None:
    drift = np.linspace(1, 2, 40)
    ratio, low, high = ratio_interval([(3 * d, 2 * d) for d in drift])
    assert ratio == pytest.approx(1.5)
    assert high - low < 1e-9


def test_an_outlier_does_not_move_the_median_but_keeps_it_from_settling() -> None:
    assert settled([1.0] * 20, 0.005)
    assert not settled([1.0, 1.5] * 5, 0.005)


@pytest.mark.slow
@pytest.mark.parametrize("scatter", [0.002, 0.3])
def test_a_kernel_is_not_faster_than_itself_however_its_times_scatter(scatter: float) -> None:
    rng, seconds, faster = np.random.default_rng(5), 0.0, 0

    def launches(count: int) -> list[float]:
        nonlocal seconds
        seconds += count / 1000
        return [float(time) for time in rng.lognormal(0.0, scatter, count)]

    for _ in range(200):
        comparison = interleaved(launches, launches, CPU_PATIENCE, 0.01, lambda: seconds).comparison(cpu=True)
        faster += comparison.low > 1.01
    assert faster <= 10  # one or two are expected, and twenty of an interval that holds for one look only


class HotGpu:
    """A GPU whose clock follows the power that its kernel takes, with a delay; time goes by as it works.

    A kernel takes `alone` ms once the clock has settled for it, and what does not settle runs at the clock of others.
    """

    DELAY_S = 0.02

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slowness = 1.0

    def kernel(self, alone: float, slowness: float) -> Callable[[int], list[float]]:
        def launch() -> float:
            took = alone / slowness * self.slowness
            self.seconds += took / 1000
            self.slowness += (slowness - self.slowness) * (1 - math.exp(-took / 1000 / self.DELAY_S))
            return took

        return lambda count: [launch() for _ in range(count)]

    def clock(self) -> float:
        return self.seconds


def test_a_short_kernel_in_turns_with_a_long_hot_one_takes_what_it_takes_alone() -> None:
    gpu = HotGpu()
    pairs = interleaved(gpu.kernel(30.0, 1.2), gpu.kernel(0.198, 1.0), Patience(), 0.01, gpu.clock)
    assert pairs.timing(1, cpu=False).median == pytest.approx(0.198, rel=0.01)
    assert pairs.timing(0, cpu=False).median == pytest.approx(30.0, rel=0.01)
    ratio, low, high = pairs.ratio
    assert ratio == pytest.approx(30 / 0.198, rel=0.01)
    assert high / low < 1.01
    assert pairs.launches[0] == 1
    assert pairs.launches[1] == pytest.approx(5 / 0.198, abs=5), "equal time, not equal launches"
    alone = measure(gpu.kernel(0.198, 1.0), Patience(), best_ms=None, cpu=False, clock=gpu.clock)
    assert alone.median == pytest.approx(pairs.timing(1, cpu=False).median, rel=0.01), "table and headline agree"


def test_what_is_timed_behind_a_hot_kernel_is_settled_first() -> None:
    gpu = HotGpu()
    gpu.kernel(30.0, 1.2)(10)
    alone = measure(gpu.kernel(0.198, 1.0), Patience(), best_ms=None, cpu=False, clock=gpu.clock)
    assert alone.median == pytest.approx(0.198, rel=0.01)


def test_that_times_stay_the_same_is_soon_known() -> None:
    gpu = HotGpu()
    pairs = interleaved(gpu.kernel(2.0, 1.0), gpu.kernel(1.0, 1.0), Patience(), 0.01, gpu.clock)
    assert len(pairs.times) == Patience().clear_pairs
    assert gpu.seconds < 2 * 0.15 + 0.03 * len(pairs.times), "200 ms for each kernel before"


def test_two_kernels_that_take_in_turns_what_they_take_alone_are_compared_at_once() -> None:
    gpu = HotGpu()
    old, new = gpu.kernel(0.05, 1.0), gpu.kernel(0.04, 1.0)
    pairs = interleaved(old, new, Patience(), 0.01, gpu.clock, alone_ms=(0.05, 0.04))
    assert pairs.ratio[0] == pytest.approx(1.25, rel=0.01)
    assert len(pairs.times) == Patience().clear_pairs
    assert gpu.seconds < 0.03 * len(pairs.times), "nothing had to settle"


def test_a_kernel_that_takes_longer_behind_the_other_than_alone_is_settled_first() -> None:
    gpu = HotGpu()
    kernels = gpu.kernel(30.0, 1.2), gpu.kernel(0.198, 1.0)
    pairs = interleaved(*kernels, Patience(), 0.01, gpu.clock, alone_ms=(30.0, 0.198))
    assert pairs.timing(1, cpu=False).median == pytest.approx(0.198, rel=0.01)
    assert pairs.ratio[0] == pytest.approx(30 / 0.198, rel=0.01)


@pytest.mark.parametrize(("alone", "is_settled"), [(2.0, False), (1.1, True)])
def test_what_is_slower_whatever_the_clock_does_has_nothing_settled(alone: float, is_settled: bool) -> None:
    gpu = HotGpu()
    kernels = gpu.kernel(1.0, 1.0), gpu.kernel(alone, 1.2)
    pairs = interleaved(*kernels, Patience(), 0.01, gpu.clock, alone_ms=(1.0, alone))
    assert verdict(Comparison(ratio=pairs.ratio[0], low=pairs.ratio[1], high=pairs.ratio[2], pairs=6), 0.01) == "SLOW"
    assert (len(pairs.times) == 3) is not is_settled
    assert (gpu.seconds > 0.6) is is_settled, "to settle both takes a second"


class NoisyGpu:
    """A GPU whose times scatter upwards by some percent, and that a launch keeps busy for longer than its kernel."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.seconds = 0.0

    def kernel(self, alone: float, scatter: float) -> Callable[[int], list[float]]:
        def launches(count: int) -> list[float]:
            self.seconds += count * (alone + 0.05) / 1000
            return [float(alone * (1 + abs(off))) for off in self._random.normal(0, scatter, count)]

        return launches

    def clock(self) -> float:
        return self.seconds


@pytest.mark.parametrize(("factor", "said"), [(1.0, "SAME"), (1.02, "SLOW"), (0.98, "FAST")])
def test_noise_is_not_taken_for_a_clock_that_has_not_settled(factor: float, said: str) -> None:
    took = []
    for seed in range(20):
        gpu = NoisyGpu(seed)
        pairs = interleaved(gpu.kernel(0.037, 0.02), gpu.kernel(0.037 * factor, 0.02), Patience(), 0.01, gpu.clock)
        ratio, low, high = pairs.ratio
        comparison = Comparison(ratio=ratio, low=low, high=high, pairs=len(pairs.times))
        assert verdict(comparison, 0.01) in (said, "UNCLEAR")
        took.append(gpu.seconds)
    assert median(took) < 0.6, "it took five seconds"


def test_times_that_scatter_by_half_are_no_crash() -> None:
    gpu, random = NoisyGpu(0), np.random.default_rng(0)

    def wild(count: int) -> list[float]:
        gpu.seconds += count * 0.0001
        return [float(random.choice([0.01, 0.1]))] * count

    pairs = interleaved(wild, gpu.kernel(0.037, 0.02), Patience(), 0.01, gpu.clock)
    ratio, low, high = pairs.ratio
    assert verdict(Comparison(ratio=ratio, low=low, high=high, pairs=len(pairs.times)), 0.01) == "UNCLEAR"


def test_a_clear_verdict_takes_few_pairs_and_a_kernel_against_itself_is_never_faster() -> None:
    def noisy(alone: float, random: np.random.Generator) -> Callable[[int], list[float]]:
        return lambda count: [float(time) for time in random.normal(alone, alone / 200, count)]

    random = np.random.default_rng(5)
    clear = interleaved(noisy(2.0, random), noisy(1.0, random), Patience(turn_s=0.0, settle_s=0.0), 0.01)
    assert len(clear.times) <= 15
    for _ in range(40):
        same = interleaved(noisy(1.0, random), noisy(1.0, random), Patience(turn_s=0.0, settle_s=0.0), 0.01)
        assert same.ratio[1] <= 1.01


def test_on_a_cpu_every_turn_is_one_launch() -> None:
    old, new = Launches(1.0), Launches(1.0)
    pairs = interleaved(old, new, CPU_PATIENCE, 0.01)
    assert old.count == new.count == len(pairs.times) + 2


HOT, COOL = ClockSample(1200, ("hardware thermal slowdown",), 91), ClockSample(1980, ("power cap",), 70)


def test_times_of_a_device_that_is_held_down_for_its_heat_are_taken_anew_once_it_has_cooled() -> None:
    states = [HOT, HOT, COOL]
    slept: list[float] = []
    cooling = Cooling(lambda: states.pop(0) if len(states) > 1 else states[0], slept.append)
    times = [[9.0, 9.0], [9.0, 9.0], [1.0, 1.0]]
    assert cooling.minded(lambda _: times.pop(0))(2) == [1.0, 1.0]
    assert len(slept) == 2
    timing = cooling.marked(Timing(median=1.0, low=1.0, high=1.0, samples=2))
    assert (timing.dropped, timing.temperature_c, timing.clock_mhz) == (4, 70, 1980)
    assert cooling.marked(timing).dropped == 0, "told once"


def test_a_device_that_never_cools_is_waited_for_once_and_its_times_say_so() -> None:
    slept: list[float] = []
    cooling = Cooling(lambda: HOT, slept.append)
    launches = cooling.minded(lambda count: [9.0] * count)
    assert launches(1) == [9.0]
    assert sum(slept) == pytest.approx(COOLING_LIMIT_S, abs=0.2)
    waited = len(slept)
    assert launches(3) == [9.0] * 3
    assert len(slept) == waited
    assert cooling.marked(Timing(median=9.0, low=9.0, high=9.0, samples=1)).throttled_by == HOT.throttled_by


@pytest.mark.parametrize(
    ("samples", "middle"),
    [([3.0], 3.0), ([3.0, 1.0], 2.0), ([1.0, 900.0, 3.0], 3.0), ([9.0, 1.0, 2.0, 4.0], 3.0), ([1, 2, 3, 4, 900], 3.0)],
)
def test_the_midmean_leaves_out_the_fastest_and_the_slowest(samples: list[float], middle: float) -> None:
    assert midmean(samples) == middle
    with pytest.raises(ValueError, match="no samples"):
        midmean([])


def test_the_midmean_of_times_of_two_kinds_does_not_jump_from_one_to_the_other() -> None:
    rng = np.random.default_rng(3)
    turns = [list(rng.choice([3.8, 5.1], 16)) for _ in range(200)]
    assert np.std([midmean(turn) for turn in turns]) < 0.6 * np.std([median(turn) for turn in turns])


def test_one_disturbed_turn_is_not_what_a_kernel_needs_to_settle() -> None:
    """As an H100 has one now and then."""
    seconds, turns = 0.0, 0

    def launches(count: int) -> list[float]:
        nonlocal seconds, turns
        seconds, turns = seconds + 0.002, turns + 1
        return [0.6 if turns == 40 else 0.4] * count

    pairs = interleaved(launches, launches, Patience(), 0.01, lambda: seconds)
    assert seconds < 0.06 * len(pairs.times)


def test_turns_of_a_short_kernel_have_whole_rounds_of_launches_and_nothing_is_learnt_first() -> None:
    seconds = 0.0

    def launches(count: int) -> list[float]:
        nonlocal seconds
        seconds += 0.0002 * count
        return [0.004] * count

    assert interleaved(launches, launches, Patience(), 0.01, lambda: seconds).launches == (16, 16)
    assert seconds < 0.2, "to learn takes as long again"
