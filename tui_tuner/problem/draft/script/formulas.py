"""What a script computes from a configuration, as expressions over tunables: texts, lambdas and short functions."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy

from tui_tuner.problem.draft.script.values import ScriptValues, called, put_in
from tui_tuner.problem.expressions import ExpressionError, names_in

_MOST_NODES = 300
_DEEPEST = 3
_KNOWN = (bool, int, float, str)


def formula(values: ScriptValues, node: ast.expr, tunables: Collection[str]) -> str:
    """An expression over tunables and numbers; nothing for what is none.

    Args:
        values: what the script's other names stand for.
        node: a text, a number, or a function of the configuration.
    """
    meant = values.meant(node)
    if isinstance(meant, ast.Lambda):
        table = meant.args.args[0].arg if len(meant.args.args) == 1 else ""
        text = ast.unparse(_OfConfiguration(values, table).visit(deepcopy(meant.body)))
    else:
        found = values.value(meant)
        text = " ".join(str(found).split()) if isinstance(found, str | int | float) else ""
    try:
        return text if text and names_in(text) <= set(tunables) else ""
    except ExpressionError:
        return ""


def formulas(values: ScriptValues, node: ast.expr, tunables: Collection[str]) -> list[str]:
    """An expression for each item of a list, or of what a function of the configuration returns."""
    meant = values.meant(node)
    if isinstance(meant, ast.Lambda) and isinstance(meant.body, ast.List | ast.Tuple):
        items: Sequence[ast.expr] = [ast.Lambda(meant.args, one) for one in meant.body.elts]
    else:
        items = values.items(meant)
    return [formula(values, one, tunables) for one in items]


def as_lambda(function: ast.FunctionDef) -> ast.Lambda | None:
    """A function as one that has a single expression; None where it does more than choose what to return."""
    body = _returned(function.body, {})
    return None if body is None else ast.Lambda(function.args, body)


def _returned(statements: Sequence[ast.stmt], names: Mapping[str, ast.expr]) -> ast.expr | None:
    """What statements return, with the values of their own names put in."""

    def of(node: ast.expr) -> ast.expr:
        return put_in(node, names)

    match statements:
        case [ast.Return(value=ast.expr() as value), *_]:
            return of(value)
        case [ast.Expr(value=ast.Constant()), *rest]:
            return _returned(rest, names)
        case [ast.Assign(targets=[ast.Name(id=name)], value=value), *rest]:
            put = of(value)
            return _returned(rest, {**names, name: put}) if sum(1 for _ in ast.walk(put)) < _MOST_NODES else None
        case [ast.If(test=test, body=[*_, ast.Return()] as body, orelse=orelse), *rest]:
            chosen, otherwise = _returned(body, names), _returned([*orelse, *rest], names)
            return None if chosen is None or otherwise is None else _choice(of(test), chosen, otherwise)
    return None


def _choice(test: ast.expr, chosen: ast.expr, otherwise: ast.expr) -> ast.expr:
    if isinstance(chosen, ast.Constant) and chosen.value is False:
        held = ast.UnaryOp(ast.Not(), test)
        is_all = isinstance(otherwise, ast.Constant) and otherwise.value is True
        return held if is_all else ast.BoolOp(ast.And(), [held, otherwise])
    return ast.IfExp(test, chosen, otherwise)


class _OfConfiguration(ast.NodeTransformer):
    """Makes `p["tile"]` the name `tile`, and numbers of the script's own names."""

    def __init__(self, values: ScriptValues, table: str, depth: int = 0) -> None:
        self._values, self._table, self._depth = values, table, depth

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An item of the table is the tunable of that name."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if name == self._table:
                return ast.Name(key)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """What the script's name stands for; of what is not known, a name that no tunable has."""
        found = self._values.value(node)
        if isinstance(found, list) and all(isinstance(one, _KNOWN) for one in found):
            return ast.List([ast.Constant(one) for one in found])
        return ast.Constant(found) if isinstance(found, _KNOWN) else ast.Name(f"{node.id}?")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A function of the script's own is what it returns; rounding down is a division without a rest."""
        name = called(node)
        own = self._values.assigned.get(name)
        if isinstance(node.func, ast.Name) and isinstance(own, ast.Lambda) and self._depth < _DEEPEST:
            put = dict(zip((one.arg for one in own.args.args), node.args, strict=False))
            inner = _OfConfiguration(self._values, self._table, self._depth + 1)
            return inner.visit(put_in(own.body, put))  # type: ignore[no-any-return]
        given = [self.visit(one) for one in node.args]
        if name in ("int", "float", "bool") and len(given) == 1:
            return _rounded_down(given[0]) if name == "int" else given[0]
        return ast.Call(ast.Name(name), given, [])


def _rounded_down(node: ast.expr) -> ast.expr:
    """Whole numbers stay what they are."""
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return ast.BinOp(left, ast.FloorDiv(), right)
    return node
