"""How far a kernel's text reaches into an array, where loops and guards say how far each index goes."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.arithmetic.worked_out import evaluated
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.counted import NOTHING, counted_text, with_own_threads
from tui_tuner.problem.draft.kernel.guesses import where_used
from tui_tuner.problem.draft.kernel.moves import without_row_pointers
from tui_tuner.problem.draft.kernel.own_numbers import with_own_numbers
from tui_tuner.problem.draft.kernel.said_places import held_alone, place_in_row, set_once, ways_to_say
from tui_tuner.problem.draft.kernel.sums import (
    Sum,
    Unbounded,
    added,
    largest_of,
    of_whole_rows,
    parts_of,
    plus,
    rows_in,
    text_of,
    times,
)
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import split_list

_MOST_STEPS = 8


def reached_by(signature: KernelSignature, launch: DraftedLaunch | None) -> dict[str, str]:
    """The elements of those arrays over several sizes that the kernel's own text says the extents of."""
    signature, sizes, counted, is_exact = counted_text(signature, launch)
    others = () if launch is None else launch.sizes.keys() - {*sizes}
    has_several = len(sizes) > 1 or (sizes and others)
    arrays = [one.name for one in signature.parameters if one.is_array]
    pointers = [one.name for one in signature.parameters if one.is_array and "[" not in one.type_text]
    found = {name: elements_reached(signature, name, sizes, counted) for name in arrays}
    is_said = has_several or (is_exact and all(found.values()))
    found = {name: text for name, text in found.items() if is_said or (text.isdecimal() and name in pointers)}
    first = {name: "1" for name in pointers if _is_first_alone(name, signature)}
    return {name: text for name, text in found.items() if text} | first


