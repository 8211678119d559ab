"""Between which numbers the host fills an array, by arithmetic over intervals; nothing of it is ever run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node

from tui_tuner.problem.draft.arithmetic.c_expressions import value_in_c
from tui_tuner.problem.draft.host.functions import HostFunction, returned
from tui_tuner.problem.draft.host.memory import Drawn, HostMemory, named
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import begins_loop
from tui_tuner.problem.syntax import list_at

_MOST_STEPS = 12
_MOST_CHARACTERS = 400
_LEAST_HIGH = 2
"""Of whole numbers: what is 0 or 1 everywhere is a mark."""
_RANDOM_WORDS = {
    "rand": 2**31 - 1,
    "random": 2**31 - 1,
    "lrand48": 2**31 - 1,
    "rng": 2**32 - 1,
    "gen": 2**32 - 1,
    "generator": 2**32 - 1,
}
_FIXED = {"RAND_MAX": 2**31 - 1, "M_PI": math.pi, "true": 1, "false": 0}
_WAVES = ("sin", "cos", "tanh", "erf")
_RISING: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log}
_FRACTION = re.compile(r"\b(?:float|double|half|__half|__nv_bfloat16|real)\b")
_DISTRIBUTION = r"\buniform_(?P<kind>real|int)_distribution\s*(?:<[^<>]*>)?\s*{}\s*(?:[({{](?P<given>[^;]*?)[)}}])?\s*;"


class Interval(NamedTuple):
    """The least and the largest number, and whether both are of a whole type, whose division cuts."""

    low: float
    high: float
    is_whole: bool = False


class NotRanged(ValueError):
    """An expression that may be any number."""


class HostRanges:
    """Reads of a host program between which numbers the elements of its arrays are."""

    def __init__(self, program: HostProgram, memory: HostMemory) -> None:
        self._program = program
        self._memory = memory
        self._code = program.code

    def range(self, pointer: str, place: int) -> Interval | None:
        """Of the array that a pointer of the kernel is given, at the place of the launch; None where it is not told."""
        try:
            return self._of_array(pointer, place, _MOST_STEPS)
        except (NotRanged, ValueError, OverflowError, RecursionError):
            return None

    def whole_numbers(self, pointer: str, place: int) -> Drawn | None:
        """Those of an array; where the host has one number for all, from 1 on up to that, as of rows that are full."""
        try:
            texts = [one for name, where in self._written_as(pointer, place) for one in self._written(name, where)]
        except NotRanged:
            return None
        if len({text.strip() for text, _ in texts}) == 1 and self._is_set_once(*texts[0]):
            return Drawn(1, *texts[0])
        found = self.range(pointer, place)
        if found is None or not found.is_whole or found.high < _LEAST_HIGH:
            return None
        low = int(found.low) if found.low < found.high else 1
        return Drawn(low, str(int(found.high) - low + 1), place)

    def _of_array(self, pointer: str, place: int, steps: int) -> Interval:
        for name, where in self._written_as(pointer, place):
            found = [self._of_text(text, at, steps - 1) for text, at in self._written(name, where)]
            if found:
                return _union(found)
        raise NotRanged(pointer)

    def _written_as(self, pointer: str, place: int) -> Iterator[tuple[str, int]]:
        """The arrays of the host that memory is filled from, and itself, each with a place of its function."""
        for name, where in self._memory.followed(pointer, place):
            yield from ((one["host"], one.start()) for way in self._memory.copies_to(name) for one in way)
            yield name, where

    def _written(self, name: str, place: int, steps: int = 3) -> Iterator[tuple[str, int]]:
        """What the elements of an array are set to in the function of a place, and in those that it gives it to.

        Raises:
            NotRanged: they are changed by what they were.
        """
        function = self._program.function_at(place)
        start, end = (0, len(self._code)) if function is None else (function.body, function.end)
        plain = re.escape(name)
        if re.search(rf"\b{plain}\s*\[[^;=]*\]\s*[-+*/%&|^]=", self._code[start:end]):
            raise NotRanged(name)
        element = rf"(?<![\w.>]){plain}\s*(?:\[[^;=]*\]\s*=(?!=)|\.\s*push_back\s*\()"
        loop = rf"\bfor\s*\(\s*[\w:]+\s*&+\s*(?P<one>\w+)\s*:\s*{plain}\s*\)\s*\{{?\s*(?P=one)\s*=(?!=)"
        for one in re.compile(rf"(?:{element}|{loop})(?P<text>[^;]*);").finditer(self._code, start, end):
            text = one["text"].rstrip()
            yield text.removesuffix(")") if text.count(")") > text.count("(") else text, one.start()
        for other in self._program.functions if steps else ():
            for call in re.compile(rf"\b{re.escape(other.name)}\s*(?=\()").finditer(self._code, start, end):
                yield from self._written_by(other, list_at(self._code, call.end()), name, steps)

    def _written_by(
        self, function: HostFunction, given: Sequence[str], name: str, steps: int
    ) -> Iterator[tuple[str, int]]:
        for parameter, one in zip(function.parameters, given, strict=False):
            if named(one) == name:
                yield from self._written(parameter, function.body, steps - 1)

    def _of_text(self, text: str, place: int, steps: int) -> Interval:
        if steps <= 0 or len(text) > _MOST_CHARACTERS:
            raise NotRanged(text)
        value = value_in_c(self._program.expanded(text))
        if value is None:
            raise NotRanged(text)
        return self._of_node(value, place, steps)

    def _of_node(self, node: Node, place: int, steps: int) -> Interval:
        text = _text(node)
        parts = [one for one in node.named_children if one.type not in ("comment", "type_descriptor")]
        match node.type:
            case "number_literal":
                found = _literal(text)
            case "parenthesized_expression":
                found = self._of_node(parts[0], place, steps)
            case "cast_expression":
                found = _cast(self._of_node(parts[-1], place, steps), text.partition(")")[0])
            case "unary_expression" if text.startswith("-"):
                inner = self._of_node(parts[0], place, steps)
                found = Interval(-inner.high, -inner.low, inner.is_whole)
            case "conditional_expression":
                found = _union([self._of_node(one, place, steps) for one in parts[1:]])
            case "binary_expression":
                found = self._combined(node, place, steps)
            case "call_expression":
                found = self._called(parts[0], parts[1].named_children, place, steps)
            case "subscript_expression":
                found = self._of_array(_text(parts[0]), place, steps - 1)
            case "identifier" | "true" | "false":
                found = self._of_name(text, place, steps)
            case _:
                raise NotRanged(text)
        return found

    def _of_name(self, name: str, place: int, steps: int) -> Interval:
        if name in _FIXED:
            return Interval(_FIXED[name], _FIXED[name], is_whole=name != "M_PI")
        meaning = self._program.meaning(name, place)
        if meaning is None or self._is_counted(name, meaning[1]):
            raise NotRanged(name)
        return self._of_text(*meaning, steps - 1)

    def _is_set_once(self, name: str, place: int) -> bool:
        meaning = self._program.meaning(name.strip(), place) if name.strip().isidentifier() else None
        number = self._program.number(name, place)
        is_large = number is None or number >= _LEAST_HIGH
        return meaning is not None and is_large and not self._is_counted(name.strip(), meaning[1])

    def _is_counted(self, name: str, place: int) -> bool:
        """Whether what a name is set to is only where it begins: in the head of a loop, or to be raised."""
        if begins_loop(self._code, place):
            return True
        function = self._program.function_at(place)
        changed = rf"\b{name}\s*(?:\+\+|--|[-+*/]=)|(?:\+\+|--)\s*{name}\b"
        return function is not None and re.compile(changed).search(self._code, function.body, function.end) is not None

    def _combined(self, node: Node, place: int, steps: int) -> Interval:
        mark = "" if (operator := node.child_by_field_name("operator")) is None else operator.type
        left, right = node.named_children
        if mark in ("%", "&"):  # whatever is divided, as it is not below zero
            most = self._of_node(right, place, steps)
            return Interval(0, most.high - (mark == "%"), is_whole=True)
        return _applied(mark, self._of_node(left, place, steps), self._of_node(right, place, steps))

    def _called(self, function: Node, given: Sequence[Node], place: int, steps: int) -> Interval:
        name = re.sub(r"<.*>$", "", _text(function)).rpartition("::")[2]
        if "_cast" in name and given:
            return _cast(self._of_node(given[0], place, steps), _text(function))
        if name in _RANDOM_WORDS and not given:
            return Interval(0, _RANDOM_WORDS[name], is_whole=True)
        if name == "drand48":
            return Interval(0.0, 1.0)
        if (drawn := self._distributed(name, place, steps)) is not None:
            return drawn
        own = next((one for one in self._program.functions if one.name == name and not one.parameters), None)
        if own is not None and (text := returned(self._code, own)) is not None:
            return self._of_text(text, own.body, steps - 1)
        plain = name.removesuffix("f")
        if plain in _WAVES and given:
            return Interval(-1.0, 1.0)
        return _of_function(plain, [self._of_node(one, place, steps) for one in given])

    def _distributed(self, name: str, place: int, steps: int) -> Interval | None:
        """What a distribution of the standard library gives."""
        found = re.search(_DISTRIBUTION.format(re.escape(name)), self._code)
        if found is None:
            return None
        bounds = [
            self._of_text(one, found.start(), steps - 1) for one in (found["given"] or "").split(",") if one.strip()
        ]
        low, high = [*bounds, *(Interval(0, 0), Interval(1, 1))[len(bounds) :]]
        return Interval(low.low, high.high, is_whole=found["kind"] == "int")


def _text(node: Node) -> str:
    return re.sub(r"\s+", " ", (node.text or b"").decode())


def _literal(text: str) -> Interval:
    plain = text.replace("'", "").rstrip("uUlL")
    if plain.isdecimal():
        return Interval(int(plain), int(plain), is_whole=True)
    number = float(plain.rstrip("fF"))
    return Interval(number, number)


def _cast(inner: Interval, kind: str) -> Interval:
    if _FRACTION.search(kind):
        return Interval(float(inner.low), float(inner.high))
    return Interval(math.trunc(inner.low), math.trunc(inner.high), is_whole=True)


def _union(found: Sequence[Interval]) -> Interval:
    is_whole = all(one.is_whole for one in found)
    return Interval(min(one.low for one in found), max(one.high for one in found), is_whole)


def _applied(mark: str, left: Interval, right: Interval) -> Interval:
    """Sum, difference, product or quotient of two intervals.

    Raises:
        NotRanged: it is something else, or a quotient whose divisor may be 0.
    """
    is_whole = left.is_whole and right.is_whole
    match mark:
        case "+":
            return Interval(left.low + right.low, left.high + right.high, is_whole)
        case "-":
            return Interval(left.low - right.high, left.high - right.low, is_whole)
        case "*":
            ends = [one * other for one in left[:2] for other in right[:2]]
        case "/" if right.low > 0 or right.high < 0:
            ends = [one / other for one in left[:2] for other in right[:2]]
            ends = [math.trunc(one) for one in ends] if is_whole else ends
        case _:
            raise NotRanged(mark)
    return Interval(min(ends), max(ends), is_whole)


def _of_function(name: str, given: Sequence[Interval]) -> Interval:
    """What a mathematical function makes of intervals; its name without the `f` of its float."""
    match name, given:
        case (("abs" | "fabs"), [one]):
            least = 0 if one.low <= 0 <= one.high else min(abs(one.low), abs(one.high))
            return Interval(least, max(abs(one.low), abs(one.high)), one.is_whole)
        case (("min" | "max" | "fmin" | "fmax"), [one, other]):
            chosen = min if "min" in name else max
            return Interval(chosen(one.low, other.low), chosen(one.high, other.high), one.is_whole and other.is_whole)
        case rising, [one] if rising in _RISING:
            return Interval(_RISING[rising](one.low), _RISING[rising](one.high))
    raise NotRanged(name)
