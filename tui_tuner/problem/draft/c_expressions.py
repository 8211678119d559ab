"""Arithmetic as C writes it, read into the arithmetic of a problem file; nothing of it is ever run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from tui_tuner.problem.syntax import parse_code

_NAMED = ("identifier", "field_expression", "subscript_expression", "qualified_identifier")
_NAME = re.compile(r"\w+(?:(?:\.|->|::)\w+|\[\w+\])*")
_GETTER = re.compile(r"\w+(?:\.|->)\w+")
_CONVERSION = re.compile(
    r"unsigned|int|float|double|size_t|uint|dim3|long|(?:static|reinterpret|const)_cast"
    r"|(?:__)?half|(?:__)?nv_bfloat16|__nv_fp8_e[45]m[32]|__(?:float|double)2(?:half|bfloat16)(?:_r[nz])?"
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
_COMBINED = frozenset({*_OPERATORS, *_COMPARISONS, "&&", "||", "<<", ">>"})
_ROUNDED_UP = re.compile(r"(?:i|ceil_?|c)?div_?(?:up|ceil|round_?up)?|div_?up|round_?up_?div", re.IGNORECASE)
_LEAST_OR_MOST = re.compile(r"(?:std\s*::\s*)?f?i?(?P<which>min|max)f?", re.IGNORECASE)
_ROOT = re.compile(r"(?:std\s*::\s*|__f)?(?P<inverse>r?)sqrtf?(?:_rn)?")
_GIVEN = re.compile(r"\b(?:argv\b|getenv\b|(?:ato|sto|strto)\w+\s*\()")
"""What a host says of what it may be given as it is started, which here it is not."""
_SIGNS: dict[str, Callable[[ast.expr], ast.expr]] = {
    "!": lambda operand: ast.UnaryOp(ast.Not(), operand),
    "+": lambda operand: operand,
    "-": lambda operand: ast.BinOp(ast.Constant(0), ast.Sub(), operand),
}
_MOST_CHARACTERS, _MOST_INSIDE = 400, 40
_LITERALS = ("number_literal", "true", "false")
SIZEOF = "sizeof__"
_BYTES = {"char": 1, "bool": 1, "short": 2, "half": 2, "double": 8, "long": 8, "size_t": 8, "float2": 8, "float4": 16}


class NotArithmetic(ValueError):
    """Text that is no arithmetic over whole numbers and names."""


def arithmetic(text: str) -> ast.expr:
    """What C text comes to; the bytes of a type T stay a name, `SIZEOF` with T behind it.

    Raises:
        NotArithmetic: it holds what a problem file cannot say.
    """
    if len(text) > _MOST_CHARACTERS:
        raise NotArithmetic(text)
    text = re.sub(r"\bunsigned\s*(?=\()", "int", text)  # which the grammar does not take for a conversion
    root = parse_code(f"auto value = ({text});", "cuda")
    declared = root.named_children[0].child_by_field_name("declarator") if root.named_child_count == 1 else None
    value = None if declared is None else declared.child_by_field_name("value")
    if root.has_error or value is None:
        raise NotArithmetic(text)
    return folded(_read(value, _MOST_INSIDE))


def _read(node: Node, depth: int) -> ast.expr:
    """A node of the syntax tree as arithmetic."""
    text = re.sub(r"\s", "", _text(node))
    if depth == 0:
        raise NotArithmetic(text)
    parts = [one for one in node.named_children if one.type not in ("comment", "type_descriptor")]
    if node.type == "conditional_expression" and (default := _default(parts[1:])) is not None:
        return _read(default, depth - 1)
    if node.type in _LITERALS or (node.type in _NAMED and _NAME.fullmatch(text)):
        return ast.Constant(_number(text)) if node.type in _LITERALS else ast.Name(text)
    if node.type == "sizeof_expression":
        return ast.Name(SIZEOF + "_".join(re.findall(r"\w+", _text(node).partition("sizeof")[2])))
    if node.type == "call_expression":
        function, given = re.sub(r"\s", "", _text(parts[0])), parts[1].named_children
        is_plain = all(one.type == "number_literal" for one in given)  # as in x.size() and x.size(0)
        getter = ast.Name(text) if is_plain and _GETTER.fullmatch(function) else None
        return getter or _call(function, [_read(one, depth - 1) for one in given])
    mark = "" if (operator := node.child_by_field_name("operator")) is None else operator.type
    match node.type, [_read(one, depth - 1) for one in parts]:
        case (("parenthesized_expression" | "cast_expression") as kind, [inner]):
            is_cut = kind == "cast_expression" and _has_root(inner) and "int" in text.partition(")")[0]
            return ast.BinOp(inner, ast.FloorDiv(), ast.Constant(1)) if is_cut else inner
        case "conditional_expression", [condition, chosen, other]:
            return _least_of_two(condition, chosen, other) or ast.IfExp(condition, chosen, other)
        case "binary_expression", [left, right] if mark in _COMBINED:
            return _combined(mark, left, right)
        case "unary_expression", [operand] if mark in _SIGNS:
            return _SIGNS[mark](operand)
    raise NotArithmetic(text)


def _default(ways: Sequence[Node]) -> Node | None:
    """What holds where nothing is given, as in `argc > 1 ? atoi(argv[1]) : 4096`; None where nothing is asked for."""
    stated = [one for one in ways if not _GIVEN.search(_text(one))]
    return stated[0] if len(stated) == 1 else None


def _least_of_two(condition: ast.expr, chosen: ast.expr, other: ast.expr) -> ast.expr | None:
    """`a < b ? a : b` and the like as what they are; None for any other choice."""
    match condition:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as mark], comparators=[right]):
            is_less = isinstance(mark, ast.Lt | ast.LtE)
            said, given = [ast.dump(left), ast.dump(right)], [ast.dump(chosen), ast.dump(other)]
            if said in (given, given[::-1]):
                return ast.Call(ast.Name("min" if is_less == (said == given) else "max"), [chosen, other], [])
    return None


def _has_root(node: ast.expr) -> bool:
    powers = [one.right for one in ast.walk(node) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow)]
    return any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in powers)


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _number(text: str) -> int | float:
    """What a literal says, whose suffix says nothing here."""
    if text in _LITERALS:
        return int(text == "true")
    text = text.replace("'", "").rstrip("uUlL" if text[:2] in ("0x", "0X") else "uUlLfF")
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
        if isinstance(right, ast.Constant) and not (isinstance(right.value, int) and 0 <= right.value < 63):
            raise NotArithmetic(mark)
        return ast.BinOp(
            left, ast.Mult() if mark == "<<" else ast.FloorDiv(), ast.BinOp(ast.Constant(2), ast.Pow(), right)
        )
    return ast.BinOp(left, _OPERATORS[mark], right)


def _call(function: str, given: Sequence[ast.expr]) -> ast.expr:
    function = re.sub(r"<[\w:]*>$", "", function).rpartition("::")[2]  # as of `std::min<size_t>`
    if re.fullmatch(r"(?:ceil|floor)f?", function) and len(given) == 1:
        inner = folded(given[0])
        if "ceil" in function and isinstance(inner, ast.BinOp) and is_quotient(inner):
            return ast.Call(ast.Name("ceil_div"), [inner.left, inner.right], [])
        return inner
    if _CONVERSION.fullmatch(function) and len(given) == 1:
        return given[0]
    if _ROUNDED_UP.fullmatch(function) and len(given) == 2:
        return ast.Call(ast.Name("ceil_div"), list(given), [])
    root = _ROOT.fullmatch(function)
    if root is not None and len(given) == 1:
        power = -0.5 if root["inverse"] else 0.5
        return ast.BinOp(given[0], ast.Pow(), ast.Constant(power))
    which = _LEAST_OR_MOST.fullmatch(function)
    if which is not None and len(given) == 2:
        return ast.Call(ast.Name(which["which"].lower()), list(given), [])
    raise NotArithmetic(f"{function}()")


def is_called_by_name(function: str) -> bool:
    """Whether a function of this name is known for what it does, whatever its text."""
    return any(known.fullmatch(function) for known in (_ROUNDED_UP, _LEAST_OR_MOST, _ROOT, _CONVERSION))


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
            whole = not (by is ast.FloorDiv and (_has_root(left) or isinstance(getattr(left, "value", 0), float)))
            if isinstance(node.op, by) and isinstance(right, ast.Constant) and right.value == one and whole:
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


def _is_most(node: ast.Compare) -> bool:
    return isinstance(node.ops[0], ast.LtE)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _worked_out(node: ast.BinOp, left: object, right: object) -> ast.expr:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return node
    fractions = isinstance(left, float) or isinstance(right, float)
    if isinstance(node.op, ast.Pow):
        is_shift = left == 2 and isinstance(right, int) and 0 <= right < 63
        return ast.Constant(left**right) if is_shift or (left > 0 and abs(right) <= 1) else node
    if isinstance(node.op, ast.FloorDiv) and fractions and right != 0:
        return ast.Constant(left / right if right != 1 or isinstance(right, float) else int(left // 1))
    if isinstance(node.op, ast.FloorDiv | ast.Mod) and (right == 0 or fractions):
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
    if isinstance(right, ast.IfExp | ast.Compare | ast.UnaryOp) and remainder in ast.dump(right):
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


def bytes_of(type_name: str) -> int:
    """The bytes of a type, by its name with its words joined by underscores; 4 where it is not known."""
    words = type_name.split("_")
    return _BYTES.get(type_name, max((_BYTES.get(word, 4) for word in words if word in _BYTES), default=4))
