"""Arithmetic over intervals of numbers; of whole ones the ends are also said as expressions over sizes."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tui_tuner.problem.draft.arithmetic.folding import folded

Ends = tuple[ast.expr, ast.expr]
"""The least and the largest number as expressions over sizes."""
_RISING: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log}
_FRACTION = re.compile(r"\b(?:float|double|half|__half|__nv_bfloat16|real)\b")


class Interval(NamedTuple):
    """The least and the largest number, and whether both are of a whole type, whose division cuts.

    Attributes:
        said: the two over sizes; None where they are no more than the numbers that the host has.
    """

    low: float
    high: float
    is_whole: bool = False
    said: Ends | None = None

    @property
    def ends(self) -> Ends | None:
        """The two as expressions; None where nothing says them so."""
        if self.said is not None or not (self.is_whole and self.is_finite):
            return self.said
        return ast.Constant(int(self.low)), ast.Constant(int(self.high))

    @property
    def is_one(self) -> bool:
        """Whether it is a single number, also one of a size from outside."""
        return self.low == self.high or (self.said is not None and ast.dump(self.said[0]) == ast.dump(self.said[1]))

    @property
    def is_finite(self) -> bool:
        """Whether numbers are known for both; of a size from outside none is."""
        return math.isfinite(self.low) and math.isfinite(self.high)


class NotRanged(ValueError):
    """An expression that may be any number."""


def cast_to(kind: str, inner: Interval) -> Interval:
    """An interval as numbers of a type."""
    if _FRACTION.search(kind):
        return Interval(float(inner.low), float(inner.high))
    if inner.is_whole:
        return inner
    return Interval(math.trunc(inner.low), math.trunc(inner.high), is_whole=True)


def union(found: Sequence[Interval]) -> Interval:
    """What holds all of them."""
    is_whole = all(one.is_whole for one in found)
    said = _of_each(found, ("min", "max")) if is_whole else None
    return Interval(min(one.low for one in found), max(one.high for one in found), is_whole, said)


def remainder(by: Interval) -> Interval:
    """What is left of a division, whatever is divided, as that is not below zero."""
    said = None if by.said is None else (ast.Constant(0), _combined(by.said[1], ast.Sub(), ast.Constant(1)))
    return Interval(0, by.high - 1, is_whole=True, said=said)


def masked(by: Interval) -> Interval:
    """What is left of the bits of a number where they are taken by those of another."""
    said = None if by.said is None else (ast.Constant(0), by.said[1])
    return Interval(0, by.high, is_whole=True, said=said)


def negated(inner: Interval) -> Interval:
    """The same below zero."""
    return applied("-", Interval(0, 0, inner.is_whole), inner)


def applied(mark: str, left: Interval, right: Interval) -> Interval:
    """Sum, difference, product or quotient of two intervals.

    Raises:
        NotRanged: it is something else, a quotient whose divisor may be 0, or a fraction of a size from outside.
    """
    is_whole = left.is_whole and right.is_whole
    if not is_whole and not (left.is_finite and right.is_finite):
        raise NotRanged(mark)
    match mark:
        case "+":
            numbers = [left.low + right.low, left.high + right.high]
        case "-":
            numbers = [left.low - right.high, left.high - right.low]
        case "*":
            numbers = [one * other for one in left[:2] for other in right[:2]]
        case "/" if right.low > 0 or right.high < 0:
            numbers = [one / other for one in left[:2] for other in right[:2]]
            numbers = [math.trunc(one) if is_whole and math.isfinite(one) else one for one in numbers]
        case _:
            raise NotRanged(mark)
    if any(map(math.isnan, numbers)):
        raise NotRanged(mark)
    return Interval(min(numbers), max(numbers), is_whole, _said(mark, left, right) if is_whole else None)


def of_function(name: str, given: Sequence[Interval]) -> Interval:
    """What a mathematical function makes of intervals; its name without the `f` of its float.

    Raises:
        NotRanged: it is none that is known.
    """
    match name, given:
        case (("abs" | "fabs"), [one]):
            least = 0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
            said = one.said if one.low >= 0 else None
            return Interval(least, max(abs(one.low), abs(one.high)), one.is_whole, said)
        case (("min" | "max" | "fmin" | "fmax"), [one, other]):
            chosen = "min" if "min" in name else "max"
            take = min if chosen == "min" else max
            is_whole = one.is_whole and other.is_whole
            said = _of_each(given, (chosen, chosen)) if is_whole else None
            return Interval(take(one.low, other.low), take(one.high, other.high), is_whole, said)
        case "clamp", [one, low, high]:
            return of_function("min", [of_function("max", [one, low]), high])
        case rising, [one] if rising in _RISING:
            return Interval(_RISING[rising](one.low), _RISING[rising](one.high))
    raise NotRanged(name)


def _of_each(found: Sequence[Interval], chosen: tuple[str, str]) -> Ends | None:
    """The least or the largest (`min`, `max`) of the lower ends, and of the upper ones."""
    if all(one.said is None for one in found):
        return None
    each = [one.ends for one in found if one.ends is not None]
    if len(each) < len(found):
        return None
    return _one_of(chosen[0], [low for low, _ in each]), _one_of(chosen[1], [high for _, high in each])


def _one_of(name: str, nodes: Sequence[ast.expr]) -> ast.expr:
    apart = [*{ast.dump(one): one for one in nodes}.values()]
    return apart[0] if len(apart) == 1 else folded(ast.Call(ast.Name(name), apart, []))


def _combined(left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
    return folded(ast.BinOp(left, operator, right))


def _said(mark: str, left: Interval, right: Interval) -> Ends | None:
    """The ends of what two whole intervals come to, over sizes; of products and quotients where none is below zero."""
    if left.ends is None or right.ends is None or (left.said is None and right.said is None):
        return None
    (low, high), (other_low, other_high) = left.ends, right.ends
    is_positive = left.low >= 0 and right.low >= 0
    match mark:
        case "+":
            return _combined(low, ast.Add(), other_low), _combined(high, ast.Add(), other_high)
        case "-":
            return _combined(low, ast.Sub(), other_high), _combined(high, ast.Sub(), other_low)
        case "*" if is_positive:
            return _combined(low, ast.Mult(), other_low), _combined(high, ast.Mult(), other_high)
        case "/" if is_positive:
            return _combined(low, ast.FloorDiv(), other_high), _combined(high, ast.FloorDiv(), other_low)
    return None
