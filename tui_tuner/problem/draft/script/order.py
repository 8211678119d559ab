"""The statements of a script in the order in which they run, as far as its text says it."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence

from tui_tuner.problem.draft.script.values import called

_MOST_STATEMENTS = 20_000
_DEEPEST = 8
_OWN = ("self", "cls", "ctx")
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


class ScriptOrder:
    """Walks a script: a function is read where it is called, with what it is given; one that is not called comes last.

    Of two ways the one is taken that the script's own values choose; where these do not say it, first one, then the
    other. A loop is gone through once, with the largest of numbers that are written out for it.

    Args:
        tree: the script.
        value: what an expression comes to where the walk is.
    """

    def __init__(self, tree: ast.Module, value: Callable[[ast.expr], object]) -> None:
        self._tree, self._value = tree, value
        _forget_self(tree)
        nodes = [*ast.walk(self._tree)]
        functions = [one for one in nodes if isinstance(one, ast.FunctionDef)]
        self._functions = {one.name: one for one in functions if one.name != "__init__"}
        classes = [one for one in nodes if isinstance(one, ast.ClassDef)]
        self._classes = [_methods(one) for one in classes]
        made = zip(classes, self._classes, strict=True)
        self._functions |= {one.name: methods["__init__"] for one, methods in made if "__init__" in methods}
        self._left, self._depth = _MOST_STATEMENTS, 0
        self._entered = set[int]()

    def statements(self) -> Iterator[ast.stmt]:
        """The simple statements; what a function is given is an assignment of its own."""
        yield from self._body(self._tree.body)
        yield from self._module_of_torch()
        for function in self._functions.values():
            if id(function) not in self._entered:
                yield from self._function(function, [], [])

    def _module_of_torch(self) -> Iterator[ast.stmt]:
        """The last module that has a `forward`, given what `get_init_inputs` and `get_inputs` return."""
        methods = next((one for one in reversed(self._classes) if "forward" in one), {})
        for name, source in (("__init__", "get_init_inputs"), ("forward", "get_inputs")):
            function, inputs = methods.get(name), self._functions.get(source)
            if function is not None and inputs is not None:
                yield from self._function(inputs, [], [])
                returned = _returned(inputs)
                yield from self._function(function, [] if returned is None else [ast.Starred(returned)], [])

    def _body(self, statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
        for one in statements:
            self._left -= 1
            if self._left < 0:
                return
            if isinstance(one, _SIMPLE):
                yield from self._simple(one)
            elif not isinstance(one, ast.FunctionDef):
                yield from self._compound(one)

    def _compound(self, one: ast.stmt) -> Iterator[ast.stmt]:
        match one:
            case ast.If(test=test):
                chosen = self._value(test)
                if not isinstance(chosen, bool | int) or chosen:
                    yield from self._body(one.body)
                if not isinstance(chosen, bool | int) or not chosen:
                    yield from self._body(one.orelse)
            case ast.With(items=items):
                for item in items:
                    if item.optional_vars is not None:
                        given = ast.Assign([item.optional_vars], item.context_expr)
                        yield ast.copy_location(given, one)
                yield from self._body(one.body)
            case _:
                if isinstance(one, ast.For) and not isinstance(one.iter, ast.Call):
                    yield from self._largest(one)
                for field in ("body", "handlers", "orelse", "finalbody"):
                    for inner in getattr(one, field, []):
                        yield from self._body(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])

    def _largest(self, loop: ast.For) -> Iterator[ast.stmt]:
        """What a loop over numbers that are written out, or over rows of them, counts with: the largest."""
        listed = self._value(loop.iter)
        rows = [one if isinstance(one, list) else [one] for one in listed] if isinstance(listed, list) else []
        if rows and all(isinstance(one, int | float) for row in rows for one in row):
            numbers: list[ast.expr] = [ast.Constant(one) for one in max(rows, key=math.prod)]
            value = numbers[0] if isinstance(loop.target, ast.Name) else ast.Tuple(numbers)
            yield ast.copy_location(ast.Assign([loop.target], value), loop)

    def _simple(self, one: ast.stmt) -> Iterator[ast.stmt]:
        """A statement behind the functions that it calls; what one returns stands in its place."""
        for call in [node for node in ast.walk(one) if isinstance(node, ast.Call)][::-1]:  # what is inside comes first
            function = self._functions.get(called(call))
            if function is None or self._depth >= _DEEPEST or self._left < 0:
                continue
            yield from self._function(function, call.args, call.keywords)
            if isinstance(one, ast.Assign) and one.value is call and (value := _returned(function)) is not None:
                one = ast.copy_location(ast.Assign(one.targets, value), one)
        yield one

    def _function(
        self, function: ast.FunctionDef, given: Sequence[ast.expr], words: Sequence[ast.keyword]
    ) -> Iterator[ast.stmt]:
        """What a function does, given these arguments, and for others what it has usually."""
        self._entered.add(id(function))
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args) if one.arg not in _OWN]
        usual = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
        only = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        usual |= {one.arg: value for one, value in only if value is not None}
        bound = usual | dict(zip(names, given, strict=False)) | {one.arg: one.value for one in words if one.arg}
        if len(given) == 1 and isinstance(given[0], ast.Starred):
            bound = usual
            yield _assigned(names, given[0].value, function)
        yield _assigned([*bound], ast.Tuple([*bound.values()]), function)
        self._depth += 1
        yield from self._body(function.body)
        self._depth -= 1


def _assigned(names: Sequence[str], value: ast.expr, place: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Tuple([ast.Name(name) for name in names])], value), place)


def _methods(one: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {method.name: method for method in one.body if isinstance(method, ast.FunctionDef)}


def _returned(function: ast.FunctionDef) -> ast.expr | None:
    """What a function returns in the end."""
    found = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
    return found[-1] if found else None


def _forget_self(tree: ast.Module) -> None:
    """Makes members of an object, as `self.width`, plain names."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                value[:] = map(_plain, value)
            else:
                setattr(node, field, _plain(value))


def _plain(value: object) -> object:
    match value:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ctx):
            return ast.copy_location(ast.Name(name, ctx), value)
    return value
