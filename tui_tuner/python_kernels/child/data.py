"""The arguments that configurations are checked and timed with, what they must give, and whether tensors agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_map

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import Resources
from tui_tuner.evaluate.tolerance import FLOOR_CAP, FLOOR_ULPS, MARGIN, Bound
from tui_tuner.problem.candidate import Geometry
from tui_tuner.problem.model import Tolerance
from tui_tuner.python_kernels.child.kernel import Arguments, tensors_of

GUARD = 2**18
"""Bytes before and behind each tensor that no launch may write to; tensors stay as aligned as torch makes them."""
_PATTERN = 0xFF
"""Of each byte there: what reads it as a floating number has none."""
Launches = Sequence[tuple[object, Sequence[int]]]
"""What was compiled for each launch, and its grid."""
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
        guards: memory around the tensors of the working arguments, with the index of each.
    """

    pristine: Arguments
    working: Arguments = ()
    expected: list[torch.Tensor] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    guards: list[tuple[int, torch.Tensor]] = field(default_factory=list)

    def renew(self, *, guarded: bool = True) -> None:
        """Make the working arguments anew, each in memory of its own, with guards around it unless told otherwise."""
        self.guards = []
        if not guarded:
            self.working = tree_map(copied, self.pristine)
            return
        numbers = itertools.count()
        self.working = tree_map(lambda leaf: self._guarded(leaf, numbers), self.pristine)

    def _guarded(self, leaf: object, numbers: Iterator[int]) -> object:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        number, nbytes = next(numbers), leaf.numel() * leaf.element_size()
        copy = leaf.detach().clone()
        if copy.stride() != leaf.stride() or not nbytes:
            return copied(leaf)
        memory = torch.full((2 * GUARD + nbytes,), _PATTERN, dtype=torch.uint8, device=leaf.device)
        self.guards += [(number, memory[:GUARD]), (number, memory[GUARD + nbytes :])]
        within = memory[GUARD : GUARD + nbytes].view(leaf.dtype)
        return within.as_strided(leaf.size(), leaf.stride(), within.storage_offset()).copy_(copy)

    def overrun(self) -> int | None:
        """The index of an argument around which something was written; None where nothing was."""
        intact = [bool((guard == _PATTERN).all()) for _, guard in self.guards]
        return next((number for (number, _), whole in zip(self.guards, intact, strict=True) if not whole), None)

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


def resources_of(launches: Launches) -> Resources:
    """Of the launch that needs the most registers; Triton counts spills in words of four bytes of local memory."""
    known = [kernel for kernel, _ in launches if getattr(kernel, "n_regs", None) is not None]
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


def geometry_of(launches: Launches) -> Geometry | None:
    """Blocks and threads of the launch; None where there are several. Its shared memory is among its resources."""
    if len(launches) != 1:
        return None
    compiled, grid = launches[0]
    metadata: Any = getattr(compiled, "metadata", None)
    if metadata is None:
        return None
    x, y, z = (*grid, 1, 1)[:3]
    threads = metadata.num_warps * metadata.target.warp_size
    return Geometry(grid=(int(x) * metadata.num_ctas, int(y), int(z)), block=(threads, 1, 1))


def copied(leaf: object) -> object:
    """A tensor of the same strides in memory of its own; other values as they are."""
    return _copy(leaf) if isinstance(leaf, torch.Tensor) else leaf


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    copy = tensor.detach().clone()
    if copy.stride() == tensor.stride():
        return copy
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
        storage, tensor.storage_offset(), tensor.size(), tensor.stride()
    )


