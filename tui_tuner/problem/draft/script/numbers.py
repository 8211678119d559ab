"""Numbers and extents of a script as a host in C would write them, with the names that the script has."""

from __future__ import annotations

import ast

from tui_tuner.problem.draft.script.arithmetic import UNKNOWN, element_named
from tui_tuner.problem.draft.script.values import ScriptValues, called, put_in

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Div: "/", ast.Mod: "%"}


def in_c(values: ScriptValues, node: ast.expr) -> str | None:
    """A number as C writes it; None where it cannot be."""
    values.steps_left -= 1
    if values.steps_left < 0:
        return None
    number = values.value(node)
    is_number = isinstance(number, int | float)
    if is_number and (values.as_numbers or isinstance(node, ast.Constant) or _is_of_list(values, node)):
        return str(number)
    for way in (_named, _operated, _of_extents, _called, _of_array):
        if (found := way(values, node)) is not None:
            return found
    return str(number) if is_number else None


def extents_in_c(values: ScriptValues, node: ast.expr | None) -> list[str] | None:
    """A shape, one extent or several; None where it cannot be read."""
    given = None if node is None else values.meant(node)
    is_whole = isinstance(given, ast.Tuple | ast.List | ast.Attribute)
    node = given if is_whole or (isinstance(given, ast.Constant) and isinstance(given.value, str)) else node
    match node:
        case None | ast.Constant(value=None):
            return None
        case ast.Attribute(value=ast.Name(id=name), attr="shape") if name in values.arrays:
            return list(values.arrays[name].extents)
        case ast.Tuple() | ast.List():
            parts = [_one(values, one) for one in node.elts]
        case _:
            parts = [_one(values, node)]
    return None if None in parts else [one for part in parts for one in part or ()]


def _one(values: ScriptValues, node: ast.expr) -> list[str] | None:
    """An extent, or those of a shape that is spread among others."""
    if isinstance(node, ast.Starred):
        return extents_in_c(values, node.value)
    found = in_c(values, node)
    return None if found is None else [found]


def _written(values: ScriptValues, text: str, *parts: ast.expr) -> str | None:
    """Numbers as C writes them, in a text; None where one of them cannot be."""
    found = [in_c(values, one) for one in parts]
    return None if None in found else text.format(*found)


def _is_of_list(values: ScriptValues, node: ast.expr) -> bool:
    """Whether a number is one of a list's, as the largest of a tunable's values, and no size that could change."""
    match values.meant(node) if isinstance(node, ast.Name) else None:
        case ast.Call(args=[of]) as call if called(call) in ("max", "min", "amax", "amin"):
            return isinstance(values.value(of), list)
    return False


def _named(values: ScriptValues, node: ast.expr) -> str | None:
    """A name, also that of an argument of the program, as far as there is a value for it; bytes of a type are these."""
    match values.meant(node):
        case ast.Attribute(attr="itemsize") as of_type if isinstance(node, ast.Name):
            return _of_array(values, of_type)
    match node:
        case ast.Attribute(value=ast.Name(), attr=name) if name in values.usual and values.value(node) is not UNKNOWN:
            return name
        case ast.Constant(value=str(name)) | ast.Name(id=name) if name.isidentifier():
            return name
    return None


def _operated(values: ScriptValues, node: ast.expr) -> str | None:
    """What operators make of numbers."""
    if (parts := _rounded_up(node)) is not None:
        return _written(values, "ceil_div({}, {})", *parts)
    match node:
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=2)):
            return _written(values, "({} * {})", base, base)
        case ast.BinOp(left=base, op=ast.Pow(), right=ast.Constant(value=3)):
            return _written(values, "({} * {} * {})", base, base, base)
        case ast.BinOp(op=ast.Div()) if isinstance(found := values.value(node), float) and not found.is_integer():
            return str(found)  # C divides whole numbers without what is left
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _written(values, f"({{}} {_OPERATORS[type(node.op)]} {{}})", node.left, node.right)
        case ast.IfExp(test=test):
            chosen = values.value(test)
            if isinstance(chosen, bool | int):
                return in_c(values, node.body if chosen else node.orelse)
            is_rest = isinstance(test.left if isinstance(test, ast.Compare) else test, ast.BinOp)
            return in_c(values, node.orelse) if is_rest and "%" in ast.unparse(test) else None  # as if it divided
    return None


