"""Arrays that are read where an element of another says: how many places they have, and names that say them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.kernel.guesses import BEFORE_ELEMENT, as_factor
from tui_tuner.problem.draft.kernel.moves import without_row_pointers
from tui_tuner.problem.draft.kernel.shared_arrays import shared_arrays
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.syntax import split_list

INSIDE = r"(?:[^][;]|\[(?:[^][;]|\[[^][;]*\])*\])*"
INDEX = rf"\[{INSIDE}\]"
_SAID = "said_place"
_ATOM = r"(?:\w+|\([^()]*\))"


def places_said(
    name: str,
    signature: KernelSignature,
    extents: Callable[[KernelParameter], Sequence[str]],
    scalar: Callable[[str], str | None],
) -> str | None:
    """How many places of the first array there are that is read where an element of another says; None where none is.

    As x is by columns in `x[columns[i]]`, and a table by its rows in `table[ids[i] * width + j]`, also by a name that
    stands for the element alone, as in `int c = columns[i]; if (c >= 0) sum += x[c];`, or for what is made of it.

    Args:
        extents: of an array, as expressions over the sizes; none where they are not to be believed.
        scalar: what the kernel knows by a name or a number, as such an expression.
    """
    for array, factors in _read_where_said(name, signature):
        elements = extents(array)
        parts = _parts(elements, [_factor(one, signature.body, scalar) for one in factors]) if elements else None
        if parts is not None:
            return parts
    body = without_row_pointers(signature.body)
    rows = {scalar(one["row"]) for one in place_in_row(name, body).finditer(body)}
    return next(iter(rows)) if len(rows) == 1 else None


def _factor(text: str, body: str, scalar: Callable[[str], str | None]) -> str | None:
    """What a factor comes to over the sizes, also one that the text sets once, as `half = width / 2`."""
    if not any(re.search(rf"\b{one}\s*=(?!=)", body) for one in re.findall(r"[A-Za-z_]\w*", text)):
        return scalar(text)
    made = set_once(body).get(text)
    with suppress(NotArithmetic, RecursionError):
        node = arithmetic(made or "")
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if names and all(scalar(one) == one for one in names):
            return f"({ast.unparse(node)})"
    return None


def place_in_row(name: str, body: str) -> re.Pattern[str]:
    """The pattern of an element that says a place in a row, as in `x[i * n + label[i]]`, also in one of a batch."""
    said = rf"\s*\+[\s(]*(?:{'|'.join(ways_to_say(name, body))})"
    return re.compile(rf"(?P<before>\*\s*(?P<row>[A-Za-z_]\w*)){said}(?=[\s)]*\])")


def ways_to_say(name: str, body: str) -> list[str]:
    """Patterns of an element of an array, and of the names that stand for one alone."""
    element = rf"\b{re.escape(name)}\s*{INDEX}"
    return [element, *(rf"(?<![.>])\b{word}\b" for word in held_alone(name, body))]


def held_alone(name: str, body: str) -> list[str]:
    """The names that stand for an element of an array and nothing else."""
    held = re.findall(rf"\b(\w+)\s*=(?!=)\s*{BEFORE_ELEMENT}\b{re.escape(name)}\s*{INDEX}[\s)]*[;,]", body)
    return [one for one in held if len(re.findall(rf"\b{one}\s*(?:[-+*/|&^]|<<|>>)?=(?!=)", body)) == 1]


def _read_where_said(name: str, signature: KernelSignature) -> Iterator[tuple[KernelParameter, tuple[str, ...]]]:
    """The arrays that are read where elements of another say, and what these are multiplied by there."""
    body = signature.body
    said = re.compile("|".join(ways_to_say(name, body)))
    made = {one: f"({text})" for one, text in set_once(body).items() if not said.fullmatch(one) and said.search(text)}
    for one in (*signature.parameters, *shared_arrays(body)):
        if not one.is_array or one.name in ("", name):
            continue
        plain = re.escape(one.name)
        inside, behind = rf"\b{plain}\s*\[({INSIDE})\]", rf"\b{plain}\s*\+((?:[^][;,()]|\([^()]*\)|{INDEX})*)"
        for text in (*re.findall(inside, body), *re.findall(behind, body)):
            whole = re.sub(r"(?<![.>])\b[A-Za-z_]\w*\b(?!\s*\[)", lambda word: made.get(word[0], word[0]), text)
            factors = _factors(said.sub(f" {_SAID} ", whole))
            if factors is not None:
                yield one, factors


def set_once(body: str) -> dict[str, str]:
    """The names that a text sets once and never changes, with what it sets them to."""
    found = re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*=(?!=)\s*(?=([^;]*);)", body)
    changed = Counter(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?:[-+*/|&^]|<<|>>)?=(?!=)", body))
    return {name: first for name, text in found if changed[name] == 1 for first in split_list(text)[:1]}


def _factors(index: str) -> tuple[str, ...] | None:
    """What the element is multiplied by that says an index; None where nothing says that it alone leads so far."""
    try:
        return _multiplied(arithmetic(index))
    except (NotArithmetic, RecursionError):
        return None


def _multiplied(node: ast.expr) -> tuple[str, ...] | None:
    match node:
        case ast.Name(id=name) if name == _SAID:
            return ()
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() as op, right=right):
            by_left, by_right = _multiplied(left), _multiplied(right)
            factors, other = (by_right, left) if by_left is None else (by_left, right)
            names = {one.id for one in ast.walk(other) if isinstance(one, ast.Name)}
            if factors is None or _SAID in names:
                return None
            if isinstance(op, ast.Mult):
                return (*factors, ast.unparse(other))
            if isinstance(other, ast.BinOp) and isinstance(other.op, ast.Mod) and ast.unparse(other.right) in factors:
                return factors  # what remains of that is less
            of_parts = {word for one in factors for word in re.findall(r"[A-Za-z_]\w*", one)}
            is_more = of_parts <= names if of_parts else by_left is None  # of whole parts, and not places in one
            return None if names and is_more else factors
    return None


def _parts(extents: Sequence[str], factors: Sequence[str | None]) -> str | None:
    """How many parts of so many elements an array has, as an expression; None where one of the factors is not known."""
    are_products = all(re.fullmatch(rf"{_ATOM}(?: \* {_ATOM})*", one) for one in extents)
    elements = re.findall(_ATOM, " ".join(extents)) if are_products else [*extents]
    divisors = list[str]()
    for factor in factors:
        if factor is None:
            return None
        if factor in elements:
            elements.remove(factor)
        else:
            divisors.append(factor if re.fullmatch(_ATOM, factor) else f"({factor})")
    text = " * ".join(as_factor(one, elements[1:] or divisors) for one in elements or ["1"])
    return " // ".join([text, *divisors])
