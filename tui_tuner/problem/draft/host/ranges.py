"""Between which numbers the host fills an array, by arithmetic over intervals; nothing of it is ever run."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence

from tree_sitter import Node

from tui_tuner.problem.draft.arithmetic.c_expressions import value_in_c
from tui_tuner.problem.draft.arithmetic.folding import gathered
from tui_tuner.problem.draft.host.functions import HostFunction, returned
from tui_tuner.problem.draft.host.intervals import (
    Interval,
    NotRanged,
    applied,
    cast_to,
    masked,
    negated,
    of_function,
    remainder,
    union,
)
from tui_tuner.problem.draft.host.makers import named
from tui_tuner.problem.draft.host.memory import Drawn, HostMemory
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.statements import begins_loop
from tui_tuner.problem.syntax import list_at, split_list

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
_MADE_AT_ONCE = re.compile(
    r"(?:std\s*::\s*)?uniform_(?P<kind>real|int)_distribution\s*(?:<[^<>]*>)?\s*\((?P<given>.*)\)"
)
_SIZE_ASKED = re.compile(r"^\w+\s*\.\s*size\s*\(\s*\)$")
_LAMBDA = r"\b{}\s*=\s*\[[^\]]*\]\s*(?:\(\s*\)\s*)?\{{\s*return\b(?P<text>[^;{{}}]*);\s*\}}"
_OF_FRACTIONS = r"\b(?:float|double)\s+(?:const\s+)?{}\b"
_COUNTED_TO = r"\s*=(?P<first>[^;=]*);\s*{0}\s*(?P<mark><=?)\s*(?P<last>[^;]*);\s*(?:\+\+\s*{0}|{0}\s*\+[+=])"
_DISTRIBUTION = r"\buniform_(?P<kind>real|int)_distribution\s*(?:<[^<>]*>)?\s*{}\s*(?:[({{](?P<given>[^;]*?)[)}}])?\s*;"


class HostRanges:
    """Reads of a host program between which numbers the elements of its arrays are.

    Args:
        size: what a name at a place is over the sizes of a launch; None for what is made of none of them.
    """

    def __init__(self, program: HostProgram, memory: HostMemory, size: Callable[[str, int], ast.expr | None]) -> None:
        self._program = program
        self._memory = memory
        self._size = size
        self._code = program.code

    def range(self, pointer: str, place: int) -> Interval | None:
        """Of the array that a pointer of the kernel is given, at the place of the launch; None where it is not told."""
        try:
            return self._of_array(pointer, place, _MOST_STEPS)
        except (NotRanged, ValueError, OverflowError, RecursionError):
            return None

    def one_for_all(self, pointer: str, place: int) -> Drawn | None:
        """From 1 on up to the one number that the host has for all elements, as of rows that are full."""
        texts = self._all_written(pointer, place)
        found = self.range(pointer, place)
        if found is not None and not found.is_one:
            return None
        if len({text.strip() for text, _ in texts}) == 1 and self._is_set_once(*texts[0]):
            return Drawn(1, *texts[0])
        return None

    def whole_numbers(self, pointer: str, place: int, *, are_apart: bool) -> tuple[ast.expr, ast.expr] | None:
        """Over sizes the least of an array, and the first that is too large; None where they number the elements.

        Args:
            are_apart: whether no two may be alike, as those that a loop counts are not.
        """
        found = self.range(pointer, place)
        if found is not None and are_apart and not found.is_finite:
            return None
        if found is None or not found.is_whole or found.high < _LEAST_HIGH or found.ends is None:
            return None
        if any(self._is_counter(text.strip(), where) for text, where in self._all_written(pointer, place)):
            return None
        low, high = found.ends
        return gathered(low if found.low < found.high else ast.Constant(1)), gathered(
            ast.BinOp(high, ast.Add(), ast.Constant(1))
        )

    def _all_written(self, pointer: str, place: int) -> list[tuple[str, int]]:
        """What the elements of the array are set to, with the place of each; nothing where that is changed again."""
        try:
            return [one for name, where in self._written_as(pointer, place) for one in self._written(name, where)]
        except NotRanged:
            return []

    def _of_array(self, pointer: str, place: int, steps: int) -> Interval:
        for name, where in self._written_as(pointer, place):
            found = [self._of_text(text, at, steps - 1) for text, at in self._written(name, where)]
            if found:
                return union(found)
        raise NotRanged(pointer)

    def _written_as(self, pointer: str, place: int) -> Iterator[tuple[str, int]]:
        """The arrays of the host that memory is filled from, and itself, each with a place of its function."""
        for name, where in self._copied_from(pointer, place):
            yield name, where
            if (returned := self._memory.returned(name, where)) is not None:
                yield returned

    def _copied_from(self, pointer: str, place: int) -> Iterator[tuple[str, int]]:
        for name, where in self._memory.followed(pointer, place):
            yield from ((one["host"], one.start()) for way in self._memory.copies_to(name) for one in way)
            yield name, where
        yield from self._memory.uploaded(pointer, place)

    def _written(self, name: str, place: int, steps: int = 3) -> Iterator[tuple[str, int]]:
        """What the elements of an array are set to in the function of a place, and in those that it gives it to.

        Raises:
            NotRanged: they are changed by what they were.
        """
        functions = self._memory.around(place)
        spans = [(one.body, one.end) for one in functions] or [(0, len(self._code))]
        found = (list(self._written_between(name, *span, steps)) for span in spans)
        yield from next(filter(None, found), [])

    def _written_between(self, name: str, start: int, end: int, steps: int) -> Iterator[tuple[str, int]]:
        plain = re.escape(name)
        if re.search(rf"\b{plain}\s*\[[^;=]*\]\s*[-+*/%&|^]=", self._code[start:end]):
            raise NotRanged(name)
        element = rf"(?<![\w.>]){plain}\s*(?:\[[^;=]*\]\s*=(?!=)|\.\s*push_back\s*\()"
        loop = rf"\bfor\s*\(\s*[\w:]+\s*&+\s*(?P<one>\w+)\s*:\s*{plain}\s*\)\s*\{{?\s*(?P=one)\s*=(?!=)"
        generated = rf"\bgenerate\w*\s*\([^;{{]*\b{plain}\b[^;{{]*\{{\s*return\b"
        for one in re.compile(rf"(?:{element}|{loop}|{generated})(?P<text>[^;]*);").finditer(self._code, start, end):
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
                found = cast_to(text.partition(")")[0], self._of_node(parts[-1], place, steps))
            case "unary_expression" if text.startswith("-"):
                found = negated(self._of_node(parts[0], place, steps))
            case "conditional_expression":
                found = union([self._of_node(one, place, steps) for one in parts[1:]])
            case "binary_expression":
                found = self._combined(node, place, steps)
            case "call_expression" if _SIZE_ASKED.search(text):
                found = self._of_size(re.sub(r"\s", "", text), place, None)
            case "call_expression":
                found = self._called(parts[0], parts[1].named_children, place, steps)
            case "subscript_expression":
                found = self._of_array(_text(parts[0]), place, steps - 1)
            case "identifier" | "field_expression" | "true" | "false":
                found = self._of_name(text, place, steps)
            case _:
                raise NotRanged(text)
        return found

    def _of_name(self, name: str, place: int, steps: int) -> Interval:
        if name in _FIXED:
            return Interval(_FIXED[name], _FIXED[name], is_whole=name != "M_PI")
        meaning = self._program.meaning(name, place)
        if meaning is not None and self._is_counted(name, meaning[1]):
            return self._of_counter(name, meaning[1], steps)
        try:
            found = self._of_text(*meaning, steps - 1) if meaning else None
        except NotRanged:
            found = None
        is_drawn = found is not None and (found.low < found.high or not found.is_whole)
        return found if found is not None and is_drawn else self._of_size(name, place, found)

    def _of_size(self, name: str, place: int, found: Interval | None) -> Interval:
        """A size over those of the launch, which is 1 at least; what is none as the number that was found."""
        is_open = found is None and re.search(_OF_FRACTIONS.format(re.escape(name)), self._code) is not None
        node = None if is_open else self._size(name, place)
        if node is not None:
            low, high = (1, math.inf) if found is None else found[:2]
            return Interval(low, high, is_whole=True, said=(node, node))
        if found is None:
            raise NotRanged(name)
        return found

    def _of_counter(self, name: str, place: int, steps: int) -> Interval:
        """What a loop counts with, from its first number to its last."""
        head = re.compile(re.escape(name) + _COUNTED_TO.format(re.escape(name))).match(self._code, place)
        if head is None or not begins_loop(self._code, place):
            raise NotRanged(name)
        first, last = (self._of_text(head[part], place, steps - 1) for part in ("first", "last"))
        if first.ends is None or last.ends is None:
            raise NotRanged(name)
        most = last if head["mark"] == "<=" else applied("-", last, Interval(1, 1, is_whole=True))
        said = None if most.ends is None else (first.ends[0], most.ends[1])
        return Interval(first.low, math.inf, is_whole=True, said=said)  # the host's own number is no bound of others

    def _is_counter(self, name: str, place: int) -> bool:
        """Whether a name counts up, by which elements are numbered and not filled."""
        meaning = self._program.meaning(name, place) if name.isidentifier() else None
        return meaning is not None and self._is_counted(name, meaning[1])

    def _is_set_once(self, name: str, place: int) -> bool:
        meaning = self._program.meaning(name.strip(), place) if name.strip().isidentifier() else None
        number = self._program.number(name, place)
        is_large = number is None or number >= _LEAST_HIGH
        return meaning is not None and is_large and not self._is_counted(name.strip(), meaning[1])

    def _is_counted(self, name: str, place: int) -> bool:
        """Whether what a name is set to is not all that it is: in the head of a loop, or to be raised."""
        if begins_loop(self._code, place):
            return True
        function = self._program.function_at(place)
        plain = re.escape(name)
        changed = rf"\b{plain}\s*(?:\+\+|--|[-+*/]=)|(?:\+\+|--)\s*{plain}\b|\bfor\s*\([^;()]*\b{plain}\s*:"
        return function is not None and re.compile(changed).search(self._code, function.body, function.end) is not None

    def _combined(self, node: Node, place: int, steps: int) -> Interval:
        mark = "" if (operator := node.child_by_field_name("operator")) is None else operator.type
        left, right = node.named_children
        if mark == "%":
            return remainder(self._of_node(right, place, steps))
        if mark == "&":
            return masked(self._of_node(right, place, steps))
        return applied(mark, self._of_node(left, place, steps), self._of_node(right, place, steps))

    def _called(self, function: Node, given: Sequence[Node], place: int, steps: int) -> Interval:
        if (made := _MADE_AT_ONCE.fullmatch(_text(function))) is not None:
            return self._between(made["kind"], made["given"], place, steps)
        name = re.sub(r"<.*>$", "", _text(function)).rpartition("::")[2]
        if "_cast" in name and given:
            return cast_to(_text(function), self._of_node(given[0], place, steps))
        if name in _RANDOM_WORDS and not given:
            return Interval(0, _RANDOM_WORDS[name], is_whole=True)
        if name == "drand48":
            return Interval(0.0, 1.0)
        if (drawn := self._distributed(name, place, steps)) is not None:
            return drawn
        if (own := self._returned_by(name)) is not None:
            return self._of_text(*own, steps - 1)
        plain = name.removesuffix("f")
        if plain in _WAVES and given:
            return Interval(-1.0, 1.0)
        return of_function(plain, [self._of_node(one, place, steps) for one in given])

    def _returned_by(self, name: str) -> tuple[str, int] | None:
        """What a function or lambda of the host returns that takes nothing and is one expression, and its place."""
        for one in (one for one in self._program.functions if one.name == name and not one.parameters):
            if (text := returned(self._code, one)) is not None:
                return text, one.body
        found = re.search(_LAMBDA.format(re.escape(name)), self._code)
        return None if found is None else (found["text"], found.start("text"))

    def _distributed(self, name: str, place: int, steps: int) -> Interval | None:
        """What a distribution of the standard library gives."""
        found = re.search(_DISTRIBUTION.format(re.escape(name)), self._code)
        return None if found is None else self._between(found["kind"], found["given"] or "", found.start(), steps)

    def _between(self, kind: str, given: str, place: int, steps: int) -> Interval:
        """What a distribution of a kind (`real`, `int`) gives that is made with text."""
        bounds = [self._of_text(one, place, steps - 1) for one in split_list(given) if one.strip()]
        low, high = [*bounds, *(Interval(0, 0, is_whole=True), Interval(1, 1, is_whole=True))[len(bounds) :]]
        said = (low.ends[0], high.ends[1]) if low.ends and high.ends and (low.said or high.said) else None
        return Interval(low.low, high.high, kind == "int", said if kind == "int" else None)


def _text(node: Node) -> str:
    return re.sub(r"\s+", " ", (node.text or b"").decode())


def _literal(text: str) -> Interval:
    plain = text.replace("'", "").rstrip("uUlL")
    if plain.isdecimal():
        return Interval(int(plain), int(plain), is_whole=True)
    number = float(plain.rstrip("fF"))
    return Interval(number, number)
