"""Arithmetic as C writes it, read into the arithmetic of a problem file; nothing of it is ever run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from itertools import accumulate

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][\da-fA-F]+|(?:\d[\d']*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[uUlLfF]*"
    r"|(?P<name>[A-Za-z_]\w*(?:\s*(?:\.|->|::)\s*[A-Za-z_]\w*|\s*\[\s*\w+\s*\])*)"
    r"|(?P<mark><<|>>|<=|>=|==|!=|&&|\|\||[-+*/%?:()<>!,]))"
)
_CAST = re.compile(
    r"\(\s*(?:const\s+)?(?:(?:unsigned|signed|long|short|int|float|double|char|size_t|uint|u?int\d+_t)\s*)+\)(?!\s*[;,)]|$)"
    r"|\b(?:static|reinterpret|const)_cast\s*<[^<>]*>"
)
_CONVERSION = re.compile(r"(?:unsigned|int|float|double|size_t|uint|dim3|long)")
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_OPERATORS: dict[str, ast.operator] = {
    "+": ast.Add(),
    "-": ast.Sub(),
    "*": ast.Mult(),
    "/": ast.FloorDiv(),
    "%": ast.Mod(),
}
_COMPARISONS: dict[str, ast.cmpop] = {
    "==": ast.Eq(),
    "!=": ast.NotEq(),
    "<": ast.Lt(),
    ">": ast.Gt(),
    "<=": ast.LtE(),
    ">=": ast.GtE(),
}
_ROUNDED_UP = re.compile(r"(?:i|ceil_?|c)?div_?(?:up|ceil|round_?up)?|div_?up|round_?up_?div", re.IGNORECASE)
_LEAST_OR_MOST = re.compile(r"(?:std\s*::\s*)?f?i?(?P<which>min|max)f?", re.IGNORECASE)
_MOST_CHARACTERS, _MOST_TOKENS, _MOST_INSIDE = 400, 120, 20
SIZEOF = "sizeof__"


class NotArithmetic(ValueError):
    """Text that is no arithmetic over whole numbers and names."""


def arithmetic(text: str) -> ast.expr:
    """What C text comes to; the bytes of a type T stay a name, `SIZEOF` with T behind it.

    Raises:
        NotArithmetic: it holds what a problem file cannot say.
    """
    if len(text) > _MOST_CHARACTERS:
        raise NotArithmetic(text)
    sized = re.sub(r"\bsizeof\s*\(\s*((?:\w+\s+)*\w+)\s*\)", lambda of: SIZEOF + "_".join(of[1].split()), text)
    reader = _Reader(_CAST.sub("", sized))
    node = reader.choice()
    reader.end()
    return folded(node)


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place, text = 0, text.strip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise NotArithmetic(text)
            self._tokens.append((str(found.lastgroup), re.sub(r"\s", "", found[str(found.lastgroup)])))
            place = found.end()
        if len(self._tokens) > _MOST_TOKENS or self._depth() > _MOST_INSIDE:
            raise NotArithmetic(text)
        self._tokens.append(("end", ""))

    def _depth(self) -> int:
        marks = [{"(": 1, ")": -1}.get(text, 0) for _, text in self._tokens]
        return max(accumulate(marks), default=0)

    def end(self) -> None:
        if self._tokens[0][0] != "end":
            raise NotArithmetic(self._tokens[0][1])

    def _taken(self, *marks: str) -> str | None:
        kind, text = self._tokens[0]
        return self._tokens.pop(0)[1] if kind == "mark" and text in marks else None

    def _must(self, mark: str) -> None:
        if self._taken(mark) is None:
            raise NotArithmetic(f"{mark} is missing")

    def choice(self) -> ast.expr:
        condition = self._level(0)
        if self._taken("?") is None:
            return condition
        chosen = self.choice()
        self._must(":")
        return ast.IfExp(condition, chosen, self.choice())

    def _level(self, level: int) -> ast.expr:
        if level == len(_LEVELS):
            return self._single()
        left = self._level(level + 1)
        while (mark := self._taken(*_LEVELS[level])) is not None:
            left = _combined(mark, left, self._level(level + 1))
        return left

    def _single(self) -> ast.expr:
        if mark := self._taken("-", "+", "!", "("):
            if mark == "(":
                inner = self.choice()
                self._must(")")
                return inner
            operand = self._single()
            if mark == "!":
                return ast.UnaryOp(ast.Not(), operand)
            return operand if mark == "+" else ast.BinOp(ast.Constant(0), ast.Sub(), operand)
        kind, text = self._tokens.pop(0)
        if kind == "number":
            return ast.Constant(_number(text))
        if kind != "name":
            raise NotArithmetic(text)
        return self._called(text) if self._taken("(") else ast.Name(text)

    def _called(self, function: str) -> ast.expr:
        given: list[ast.expr] = []
        while self._taken(")") is None:
            given.append(self.choice())
            self._taken(",")
        return _call(function, given)


def _number(text: str) -> int | float:
    text = text.replace("'", "")
    if re.fullmatch(r"0[xX].*", text):
        return int(text, 16)
    return int(text) if text.isdecimal() else float(text)


def _combined(mark: str, left: ast.expr, right: ast.expr) -> ast.expr:
    if mark in ("||", "&&"):
        return ast.BoolOp(ast.Or() if mark == "||" else ast.And(), [left, right])
    if mark in _COMPARISONS:
        return ast.Compare(left, [_COMPARISONS[mark]], [right])
    if mark in ("<<", ">>"):
        right = folded(right)
        if not (isinstance(right, ast.Constant) and isinstance(right.value, int) and 0 <= right.value < 63):
            raise NotArithmetic(mark)
        return ast.BinOp(left, ast.Mult() if mark == "<<" else ast.FloorDiv(), ast.Constant(2**right.value))
    return ast.BinOp(left, _OPERATORS[mark], right)


def _call(function: str, given: Sequence[ast.expr]) -> ast.expr:
    if re.fullmatch(r"(?:std::)?(?:ceil|floor)f?", function) and len(given) == 1:
        inner = folded(given[0])
        if "ceil" in function and isinstance(inner, ast.BinOp) and is_quotient(inner):
            return ast.Call(ast.Name("ceil_div"), [inner.left, inner.right], [])
        return inner
    if _CONVERSION.fullmatch(function) and len(given) == 1:
        return given[0]
    if _ROUNDED_UP.fullmatch(function) and len(given) == 2:
        return ast.Call(ast.Name("ceil_div"), list(given), [])
    which = _LEAST_OR_MOST.fullmatch(function)
    if which is not None and len(given) == 2:
        return ast.Call(ast.Name(which["which"].lower()), list(given), [])
    raise NotArithmetic(f"{function}()")


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
            if isinstance(node.op, by) and isinstance(right, ast.Constant) and right.value == one:
                return other
        if isinstance(node.op, ast.Mult) and isinstance(left, ast.Constant) and left.value == 1:
            return right
        return _rounded_up(node) or node

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
        one, other = float(str(left.value)), float(str(right.value))
        holds = {ast.Eq: one == other, ast.NotEq: one != other, ast.Lt: one < other, ast.Gt: one > other}
        return ast.Constant(int(holds.get(type(node.ops[0]), one <= other if _is_most(node) else one >= other)))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node


def _is_most(node: ast.Compare) -> bool:
    return isinstance(node.ops[0], ast.LtE)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _worked_out(node: ast.BinOp, left: object, right: object) -> ast.expr:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return node
    divides = isinstance(node.op, ast.FloorDiv | ast.Mod)
    if divides and (right == 0 or isinstance(left, float) or isinstance(right, float)):
        return node
    work: dict[type[ast.operator], Callable[[], int | float]] = {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: left * right,
        ast.FloorDiv: lambda: left // right,
        ast.Mod: lambda: left % right,
    }
    return ast.Constant(work[type(node.op)]())


def _rounded_up(node: ast.BinOp) -> ast.expr | None:
    """`(a + b - 1) / b`, `(a - 1) / b + 1` and `a / b + (a % b != 0)` as `ceil_div(a, b)`; None for anything else."""
    left, right = node.left, node.right
    if isinstance(node.op, ast.FloorDiv) and isinstance(left, ast.BinOp):
        added = _without(left, right)
        return None if added is None else ast.Call(ast.Name("ceil_div"), [added, right], [])
    if not (isinstance(node.op, ast.Add) and isinstance(left, ast.BinOp) and is_quotient(left)):
        return None
    above, below = left.left, left.right
    remainder = ast.dump(ast.BinOp(above, ast.Mod(), below))
    if isinstance(right, ast.IfExp | ast.Compare) and remainder in ast.dump(right):
        return ast.Call(ast.Name("ceil_div"), [above, below], [])
    less_one = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Sub) and _is(above.right, 1)
    if less_one and isinstance(above, ast.BinOp) and _is(right, 1):
        return ast.Call(ast.Name("ceil_div"), [above.left, below], [])
    return None


def _without(left: ast.BinOp, divisor: ast.expr) -> ast.expr | None:
    """What `divisor - 1` was added to; None where it was not."""
    one = isinstance(left.op, ast.Sub) and _is(left.right, 1) and isinstance(left.left, ast.BinOp)
    if one and isinstance(left.left, ast.BinOp) and isinstance(left.left.op, ast.Add):
        return left.left.left if ast.dump(left.left.right) == ast.dump(divisor) else None
    if not isinstance(left.op, ast.Add):
        return None
    if isinstance(divisor, ast.Constant) and isinstance(divisor.value, int) and _is(left.right, divisor.value - 1):
        return left.left
    less = ast.BinOp(divisor, ast.Sub(), ast.Constant(1))
    return left.left if ast.dump(left.right) == ast.dump(less) else None


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