def _rounded_up(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """What is divided by what, where a division is rounded up."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(ast.UnaryOp(ast.USub(), above), ast.FloorDiv(), below)):
            return above, below
        case ast.BinOp(
            ast.BinOp(above, ast.FloorDiv(), below), ast.Add(), ast.Compare(left=ast.BinOp(_, ast.Mod(), _))
        ):
            return above, below
        case ast.IfExp(
            test=ast.BinOp(_, ast.Mod(), _) | ast.Compare(left=ast.BinOp(_, ast.Mod(), _)),
            body=ast.BinOp(ast.BinOp(_, ast.FloorDiv(), _), ast.Add(), ast.Constant(value=1)),
            orelse=ast.BinOp(above, ast.FloorDiv(), below),
        ):
            return above, below
        case ast.Call(args=[ast.BinOp(left=above, op=ast.Div(), right=below)]) if called(node) == "ceil":
            return above, below
        case ast.Call(args=[above, below]) if called(node) in ("cdiv", "ceil_div", "div_up"):
            return above, below
    return None


def _called(values: ScriptValues, node: ast.expr) -> str | None:
    """What is made of numbers by a conversion, by rounding up, or by a function of the script's own."""
    if not isinstance(node, ast.Call):
        return None
    name, number = called(node), values.value(node)
    own = values.assigned.get(name) if isinstance(node.func, ast.Name) else None
    match node.args:
        case _ if isinstance(own, ast.Lambda) and not node.keywords:
            names = [one.arg for one in own.args.args]
            return in_c(values, put_in(own.body, dict(zip(names, node.args, strict=False))))
        case [one] if name in ("int", "ceil") or element_named(name):
            inner = in_c(values, one)
            return str(number) if isinstance(number, int) and inner and "." in inner else inner
        case [one, other] if name in ("max", "min"):
            return _written(values, f"{name}({{}}, {{}})", one, other)
    return None


def _of_extents(values: ScriptValues, node: ast.expr) -> str | None:
    """One of a tuple of numbers, or their product."""
    match node:
        case ast.Subscript(value=given) | ast.Call(args=[given], keywords=[]):
            listed_there = values.meant(given)
        case _:
            return None
    if not isinstance(listed_there, ast.Tuple | ast.List) or (found := extents_in_c(values, given)) is None:
        return None
    if isinstance(node, ast.Call):
        return f"({' * '.join(found)})" if called(node) == "prod" else None
    axis = values.value(node.slice)
    return found[axis] if isinstance(axis, int) and -len(found) <= axis < len(found) else None


def _of_array(values: ScriptValues, node: ast.expr) -> str | None:
    """An extent, the elements or the bytes of an array, where an expression is that."""
    match node:
        case (
            ast.Attribute(value=ast.Name(id=name), attr="size")
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel"), args=[])
        ):
            return _elements(values, name)
        case ast.Attribute(value=ast.Name(id=name), attr="nbytes") if name in values.arrays:
            return values.arrays[name].size
        case ast.Call(args=[ast.Name(id=name)]) if called(node) == "len":
            return _extent(values, name, 0)
        case ast.Call(args=[ast.Subscript(value=ast.Name(id=name))]) if called(node) == "len" and name in values.arrays:
            return _extent(values, name, 1)
        case (
            ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=at)
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[at])
        ):
            axis = values.value(at)
            return _extent(values, name, axis) if isinstance(axis, int) else None
        case (
            ast.Attribute(attr="itemsize", value=ast.Attribute(value=ast.Name(id=name), attr="dtype"))
            | ast.Attribute(attr="itemsize", value=ast.Name(id=name))
        ) if name in values.arrays:
            return f"sizeof({values.arrays[name].element})"
        case ast.Attribute(attr="itemsize" | "nbytes", value=ast.Call() as call):
            of = values.meant(call.args[0]) if call.args else values.meant(call.func)
            name = of.attr if isinstance(of, ast.Attribute) else str(getattr(of, "id", getattr(of, "value", "")))
            return f"sizeof({element})" if (element := element_named(name)) else None
    return None


def _elements(values: ScriptValues, name: str) -> str | None:
    if name in values.arrays:
        return values.arrays[name].elements
    if values.value(ast.Name(name)) is not UNKNOWN:
        return None
    values.asked.add(name)
    return f"{name}.numel()"


def _extent(values: ScriptValues, name: str, axis: int) -> str | None:
    """An extent of an array; of one from outside it is asked as of a tensor."""
    if name in values.arrays:
        extents = values.arrays[name].extents
        return extents[axis] if -len(extents) <= axis < len(extents) else None
    return f"{name}.size({axis})" if axis >= 0 and values.value(ast.Name(name)) is UNKNOWN else None
