"""Arithmetic of the host that was read, worked out as far as its numbers are known."""

from __future__ import annotations

import ast
import copy
import keyword
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from tui_tuner.problem.draft.arithmetic.c_expressions import SIZEOF, UNREAD, NotArithmetic, bytes_of
from tui_tuner.problem.draft.arithmetic.folding import factors, folded, is_quotient, product
from tui_tuner.problem.expressions import ExpressionError, check_expression, evaluate
from tui_tuner.problem.languages import Value

_MOST_STEPS = 3
"""Sizes that are made of each other."""


def finished(node: ast.expr) -> ast.expr:
    """The same with the bytes of types as numbers.

    Raises:
        NotArithmetic: a problem file cannot say it.
    """
    asked = [name for name in names(node) if name.startswith(SIZEOF)]
    if UNREAD in names(node):
        raise NotArithmetic(ast.unparse(node))
    node = with_numbers(node, {name: bytes_of(name.removeprefix(SIZEOF)) for name in asked})
    try:
        check_expression(ast.unparse(node), names(node))
    except ExpressionError as error:
        raise NotArithmetic(str(error)) from None
    return node


def chosen(node: ast.expr, numbers: Mapping[str, int | None]) -> ast.expr:
    """What a condition, or a least or greatest number, comes to for the host's numbers, if that is one number."""
    if isinstance(node, ast.IfExp):
        holds = evaluated(node.test, numbers)
        return node if holds is None else chosen(node.body if holds else node.orelse, numbers)
    number = evaluated(node, numbers) if isinstance(node, ast.Call) else None
    given = [one.value for one in node.args if isinstance(one, ast.Constant)] if isinstance(node, ast.Call) else []
    return ast.Constant(number) if number in given else node


def as_size(text: str) -> str:
    """What the host says as a name of expressions, as x_size_0 of `x.size(0)`."""
    name = "_".join(re.findall(r"\w+", text))
    return f"{name}_of_host" if keyword.iskeyword(name) else name


def extents_of(elements: str) -> list[str]:
    """The extents of an array of so many elements: the factors, where each has a name in it, as of a matrix."""
    found = factors(ast.parse(elements, mode="eval").body)
    return [ast.unparse(one) for one in found] if all(map(names, found)) else [elements]


def exponents_of(node: ast.expr) -> set[str]:
    """The names that something is raised to the power of."""
    powers = (one for one in ast.walk(node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow))
    return {name for one in powers for name in names(one.right)}


def is_of_block(node: ast.expr) -> bool:
    """Whether it is the block's extent along an axis."""
    return isinstance(node, ast.Name) and node.id.startswith("block_size_")


def is_flag(node: ast.expr) -> bool:
    """Whether it comes to 0 or 1 by what is asked, as `n > 0` and `1 if n else 0`."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
            return True
        case ast.IfExp(body=body, orelse=other):
            return all(isinstance(one, ast.Constant) and one.value in (0, 1) for one in (body, other))
    return False


def no_size(node: ast.expr, numbers: Mapping[str, int | None], sizes: Collection[str]) -> ast.expr:
    """The part of a least number that is made of no size, if it is the least for the host's sizes that are known."""
    is_least = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "min"
    parts = node.args if isinstance(node, ast.Call) and is_least else []
    own = [one for one in parts if not names(one) & set(sizes)]
    number = evaluated(own[0], numbers) if len(own) == 1 else None
    values = [evaluated(one, numbers) for one in parts]
    return node if number is None or any(one is not None and one < number for one in values) else own[0]


def readable(node: ast.expr, numbers: Mapping[str, int | None]) -> ast.expr:
    """The same with the way that is taken, for the host's numbers, of choices whose other way cannot be read."""

    class Choices(ast.NodeTransformer):
        def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
            self.generic_visit(node)
            is_open = UNREAD in names(node.body) | names(node.orelse)
            holds = evaluated(node.test, numbers) if is_open else None
            return node if holds is None else node.body if holds else node.orelse

    result: ast.expr = Choices().visit(node)
    return result


