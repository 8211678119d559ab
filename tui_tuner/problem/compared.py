"""What of an output is compared, where that is not each element for itself: partial results, and what has no order.

How many partial results a launch leaves, and in what order it finds things, is the matter of its configuration: blocks
that each sum up their part leave one sum a block. What they come to together is not, and that is what is compared.
"""

from __future__ import annotations

import numpy as np

from tui_tuner.problem.argument import Argument
from tui_tuner.problem.dtypes import is_floating, largest

_IN_WORDS = {
    "sum": "partial results: their sum along the first extent is compared, and those not written are 0",
    "min": "partial results: their minimum along the first extent is compared, and those not written are the largest "
    "number",
    "max": "partial results: their maximum along the first extent is compared, and those not written are the lowest "
    "number",
    "sorted": "compared in any order, and elements not written are 0",
}


def compared(argument: Argument, output: np.ndarray) -> np.ndarray:
    """What is compared of an output: the output itself, or what its partial results come to, or its sorted elements.

    A sum is computed in double precision, or in 64 bits, and rounded to the output's type if that is a floating one.

    Args:
        output: in the shape of the argument, or one that is combined already.
    """
    if argument.compare is None or output.ndim < len(argument.shape or ()):
        return output
    if argument.compare == "sorted":
        return np.sort(output, axis=None).reshape(output.shape)
    if argument.compare != "sum":
        return np.atleast_1d(output.min(axis=0) if argument.compare == "min" else output.max(axis=0))
    wide = np.float64 if is_floating(output.dtype) else np.uint64 if output.dtype.kind == "u" else np.int64
    total = np.atleast_1d(output.sum(axis=0, dtype=wide))
    return total.astype(output.dtype) if is_floating(output.dtype) else total


def combined_shapes(argument: Argument, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shapes that what partial results come to may have; none of an output that has no such."""
    if argument.compare in (None, "sorted"):
        return []
    return [shape[1:]] if shape[1:] else [(), (1,)]


def is_neutral(argument: Argument) -> bool:
    """Whether the argument is an output that starts with what changes nothing of what is compared of it."""
    return argument.compare is not None and argument.fill is None and argument.function is None


def neutral_number(argument: Argument, dtype: np.dtype) -> float:
    """What an element holds before a launch so that it changes nothing where it is not written."""
    if argument.compare not in ("min", "max"):
        return 0
    is_least = argument.compare == "max"
    if dtype.kind == "b":
        return not is_least
    if is_floating(dtype):
        return -largest(dtype) if is_least else largest(dtype)
    limits = np.iinfo(dtype)
    return int(limits.min if is_least else limits.max)


def named(argument: Argument) -> str:
    """What is compared, as it is called in a message: "sum(partial)"."""
    return argument.name if argument.compare is None else f"{argument.compare}({argument.name})"


def in_words(argument: Argument) -> str:
    """What is compared of an output, and what stands where nothing is written; empty where each element is compared."""
    return _IN_WORDS.get(argument.compare or "", "")