def _is_first_alone(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel touches the first element of an array alone, as in `*sum = s` and `atomicAdd(sum, s)`."""
    plain, body = re.escape(name or "?"), where_used(name, signature.body)
    first = rf"\*\s*{plain}\b(?!\s*(?:\[|\+\+|--|->))|\b{plain}\s*\[\s*0\s*\]|\batom\w*\s*\(\s*{plain}\s*,"
    found = len(re.findall(first, body))
    return found > 0 and found == len(re.findall(rf"\b{plain}\b", body))


def elements_reached(
    signature: KernelSignature,
    array: str,
    sizes: Collection[str],
    counted: Mapping[str, str],
    *,
    with_rows: bool = True,
) -> str:
    """The least number of elements that holds all of what a kernel touches of an array; empty where it is not said.

    Args:
        sizes: names that stand for sizes.
        counted: what the grid says of numbers in the text, as of `blockIdx.x`: how many there are, over the sizes.
        with_rows: whether elements of other arrays may say rows, as many as seems right.
    """
    try:
        found = [of_whole_rows(one) for one in _ends_reached(signature, array, sizes, counted, with_rows=with_rows)]
        return text_of(largest_of(found))
    except (Unbounded, NotArithmetic, RecursionError):
        return ""


def rows_apart(signature: KernelSignature, launch: DraftedLaunch | None) -> Iterator[tuple[str, str]]:
    """The sizes by which rows of arrays lie apart, each with that which says how long they are, as ld and n.

    As in `x[row * ld + column]` with columns up to n: with a smaller ld they would lie upon each other.
    """
    signature, sizes, counted, _ = counted_text(signature, launch)
    for array in (one.name for one in signature.parameters if one.is_array):
        with suppress(Unbounded, NotArithmetic, RecursionError):
            ends = _ends_reached(signature, array, sizes, counted)
            yield from (found for one in ends if (found := rows_in(one)) and {*found} <= {*sizes})


def _ends_reached(
    signature: KernelSignature,
    array: str,
    sizes: Collection[str],
    counted: Mapping[str, str],
    *,
    with_rows: bool = True,
) -> Iterator[Sum]:
    """Behind which element each index ends at most.

    Raises:
        Unbounded: nothing says it of one of them.
    """
    rows = dict(_rows_said(signature, array, sizes, counted)) if with_rows else {}
    body = re.sub(rf"\b{re.escape(array)}\s*\?", " ", where_used(array, without_row_pointers(signature.body)))
    for one in signature.parameters:
        if one.is_array and one.name not in ("", array) and "int" in (one.dtype or ""):
            body = _with_ends_of_rows(one.name, body)
    body = re.sub(rf"=\s*&\s*{re.escape(array)}\s*\[([^][;]*)\]\s*(?=[;,])", rf"= {array} + \1", body)
    body = with_own_threads(with_own_numbers(without_number_casts(body)))
    reading = _Reading(body, frozenset(sizes), counted, rows)
    yield from reading.ends(array)


def _rows_said(
    signature: KernelSignature, array: str, sizes: Collection[str], counted: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The names for an element of another array, and how many rows each may say, as `id` in `table[id * width + j]`.

    That is a size of which the kernel's text has no word; where there is none, as many as the other array has elements,
    or rows.
    """
    said = " ".join([signature.body, *counted.values()])
    unnamed = [one for one in sizes if not re.search(rf"\b{re.escape(one)}\b", said)]
    for one in signature.parameters:
        if not one.is_array or one.name in ("", array) or "int" not in (one.dtype or ""):
            continue
        if names := held_alone(one.name, signature.body):
            own = elements_reached(signature, one.name, sizes, counted, with_rows=False)
            rows = unnamed[0] if len(unnamed) == 1 else own.partition(" * ")[0]
            yield from ((name, rows) for name in names if rows in sizes)


def _with_ends_of_rows(name: str, body: str) -> str:
    """The text with the last place of a row for one that an element says, also where it alone is an index."""
    place = place_in_row(name, body)
    rows = {one["row"] for one in place.finditer(body)}
    body = place.sub(lambda said: f"{said['before']} + ({said['row']} - 1)", body)
    if len(rows) != 1:
        return body
    return re.sub(rf"\[[\s(]*(?:{'|'.join(ways_to_say(name, body))})[\s)]*\]", f"[{rows.pop()} - 1]", body)


class _Reading:
    """Reads one kernel's text."""

    def __init__(
        self, body: str, sizes: frozenset[str], counted: Mapping[str, str], rows: Mapping[str, str] = NOTHING
    ) -> None:
        self._body, self._sizes, self._counted, self._rows = body, sizes, counted, rows

    def ends(self, array: str, declared: int = 0) -> Iterator[Sum]:
        """Behind which element each use of an array ends at most, by its name or that of a pointer into it.

        Args:
            array: the name of an array, or of such a pointer.
            declared: how often the text declares it.

        Raises:
            Unbounded: it is used in another way too.
        """
        plain, inside = re.escape(array), r"\s*\[((?:[^][;]|\[[^][;]*\])*)\]"
        held = rf"(?:\*|\bauto\b)\s*(?:const\s+|__restrict__\s+)*(\w+)\s*=\s*{plain}\s*(?:\+\s*([^;,]+))?[;,]"
        moved = re.findall(held, self._body)
        own = re.findall(rf"\b{plain}{inside}", self._body)
        named = len(re.findall(rf"(?<!\.)\b{plain}\b", self._body))
        if len(own) + len(moved) + declared != named or not (own or moved):
            raise Unbounded(array)
        yield from (plus(self.most(arithmetic(one)), 1) for one in own)
        for name, text in moved:
            begin = arithmetic(text or "0")
            yield from (added(self.most(begin), one) for one in self._ends_in_row(name, begin))

    def _ends_in_row(self, pointer: str, begin: ast.expr) -> list[Sum]:
        """Behind which elements from there on a pointer is used; where nothing says it, behind a row of so many.

        As of `face = faces + i * 9`.
        """
        try:
            return [*self.ends(pointer, 1)]
        except (Unbounded, NotArithmetic):
            match begin:
                case ast.BinOp(op=ast.Mult(), right=ast.Constant(value=int()) as row):
                    return [self.most(row)]
            raise

    def most(self, node: ast.expr, steps: int = _MOST_STEPS) -> Sum:
        """The largest number that it comes to, of indices that are never below zero."""
        if steps == 0:
            raise Unbounded(ast.unparse(node))
        if (count := self._counted.get(ast.unparse(node))) is not None:
            names = frozenset(re.findall(r"[A-Za-z_]\w*", count))  # as the host has it, whatever the kernel calls so
            return plus(_Reading("", names, NOTHING).most(arithmetic(count)), -1)
        match node:
            case ast.Constant(value=int() as number):
                return Sum({(): number})
            case ast.Name(id=name):
                return Sum({(name,): 1}) if name in self._sizes else self._most_of_name(name, steps)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return added(self.most(left, steps), self.most(right, steps))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return added(self.most(left, steps), self._least_taken_away(right, steps))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return times(self._most_of_factor(left, steps), self._most_of_factor(right, steps))
            case ast.IfExp() | ast.Call():
                return self._most_of_choice(node, steps)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                return self._most_of_division(node, steps)
        raise Unbounded(ast.unparse(node))

    def _least_taken_away(self, node: ast.expr, steps: int) -> Sum:
        if self._is_sum_of_sizes(node):
            return times(self.most(node, steps), Sum({(): -1}))
        match node:
            case ast.Name(id=name) if self._begins_at_0(name):
                return Sum({})  # as of height - 1 - y
        raise Unbounded(ast.unparse(node))

    def _most_of_factor(self, node: ast.expr, steps: int) -> Sum:
        match node:
            case ast.Name(id=name) if name in self._rows:
                return plus(Sum({(self._rows[name],): 1}), -1)
        return self.most(node, steps)

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
        divisor = self._exact(node.right, steps)
        if isinstance(node.op, ast.Mod):
            return plus(divisor, -1)
        if self._is_size(node.left):
            return Sum({(f"({ast.unparse(node)})",): 1})
        match node.left:  # the share of one of so many, as `head * groups / heads`
            case ast.BinOp(left=one, op=ast.Mult(), right=parts) if self._is_size(parts):
                if plus(self.most(one, steps), 1) == divisor:
                    return plus(self.most(parts, steps), -1)
        return plus(parts_of(plus(self.most(node.left, steps), 1), divisor), -1)

    def _exact(self, node: ast.expr, steps: int) -> Sum:
        """What a number comes to that is made of sizes, also by names that the text sets once."""
        match node:
            case ast.Name(id=name) if name not in self._sizes:
                made = arithmetic(set_once(self._body).get(name, name))
                if ast.unparse(made) != name and self._is_size(made):
                    return self._made_of_sizes(made, steps)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return times(self._exact(left, steps), self._exact(right, steps))
        if not self._is_size(node):
            raise Unbounded(ast.unparse(node))
        return self.most(node, steps)

    def _made_of_sizes(self, node: ast.expr, steps: int) -> Sum:
        """A number made of sizes; where something is divided, as a whole."""
        is_divided = any(isinstance(one, ast.FloorDiv) for one in ast.walk(node))
        return Sum({(f"({ast.unparse(node)})",): 1}) if is_divided else self.most(node, steps)

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
        made = arithmetic(split_list(said[0])[0])
        return self._made_of_sizes(made, steps - 1) if self._is_size(made) else self.most(made, steps - 1)
