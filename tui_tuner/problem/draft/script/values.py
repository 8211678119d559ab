"""What the statements of a Python script make, as far as its text says it: numbers, lists, arrays. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from tui_tuner.problem.draft.script.arithmetic import (
    MOST_BITS,
    UNKNOWN,
    all_of,
    filled,
    item,
    joined,
    listed,
    operated,
    part,
    result_of,
)

ELEMENT = "element"
"""Stands for what the kernel's array holds."""
_DEEPEST = 32
_SWITCHES: Mapping[object, bool] = {"store_true": False, "store_false": True}
"""What an argument of the program is that is not given, by what `argparse` does with it."""


@dataclass(frozen=True)
class ScriptArray:
    """An array: its extents as the host's C would write them, its type of elements in C, and whether these are 0."""

    extents: tuple[str, ...]
    element: str
    is_zero: bool = False

    @property
    def elements(self) -> str:
        """How many there are."""
        return " * ".join(f"({one})" for one in self.extents) or "1"

    @property
    def size(self) -> str:
        """Its bytes."""
        return f"{self.elements} * sizeof({self.element})"


@dataclass
class ScriptValues:
    """What the names of a script stand for at a place of it.

    Attributes:
        assigned: the expression that each name was last given.
        known: values of names that change item by item, as dictionaries do.
        arrays: those of NumPy, or on the device.
        asked: names of which the script asks how large they are, and does not say it.
        usual: of the program's arguments, those that have a value where none is given.
        as_numbers: whether what is known is written as a number, and not by its name.
        steps_left: of working out values; without any nothing more is known.
    """

    assigned: dict[str, ast.expr] = field(default_factory=dict)
    known: dict[str, object] = field(default_factory=dict)
    arrays: dict[str, ScriptArray] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    usual: dict[str, ast.expr] = field(default_factory=dict)
    as_numbers: bool = False
    steps_left: int = 300_000

    def meant(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for, else the expression itself."""
        for _ in range(8):
            match node:
                case ast.Name(id=name) if name in self.assigned:
                    node = self.assigned[name]
                case ast.Call(func=ast.Name(id="tuple" | "list"), args=[ast.expr() as same]):
                    node = same
                case ast.ListComp(
                    elt=ast.Call(func=ast.Name(id="int"), args=[ast.Name(id=name)]),
                    generators=[ast.comprehension(target=ast.Name(id=each), iter=same, ifs=[])],
                ) if name == each:
                    node = same
                case _:
                    break
        return node

    def forget(self, name: str) -> None:
        """Lets a name stand for itself."""
        self.assigned.pop(name, None)
        self.known.pop(name, None)

    def add_argument(self, call: ast.Call) -> str | None:
        """Takes in what `argparse` is told of an argument of the program, and returns its name where it has a value."""
        words = {one.arg: one.value for one in call.keywords}
        flags = [str(self.value(one)).lstrip("-") for one in call.args]
        action = self.value(words["action"]) if "action" in words else None
        default = words.get("default") or (ast.Constant(_SWITCHES[action]) if action in _SWITCHES else None)
        if not flags or default is None:
            return None
        name = self.value(words["dest"]) if "dest" in words else max(flags, key=len).replace("-", "_")
        self.usual[str(name)] = default
        return str(name)

    def items(self, node: ast.expr) -> list[ast.expr]:
        """What a list is written with, also one that is made of several; what is no list is the only item."""
        match self.meant(node):
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return items
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return [*self.items(left), *self.items(right)]
            case _:
                return [node]

    def value(self, node: ast.expr) -> object:
        """A number, text, list or dictionary; `UNKNOWN` for anything else."""
        try:
            return self._value(node, {}, 0)
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
            return UNKNOWN

    def _value(self, node: ast.expr, local: Mapping[str, object], depth: int) -> object:
        def of(one: ast.expr) -> object:
            return self._value(one, local, depth + 1)

        found: object = UNKNOWN
        self.steps_left -= 1
        if depth > _DEEPEST or self.steps_left < 0:
            return found
        match node:
            case ast.Constant():
                found = node.value
            case ast.Name(id=name):
                names = {**self.known, **local}
                found = names[name] if name in names else of(self.assigned[name])
            case ast.List() | ast.Tuple():
                found = all_of(map(of, node.elts))
            case ast.Dict():
                found = {of(key): of(one) for key, one in zip(node.keys, node.values, strict=True) if key is not None}
            case ast.ListComp(generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=conditions)]):
                found = self._comprehended(node.elt, name, of(over), conditions, local, depth + 1)
            case ast.Call(func=ast.Attribute(value=text, attr="format"), keywords=[]):
                found = filled(of(text), r"\{\}", [*map(of, node.args)])
            case ast.IfExp(test=test) if isinstance(chosen := of(test), bool | int):
                found = of(node.body if chosen else node.orelse)
            case ast.Call():
                words = {one.arg: of(one.value) for one in node.keywords if one.arg}
                found = result_of(called(node), [of(one) for one in node.args], words)
            case ast.Attribute(value=ast.Name() as parsed, attr=name) if name in self.usual:
                meant = self.meant(parsed)
                found = of(self.usual[name]) if isinstance(meant, ast.Call) and called(meant) == "parse_args" else found
            case ast.BoolOp(op=operation) if all_of(held := [*map(of, node.values)]) is not UNKNOWN:
                found = all(held) if isinstance(operation, ast.And) else any(held)
            case _:
                found = _operated(node, of)
        return UNKNOWN if isinstance(found, int) and found.bit_length() > MOST_BITS else found

    def _comprehended(
        self,
        each: ast.expr,
        name: str,
        over: object,
        conditions: Sequence[ast.expr],
        local: Mapping[str, object],
        depth: int,
    ) -> object:
        """What a comprehension makes of these values, of which conditions may leave some out."""
        found: list[object] = []
        for one in listed(over) or [UNKNOWN]:
            here = {**local, name: one}
            held = [self._value(condition, here, depth) for condition in conditions]
            if one is UNKNOWN or any(one is UNKNOWN for one in held):
                return UNKNOWN
            if all(held):
                found.append(self._value(each, here, depth))
        return all_of(found)


def _operated(node: ast.expr, of: Callable[[ast.expr], object]) -> object:
    """What operators make of the values of their operands."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return operated(ast.Sub(), 0, of(node.operand))
        case ast.BinOp():
            return operated(node.op, of(node.left), of(node.right))
        case ast.Compare(ops=[operation], comparators=[right]):
            return operated(operation, of(node.left), of(right))
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=step)):
            return part(of(node.value), [None if one is None else of(one) for one in (lower, upper, step)])
        case ast.Subscript():
            return item(of(node.value), of(node.slice))
        case ast.JoinedStr():
            return joined(map(of, node.values))
        case ast.FormattedValue(conversion=-1, format_spec=None):
            return of(node.value)
    return UNKNOWN


def called(call: ast.Call) -> str:
    """The name of a function that is called, without the modules that it is in."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def mentions(node: ast.expr, names: Collection[str]) -> bool:
    """Whether one of some names is in an expression."""
    return any(isinstance(one, ast.Name) and one.id in names for one in ast.walk(node))


def put_in(body: ast.expr, names: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with others in the place of names."""
    return _Put(names).visit(deepcopy(body))  # type: ignore[no-any-return]


class _Put(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name that stands for an expression is that."""
        return deepcopy(self._names.get(node.id, node))
