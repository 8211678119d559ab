"""Safe expressions over sizes and tunables: parsed, checked against an allow-list, never `eval`ed."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tui_tuner.problem.expression_nodes import ExpressionError, ExpressionValue, NodeFunction, build, number
from tui_tuner.text import suggestion

__all__ = [
    "ExpressionError",
    "Parsed",
    "check_expression",
    "conjuncts",
    "evaluate",
    "names_in",
    "parse_expression",
    "respelt",
]

MAX_CHARACTERS = 500
MAX_NODES = 100
MAX_DEPTH = 20
_SPELLINGS = {"&&": "and", "||": "or", "!": "not"}


@dataclass(frozen=True)
class Parsed:
    """An expression that passed the allow-list.

    Attributes:
        text: the expression as it was written.
        names: the sizes and tunables it reads.
    """

    text: str
    names: frozenset[str]
    _evaluator: NodeFunction

    def value(self, names: Mapping[str, object]) -> ExpressionValue:
        """The value for these names.

        Raises:
            ExpressionError: a name is missing, a division by zero, a number out of range.
        """
        try:
            return self._evaluator(names)
        except ExpressionError as error:
            raise ExpressionError(f"{error} in '{self.text}'") from None
        except ZeroDivisionError:
            raise ExpressionError(f"division by zero in '{self.text}'") from None
        except ArithmeticError:
            raise ExpressionError(f"a number out of range in '{self.text}'") from None
        except KeyError as error:
            name = str(error.args[0])
            raise ExpressionError(f"unknown name '{name}' in '{self.text}': {suggestion(name, names)}") from None


def evaluate(expression: str | int | float, names: Mapping[str, object]) -> ExpressionValue:
    """The value of an expression; a number is its own value.

    Raises:
        ExpressionError: it is not allowed, or has no value for these names.
    """
    if isinstance(expression, str):
        return parse_expression(expression).value(names)
    return number(expression)


def names_in(expression: str | int | float) -> frozenset[str]:
    """The names an expression reads.

    Raises:
        ExpressionError: it is not allowed.
    """
    return parse_expression(expression).names if isinstance(expression, str) else frozenset()


def check_expression(expression: str | int | float, known: Collection[str]) -> None:
    """Refuse an expression that is not allowed or reads an unknown name.

    Raises:
        ExpressionError: with the unknown name and the nearest known one.
    """
    for name in sorted(names_in(expression)):
        if name not in known:
            raise ExpressionError(f"unknown name '{name}' in '{expression}': {suggestion(name, sorted(known))}")


def conjuncts(expression: str) -> tuple[str, ...]:
    """The parts of an expression that are joined by `and`, all of which must hold.

    Raises:
        ExpressionError: it is not allowed.
    """
    parts = list(_joined_by_and(_body(parse_expression(expression).text)))
    return tuple(map(ast.unparse, parts)) if len(parts) > 1 else (expression,)


def respelt(expression: str, names: Mapping[str, str] | None = None) -> str:
    """The expression in its normal spelling, with other names in place of some of those it reads.

    Args:
        names: the new name of each that changes.

    Raises:
        ExpressionError: it is not allowed.
    """
    read = parse_expression(expression).names
    changes = {old: new for old, new in (names or {}).items() if old in read}
    body = _body(expression)
    for node in ast.walk(body):
        if isinstance(node, ast.Name):
            node.id = changes.get(node.id, node.id)
    return ast.unparse(body)


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Parsed:
    """Parse an expression and hold it against the allow-list and the limits.

    Raises:
        ExpressionError: it is too long, no expression, or uses what is not allowed.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"an expression of {len(text)} characters: at most {MAX_CHARACTERS} are allowed")
    body = _body(text)
    names = _measure(body, text)
    try:
        return Parsed(text, names, build(body))
    except ExpressionError as error:
        raise ExpressionError(f"{error} in '{text}'") from None


def _joined_by_and(body: ast.expr) -> Iterator[ast.expr]:
    if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And):
        for part in body.values:
            yield from _joined_by_and(part)
    else:
        yield body


def _body(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f"'{text}' is not an expression{_spelling(text)}") from None


def _spelling(text: str) -> str:
    found = [f"'{ours}' for '{theirs}'" for theirs, ours in _SPELLINGS.items() if theirs in text.replace("!=", "")]
    return f": write {', '.join(found)}" if found else ""


def _measure(body: ast.expr, text: str) -> frozenset[str]:
    """Count nodes and depth without recursion, since the text may be made to exhaust the stack."""
    names = set()
    pending: list[tuple[ast.AST, int]] = [(body, 1)]
    count = 0
    while pending:
        node, depth = pending.pop()
        count += 1
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise ExpressionError(f"too large: at most {MAX_NODES} terms, nested {MAX_DEPTH} deep, in '{text}'")
        if isinstance(node, ast.Name):
            names.add(node.id)
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            parts.remove(node.func)
        pending.extend((part, depth + 1) for part in parts)
    return frozenset(names)
