"""Arithmetic as C writes it, read into the arithmetic of a problem file; nothing of it is ever run."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Sequence

from tree_sitter import Node

from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.draft.arithmetic.folding import folded, has_root, is_quotient
from tui_tuner.problem.syntax import parse_code

_NAMED = ("identifier", "field_expression", "subscript_expression", "qualified_identifier")
_NAME = re.compile(r"\w+(?:(?:\.|->|::)\w+|\[\w+(?:[+-]\w+)?\])*")
_GETTER = re.compile(r"\w+(?:(?:\.|->)\w+)+")
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
_COMBINED = frozenset({*_OPERATORS, *_COMPARISONS, "&&", "||", "<<", ">>", "&"})
_ROUNDED_UP = re.compile(r"(?:i|ceil_?|c)?div_?(?:up|ceil|round_?up)?|div_?up|round_?up_?div", re.IGNORECASE)
_LEAST_OR_MOST = re.compile(r"(?:std\s*::\s*)?f?i?(?P<which>min|max)f?", re.IGNORECASE)
_ROOT = re.compile(r"(?:std\s*::\s*|__f)?(?P<inverse>r?)sqrtf?(?:_rn)?")
_GIVEN = re.compile(r"\b(?:argv\b|getenv\b|(?:ato|sto|strto)\w+\s*\()")
"""What a host says of what it may be given as it is started, which here it is not."""
_SIGNS: dict[str, Callable[[ast.expr], ast.expr]] = {
    "!": lambda operand: ast.UnaryOp(ast.Not(), operand),
    "+": lambda operand: operand,
    "-": lambda operand: ast.BinOp(ast.Constant(0), ast.Sub(), operand),
    "~": lambda operand: ast.BinOp(ast.Constant(-1), ast.Sub(), operand),
}
_MOST_CHARACTERS, _MOST_INSIDE = 400, 40
_LITERALS = ("number_literal", "true", "false")
_LIKE_A_CAST = re.compile(
    r"(?P<before>(?:^|[-+*/%(,?:=<&|!~]|(?<![\w*])>)\s*)\(\s*(?P<name>[A-Za-z_]\w*)\s*\)(?=\s*[-+*&])"
)
_INTEGERS = ("unsigned", "signed", "int", "long", "short", "char")
SIZEOF = "sizeof__"
UNREAD = "unread__"
"""Stands for the one way of a choice that cannot be read, as long as it may be the other that is taken."""
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
    value = value_in_c(text)
    if value is None:
        raise NotArithmetic(text)
    return folded(_read(value, _MOST_INSIDE))


def value_in_c(text: str) -> Node | None:
    """The syntax tree of C text that is one value, in parentheses; None where it is none."""
    root = parse_code(f"auto value = ({text});", "cuda")
    declared = root.named_children[0].child_by_field_name("declarator") if root.named_child_count == 1 else None
    value = None if declared is None else declared.child_by_field_name("value")
    return None if root.has_error else value


def _read(node: Node, depth: int) -> ast.expr:
    """A node of the syntax tree as arithmetic."""
    text = re.sub(r"\s", "", _text(node))
    if depth == 0:
        raise NotArithmetic(text)
    parts = [one for one in node.named_children if one.type not in ("comment", "type_descriptor")]
    if node.type == "conditional_expression" and (default := _default(parts[1:])) is not None:
        return _read(default, depth - 1)
    if node.type == "conditional_expression" and len(parts) == 3:
        return _choice(*parts, depth=depth - 1)
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
            is_whole = kind == "cast_expression" and "int" in text.partition(")")[0]
            return _cut(inner) if is_whole else inner
        case "binary_expression", [left, right] if mark in _COMBINED:
            return _combined(mark, left, right)
        case "unary_expression", [operand] if mark in _SIGNS:
            return _SIGNS[mark](operand)
    raise NotArithmetic(text)


def _cut(node: ast.expr) -> ast.expr:
    """A number that C makes whole: a root that is cut off, a whole one that a half was added to, to round it."""
    match node:
        case ast.BinOp(left=whole, op=ast.Add(), right=ast.Constant(value=0.5)) if not has_root(whole):
            return whole
    return ast.BinOp(node, ast.FloorDiv(), ast.Constant(1)) if has_root(node) else node


def _default(ways: Sequence[Node]) -> Node | None:
    """What holds where nothing is given, as in `argc > 1 ? atoi(argv[1]) : 4096`; None where nothing is asked for."""
    stated = [one for one in ways if not _GIVEN.search(_text(one))]
    return stated[0] if len(stated) == 1 else None


def _choice(condition: Node, *ways: Node, depth: int) -> ast.expr:
    """A conditional expression, of which one way need not be readable."""
    asked, (chosen, other) = _read(condition, depth), (_read_if_possible(one, depth) for one in ways)
    if isinstance(chosen, ast.Name) and isinstance(other, ast.Name) and chosen.id == other.id == UNREAD:
        raise NotArithmetic(UNREAD)
    return _least_of_two(asked, chosen, other) or ast.IfExp(asked, chosen, other)


def _read_if_possible(node: Node, depth: int) -> ast.expr:
    try:
        return _read(node, depth)
    except NotArithmetic:
        return ast.Name(UNREAD)


def _least_of_two(condition: ast.expr, chosen: ast.expr, other: ast.expr) -> ast.expr | None:
    """`a < b ? a : b` and the like as what they are; None for any other choice."""
    match condition:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as mark], comparators=[right]):
            is_less = isinstance(mark, ast.Lt | ast.LtE)
            said, given = [ast.dump(left), ast.dump(right)], [ast.dump(chosen), ast.dump(other)]
            if said in (given, given[::-1]):
                return ast.Call(ast.Name("min" if is_less == (said == given) else "max"), [chosen, other], [])
    return None


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _number(text: str) -> int | float:
    """What a literal says, whose suffix says nothing here."""
    if text in _LITERALS:
        return int(text == "true")
    text = text.replace("'", "").rstrip("uUlL" if text[:2] in ("0x", "0X") else "uUlLfF")
    if re.fullmatch(r"0[xX].*", text):
        return int(text, 16)
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def _combined(mark: str, left: ast.expr, right: ast.expr) -> ast.expr:
    if mark in ("||", "&&"):
        return ast.BoolOp(ast.Or() if mark == "||" else ast.And(), [left, right])
    if mark in _COMPARISONS:
        return ast.Compare(left, [_COMPARISONS[mark]], [right])
    if mark == "&":
        return _masked(left, folded(right))
    if mark in ("<<", ">>"):
        right = folded(right)
        if isinstance(right, ast.Constant) and not (isinstance(right.value, int) and 0 <= right.value < 63):
            raise NotArithmetic(mark)
        return ast.BinOp(
            left, ast.Mult() if mark == "<<" else ast.FloorDiv(), ast.BinOp(ast.Constant(2), ast.Pow(), right)
        )
    return ast.BinOp(left, _OPERATORS[mark], right)


def _masked(node: ast.expr, mask: ast.expr) -> ast.expr:
    """The multiple of a power of two that `n & ~31` is, also by a name, and the remainder that `n & 31` is."""
    match mask:
        case ast.BinOp(
            left=ast.Constant(value=-1), right=ast.BinOp(left=by, op=ast.Sub(), right=ast.Constant(value=1))
        ):
            return ast.BinOp(ast.BinOp(node, ast.FloorDiv(), by), ast.Mult(), by)
        case ast.Constant(value=int() as bits) if bits < 0 and bits & (-bits - 1) == 0:
            return ast.BinOp(ast.BinOp(node, ast.FloorDiv(), ast.Constant(-bits)), ast.Mult(), ast.Constant(-bits))
        case ast.Constant(value=int() as bits) if bits > 0 and bits & (bits + 1) == 0:
            return ast.BinOp(node, ast.Mod(), ast.Constant(bits + 1))
    raise NotArithmetic("&")


def _call(function: str, given: Sequence[ast.expr]) -> ast.expr:
    function = re.sub(r"<[\w:]*>$", "", function).rpartition("::")[2]  # as of `std::min<size_t>`
    if re.fullmatch(r"(?:ceil|floor)f?", function) and len(given) == 1:
        inner = folded(given[0])
        if "ceil" in function and isinstance(inner, ast.BinOp) and is_quotient(inner):
            return ast.Call(ast.Name("ceil_div"), [inner.left, _whole(inner.right)], [])
        return inner
    if _CONVERSION.fullmatch(function) and len(given) == 1:
        return given[0]
    if _ROUNDED_UP.fullmatch(function) and len(given) == 2:
        return ast.Call(ast.Name("ceil_div"), list(given), [])
    root = _ROOT.fullmatch(function)
    if root is not None and len(given) == 1:
        power = -0.5 if root["inverse"] else 0.5
        return ast.BinOp(given[0], ast.Pow(), ast.Constant(power))
    if re.fullmatch(r"(?:__)?powf?", function) and len(given) == 2:
        return ast.BinOp(given[0], ast.Pow(), given[1])
    which = _LEAST_OR_MOST.fullmatch(function)
    if which is not None and len(given) == 2:
        return ast.Call(ast.Name(which["which"].lower()), list(given), [])
    raise NotArithmetic(f"{function}()")


def _whole(node: ast.expr) -> ast.expr:
    """A number with nothing behind its point without that, as 32 for `32.0`; else the same."""
    value = node.value if isinstance(node, ast.Constant) else None
    return ast.Constant(int(value)) if isinstance(value, float) and value.is_integer() else node


def without_no_casts(text: str, types: Collection[str]) -> str:
    """Text without the parentheses of a name that is no type, which before a sign look like a cast: `(TILE) - 2`."""

    def bare(found: re.Match[str]) -> str:
        is_type = found["name"] in types or dtype_of(found["name"], "cuda", {})[0] is not None
        return found[0] if is_type or found["name"] in _INTEGERS else f"{found['before']}{found['name']}"

    return _LIKE_A_CAST.sub(bare, text)


def is_called_by_name(function: str) -> bool:
    """Whether a function of this name is known for what it does, whatever its text."""
    return any(known.fullmatch(function) for known in (_ROUNDED_UP, _LEAST_OR_MOST, _ROOT, _CONVERSION))


def bytes_of(type_name: str) -> int:
    """The bytes of a type, by its name with its words joined by underscores; 4 where it is not known."""
    words = type_name.split("_")
    return _BYTES.get(type_name, max((_BYTES.get(word, 4) for word in words if word in _BYTES), default=4))
