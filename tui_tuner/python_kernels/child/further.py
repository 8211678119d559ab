"""Other arguments that a rewritten kernel has to be right with: larger numbers, and sizes that nothing divides.

What is right is what the kernel as given makes of them. Where that is no measure (a result overflows, or another
configuration of it gives something else, as one without masks does) there is nothing to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from tui_tuner.python_kernels.child.data import Data, widened
from tui_tuner.python_kernels.child.kernel import KernelFault, ReadyKernel, TunableKernel, bytes_of

WIDE = 64
"""So many times as large are inputs."""
_ANY = 1e6
"""So many times the usual error is allowed there: sums of large numbers and exponentials of sums may be far off in any
order, but who overflows leaves out what the kernel as given does against that."""
_MOST_COPIES = 10
"""So many times the memory of the arguments has to be free."""
Expect = Callable[[ReadyKernel, Data], None]
"""Finds out what a kernel makes of arguments."""


@dataclass(frozen=True)
class Further:
    """Arguments, and what is right with them.

    Attributes:
        words: how they differ from those that are timed.
        slack: so many times the usual error is allowed.
    """

    words: str
    data: Data
    slack: float = 1.0


def further_arguments(kernel: TunableKernel, given: ReadyKernel, opened: Data, expect: Expect) -> Iterator[Further]:
    """All that there are for a kernel.

    Args:
        given: the kernel in its default configuration.
        opened: the arguments that are timed.

    Raises:
        KernelFault: the device is lost.
    """
    if _MOST_COPIES * bytes_of(opened.pristine) > torch.cuda.mem_get_info()[0]:
        return
    for factor in (WIDE, WIDE // 8):
        wide = Data(widened(opened.pristine, opened.written, factor))
        if _is_known(given, wide, expect) and wide.written == opened.written and _is_finite(wide):
            yield Further("with larger inputs", wide, _ANY)
            break
    odd, other = kernel.at_odd_sizes(opened.pristine), kernel.another()
    if odd is None or other is None:
        return
    small, same = Data(odd), Data(odd)
    if _is_known(given, small, expect) and _is_known(other, same, expect) and _agree(small, same):
        yield Further("at sizes that nothing divides", small)


def _is_known(kernel: ReadyKernel, data: Data, expect: Expect) -> bool:
    try:
        expect(kernel, data)
    except KernelFault as fault:
        if fault.fatal:
            raise
        return False
    return True


def _is_finite(data: Data) -> bool:
    numbers = (tensor for tensor in data.expected if tensor.is_floating_point())
    return all(bool(torch.isfinite(one.float()).all()) for one in numbers)


_ALIKE = 1e-2
"""Two configurations of one kernel agree to this, relative to the largest number, where both are right."""


def _agree(one: Data, other: Data) -> bool:
    """Whether two configurations of the kernel as given make the same of arguments, roundings aside."""
    if one.written != other.written or len(one.expected) != len(other.expected):
        return False
    for mine, theirs in zip(one.expected, other.expected, strict=True):
        if not mine.is_floating_point():
            if not torch.equal(mine, theirs):
                return False
            continue
        difference, largest = (mine.double() - theirs.double()).abs().max(), mine.double().abs().max()
        if not bool(difference <= _ALIKE * largest):
            return False
    return True
