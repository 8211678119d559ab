"""Whether tensors agree: the policy of `tui_tuner.evaluate.tolerance`, computed where the tensors are."""

from __future__ import annotations

import math

import torch

from tui_tuner.evaluate.tolerance import FLOOR_CAP, FLOOR_ULPS, MARGIN, Bound
from tui_tuner.problem.model import Tolerance

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
    if tolerance.absolute is not None or tolerance.relative is not None:
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
