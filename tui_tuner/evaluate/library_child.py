"""Checks and times the library of a problem: started as `python -m tui_tuner.evaluate.library_child`.

Problem, device and run come as JSON on standard input when the device is free, the answer leaves as JSON on standard
output. The library is loaded before, which takes seconds.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.choose import device_named
from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.measure.timing import Patience, measure
from tui_tuner.evaluate.results import Timing
from tui_tuner.evaluate.runner.device_lock import DeviceLock
from tui_tuner.evaluate.tolerance import bound, compare
from tui_tuner.problem.dtypes import dtype_named, is_narrow
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.inputs import call_reference, label_of, make_arguments
from tui_tuner.problem.model import Problem
from tui_tuner.problem.placement import in_order
from tui_tuner.problem.reference import find_library, load_function, outputs_of, plain_scalar, with_arrays
from tui_tuner.processes.parent import die_with_parent

_WARM_UP = 5
"""Calls in which a library chooses among its kernels."""
_FLUSH_BYTES = 2**28
"""More than any L2 cache: what is in it when a call begins is none of its arrays."""


class TorchLibrary:
    """The library in this process."""

    def __init__(self, problem: Problem) -> None:
        import torch

        self._torch = torch
        self._problem = problem
        self._place = find_library(problem)
        self._function: Callable[..., Any] = load_function(self._place)

    @property
    def name(self) -> str:
        """The library's name, with its version."""
        return f"torch {self._torch.__version__}"

    @contextmanager
    def on(self, choice: DeviceChoice, run: str) -> Iterator[None]:
        """Use a device, which no other run works on meanwhile."""
        driver = Driver()
        ordinal = driver.ordinal(choice.uuid, choice.index)
        self._torch.cuda.set_device(ordinal)
        with DeviceLock(driver.uuid(driver.device(ordinal)), run).held(lambda _: None):
            yield

    def check(self) -> bool:
        """Whether there is a reference that it was compared with, at the first test.

        Raises:
            ProblemError: it fails, or computes something else.
        """
        problem = self._problem
        if problem.reference is None or not problem.tests:
            return False
        at = problem.at(problem.tests[0])
        arguments = make_arguments(at, {}, seed=1)
        named = self._on_device(arguments)
        found = outputs_of(self._place, lambda: self._on_host(self._function(**named), named), at, arguments)
        in_lists = {a.name: a for a in at.arguments}
        for name, laid_out in call_reference(at, arguments).items():
            expected = in_order(in_lists[name], laid_out)
            dtype = found[name].dtype
            operations = 1024.0 if at.work is None else float(evaluate(at.work.flops, at.sizes)) / max(1, expected.size)
            allowed = bound(expected, dtype, operations, at.tolerance, None)
            mismatch = compare(found[name], expected, allowed)[1]
            if mismatch is not None:
                raise ProblemError(f"it computes something else at {label_of(at.sizes)}: {name}{mismatch}")
        return True

    def timing(self) -> Timing:
        """The time of a call at the timed size, with a cold cache, once the times have settled as a kernel's must."""
        cuda = self._torch.cuda
        named = self._on_device(make_arguments(self._problem, {}, seed=1))
        flush = self._torch.empty(_FLUSH_BYTES, dtype=self._torch.uint8, device="cuda")
        for _ in range(_WARM_UP):
            self._function(**named)

        def calls(count: int) -> list[float]:
            events = [(cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)) for _ in range(count)]
            for begin, end in events:
                flush.zero_()
                begin.record()
                self._function(**named)
                end.record()
            cuda.synchronize()
            return [float(begin.elapsed_time(end)) for begin, end in events]

        return measure(calls, Patience(), best_ms=None, cpu=False)

    def _on_device(self, arguments: list[np.ndarray | np.generic]) -> dict[str, Any]:
        named = {
            a.name: self._tensor(in_order(a, value)) if isinstance(value, np.ndarray) else plain_scalar(value)
            for a, value in zip(self._problem.arguments, arguments, strict=True)
        }
        return with_arrays(self._problem, named)

    def _on_host(self, returned: object, named: Mapping[str, Any]) -> object:
        if returned is None:
            return {a.name: self._on_host(named[a.name], named) for a in self._problem.arguments if a.output}
        if isinstance(returned, Mapping):
            return {name: self._on_host(value, named) for name, value in returned.items()}
        if isinstance(returned, tuple):
            return tuple(self._on_host(value, named) for value in returned)
        if not isinstance(returned, self._torch.Tensor):
            return returned
        dtype = dtype_named(str(returned.dtype).removeprefix("torch."))
        bits = returned.view(getattr(self._torch, f"int{8 * dtype.itemsize}")) if is_narrow(dtype) else returned
        return bits.cpu().numpy().view(dtype)

    def _tensor(self, array: np.ndarray) -> object:
        """An array on the device, of the type of the same name: torch takes no narrow ones but as their bits."""
        array = np.require(array, requirements=["C", "W"])
        if not is_narrow(array.dtype):
            return self._torch.from_numpy(array).cuda()
        bits = self._torch.from_numpy(array.view(f"i{array.itemsize}"))
        return bits.view(getattr(self._torch, array.dtype.name)).cuda()


def _measured(problem: Problem, place: str, run: str) -> LibraryTime:
    library = TorchLibrary(problem)
    with library.on(device_named(place), run):
        checked = library.check()
        timing = library.timing()
    function = "" if problem.library is None else problem.library.python
    interval = {"median": timing.median, "low": timing.low, "high": timing.high}
    return LibraryTime(name=library.name, function=function, checked=checked, **interval)


def main() -> None:
    """Entry point of the process."""
    die_with_parent()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    with suppress(Exception):  # which comes again when it is used, and is told then
        import_module("torch")
    job = json.load(sys.stdin)
    try:
        found = _measured(Problem.model_validate(job["problem"]), job["place"], job["run"])
        said: dict[str, Any] = {"found": found.model_dump(mode="json")}
    except ImportError as error:
        said = {"failed": f"{error.name or error} is not installed"}
    except Exception as error:
        said = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
    json.dump(said, answer)
    answer.close()


if __name__ == "__main__":
    main()