def quotient(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Numerator and denominator of a division, rounded up or not, and of one that is a number at most."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "min":
        unlimited = [one for one in node.args if not isinstance(one, ast.Constant)]
        return quotient(unlimited[0]) if len(unlimited) == 1 else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ceil_div":
        return node.args[0], node.args[1]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and isinstance(node.left, ast.BinOp):
        one_more = is_quotient(node.left) and isinstance(node.right, ast.Constant) and node.right.value == 1
        inner = quotient(node.left) if one_more and ast.unparse(node.left.right) != "1" else None
        return None if inner is None else (folded(ast.BinOp(inner[0], ast.Add(), ast.Constant(1))), inner[1])
    return (node.left, node.right) if isinstance(node, ast.BinOp) and is_quotient(node) else None


def unrounded(node: ast.expr, by: ast.expr) -> ast.expr:
    """What was rounded up to a whole multiple of something, as n in `ceil_div(n, 64) * 64`; else all of it."""
    parts = factors(node)
    for one, other in (parts, parts[::-1]) if len(parts) == 2 else ():
        inner = quotient(one)
        if inner is not None and ast.dump(inner[1]) == ast.dump(other) == ast.dump(by):
            return inner[0]
    return node


def without_factor(node: ast.expr, by: ast.expr) -> ast.expr | None:
    """The other factors of a product, as n in `n * 64`; None where this is none of them."""
    parts = factors(node)
    others = [one for one in parts if ast.dump(one) != ast.dump(by)]
    return product(others) if len(others) == len(parts) - 1 else None


def without_number(node: ast.expr) -> ast.expr:
    """What a number is added to or taken from, as n in `n - 1`; else all of it."""
    match node:
        case ast.BinOp(left=ast.Name() as name, op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return name
    return node


def with_numbers(node: ast.expr, numbers: Mapping[str, int]) -> ast.expr:
    """The same with numbers for some of its names."""
    return folded(replaced(node, {name: ast.Constant(number) for name, number in numbers.items()}))


def replaced(node: ast.expr, others: Mapping[str, ast.expr]) -> ast.expr:
    """The same with others in the place of some of its names."""

    class Others(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return others.get(node.id, node)

    result: ast.expr = Others().visit(copy.deepcopy(node))
    return result


def said_again(text: str) -> str:
    """An expression of ours with its numbers worked out."""
    return ast.unparse(folded(ast.parse(text, mode="eval").body))


def names(node: ast.expr) -> set[str]:
    """The names that are no function's."""
    called = {one.func.id for one in ast.walk(node) if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)}
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} - called


def evaluated(node: ast.expr, numbers: Mapping[str, int | None]) -> int | None:
    """The whole number that it comes to; None where it comes to none."""
    value = value_in(ast.unparse(node), numbers)
    return int(value) if value is not None and float(value).is_integer() else None


def words_in(*texts: str) -> set[str]:
    """The names in expressions, whatever else these are."""
    return {*re.findall(r"[A-Za-z_]\w*", " ".join(texts))}


def value_in(text: str | float, numbers: Mapping[str, Value | None]) -> Value | None:
    """What an expression comes to for the numbers that are known; None where it has no value."""
    try:
        return evaluate(text, {name: number for name, number in numbers.items() if number is not None})
    except ExpressionError:
        return None


def fraction(node: ast.expr, numbers: Mapping[str, int | None]) -> float | None:
    """The number that it comes to; None where that is none, or may be one that is cut off as whole numbers are."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            negated = fraction(operand, numbers)
            return None if negated is None else -negated
        case ast.IfExp(test=test, body=body, orelse=other):
            holds = evaluated(test, numbers)
            return None if holds is None else fraction(body if holds else other, numbers)
        case ast.BinOp(left=left, op=op, right=right):
            one, by = fraction(left, numbers), fraction(right, numbers)
            is_cut = isinstance(op, ast.FloorDiv) and isinstance(one, int) and isinstance(by, int) and by and one % by
            if one is None or by is None or is_cut:
                return None
            worked = folded(ast.BinOp(ast.Constant(one), op, ast.Constant(by)))
            return worked.value if isinstance(worked, ast.Constant) and isinstance(worked.value, int | float) else None
    return None


def size_shared(node: ast.expr, code: str) -> str | None:
    """The size that an expression is, or is a share of, as `width // 4`: not of one that the code halves or doubles."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=ast.Name(id=name), op=ast.FloorDiv(), right=ast.Constant()):
            return None if re.search(rf"\b{name}\s*(?:>>|<<|[*/])=", code) else name
    return None


def used_in(roots: Mapping[str, int | None], texts: Sequence[str]) -> dict[str, int | None]:
    """Those of the names that stand in texts."""
    words = frozenset(re.findall(r"[A-Za-z_]\w*", " ".join(texts)))
    return {name: number for name, number in roots.items() if name in words}


def made_of_others(made: Mapping[str, ast.expr], nodes: Iterable[ast.expr]) -> dict[str, ast.expr]:
    """The sizes of which a part stands by itself too, as w beside `size = w * h`, with what they are made of.

    Args:
        made: what sizes were set to.
        nodes: what grid, arrays and scalars come to.
    """
    found: dict[str, ast.expr] = {}
    used = {one for node in nodes for one in names(node)}
    for name, value in made.items():
        ways = (value, _in_parts(value, {one: node for one, node in made.items() if one != name}))
        parts = next((one for one in ways if names(one) & used - {name}), None)
        if name in used and parts is not None:
            found = {one: replaced(node, {name: parts}) for one, node in found.items()} | {name: parts}
            used = (used - {name}) | names(parts)
    return found


def _in_parts(value: ast.expr, made: Mapping[str, ast.expr]) -> ast.expr:
    """What a size was set to with what the sizes in it were set to, too."""
    for _ in range(_MOST_STEPS):
        value = replaced(value, made)
    return product(factors(folded(value)))
