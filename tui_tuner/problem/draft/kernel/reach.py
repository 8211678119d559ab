"""How far a kernel's text reaches into an array, where loops and guards say how far each index goes."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.arithmetic.worked_out import evaluated
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.guesses import AXES, BEFORE_ELEMENT, as_factor, size_names, where_used
from tui_tuner.problem.draft.kernel.moves import without_row_pointers
from tui_tuner.problem.draft.kernel.shared_arrays import shared_arrays
from tui_tuner.problem.draft.kernel.sums import (
    Sum,
    Unbounded,
    added,
    largest_of,
    of_whole_rows,
    parts_of_size,
    plus,
    text_of,
    times,
)
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.syntax import split_list

_MOST_STEPS = 8
_INSIDE = r"(?:[^][;]|\[(?:[^][;]|\[[^][;]*\])*\])*"
_INDEX = rf"\[{_INSIDE}\]"
_SAID = "said_place"
_OWN_TABLE = r"\b(?:(?:unsigned|int|char|short|u?int\d+_t)\s+)+(\w+)\s*\[\w*\]\s*=\s*\{([\d,\s]*\d)\s*\}\s*;"
_OWN_CONSTANT = r"\b(?:const(?:expr)?\s+)+(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*(\d+)\s*;"


def reached_by(signature: KernelSignature, launch: DraftedLaunch | None) -> dict[str, str]:
    """The elements of those arrays over several sizes that the kernel's own text says the extents of."""
    if launch is not None and not (launch.values or launch.sizes or launch.problem_size):
        launch = None  # it says the block alone
    keys = {} if launch is None else launch.keys
    given = {} if launch is None else launch.values
    names = size_names(signature)
    sizes = names if launch is None else [name for name in names if given.get(name) == name]
    elements = enumerate(keys.get("problem_size", ()))
    blocks = [text if keys.get(f"grid_div_{AXES[axis]}") == ["1"] else "" for axis, text in elements]
    others = () if launch is None else launch.sizes.keys() - {*sizes}
    has_several = len(sizes) > 1 or (sizes and others)
    arrays = [one.name for one in signature.parameters if one.is_array]
    pointers = [one.name for one in signature.parameters if one.is_array and "[" not in one.type_text]
    found = {name: elements_reached(signature, name, sizes, blocks) for name in arrays}
    found = {name: text for name, text in found.items() if has_several or (text.isdecimal() and name in pointers)}
    first = {name: "1" for name in pointers if _is_first_alone(name, signature)}
    return {name: text for name, text in found.items() if text} | first


