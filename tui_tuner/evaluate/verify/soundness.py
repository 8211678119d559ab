"""Whether a check means anything: refused if nothing could fail it, left out if the kernel as given cannot pass it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.evaluate.in_pieces import all_finite, peak
from tui_tuner.evaluate.tolerance import Bound, compare
from tui_tuner.evaluate.verify import LaunchData
from tui_tuner.problem.compared import compared
from tui_tuner.problem.dtypes import is_floating
from tui_tuner.problem.inputs import poisoned, repoisoned, untouched
from tui_tuner.problem.model import Problem
from tui_tuner.problem.textures import Texture

CONSTANT_NEEDS = 8
"""Outputs with fewer elements may rightly be constant."""
FIRST_ELEMENTS = 2**16
"""What is compared before the whole output: nearly always a wrong element is among them."""
VANISHED = 1e-36
"""Of results no larger than this hardly a bit is compared."""


CHANCE_ELEMENTS = 256
"""An output of fewer may be constant by chance."""


class UnsoundCheck(ProblemError):
    """An output whose check would say nothing.

    Args:
        fault: why, and of which output.
        hint: what to do about it.
    """

    def __init__(self, fault: GivenFault, hint: str) -> None:
        super().__init__(fault.message, hint=hint)
        self.fault = fault


def fault_of_check(error: ProblemError | MemoryError) -> GivenFault:
    """What a check that could not be made says of the kernel as given."""
    if isinstance(error, MemoryError):
        return GivenFault(message="its arrays do not fit in memory")
    return error.fault if isinstance(error, UnsoundCheck) else GivenFault(message=error.message)


class ConstantByChance(UnsoundCheck):
    """A small output that other inputs would not leave constant, perhaps."""


class LeftOut(Exception):
    """Inputs at which the kernel as given is no measure of others, and why."""


def refuse_weak(
    problem: Problem,
    label: str,
    arguments: Sequence[KernelArgument],
    expected: Mapping[int, np.ndarray],
    bounds: Mapping[int, Bound],
) -> None:
    """Refuse a check that zeros, a constant or an untouched output would pass.

    Args:
        label: where the outputs are checked, in words.
        expected: outputs by argument index, with their `bounds`.

    Raises:
        UnsoundCheck: a kernel that computes nothing would pass.
    """
    for index, output in expected.items():
        name, flat = problem.arguments[index].name, output.reshape(-1)
        if problem.arguments[index].one_value:
            continue  # it fails with another output, which every problem has
        if not (np.isfinite(flat[:FIRST_ELEMENTS]).any() or np.isfinite(flat).any()):
            message = f"at {label} no element of '{name}' is a finite number"
            raise UnsoundCheck(
                GivenFault(message=message, kind=GivenFaultKind.NOT_FINITE, argument=name),
                "an output that the kernel also reads needs `fill` in its [[arguments]]",
            )
        constants = [0]
        if flat.size >= CONSTANT_NEEDS:
            constants.append(np.mean(flat) if is_floating(flat.dtype) else flat[0])
        fakes = [np.broadcast_to(np.asarray(constant, flat.dtype), flat.shape) for constant in constants]
        before = compared(problem.arguments[index], np.asarray(arguments[index]))
        for fake in (*fakes, before.reshape(-1)):
            if _would_pass(fake, flat, bounds[index]):
                is_small = flat.size < CHANCE_ELEMENTS
                unsound = ConstantByChance if is_small else UnsoundCheck
                message = f"at {label} a kernel that computes nothing would pass the check of '{name}'"
                others = f"inputs ([[arguments]] fill, low, high){' or a size' if is_small else ''}"
                raise unsound(
                    GivenFault(message=message, kind=GivenFaultKind.CONSTANT, argument=name),
                    f"choose {others} whose result differs from a constant",
                )


def _would_pass(fake: np.ndarray, expected: np.ndarray, allowed: Bound) -> bool:
    """Whether a flat array passes for another."""
    for part in (slice(FIRST_ELEMENTS), slice(None)):
        if compare(fake[part].astype(expected.dtype, copy=False), expected[part], allowed)[1] is not None:
            return False
    return True


def refuse_unwritten(
    problem: Problem,
    label: str,
    arguments: Sequence[KernelArgument],
    outputs: Mapping[int, np.ndarray],
    run: Callable[[list[KernelArgument]], Mapping[int, np.ndarray]],
) -> None:
    """Refuse what the kernel as given leaves out, which would be expected of every candidate.

    Args:
        label: where it was launched, in words.
        outputs: what came of it, by argument index.
        run: launches it again, which is done where it may have left something: poisoned anew.

    Raises:
        UnsoundCheck: it leaves elements unwritten.
    """
    given = problem.arguments
    left = {i: untouched(given[i], output) for i, output in outputs.items() if poisoned(given[i])}
    if not any(mask.any() for mask in left.values()):
        return
    again = [repoisoned(argument, value) for argument, value in zip(given, arguments, strict=True)]
    second = run(again)
    for i, mask in left.items():
        unwritten = int(np.count_nonzero(mask & (second[i] == again[i])))
        if unwritten:
            name = given[i].name
            message = f"at {label} the kernel as given leaves {unwritten} of {mask.size} elements of '{name}' unwritten"
            raise UnsoundCheck(
                GivenFault(message=message, kind=GivenFaultKind.UNWRITTEN, argument=name),
                "check problem_size, grid_div and block_size in [launch]: too few threads may run. An output "
                "that is rightly written in part needs `fill` in its [[arguments]]",
            )


def refuse_degenerate(name: str, texture: Texture, expected: np.ndarray, *, computed: bool) -> None:
    """Leave out results that overflowed or vanished: they say nothing of a rewrite, which computes in another order.

    Args:
        name: of the output.
        computed: whether the kernel as given alone says what is expected.

    Raises:
        LeftOut: the output holds what is not finite, and should not, or nothing but the smallest numbers.
    """
    if not is_floating(expected.dtype):
        return
    if texture not in (Texture.INFINITE, Texture.NAN) and not all_finite(expected):
        raise LeftOut(f"{name} is not finite")
    if texture is Texture.TINY and peak(expected) <= VANISHED:
        raise LeftOut(f"{name} vanishes")
    if computed and texture is not Texture.NAN and np.isnan(expected).any():
        raise LeftOut(f"{name} is not a number")


FEW = 64
"""A launch that changes less than one in so many elements of an output may be one of too few threads."""


def without_numbers(problem: Problem, data: LaunchData) -> set[str]:
    """The outputs of the kernel as given with elements that are no number."""
    floating = {i: expected for i, expected in data.expected.items() if is_floating(expected.dtype)}
    return {problem.arguments[i].name for i, expected in floating.items() if np.isnan(expected).any()}


def hardly_changed_by(problem: Problem, data: LaunchData) -> dict[str, tuple[int, int]]:
    """The outputs of which a launch of the kernel as given changes few elements, and how many of how many."""
    found = {}
    for index, expected in data.expected.items():
        before = compared(problem.arguments[index], np.asarray(data.arguments[index]))
        changed = int(np.count_nonzero(expected != before))
        if changed * FEW < expected.size:
            found[problem.arguments[index].name] = changed, expected.size
    return found
