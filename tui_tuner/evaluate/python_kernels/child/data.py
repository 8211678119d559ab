"""The arguments that configurations are checked and timed with, and what they must give."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.python_kernels.child.closeness import deviation, magnitude
from tui_tuner.evaluate.python_kernels.child.kernel import Arguments, tensors_of
from tui_tuner.evaluate.results import Resources
from tui_tuner.evaluate.tolerance import Bound

WRONG = 0.05
"""The kernel as given is refused where it is further from its reference, relative to the output's magnitude."""


@dataclass
class Data:
    """Arguments with what a launch must give.

    Attributes:
        pristine: as they were made.
        working: those that launches get.
        expected: what the kernel returns and then what it writes to its arguments.
        written: indices, among the tensors of the arguments, of those that it writes to.
    """

    pristine: Arguments
    working: Arguments
    expected: list[torch.Tensor]
    written: list[int]

    def restore(self) -> None:
        """Put the arguments that a launch wrote to back."""
        if self.written:
            mine, given = tensors_of(self.working), tensors_of(self.pristine)
            for index in self.written:
                mine[index].copy_(given[index])

    def changed(self) -> list[int]:
        """Indices of the arguments' tensors that are no longer as they were made."""
        pairs = zip(tensors_of(self.working), tensors_of(self.pristine), strict=True)
        return [index for index, (mine, given) in enumerate(pairs) if not torch.equal(bits(mine), bits(given))]


def own_errors(given: list[torch.Tensor], right: list[torch.Tensor]) -> list[float | None]:
    """Largest error of each result of the kernel as given, relative to the result's magnitude."""
    if len(given) != len(right):
        raise ProblemError(
            f"reference() gives {len(right)} tensors, the kernel {len(given)}",
            hint="it must give what the kernel returns, then what it writes to its arguments, in their order",
        )
    errors: list[float | None] = []
    for number, (mine, expected) in enumerate(zip(given, right, strict=True)):
        scale = magnitude(expected) or 1.0
        share, wrong = deviation(mine, expected.to(mine.dtype), Bound(scale, 1.0))
        if share > WRONG or (wrong is not None and mine.shape != expected.shape):
            raise ProblemError(f"the kernel as given is far from reference(), result {number}: {wrong or share}")
        errors.append(share)
    return errors


def resources_of(compiled: list[object]) -> Resources:
    """Of the launch that needs the most registers; Triton counts spills in words of four bytes of local memory."""
    known = [kernel for kernel in compiled if getattr(kernel, "n_regs", None) is not None]
    if not known:
        return Resources()
    largest = max(known, key=lambda kernel: int(getattr(kernel, "n_regs", 0)))
    metadata = getattr(largest, "metadata", None)
    spilled = 4 * int(getattr(largest, "n_spills", 0) or 0)
    return Resources(
        registers=int(getattr(largest, "n_regs", 0)),
        spill_bytes=spilled,
        shared_bytes=getattr(metadata, "shared", None),
        local_bytes=spilled,
    )


def copied(leaf: object) -> object:
    """A tensor of the same strides in memory of its own; other values as they are."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    copy = leaf.detach().clone()
    if copy.stride() == leaf.stride():
        return copy
    storage = leaf.untyped_storage().clone()
    return torch.empty(0, dtype=leaf.dtype, device=leaf.device).set_(
        storage, leaf.storage_offset(), leaf.size(), leaf.stride()
    )


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Comparable also where it has NaN."""
    return tensor.detach().reshape(-1).contiguous().view(torch.uint8)


def poison(expected: list[torch.Tensor]) -> None:
    """Fill the memory that the next results will get: a kernel that writes nothing must not find the right ones."""
    for tensor in expected:
        if tensor.dtype.is_floating_point:
            torch.full_like(tensor, torch.nan)