def _is_first_alone(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel touches the first element of an array alone, as in `*sum = s` and `atomicAdd(sum, s)`."""
    plain, body = re.escape(name or "?"), where_used(name, signature.body)
    first = rf"\*\s*{plain}\b(?!\s*(?:\[|\+\+|--|->))|\b{plain}\s*\[\s*0\s*\]|\batom\w*\s*\(\s*{plain}\s*,"
    found = len(re.findall(first, body))
    return found > 0 and found == len(re.findall(rf"\b{plain}\b", body))


def elements_reached(signature: KernelSignature, array: str, sizes: Collection[str], blocks: Sequence[str]) -> str:
    """The least number of elements that holds all of what a kernel touches of an array; empty where it is not said.

    Args:
        sizes: names that stand for sizes.
        blocks: of the grid along each axis, as expressions over the sizes; empty where the axis is not known.
    """
    body = re.sub(rf"\b{re.escape(array)}\s*\?", " ", where_used(array, without_row_pointers(signature.body)))
    for one in signature.parameters:
        if one.is_array and one.name not in ("", array) and "int" in (one.dtype or ""):
            body = _with_ends_of_rows(one.name, body)
    body = _with_most_of_tables(_with_numbers_of_names(without_number_casts(body)))
    reading = _Reading(body, frozenset(sizes), blocks)
    try:
        found = [of_whole_rows(plus(reading.most(index), 1)) for index in reading.indices(array)]
        return text_of(largest_of(found))
    except (Unbounded, NotArithmetic, RecursionError):
        return ""


def _with_numbers_of_names(body: str) -> str:
    """The text with the number for a constant of its own, as of `const int lanes = 4;`."""
    for declared, name, number in re.findall(rf"({_OWN_CONSTANT})", body):
        rest = body.replace(declared, " ")
        if not re.search(rf"(?<![\w.>]){name}\s*=(?!=)", rest):
            body = re.sub(rf"(?<![\w.>]){name}\b", number, rest)
    return body


def _with_most_of_tables(body: str) -> str:
    """The text with the largest number for an element of a table of its own, as of `int back[3] = {0, 2, 1};`."""
    for declared, name, numbers in re.findall(rf"({_OWN_TABLE})", body):
        rest = body.replace(declared, " ")
        element = rf"(?<![\w.>]){name}\s*{_INDEX}"
        if not re.search(rf"{element}\s*(?:[-+*/%&|^]?=(?!=)|\+\+|--)", rest):
            body = re.sub(element, str(max(map(int, numbers.split(",")))), rest)
    return body


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
        names = re.findall(r"[A-Za-z_]\w*", " ".join(factors))
        if elements and not any(re.search(rf"\b{one}\s*=(?!=)", signature.body) for one in names):
            parts = _parts(elements, [scalar(one) for one in factors])
            if parts is not None:
                return parts
    body = without_row_pointers(signature.body)
    rows = {scalar(one["row"]) for one in _place_in_row(name, body).finditer(body)}
    return next(iter(rows)) if len(rows) == 1 else None


def _place_in_row(name: str, body: str) -> re.Pattern[str]:
    """The pattern of an element that says a place in a row, as in `x[i * n + label[i]]`, also in one of a batch."""
    said = rf"\s*\+[\s(]*(?:{'|'.join(_ways_to_say(name, body))})"
    return re.compile(rf"(?P<before>\*\s*(?P<row>[A-Za-z_]\w*)){said}(?=[\s)]*\])")


def _with_ends_of_rows(name: str, body: str) -> str:
    """The text with the last place of a row for one that an element says, also where it alone is an index."""
    place = _place_in_row(name, body)
    rows = {one["row"] for one in place.finditer(body)}
    body = place.sub(lambda said: f"{said['before']} + ({said['row']} - 1)", body)
    if len(rows) != 1:
        return body
    return re.sub(rf"\[[\s(]*(?:{'|'.join(_ways_to_say(name, body))})[\s)]*\]", f"[{rows.pop()} - 1]", body)


def _ways_to_say(name: str, body: str) -> list[str]:
    """Patterns of an element of an array, and of the names that stand for one alone."""
    element = rf"\b{re.escape(name)}\s*{_INDEX}"
    held = re.findall(rf"\b(\w+)\s*=(?!=)\s*{BEFORE_ELEMENT}{element}[\s)]*;", body)
    alone = [one for one in held if len(re.findall(rf"\b{one}\s*(?:[-+*/|&^]|<<|>>)?=(?!=)", body)) == 1]
    return [element, *(rf"(?<![.>])\b{word}\b" for word in alone)]


def _read_where_said(name: str, signature: KernelSignature) -> Iterator[tuple[KernelParameter, tuple[str, ...]]]:
    """The arrays that are read where elements of another say, and what these are multiplied by there."""
    body = signature.body
    said = re.compile("|".join(_ways_to_say(name, body)))
    made = {one: f"({text})" for one, text in _set_once(body).items() if not said.fullmatch(one) and said.search(text)}
    for one in (*signature.parameters, *shared_arrays(body)):
        if not one.is_array or one.name in ("", name):
            continue
        plain = re.escape(one.name)
        inside, behind = rf"\b{plain}\s*\[({_INSIDE})\]", rf"\b{plain}\s*\+((?:[^][;,()]|\([^()]*\)|{_INDEX})*)"
        for text in (*re.findall(inside, body), *re.findall(behind, body)):
            whole = re.sub(r"(?<![.>])\b[A-Za-z_]\w*\b(?!\s*\[)", lambda word: made.get(word[0], word[0]), text)
            factors = _factors(said.sub(f" {_SAID} ", whole))
            if factors is not None:
                yield one, factors


def _set_once(body: str) -> dict[str, str]:
    """The names that a text sets once and never changes, with what it sets them to."""
    found = re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*=(?!=)\s*([^;]*);", body)
    changed = Counter(re.findall(r"(?<![\w.>])([A-Za-z_]\w*)\s*(?:[-+*/|&^]|<<|>>)?=(?!=)", body))
    return {name: text for name, text in found if changed[name] == 1}


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
            is_more = {word for one in factors for word in re.findall(r"[A-Za-z_]\w*", one)} & names
            return None if is_more or (names and not factors and by_left is None) else factors
    return None


def _parts(extents: Sequence[str], factors: Sequence[str | None]) -> str | None:
    """How many parts of so many elements an array has, as an expression; None where one of the factors is not known."""
    are_products = all(re.fullmatch(r"[\w *]+", one) for one in extents)
    elements = " * ".join(extents).split(" * ") if are_products else [*extents]
    divisors = list[str]()
    for factor in factors:
        if factor is None:
            return None
        if factor in elements:
            elements.remove(factor)
        else:
            divisors.append(factor if re.fullmatch(r"\w+", factor) else f"({factor})")
    text = " * ".join(as_factor(one, elements[1:] or divisors) for one in elements or ["1"])
    return " // ".join([text, *divisors])


class _Reading:
    """Reads one kernel's text."""

    def __init__(self, body: str, sizes: frozenset[str], blocks: Sequence[str]) -> None:
        self._body, self._sizes = body, sizes
        self._blocks = {f"blockIdx.{axis}": text for axis, text in zip("xyz", blocks, strict=False) if text}

    def indices(self, array: str, declared: int = 0) -> Iterator[ast.expr]:
        """What the array is indexed with, by its name or that of a pointer into it, or of one from there on.

        Args:
            array: the name of an array, or of such a pointer.
            declared: how often the text declares it.

        Raises:
            Unbounded: it is used in another way too.
        """
        plain, inside = re.escape(array), r"\s*\[((?:[^][;]|\[[^][;]*\])*)\]"
        moved = re.findall(rf"\*\s*(?:const\s+|__restrict__\s+)*(\w+)\s*=\s*{plain}\s*\+\s*([^;,]+);", self._body)
        own = re.findall(rf"\b{plain}{inside}", self._body)
        named = len(re.findall(rf"(?<!\.)\b{plain}\b", self._body))
        if len(own) + len(moved) + declared != named or not (own or moved):
            raise Unbounded(array)
        yield from map(arithmetic, own)
        for name, text in moved:
            yield from (ast.BinOp(arithmetic(text), ast.Add(), one) for one in self.indices(name, 1))

    def most(self, node: ast.expr, steps: int = _MOST_STEPS) -> Sum:
        """The largest number that it comes to, of indices that are never below zero."""
        if steps == 0:
            raise Unbounded(ast.unparse(node))
        match node:
            case ast.Constant(value=int() as number):
                return Sum({(): number})
            case ast.Name(id=name):
                return Sum({(name,): 1}) if name in self._sizes else self._most_of_name(name, steps)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return added(self.most(left, steps), self.most(right, steps))
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if self._is_sum_of_sizes(right):
                return added(self.most(left, steps), times(self.most(right, steps), Sum({(): -1})))
            case ast.BinOp(left=left, op=ast.Sub(), right=ast.Name(id=name)) if self._begins_at_0(name):
                return self.most(left, steps)  # as of height - 1 - y
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return times(self.most(left, steps), self.most(right, steps))
            case ast.IfExp() | ast.Call():
                return self._most_of_choice(node, steps)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                return self._most_of_division(node, steps)
        raise Unbounded(ast.unparse(node))

    def _most_of_choice(self, node: ast.IfExp | ast.Call, steps: int) -> Sum:
        match node:
            case ast.IfExp(body=one, orelse=other):
                return largest_of([self.most(one, steps), self.most(other, steps)])
            case ast.Call(func=ast.Name(id="max"), args=parts):
                return largest_of([self.most(one, steps) for one in parts])
            case ast.Call(func=ast.Name(id="min"), args=parts):
                return self._most_of_least(parts, steps)
            case ast.Call(func=ast.Name(id="ceil_div"), args=parts):
                return self._rounded_up(node, parts)
        raise Unbounded(ast.unparse(node))

    def _rounded_up(self, node: ast.expr, parts: Sequence[ast.expr]) -> Sum:
        if not all(map(self._is_size, parts)):
            raise Unbounded(ast.unparse(node))
        return Sum({(ast.unparse(node),): 1})

    def _most_of_division(self, node: ast.BinOp, steps: int) -> Sum:
        if (number := evaluated(node.right, {})) is not None:
            node = ast.BinOp(node.left, node.op, ast.Constant(number))
        if not self._is_size(node.right):
            raise Unbounded(ast.unparse(node))
        if isinstance(node.op, ast.Mod):
            return plus(self.most(node.right, steps), -1)
        if self._is_size(node.left):
            return Sum({(f"({ast.unparse(node)})",): 1})
        match node.left:  # the share of one of so many, as `head * groups / heads`
            case ast.BinOp(left=one, op=ast.Mult(), right=parts) if self._is_size(parts):
                if plus(self.most(one, steps), 1) == self.most(node.right, steps):
                    return plus(self.most(parts, steps), -1)
        return plus(parts_of_size(plus(self.most(node.left, steps), 1), ast.unparse(node.right)), -1)

    def _most_of_least(self, parts: Sequence[ast.expr], steps: int) -> Sum:
        """What the least of several comes to at most: as much as one of which that is said."""
        for one in parts:
            with suppress(Unbounded):
                return self.most(one, steps)
        raise Unbounded

    def _is_sum_of_sizes(self, node: ast.expr) -> bool:
        """Whether what a number comes to is said, and not only how large it may be."""
        match node:
            case ast.Name(id=name):
                return name in self._sizes
            case ast.BinOp(left=left, op=ast.Add() | ast.Mult(), right=right):
                return self._is_sum_of_sizes(left) and self._is_sum_of_sizes(right)
        return isinstance(node, ast.Constant)

    def _begins_at_0(self, name: str) -> bool:
        """Whether a name is a thread's number, or is counted up from 0."""
        thread = rf"(?<![\w.>]){name}\s*=(?!=)[^;,-]*\b(?:blockIdx|threadIdx|get_\w+_id)\b[^;,-]*[;,]"
        return re.search(rf"{thread}|\bfor\s*\([^;]*\b{name}\s*=\s*0\s*;", self._body) is not None

    def _is_size(self, node: ast.expr) -> bool:
        return all(one.id in self._sizes for one in ast.walk(node) if isinstance(one, ast.Name))

    def _most_of_name(self, name: str, steps: int) -> Sum:
        if name in self._blocks:
            blocks = self._blocks[name]  # as the host has it, whatever the kernel calls so
            return plus(_Reading("", frozenset(re.findall(r"[A-Za-z_]\w*", blocks)), ()).most(arithmetic(blocks)), -1)
        plain = re.escape(name)
        counted = rf"\bfor\s*\([^;]*\b{plain}\s*=[^;]*;\s*{plain}\s*(<=?)\s*([^;<>=&|]+);"
        guarded = (
            rf"\bif\s*\((?:[^;{{}}]*(?:&&|\|\|)\s*)?\(?\s*{plain}\s*(<|>=)(?!\s*0\b)\s*([\w.* -]+)\)*\s*(?:\)|&&|\|\|)"
        )
        for limits in (re.findall(counted, self._body), re.findall(guarded, self._body)):
            if limits:
                most = [
                    plus(self.most(arithmetic(one), steps - 1), -(how != "<=")) for how, one in dict.fromkeys(limits)
                ]
                return largest_of(most)
        said = re.findall(rf"\b{plain}\s*=(?!=)\s*([^;]*);", self._body)
        if len(said) != 1 or re.search(rf"\b{plain}\s*(?:[-+*/]=|\+\+)|\+\+\s*{plain}\b", self._body):
            raise Unbounded(name)
        return self.most(arithmetic(split_list(said[0])[0]), steps - 1)
