"""Arithmetic made shorter: numbers worked out, and what rounds a division up said as that."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tui_tuner.problem.expression_nodes import ARITHMETIC, COMPARISONS

_LEAST_BLOCK, _MOST_MORE = 16, 2
"""A divisor that may be a block, and what may be added besides what it is rounded up by."""


def has_root(node: ast.expr) -> bool:
    """Whether a root is taken in it."""
    powers = [one.right for one in ast.walk(node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow)]
    return any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in powers)


def is_quotient(node: ast.expr) -> bool:
    """Whether it is a division of whole numbers."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)


def folded(node: ast.expr) -> ast.expr:
    """The same with numbers worked out, and what rounds a division up said so."""
    result: ast.expr = _Folding().visit(node)
    return result


class _Folding(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = node.left, node.right
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            return _worked_out(node, left.value, right.value)
        for by, one, other in ((ast.Mult, 1, left), (ast.FloorDiv, 1, left), (ast.Add, 0, left), (ast.Sub, 0, left)):
            whole = not (by is ast.FloorDiv and (has_root(left) or isinstance(getattr(left, "value", 0), float)))
            if isinstance(node.op, by) and isinstance(right, ast.Constant) and right.value == one and whole:
                return other
        if isinstance(node.op, ast.Mult) and isinstance(left, ast.Constant) and left.value == 1:
            return right
        return _all_rows(node) or _rounded_up(node) or node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        values = [one.value for one in node.args if isinstance(one, ast.Constant)]
        if len(values) != len(node.args) or not isinstance(node.func, ast.Name) or not all(_whole(v) for v in values):
            return node
        numbers = [int(str(value)) for value in values]
        worked = {"min": min, "max": max}.get(node.func.id)
        if worked is not None:
            return ast.Constant(worked(numbers))
        divided = node.func.id == "ceil_div" and numbers[1] > 0
        return ast.Constant(-(-numbers[0] // numbers[1])) if divided else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        left, right = node.left, node.comparators[0]
        if not (isinstance(left, ast.Constant) and isinstance(right, ast.Constant)):
            return node
        holds = COMPARISONS[type(node.ops[0])]
        return ast.Constant(int(holds(float(str(left.value)), float(str(right.value)))))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        value = node.operand.value if isinstance(node.operand, ast.Constant) else None
        negative = isinstance(node.op, ast.USub) and isinstance(value, int | float)
        return ast.Constant(-value) if negative and isinstance(value, int | float) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _worked_out(node: ast.BinOp, left: object, right: object) -> ast.expr:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return node
    fractions = isinstance(left, float) or isinstance(right, float)
    if isinstance(node.op, ast.Pow):
        is_shift = left == 2 and isinstance(right, int) and 0 <= right < 63
        is_small = left > 0 and (abs(right) <= 1 or (left <= 1 and right > 0))
        return ast.Constant(left**right) if is_shift or is_small else node
    if isinstance(node.op, ast.FloorDiv) and fractions and right != 0:
        return ast.Constant(left / right if right != 1 or isinstance(right, float) else int(left // 1))
    if isinstance(node.op, ast.FloorDiv | ast.Mod) and (right == 0 or fractions):
        return node
    return ast.Constant(ARITHMETIC[type(node.op)](left, right))


def _all_rows(node: ast.BinOp) -> ast.expr | None:
    """All elements of a tensor, where these are so many rows of what is in each: `n * (x_numel // n)`."""
    for one, other in ((node.left, node.right), (node.right, node.left)) if isinstance(node.op, ast.Mult) else ():
        is_row = isinstance(other, ast.BinOp) and is_quotient(other) and ast.dump(other.right) == ast.dump(one)
        whole = other.left if is_row and isinstance(other, ast.BinOp) else None
        if isinstance(whole, ast.Name) and whole.id.endswith("numel"):
            return whole
    return None


def _rounded_up(node: ast.BinOp) -> ast.expr | None:
    """`(a + b - 1) / b`, `(a - 1) / b + 1` and `a / b + (a % b != 0)` as `ceil_div(a, b)`; None for anything else."""
    left, right = node.left, node.right
    if isinstance(node.op, ast.FloorDiv) and isinstance(left, ast.BinOp):
        divided = _without(left, right)
        return None if divided is None else ast.Call(ast.Name("ceil_div"), [divided, right], [])
    if not (isinstance(node.op, ast.Add) and isinstance(left, ast.BinOp) and is_quotient(left)):
        return None
    above, below = left.left, left.right
    remainder = ast.dump(ast.BinOp(above, ast.Mod(), below))
    if isinstance(right, ast.IfExp | ast.Compare | ast.UnaryOp) and remainder in ast.dump(right):
        return ast.Call(ast.Name("ceil_div"), [above, below], [])
    less_one = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and _is(above.right, 1)
    if less_one and isinstance(above, ast.BinOp) and _is(right, 1):
        return ast.Call(ast.Name("ceil_div"), [above.left, below], [])
    return None


def _without(left: ast.expr, divisor: ast.expr) -> ast.expr | None:
    """What `divisor - 1` was added to, in any order, as in `a - 1 + b`; None else, as of `1 + a`, a mean's.

    Of a macro without parentheses around its parameter it is `n + 2` in `n + 2 + 256 - 1`, of a size that is written
    out `n - m + 1` in `n - m + 1 + 15`.
    """
    terms = _terms(left)
    others = [(sign, one) for sign, one in terms if whole_number(one) is None]
    more = sum(sign * (whole_number(one) or 0) for sign, one in terms)
    if (number := whole_number(divisor)) is not None:
        more -= number
    else:
        added = next((term for term in others if term[0] > 0 and ast.dump(term[1]) == ast.dump(divisor)), None)
        if added is None:
            return None
        others.remove(added)
    has_one_less = any(sign < 0 and whole_number(one) == 1 for sign, one in terms)
    is_near = has_one_less and (number is None or number >= _LEAST_BLOCK) and abs(more + 1) <= _MOST_MORE
    is_plain = (
        number is not None and number > 2 and (1, number - 1) in [(sign, whole_number(one)) for sign, one in terms]
    )
    if (
        (more != -1 and not is_near and not is_plain)
        or number == 1
        or not others
        or others[0][0] < 0
        or whole_number(terms[0][1]) is not None
    ):
        return None
    result = others[0][1]
    for sign, one in others[1:]:
        result = ast.BinOp(result, ast.Add() if sign > 0 else ast.Sub(), one)
    if more == -1:
        return result
    return ast.BinOp(result, ast.Add() if more > -1 else ast.Sub(), ast.Constant(abs(more + 1)))


def _terms(node: ast.expr) -> list[tuple[int, ast.expr]]:
    """What is added (1) and taken away (-1), from left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return [*_terms(node.left), *((sign * inner, one) for inner, one in _terms(node.right))]
    return [(1, node)]


def gathered(node: ast.expr) -> ast.expr:
    """A sum without what is both added and taken away, with its numbers as one behind the others."""
    terms = _terms(folded(node))
    number = sum(sign * (whole_number(one) or 0) for sign, one in terms)
    left = list[tuple[int, ast.expr]]()
    for sign, one in (term for term in terms if whole_number(term[1]) is None):
        other = next((term for term in left if term[0] == -sign and ast.dump(term[1]) == ast.dump(one)), None)
        left = [term for term in left if term is not other] if other else [*left, (sign, one)]
    left.sort(key=lambda term: -term[0])
    if not left or left[0][0] < 0:
        left, number = [(1, ast.Constant(number)), *left], 0
    result = left[0][1]
    for sign, one in [*left[1:], *([(1 if number > 0 else -1, ast.Constant(abs(number)))] if number else [])]:
        result = ast.BinOp(result, ast.Add() if sign > 0 else ast.Sub(), one)
    return result


def whole_number(node: ast.expr) -> int | None:
    """The number that a node is; None for any other, and for one with something behind its point."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _is(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


def factors(node: ast.expr) -> list[ast.expr]:
    """What is multiplied, from left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*factors(node.left), *factors(node.right)]
    return [node]


def product(nodes: Sequence[ast.expr]) -> ast.expr:
    """All of them multiplied; 1 where there is none."""
    result: ast.expr = ast.Constant(1)
    for node in nodes:
        result = node if _is(result, 1) else ast.BinOp(result, ast.Mult(), node)
    return folded(result)
