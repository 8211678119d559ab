"""The allow-list of safe expressions: each permitted syntax node becomes a closure over the names' values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

ExpressionValue = bool | int | float | str
NodeFunction = Callable[[Mapping[str, object]], ExpressionValue]

INTEGER_LIMIT = 2**63
MAX_EXPONENT = 64


class ExpressionError(ValueError):
    """An expression that is not allowed, or that has no value."""


def build(node: ast.expr) -> NodeFunction:
    """The closure of a node; strings are allowed only where they are compared.

    Raises:
        ExpressionError: the node is not on the allow-list.
    """
    builder = _BUILDERS.get(type(node))
    if builder is None:
        raise ExpressionError(f"{_what(node)} is not allowed")
    return builder(node)


def number(value: object) -> bool | int | float:
    """The value itself if it is a number in range.

    Raises:
        ExpressionError: text, or an integer of more than 63 bits, or no finite number.
    """
    if isinstance(value, int):
        if not -INTEGER_LIMIT < value < INTEGER_LIMIT:
            raise ExpressionError("an integer of more than 63 bits")
        return value
    if not isinstance(value, float):
        raise ExpressionError(f"{value!r} is not a number")
    if not math.isfinite(value):
        raise ExpressionError("a number that is not finite")
    return value


def _what(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return f"the constant {node.value!r}"
    return {"Attribute": "an attribute", "Subscript": "a subscript"}.get(type(node).__name__, type(node).__name__)


def _constant(node: ast.Constant) -> NodeFunction:
    if not isinstance(node.value, bool | int | float):
        raise ExpressionError(f"{_what(node)} is not allowed")
    value = number(node.value)
    return lambda _names: value


def _compared(node: ast.expr) -> NodeFunction:
    """One side of a comparison: the only place for a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
        return lambda _names: text
    return build(node)


def _name(node: ast.Name) -> NodeFunction:
    name = node.id

    def value(names: Mapping[str, object]) -> ExpressionValue:
        found = names[name]
        return found if isinstance(found, str) else number(found)

    return value


_NUMBERS = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
"""Nodes whose closures see to it that their value is a number."""


def _operand(node: ast.expr) -> Callable[[Mapping[str, object]], bool | int | float]:
    """The closure of a node whose value must be a number, which is looked at once: spaces evaluate millions."""
    if isinstance(node, ast.Name):
        name = node.id
        return lambda names: number(names[name])
    value: Callable[[Mapping[str, object]], Any] = build(node)
    return value if isinstance(node, _NUMBERS) else lambda names: number(value(names))


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > MAX_EXPONENT:
        raise ExpressionError(f"an exponent beyond {MAX_EXPONENT}")
    power = base**exponent
    if isinstance(power, complex):
        raise ExpressionError("a root of a negative number")
    return float(power) if isinstance(power, float) else int(power)


ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
"""What operators make of two numbers."""

_OF_BITS = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Invert: "~",
    ast.MatMult: "@",
}
"""Operators of Python that an expression may not have, as they are written."""


def _sign(operation: ast.operator | ast.unaryop) -> str:
    return _OF_BITS.get(type(operation), type(operation).__name__)


def _binary(node: ast.BinOp) -> NodeFunction:
    operate = _power if isinstance(node.op, ast.Pow) else ARITHMETIC.get(type(node.op))
    if operate is None:
        raise ExpressionError(f"the operator '{_sign(node.op)}' is not allowed")
    left, right = _operand(node.left), _operand(node.right)
    return lambda names: number(operate(left(names), right(names)))


def _unary(node: ast.UnaryOp) -> NodeFunction:
    match node.op:
        case ast.Not():
            truth = build(node.operand)
            return lambda names: not truth(names)
        case ast.USub():
            operand = _operand(node.operand)
            return lambda names: -operand(names)
        case ast.UAdd():
            operand = _operand(node.operand)
            return lambda names: +operand(names)
    raise ExpressionError(f"the operator '{_sign(node.op)}' is not allowed")


def _logical(node: ast.BoolOp) -> NodeFunction:
    operands = [build(value) for value in node.values]
    stop_at = isinstance(node.op, ast.Or)

    def value(names: Mapping[str, object]) -> ExpressionValue:
        result: ExpressionValue = not stop_at
        for operand in operands:
            result = operand(names)
            if bool(result) == stop_at:
                break
        return result

    return value


_ORDER = (operator.lt, operator.le, operator.gt, operator.ge)
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **dict(zip((ast.Lt, ast.LtE, ast.Gt, ast.GtE), _ORDER, strict=True)),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
"""Whether comparisons hold of two values."""


def _comparison(node: ast.Compare) -> NodeFunction:
    if isinstance(node.ops[0], ast.In | ast.NotIn):
        return _membership(node)
    links = [_link(type(kind)) for kind in node.ops]
    ordered = [link in _ORDER for link in links]
    sides = [
        _ordered(side) if before or after else _compared(side)
        for side, before, after in zip(
            (node.left, *node.comparators), (False, *ordered), (*ordered, False), strict=True
        )
    ]
    if len(links) == 1:
        (link,), (one, other) = links, sides
        return lambda names: link(one(names), other(names))

    def value(names: Mapping[str, object]) -> bool:
        left = sides[0](names)
        for link, side in zip(links, sides[1:], strict=True):
            right = side(names)
            if not link(left, right):
                return False
            left = right
        return True

    return value


def _ordered(node: ast.expr) -> NodeFunction:
    if isinstance(node, ast.Constant):
        number(node.value)
    return _operand(node)


def _link(kind: type[ast.cmpop]) -> Callable[[Any, Any], bool]:
    link = COMPARISONS.get(kind)
    if link is None:
        raise ExpressionError(f"the comparison {kind.__name__} is not allowed here")
    return link


def _membership(node: ast.Compare) -> NodeFunction:
    collection = node.comparators[0]
    if len(node.ops) > 1 or not isinstance(collection, ast.Tuple | ast.List):
        raise ExpressionError("'in' needs a list of values, as in 'tile in (1, 2, 4)'")
    left = _compared(node.left)
    elements = [_compared(element) for element in collection.elts]
    inside = isinstance(node.ops[0], ast.In)

    def value(names: Mapping[str, object]) -> bool:
        sought = left(names)
        return any(sought == element(names) for element in elements) == inside

    return value


def _conditional(node: ast.IfExp) -> NodeFunction:
    test, chosen, otherwise = build(node.test), build(node.body), build(node.orelse)
    return lambda names: chosen(names) if test(names) else otherwise(names)


_CALLS: dict[str, tuple[Callable[..., Any], range]] = {
    "min": (min, range(2, 101)),
    "max": (max, range(2, 101)),
    "abs": (abs, range(1, 2)),
    "ceil": (math.ceil, range(1, 2)),
    "ceil_div": (lambda dividend, divisor: -(-dividend // divisor), range(2, 3)),
}


def _call(node: ast.Call) -> NodeFunction:
    name = node.func.id if isinstance(node.func, ast.Name) else "this"
    if name not in _CALLS:
        raise ExpressionError(f"{name}() is not allowed, only {', '.join(_CALLS)}")
    function, counts = _CALLS[name]
    if node.keywords or len(node.args) not in counts:
        raise ExpressionError(f"{name}() does not take these arguments")
    operands = [_operand(argument) for argument in node.args]
    return lambda names: number(function(*[operand(names) for operand in operands]))


_BUILDERS: dict[type[ast.expr], Callable[[Any], NodeFunction]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _logical,
    ast.Compare: _comparison,
    ast.IfExp: _conditional,
    ast.Call: _call,
}