def with_other_inputs(
    arguments: Arguments, written: Collection[int], change: Callable[[torch.Tensor], object]
) -> Arguments:
    """Arguments with copies of the floating inputs that a function changes in place; all others as they are.

    Args:
        written: indices, among the tensors, of those that a launch writes to, which are no inputs.
    """
    numbers = itertools.count()

    def other(leaf: object) -> object:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        is_input = next(numbers) not in written and leaf.is_floating_point()
        if not is_input or leaf.element_size() == 1 or 0 in leaf.stride():
            return leaf
        copy = _copy(leaf)
        change(copy)
        return copy

    made: Arguments = tree_map(other, arguments)
    return made


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Comparable also where it has NaN."""
    flat = tensor.detach().reshape(-1).contiguous()
    return flat.as_strided(flat.size(), (1,)).view(torch.uint8)  # one element may have any stride


def poison(expected: list[torch.Tensor]) -> None:
    """Fill the memory that the next results will get: a kernel that writes nothing must not find the right ones."""
    for tensor in expected:
        if tensor.dtype.is_floating_point:
            torch.full_like(tensor, torch.nan)


PIECE = 2**24
"""Elements compared at a time, in double precision."""


def bound(expected: torch.Tensor, operations: int, tolerance: Tolerance, own: float | None) -> Bound:
    """The allowed deviation of an output: |got - expected| <= absolute + relative * |expected|.

    Args:
        operations: behind one element at most, for the growth of rounding errors.
        tolerance: the user's own bounds, which replace ours.
        own: largest error of the kernel as given, relative to the output's magnitude; None where it is the reference.
    """
    if not expected.dtype.is_floating_point:
        return Bound(0.0, 0.0)
    if tolerance.is_declared:
        return Bound(tolerance.absolute or 0.0, tolerance.relative or 0.0)
    step = float(torch.finfo(expected.dtype).eps)
    share = min(FLOOR_ULPS * step * math.sqrt(max(1, operations)), max(FLOOR_CAP, step))
    share = max(share, MARGIN * (own or 0.0))
    return Bound(share * magnitude(expected), share)


def magnitude(tensor: torch.Tensor) -> float:
    """Root of the mean square of the finite elements."""
    total, count = 0.0, 0
    for piece in _pieces(tensor):
        finite = piece[torch.isfinite(piece)]
        total, count = total + float(finite.square().sum()), count + finite.numel()
    return math.sqrt(total / count) if count else 0.0


def deviation(got: torch.Tensor, expected: torch.Tensor, allowed: Bound) -> tuple[float, str | None]:
    """The largest deviation as a share of the allowed one, and in words what is wrong if it is above 1."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return math.inf, f"{tuple(got.shape)} {got.dtype} instead of {tuple(expected.shape)} {expected.dtype}"
    if not (expected.dtype.is_floating_point or expected.dtype.is_complex):
        wrong = int((got != expected).sum())
        return (math.inf, f"{wrong} of {expected.numel()} elements differ") if wrong else (0.0, None)
    largest, place, start = 0.0, 0, 0
    for mine, right in zip(_pieces(got), _pieces(expected), strict=True):
        share = _share(mine, right, allowed)
        if share.numel():
            worst = int(share.argmax())
            if float(share[worst]) > largest:
                largest, place = float(share[worst]), start + worst
        start += right.numel()
    if largest <= 1:
        return largest, None
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), expected.shape)]
    values = f"{float(got[tuple(index)]):.6g}, expected {float(expected[tuple(index)]):.6g}"
    return largest, f"{index} is {values}, {largest:.3g} times the allowed deviation"


def _share(got: torch.Tensor, expected: torch.Tensor, allowed: Bound) -> torch.Tensor:
    limit = allowed.absolute + allowed.relative * expected.abs() + torch.finfo(torch.float64).tiny
    share = torch.where(got == expected, 0.0, (got - expected).abs() / limit)
    finite = torch.isfinite(expected)
    odd = (torch.isnan(got) != torch.isnan(expected)) | (~finite & (got != expected) & ~torch.isnan(expected))
    both_nan = torch.isnan(got) & torch.isnan(expected)
    return torch.where(odd | (finite & ~torch.isfinite(got)), math.inf, torch.where(both_nan, 0.0, share))


def _pieces(tensor: torch.Tensor) -> list[torch.Tensor]:
    flat = tensor.detach().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return [piece.to(torch.float64) for piece in flat.split(PIECE)]
