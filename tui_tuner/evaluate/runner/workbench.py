"""Verification and measurement on one device, inside the runner process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import Buffers, Device, Inspection, KernelArgument, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault, named_at
from tui_tuner.evaluate.given_fault import fault_of_launch, fault_of_mismatch
from tui_tuner.evaluate.measure.cooling import Cooling
from tui_tuner.evaluate.measure.timing import CPU_PATIENCE, Patience, measure
from tui_tuner.evaluate.results import Comparison, FailureKind, Timing
from tui_tuner.evaluate.runner.checked_launches import (
    DATA_LIMIT_S,
    LIMIT_FACTOR,
    LIMIT_S,
    CheckedLaunches,
    ResultMismatch,
    failure_of,
)
from tui_tuner.evaluate.runner.contest import Contest
from tui_tuner.evaluate.runner.protocol import (
    EXPECTED,
    FRESH,
    ComparisonAnswer,
    EvaluationAnswer,
    Executable,
    LaunchShape,
    RehearsalAnswer,
    SayPhase,
    ToolFinding,
)
from tui_tuner.evaluate.toolkit import ORDERCHECK
from tui_tuner.evaluate.verify import LaunchData, strictest, with_leftovers
from tui_tuner.evaluate.verify.datasets import DataSets
from tui_tuner.evaluate.verify.doubts import Doubts
from tui_tuner.evaluate.verify.drafts import BESIDE, Drafts
from tui_tuner.evaluate.verify.soundness import fault_of_check, hardly_changed_by, without_numbers
from tui_tuner.problem.inputs import label_of, poisoned
from tui_tuner.problem.model import Problem
from tui_tuner.problem.placement import placement_of
from tui_tuner.problem.textures import Texture

REST_S = 0.1
"""A device that was last timed longer ago is warmed up for longer: its clock may have fallen."""
LATE_ROUNDS = 8
"""How often a kernel whose warps are late is launched at a test."""
DOUBTED = 2
"""How often a time of the kernel as given that cannot be true is taken again."""
WARM_FACTOR, WARM_LAUNCHES = 2, 5
"""Arrays of more than so many L2 caches are not in it anyway when a launch begins."""
REHEARSAL_LIMIT_S = 10.0
"""Time limit of a launch at a test that is proposed: every candidate would run there."""
FEW_LAUNCHES = 3


class Workbench:
    """Checks and times executables of one problem; used from one thread.

    Args:
        draws: how often the data of a test are drawn before it is given up.
        drafts: of the problem, where some are begun.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        say: SayPhase,
        *,
        draws: int = 1,
        drafts: Drafts | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._device = device
        device.placement = placement_of(problem)
        self._problem = problem
        self._say = say
        self._patience = CPU_PATIENCE if device.info.is_cpu else Patience()
        self._cooling = Cooling(device.clock)
        self._timed_at = -math.inf
        self._outputs = [i for i, a in enumerate(problem.arguments) if a.output]
        self._drafts = drafts or Drafts(problem, beside=not device.info.is_cpu)
        self._datasets = DataSets(self._drafts, self._run_baseline, draws=draws)
        self._doubts = Doubts(self._datasets, self._drafts, self._run_baseline)
        self._tests: list[LaunchData] = []
        self._timed: LaunchData | None = None
        self._structured: list[LaunchData] = []
        self._rest: list[LaunchData] | None = None
        self._pair: list[LaunchData] = []
        self._launches = CheckedLaunches(device, problem, say, clock)
        self._baseline: Executable | None = None
        self._alone_ms: dict[tuple[str, str, LaunchShape], float] = {}

    def prepare(self, baseline: Executable) -> EvaluationAnswer:
        """Check the kernel as given, keep data and tolerances for all candidates, and time it.

        Raises:
            ProblemError: it fails its own reference, or a check could not fail.
        """
        self._baseline = baseline
        last = len(self._problem.tests)
        self._datasets.left_out += self._drafts.without_room()
        try:
            self._tests = [data for index in range(last) for data in self._first(index)]
            self._timed, *self._structured = self._first(last)
            self._keep((*self._tests, self._timed, *self._structured))
        except DeviceFault as fault:
            return _failed(fault)
        outcome = self._of_given(baseline)
        if outcome.timing is not None:
            self._launches.limit_s = LIMIT_S + LIMIT_FACTOR * outcome.timing.median / 1000
        self._announce_pairs()
        return outcome.model_copy(update={"allowed": strictest(self._problem, self._tests or [self._timed])})

    def _first(self, index: int) -> list[LaunchData]:
        with named_at(label_of(self._drafts.at(index).sizes, self._drafts.test(index).inputs)):
            return self._fresh(index, self._drafts.textures(index))

    def _of_given(self, baseline: Executable) -> EvaluationAnswer:
        """What the kernel as given comes to; again where its time cannot be true: the machine was busy elsewhere."""
        for _ in range(DOUBTED):
            outcome = self.evaluate(baseline, None)
            if outcome.failure is None or outcome.failure.kind is not FailureKind.IMPLAUSIBLE:
                return outcome
        return self.evaluate(baseline, None)

    def _announce_pairs(self) -> None:
        """Begin to draw what the next comparison needs."""
        for index in range(len(self._problem.tests) + (not self._drafts.in_doubt)):
            self._drafts.announce_pair(index, self._textures_at(index))

    def rehearse(self, baseline: Executable, *, is_timed: bool = False) -> RehearsalAnswer:
        """Whether the kernel as given, treated like a candidate, holds tests that nobody has run; nothing is kept."""
        self._baseline = baseline
        self._launches.limit_s = self._launches.given_limit_s = REHEARSAL_LIMIT_S
        no_numbers: set[str] = set()
        launch_ms = None
        hardly_changed: dict[str, tuple[int, int]] = {}
        try:
            for index in range(len(self._problem.tests)):
                self._launches.verify_loaded(fresh := self._fresh(index), baseline)
                no_numbers |= without_numbers(self._problem, fresh[0])
                hardly_changed |= hardly_changed_by(self._problem, fresh[0])
            if is_timed:
                with self._launches.loaded(baseline) as kernel, self._launches.buffers(fresh[0]) as buffers:
                    geometry = baseline.shapes[fresh[0].index].geometry
                    launch_ms = min(self._device.time(kernel, buffers, geometry, FEW_LAUNCHES, REHEARSAL_LIMIT_S))
        except (DeviceFault, ResultMismatch) as fault:
            if isinstance(reason := self._launches.reason(fault, baseline), ResultMismatch):
                return RehearsalAnswer(fault=fault_of_mismatch(str(reason)))
            return RehearsalAnswer(fault=fault_of_launch(reason, self._problem), fatal=reason.fatal)
        except (ProblemError, MemoryError) as error:
            return RehearsalAnswer(fault=fault_of_check(error))
        return RehearsalAnswer(no_numbers=sorted(no_numbers), hardly_changed=hardly_changed, launch_ms=launch_ms)

    def evaluate(self, executable: Executable, best_ms: float | None) -> EvaluationAnswer:
        """Verify at every test, then at the timed size, then time."""
        self._doubts.another_candidate()
        return self._evaluated(executable, best_ms)

    def _evaluated(self, executable: Executable, best_ms: float | None) -> EvaluationAnswer:
        start = time.perf_counter()
        try:
            error = self._launches.verify_loaded(self._tests, executable)
            verified = time.perf_counter()
            # Loaded afresh: nothing that the kernel kept while it was checked is left when it is timed.
            with self._launches.loaded(executable) as kernel:
                timing, timed_error = self._measure(kernel, executable, best_ms)
                if best_ms is None or timing.low <= self._patience.contender * best_ms:  # it may be the best
                    # On a GPU in the load that was timed: what it had kept of those launches would be wrong for others.
                    timed_error = max(timed_error, self._launches.verify(kernel, self._structured, executable))
        except (DeviceFault, ResultMismatch) as fault:
            if self._is_doubtful(fault):
                return self._evaluated(executable, best_ms)
            return _failed(self._launches.reason(fault, executable), verify_ms=(time.perf_counter() - start) * 1000)
        return EvaluationAnswer(
            timing=timing,
            error=max(error, timed_error),
            verify_ms=(verified - start) * 1000,
            measure_ms=(time.perf_counter() - verified) * 1000,
            left_out=self._datasets.newly_left_out(),
        )

    def verify_late(self, late: Executable) -> tuple[ToolFinding, bool]:
        """What is wrong with a build whose warps are late, and whether that broke the device's context.

        It is launched at tests whose blocks all run at once: they may wait for others.
        """
        most = self._device.info.multiprocessors or 0
        sets = [data for data in self._tests if math.prod(late.shapes[data.index].geometry.grid) <= most]
        try:
            for _ in range(LATE_ROUNDS):
                self._launches.verify_loaded(sets, late)
        except (DeviceFault, ResultMismatch) as fault:
            where = f"{ORDERCHECK}: where blocks and warps are late, each by another time, "
            return ToolFinding(failure=failure_of(fault, where)), fault.fatal
        return ToolFinding(has_seen=bool(sets)), False

    def compare(self, old: Executable, new: Executable, delta: float, *, thorough: bool = False) -> ComparisonAnswer:
        """Time both in turns on data that neither has seen; verify the new one on more if it is faster, or if asked."""
        self._doubts.another_candidate()
        answer = self._compared(old, new, delta, thorough)
        self._announce_pairs()
        return answer

    def _compared(self, old: Executable, new: Executable, delta: float, thorough: bool) -> ComparisonAnswer:
        try:
            tests = range(len(self._problem.tests))
            answer = self._contest(self._fresh_pair(len(tests)), old, new, delta)
            if thorough or answer.comparison.is_faster(delta):
                self._launches.verify_drawn(new, lambda: [data for i in tests for data in self._fresh_pair(i)])
            return answer
        except (DeviceFault, ResultMismatch) as fault:
            if self._is_doubtful(fault):
                return self._compared(old, new, delta, thorough)
            reason = self._launches.reason(fault, new)
            return ComparisonAnswer(comparison=Comparison.failed(failure_of(reason)), fatal=reason.fatal)

    def _is_doubtful(self, fault: DeviceFault | ResultMismatch) -> bool:
        """Whether a candidate is to be judged anew, by the reference or on other data than where it was wrong."""
        if isinstance(fault, DeviceFault) or self._timed is None:
            return False
        doubt = self._doubts.of(fault.data, fault.outputs, self._timed, is_kept=self._launches.keeps(fault.data))
        if doubt is None:
            return False

        def replaced(sets: Sequence[LaunchData]) -> list[LaunchData]:
            return [new for one in sets for new in (doubt.instead if one is fault.data else [one])]

        self._tests = replaced(self._tests)
        self._timed, *self._structured = replaced((self._timed, *self._structured))
        drawn = self._pair, self._rest and replaced(self._rest)
        self._pair, self._rest = drawn if doubt.instead else ([], None)
        self._launches.memory.give_back(fault.data)
        self._keep(doubt.instead)
        return doubt.is_founded

    def _keep(self, sets: Sequence[LaunchData]) -> None:
        """For all candidates, with those that are kept already."""
        self._launches.kept = [*self._tests, *filter(None, (self._timed, *self._structured))]
        for expected in (array for data in sets for array in data.expected.values()):
            self._device.pin(expected)

    @property
    def _unordered(self) -> frozenset[int]:
        """Outputs whose elements are found in any order."""
        return frozenset(i for i in self._outputs if self._problem.arguments[i].compare == "sorted")

    @property
    def poisoned(self) -> frozenset[int]:
        """Outputs that start with values that no kernel computes."""
        return frozenset(i for i in self._outputs if poisoned(self._problem.arguments[i]))

    @property
    def small_data(self) -> list[LaunchData]:
        """Noise at each test; at the timed size where there are none."""
        return [data for data in self._tests if data.texture is Texture.NOISE] or [d for d in (self._timed,) if d]

    def _fresh_pair(self, index: int) -> list[LaunchData]:
        """Data that no load of a kernel has had; in doubt those at the timed size stay the same, for the reference."""
        if self._pair and index == self._pair[0].index and self._drafts.in_doubt:
            return self._pair
        pair = self._fresh(index, self._drafts.announce_pair(index, self._textures_at(index)))
        if index == len(self._problem.tests):
            self._pair = pair if self._drafts.in_doubt else []
        return pair

    def _textures_at(self, index: int) -> list[Texture]:
        return [data.texture for data in (*self._tests, *self._structured) if data.index == index]

    def _contest(
        self, fresh: Sequence[LaunchData], incumbent: Executable, challenger: Executable, delta: float
    ) -> ComparisonAnswer:
        smaller, pair = next(iter(self._tests), None), (incumbent, challenger)
        contest = Contest(self._device, self._problem, self._launches, self._cooling, self._say, pair, smaller)
        checked = [*fresh, *with_leftovers(fresh[0], self.poisoned)]
        rest, alone = partial(self._rest_of, fresh[0]), [self._alone_ms.get(one.timed, 0.0) for one in pair]
        return ComparisonAnswer(comparison=contest.held(checked, rest, self._patience, delta, alone))

    def _rest_of(self, noise: LaunchData) -> list[LaunchData]:
        """What else the tests have, at the timed size too: a kernel may go another way there. Made once."""
        if self._rest is None:
            self._say("more inputs at the timed size", DATA_LIMIT_S)
            textures = self._drafts.rest({data.texture for data in self._tests})
            self._rest = [data for texture in textures for data in self._datasets.again(noise, texture)]
        return self._rest

    def _measure(self, kernel: LoadedKernel, executable: Executable, best_ms: float | None) -> tuple[Timing, float]:
        data, shape = self._timed, executable.shapes[-1]
        if data is None:
            raise RuntimeError("the workbench is not prepared")
        with self._launches.buffers(data) as buffers:
            inspection = Inspection(lambda: self._launches.check(data, buffers))
            race = self._device.race(kernel, buffers, shape.geometry, self._unordered)
            if race is not None:
                raise ResultMismatch(f"at {data.label}: {race}", data)
            self._launches.launch(kernel, buffers, shape, f"verify at {data.label}")
            inspection.see(self._device.digest(buffers))
            timer = self._launches.timer(kernel, buffers, shape, f"time at {data.label}", inspection)
            cpu, rested = self._device.info.is_cpu, time.monotonic() - self._timed_at > REST_S
            with BESIDE.at_rest():
                timing = measure(self._cooling.minded(timer), self._patience, best_ms=best_ms, cpu=cpu, rested=rested)
                self._timed_at = time.monotonic()
                self._alone_ms[executable.timed] = timing.median
                warm = self._warm(kernel, buffers, shape, timing, best_ms)
            timing = self._cooling.marked(timing.model_copy(update={"warm": warm}))
            return timing, self._launches.check(data, buffers)

    def _warm(
        self, kernel: LoadedKernel, buffers: Buffers, shape: LaunchShape, cold: Timing, best_ms: float | None
    ) -> float | None:
        """The time with warm caches, where the arrays may stay there and the kernel is as fast as any known."""
        nbytes = sum(argument.nbytes for argument in buffers.arguments if isinstance(argument, np.ndarray))
        if cold.low > (best_ms or math.inf) or nbytes > WARM_FACTOR * (self._device.info.l2_bytes or 0):
            return None
        self._say("time with warm caches", self._launches.limit_s * WARM_LAUNCHES)
        times = self._device.time_warm(kernel, buffers, shape.geometry, WARM_LAUNCHES, self._launches.limit_s)
        return median(times) if times else None

    def _fresh(self, index: int, textures: Sequence[Texture] = ()) -> list[LaunchData]:
        reference = self._problem.reference
        self._say(f"{FRESH}{f', and the reference {reference.python}' if reference else ''}", DATA_LIMIT_S)
        return self._datasets.make(index, textures)

    def _run_baseline(self, arguments: list[KernelArgument], index: int, label: str) -> dict[int, np.ndarray]:
        if self._baseline is None:
            raise RuntimeError("the workbench is not prepared")
        buffers = self._device.allocate(arguments, frozenset(self._outputs))
        try:
            with self._launches.loaded(self._baseline) as kernel:
                self._launches.launch_given(kernel, buffers, self._baseline.shapes[index], label)
                self._say(EXPECTED, DATA_LIMIT_S)
                return {i: self._launches.compared(buffers, i) for i in self._outputs}
        finally:
            self._device.free(buffers)


def _failed(fault: DeviceFault | ResultMismatch, *, verify_ms: float = 0.0) -> EvaluationAnswer:
    return EvaluationAnswer(failure=failure_of(fault), verify_ms=verify_ms, fatal=fault.fatal)
