"""What the statements of a Python script make, as far as its text says it: numbers, lists, arrays. Nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.problem.draft.script.arithmetic import (
    MOST_BITS,
    UNKNOWN,
    all_of,
    element_named,
    filled,
    item,
    joined,
    listed,
    operated,
    part,
    result_of,
)

_DEEPEST = 32
_ALIKE = frozenset(("zeros_like", "ones_like", "empty_like", "full_like"))
_SAME = frozenset(
    ("ravel", "flatten", "copy", "transpose", "ascontiguousarray", "array", "asarray", "to_device", "get")
)
"""Functions whose result has the elements of what they are given."""
_WHOLE = frozenset(("randint", "integers", "arange"))
_OF_SIZE = frozenset(("normal", "uniform", "randint", "integers"))
"""Those whose extents are their last argument, or `size`."""
_OF_EXTENTS = frozenset(("rand", "randn"))
"""Those whose extents are an argument each."""
_MADE = frozenset(("zeros", "ones", "empty", "full", "random", "random_sample", "standard_normal")).union(
    _WHOLE, _OF_SIZE, _OF_EXTENTS
)
"""Functions that make an array of so many elements."""
_IN_C = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Div: "/", ast.Mod: "%"}


@dataclass(frozen=True)
class ScriptArray:
    """An array: its extents as the host's C would write them, and its type of elements in C."""

    extents: tuple[str, ...]
    element: str

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
        usual: of the program's arguments, those that have a value where none is given.
        as_numbers: whether what is known is written as a number, and not by its name.
        steps_left: of working out values; without any nothing more is known.
    """

    assigned: dict[str, ast.expr] = field(default_factory=dict)
    known: dict[str, object] = field(default_factory=dict)
    arrays: dict[str, ScriptArray] = field(default_factory=dict)
    usual: dict[str, ast.expr] = field(default_factory=dict)
    as_numbers: bool = False
    steps_left: int = 300_000

    def meant(self, node: ast.expr) -> ast.expr:
        """The expression that a name stands for, else the expression itself."""
        for _ in range(8):
            if not isinstance(node, ast.Name) or node.id not in self.assigned:
                break
            node = self.assigned[node.id]
        return node

    def add_argument(self, call: ast.Call) -> None:
        """Takes in what `argparse` is told of an argument of the program."""
        words = {one.arg: one.value for one in call.keywords}
        flags = [str(self.value(one)).lstrip("-") for one in call.args]
        if flags and "default" in words:
            name = self.value(words["dest"]) if "dest" in words else max(flags, key=len).replace("-", "_")
            self.usual[str(name)] = words["default"]

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
            case ast.Call():
                words = {one.arg: of(one.value) for one in node.keywords if one.arg}
                found = result_of(called(node), [of(one) for one in node.args], words)
            case ast.Attribute(value=ast.Name() as parsed, attr=name) if name in self.usual:
                meant = self.meant(parsed)
                found = of(self.usual[name]) if isinstance(meant, ast.Call) and called(meant) == "parse_args" else found
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

    def in_c(self, node: ast.expr) -> str | None:
        """A number as the host's C would write it, with the names that the script has; None where it cannot be."""
        number = self.value(node)
        if isinstance(number, int | float) and (self.as_numbers or isinstance(node, ast.Constant)):
            return str(number)
        match node:
            case ast.Name() if isinstance(number, int) and self._is_of_list(node):
                return str(number)
            case ast.Constant(value=str(name)) | ast.Name(id=name) if name.isidentifier():
                return name
            case ast.BinOp() if type(node.op) in _IN_C:
                left, right = self.in_c(node.left), self.in_c(node.right)
                return None if left is None or right is None else f"({left} {_IN_C[type(node.op)]} {right})"
            case ast.Subscript() | ast.Call(args=[_], keywords=[]) if (known := self._of_extents(node)) is not None:
                return known
            case ast.Call() if len(node.args) == 1 and (called(node) == "int" or element_named(called(node))):
                inner = self.in_c(node.args[0])
                return str(number) if isinstance(number, int) and inner and "." in inner else inner
        if (known := self._of_array(node)) is not None:
            return known
        return str(number) if isinstance(number, int | float) else None

    def _is_of_list(self, name: ast.Name) -> bool:
        """Whether a number is one of a list's, as the largest of a tunable's values, and no size that could change."""
        match self.meant(name):
            case ast.Call(args=[of]) as call if called(call) in ("max", "min", "amax", "amin"):
                return isinstance(self.value(of), list)
        return False

    def _of_extents(self, node: ast.Subscript | ast.Call) -> str | None:
        """One of a tuple of numbers, or their product."""
        given = node.value if isinstance(node, ast.Subscript) else node.args[0]
        listed_there = self.meant(given)
        if not isinstance(listed_there, ast.Tuple | ast.List) or (found := self.extents(given)) is None:
            return None
        if isinstance(node, ast.Call):
            return f"({' * '.join(found)})" if called(node) == "prod" else None
        axis = self.value(node.slice)
        return found[axis] if isinstance(axis, int) else None

    def _of_array(self, node: ast.expr) -> str | None:
        """An extent, the elements or the bytes of an array, where an expression is that."""
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr="size" | "nbytes") if name in self.arrays:
                one = self.arrays[name]
                return one.elements if node.attr == "size" else one.size
            case ast.Call(args=[ast.Name(id=name)]) if called(node) == "len" and name in self.arrays:
                return self.arrays[name].extents[0]
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape")) if name in self.arrays:
                axis = self.value(node.slice)
                return self.arrays[name].extents[axis] if isinstance(axis, int) else None
        return None

    def extents(self, node: ast.expr | None) -> list[str] | None:
        """A shape, one extent or several; None where it cannot be read."""
        given = None if node is None else self.meant(node)
        node = given if isinstance(given, ast.Tuple | ast.List | ast.Attribute) or _is_text(given) else node
        match node:
            case None | ast.Constant(value=None):
                return None
            case ast.Attribute(value=ast.Name(id=name), attr="shape") if name in self.arrays:
                return list(self.arrays[name].extents)
            case ast.Tuple() | ast.List():
                found = [self.in_c(one) for one in node.elts]
            case _:
                found = [self.in_c(node)]
        return None if None in found else [one for one in found if one is not None]

    def array(self, node: ast.expr) -> ScriptArray | None:
        """The array that an expression makes; None where it makes none whose size is known."""
        match node:
            case ast.Name(id=name):
                return self.arrays.get(name)
            case ast.Attribute(value=inner, attr="T" | "data"):
                return self.array(inner)
            case ast.BinOp() | ast.UnaryOp():
                parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
                return next((found for one in parts if (found := self.array(one))), None)
            case ast.Call(func=ast.Attribute(value=inner, attr="astype")):
                return self._as(self.array(inner), node.args[0] if node.args else None)
            case ast.Call(func=ast.Attribute(value=inner, attr="reshape")):
                made, extents = self.array(inner), self.extents(ast.Tuple(node.args) if node.args[1:] else node.args[0])
                return made and (replace(made, extents=tuple(extents)) if extents and "-1" not in extents else made)
            case ast.Call() if called(node) in _SAME | _ALIKE:
                return self._like(node)
            case ast.Call() if called(node) in _MADE:
                return self._made(node)
        return None

    def _as(self, made: ScriptArray | None, dtype: ast.expr | None) -> ScriptArray | None:
        element = self._element(dtype, made.element) if made else ""
        return replace(made, element=element) if made and element else None

    def _like(self, call: ast.Call) -> ScriptArray | None:
        """An array that is made of another, as by `zeros_like`, `.ravel()` or `to_device(queue, x)`."""
        given = [one for one in call.args if not self._is_type(one)]
        if called(call) == "to_device":
            given = given[1:]
        of = given[0] if given else call.func.value if isinstance(call.func, ast.Attribute) else call.func
        words = {word.arg: word.value for word in call.keywords}
        return self._as(self.array(of), words.get("dtype") or self._type_among(call.args))

    def _made(self, call: ast.Call) -> ScriptArray | None:
        name, words = called(call), {word.arg: word.value for word in call.keywords}
        usual = "long long" if name in _WHOLE else "double"
        element = self._element(words.get("dtype") or self._type_among(call.args), usual)
        given = [one for one in call.args if not self._is_type(one) and not _is_queue(one)]
        shape = words.get("size") or words.get("shape")
        if shape is None and given and (name != "arange" or len(given) == 1):
            given = [given[0].value] if isinstance(given[0], ast.Starred) else given
            several = name in _OF_EXTENTS and not isinstance(self.meant(given[0]), ast.Tuple | ast.List)
            shape = ast.Tuple(given) if several else given[-1] if name in _OF_SIZE else given[0]
        extents = self.extents(shape)
        return ScriptArray(tuple(extents), element) if extents and element else None

    def _is_type(self, node: ast.expr) -> bool:
        return self._element(node, "") != ""

    def _type_among(self, given: list[ast.expr]) -> ast.expr | None:
        return next((one for one in given if self._is_type(one)), None)

    def _element(self, node: ast.expr | None, otherwise: str) -> str:
        node = None if node is None else self.meant(node)
        match node:
            case None:
                return otherwise
            case ast.Attribute(value=ast.Name(id=name), attr="dtype") if name in self.arrays:
                return self.arrays[name].element
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                return element_named(name) or ""
        return ""


def _operated(node: ast.expr, of: Callable[[ast.expr], object]) -> object:
    """What operators make of the values of their operands."""
    match node:
        case ast.UnaryOp(op=ast.USub()):
            return operated(ast.Sub(), 0, of(node.operand))
        case ast.BinOp():
            return operated(node.op, of(node.left), of(node.right))
        case ast.Compare(ops=[operation], comparators=[right]):
            return operated(operation, of(node.left), of(right))
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=None)):
            return part(of(node.value), [None if one is None else of(one) for one in (lower, upper)])
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


def _is_text(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_queue(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("queue", "q", "cq", "ctx", "context", "command_queue")
