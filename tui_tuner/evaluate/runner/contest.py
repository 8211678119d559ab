"""A challenger beside the incumbent: timed in turns, in the same memory, on inputs that neither has seen.

The incumbent was right before. What it does wrong here, to the memory that both have as well, is the machine's matter
and never held against the challenger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from tui_tuner.evaluate.devices.base import Buffers, Device, Inspection, LoadedKernel
from tui_tuner.evaluate.devices.faults import DeviceFault, of_another
from tui_tuner.evaluate.measure.cooling import Cooling
from tui_tuner.evaluate.measure.timing import Patience, TimeLaunches, TimePairs, interleaved
from tui_tuner.evaluate.results import Comparison
from tui_tuner.evaluate.runner.checked_launches import DATA_LIMIT_S, CheckedLaunches, ResultMismatch, failure_of
from tui_tuner.evaluate.runner.protocol import INCUMBENT, Executable, SayPhase
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.evaluate.verify.drafts import BESIDE
from tui_tuner.evaluate.verify.unseen import AGAIN, MOST_TURNS, Beside, Seen, Unseen, undisturbed
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import Texture

_of_best = partial(of_another, "the best so far")


class Contest:
    """One comparison.

    Args:
        pair: the incumbent and the challenger.
        smaller: data of another size, where there are some.
    """

    def __init__(
        self,
        device: Device,
        problem: Problem,
        launches: CheckedLaunches,
        cooling: Cooling,
        say: SayPhase,
        pair: tuple[Executable, Executable],
        smaller: LaunchData | None,
    ) -> None:
        self._device = device
        self._problem = problem
        self._launches = launches
        self._cooling = cooling
        self._say = say
        self._incumbent, self._challenger = pair
        self._smaller = smaller
        self._taken: list[int] = []

    def held(
        self,
        fresh: Sequence[LaunchData],
        rest: Callable[[], Sequence[LaunchData]],
        patience: Patience,
        delta: float,
        alone_ms: Sequence[float],
    ) -> Comparison:
        """Time both, and check the challenger in the load that was timed.

        Args:
            fresh: what both are timed with, and what else the challenger is checked with.
            rest: what it is checked with as well where it is faster.
            alone_ms: as `interleaved` has it.

        Raises:
            DeviceFault: the challenger failed.
            ResultMismatch: it was wrong.
            MachineError: the incumbent failed, or spoils the memory that both have.
        """
        cpu, (data, *others) = self._device.info.is_cpu, fresh
        changed = next((one for one in others if one.texture is Texture.CHANGED), None)
        with self._loaded_incumbent() as old, self._launches.loaded(self._challenger) as new:
            with self._launches.buffers(data) as buffers, self._spoilt_by_challenger(data, buffers):
                pairs = self._pairs((old, new), data, buffers, patience, delta, alone_ms)
                comparison, said, kept = pairs.comparison(cpu=cpu), None, None
                is_faster = comparison.is_faster(delta)
                if is_faster:
                    said = self._launches.determinism(new, buffers, self._challenger.shapes[-1])
                    timed = Beside(*(pairs.timing(which, cpu=cpu).median for which in (0, 1)))
                    kept = self._kept_results(old, Seen(new, data, buffers, partial(self._launches.check, data), timed))
                if changed is not None:
                    self._launches.verify_changed(new, buffers, self._challenger, (data, changed))
                if kept is not None:
                    raise kept
            self._launches.verify(new, [one for one in others if one is not changed], self._challenger)
            for one in rest() if is_faster else ():
                self._launches.verify(new, [one], self._challenger)
        told = {"challenger": self._cooling.marked(pairs.timing(1, cpu=cpu)), "determinism": said}
        return comparison.model_copy(update=told)

    @contextmanager
    def _loaded_incumbent(self) -> Iterator[LoadedKernel]:
        self._say(f"{INCUMBENT}, which is loaded", self._launches.limit_s)
        with ExitStack() as held:
            with _of_best():
                kernel = held.enter_context(self._launches.loaded(self._incumbent))
            yield kernel

    @contextmanager
    def _spoilt_by_challenger(self, data: LaunchData, buffers: Buffers) -> Iterator[None]:
        """Find out who it was where inputs are changed, or something is written beside arrays.

        Raises:
            MachineError: the incumbent does so alone, timed in other memory as it was here.
        """
        try:
            yield
        except (DeviceFault, ResultMismatch) as fault:
            if not fault.fatal and self._launches.spoilt(data, buffers) is not None:
                with self._loaded_incumbent() as alone, self._launches.buffers(data) as own, _of_best():
                    again = self._timer(alone, own, self._incumbent, INCUMBENT)
                    for count in self._taken:  # in as many turns, as each may have launches that are not counted
                        again(count)
                    self._refuse_spoilt(data, own)
            raise

    def _refuse_spoilt(self, data: LaunchData, buffers: Buffers) -> None:
        """Look at memory in which nothing of the challenger ran."""
        spoilt = self._launches.spoilt(data, buffers)
        if spoilt is not None:
            raise DeviceFault(failure_of(spoilt).kind, str(spoilt)) from spoilt

    def _pairs(
        self,
        loads: tuple[LoadedKernel, LoadedKernel],
        data: LaunchData,
        buffers: Buffers,
        patience: Patience,
        delta: float,
        alone_ms: Sequence[float],
    ) -> TimePairs:
        inspection = Inspection(lambda: self._launches.check(data, buffers))
        alike = Inspection(lambda: None, beside=inspection)
        old_launches = self._timer(loads[0], buffers, self._incumbent, INCUMBENT, alike)
        new_launches = self._timer(loads[1], buffers, self._challenger, "challenger against incumbent", inspection)

        @_of_best()
        def of_incumbent(count: int) -> list[float]:
            is_first = not self._taken
            self._taken.append(count)
            times = old_launches(count)
            if is_first:
                self._refuse_spoilt(data, buffers)
            return times

        with BESIDE.at_rest():
            pairs = interleaved(of_incumbent, new_launches, patience, delta, alone_ms=alone_ms)
        self._launches.launch(loads[1], buffers, self._challenger.shapes[-1], "last check")
        self._launches.check(data, buffers)
        return pairs

    def _timer(
        self,
        kernel: LoadedKernel,
        buffers: Buffers,
        executable: Executable,
        what: str,
        inspect: Inspection | None = None,
    ) -> TimeLaunches:
        return self._cooling.minded(self._launches.timer(kernel, buffers, executable.shapes[-1], what, inspect))

    def _kept_results(self, behind: LoadedKernel, seen: Seen) -> DeviceFault | None:
        limit_s, geometry = self._launches.limit_s, self._challenger.shapes[-1].geometry
        self._say("inputs that no launch has had", DATA_LIMIT_S + 4 * AGAIN * MOST_TURNS * limit_s)

        @_of_best()
        def before(there: Buffers) -> float:
            def launch() -> float:
                self._taken.append(1)
                return self._device.time_first(behind, there, self._incumbent.shapes[-1].geometry, limit_s)

            return undisturbed(launch)

        unseen = Unseen(self._device, self._problem, before, geometry, limit_s)
        load = partial(self._launches.loaded, self._challenger)
        if self._smaller is None:
            return unseen.kept_results(load, seen, None)
        with self._launches.buffers(self._smaller) as buffers:
            return unseen.kept_results(load, seen, (buffers, self._challenger.shapes[self._smaller.index].geometry))
