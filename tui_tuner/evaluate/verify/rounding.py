"""Inputs that are off by rounding: how far outputs move by that, others may be off as well."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tui_tuner.evaluate.devices.base import KernelArgument
from tui_tuner.evaluate.tolerance import FLOOR_CAP, MARGIN
from tui_tuner.problem.blocks import copied
from tui_tuner.problem.domains import nudged
from tui_tuner.problem.dtypes import is_floating, spacing


def is_coarse(unit: float) -> bool:
    """Whether a unit in the last place is so large that a few of them are more than any bound allows."""
    return MARGIN * unit > FLOOR_CAP


def nudged_arguments(
    arguments: Sequence[KernelArgument], way: int, *, refined: bool = False
) -> tuple[list[KernelArgument], float]:
    """The arguments, floating-point arrays off by a unit in the last place, and the largest unit.

    Args:
        way: which of many ways, each of which has every element off up or down at random.
        refined: whether those of few bits are off by one of single precision.
    """
    changed, unit = list(arguments), 0.0
    for i, one in enumerate(arguments):
        if isinstance(one, np.ndarray) and is_floating(one.dtype):
            held = copied(one, np.dtype(np.float32)) if refined and is_coarse(spacing(one.dtype)) else one
            changed[i], unit = nudged(held, way, i), max(unit, spacing(held.dtype))
    return changed, unit
