"""Other arguments that a rewritten kernel has to be right with: larger numbers, and sizes that nothing divides.

What is right is what the kernel as given makes of them. Where that is no measure (a result overflows, another
configuration of it gives something else, or it depends on what is behind a size, as without a mask) there is nothing to
check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch

from tui_tuner.python_kernels.child.data import Data, with_other_inputs
from tui_tuner.python_kernels.child.kernel import Arguments, KernelFault, ReadyKernel, TunableKernel, bytes_of

WIDE = 64
"""So many times as large are inputs."""
_ANY = 1e6
"""So many times the usual error is allowed there: sums of large numbers and exponentials of sums may be far off in any
order, but who overflows leaves out what the kernel as given does against that."""
_MOST_COPIES = 12
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
        wide = Data(with_other_inputs(opened.pristine, opened.written, partial(torch.Tensor.mul_, other=factor)))
        if _is_known(given, wide, expect) and wide.written == opened.written and _is_finite(wide):
            yield Further("with larger inputs", wide, _ANY)
            break
    odd, other = kernel.at_odd_sizes(opened.pristine), kernel.another()
    if odd is None or other is None:
        return
    small = Data(odd)
    if not _is_known(given, small, expect):
        return
    rest = Data(_with_other_rest(odd, _made_smaller(opened.pristine, odd), opened.written))
    if all(_is_known(one, data, expect) and _agree(small, data) for one, data in ((other, Data(odd)), (given, rest))):
        yield Further("at sizes that nothing divides", small)


def _made_smaller(arguments: Arguments, odd: Arguments) -> Mapping[int, int]:
    """The sizes that are smaller among other arguments, by what they were."""
    pairs = zip(arguments, odd, strict=True)
    return {was: now for was, now in pairs if isinstance(was, int) and isinstance(now, int) and now < was}


def _with_other_rest(arguments: Arguments, sizes: Mapping[int, int], written: Collection[int]) -> Arguments:
    """Arguments whose floating inputs are others behind smaller sizes, where no kernel that is right there looks.

    Args:
        sizes: what is smaller, by the extents that it was.
    """

    def change(tensor: torch.Tensor) -> None:
        for axis, extent in enumerate(tensor.shape):
            if extent in sizes:
                tensor.narrow(axis, sizes[extent], extent - sizes[extent]).mul_(-3).add_(1)
        if tensor.dim() > 1 and tensor.numel() in sizes and tensor.is_contiguous():
            tensor.view(-1)[sizes[tensor.numel()] :].mul_(-3).add_(1)

    return with_other_inputs(arguments, written, change)


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
