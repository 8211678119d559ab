"""Whether an array can be filled as its table says: a fill that its dtype holds, bounds that the fill has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tui_tuner.problem.argument_values import fill_of
from tui_tuner.problem.model import Argument


@dataclass(frozen=True)
class FillFault:
    """What is wrong with a fill: at which key, why, and the way out."""

    key: str
    message: str
    hint: str


def fill_fault(argument: Argument) -> FillFault | None:
    """The first mistake in `fill`, `low` and `high`, as far as it does not depend on sizes."""
    is_float = np.issubdtype(np.dtype(argument.dtype), np.floating)
    if argument.shape is None:
        if argument.fill is not None:
            return FillFault("fill", "a scalar has no fill", "take fill out")
    elif fill_of(argument) in ("normal", "uniform") and not is_float:
        message = f"fill = '{argument.fill}' makes fractions, {argument.dtype} holds none"
        return FillFault("fill", message, 'use fill = "integers" with low and high')
    for key in ("low", "high"):
        if getattr(argument, key) is not None and fill_of(argument) not in ("uniform", "integers"):
            return FillFault(key, f"'{key}' bounds only those fills", 'add fill = "uniform" or fill = "integers"')
    return None
