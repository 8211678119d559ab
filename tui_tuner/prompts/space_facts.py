"""What is known of a search space, exact and in few lines: its size, what the code does with each tunable, the best."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import combinations, product

from tree_sitter import Node

from tui_tuner.evaluate.results import Evaluation
from tui_tuner.problem.languages import COMPILED
from tui_tuner.problem.model import Configuration, Language, Value
from tui_tuner.problem.space import SearchSpace
from tui_tuner.problem.syntax import code_only, parse_code, spaces
from tui_tuner.prompts.ranking import effect_elsewhere

LISTED = 20_000
"""No bounds are told of a space with more configurations: they would have to be listed."""
MOST_BOUNDS = 10
MOST_NEIGHBOURS = 16
_MOST_VALUES = 12
_AXIS = re.compile(r"_?[xyz]$")


@lru_cache(maxsize=4)
def bounds_facts(space: SearchSpace) -> tuple[str, ...]:
    """What the valid configurations have in common beyond the lists of values: products, multiples, needs of switches.

    Listing them takes up to a second; prompts of one search ask again and again.
    """
    if space.size_up_to(LISTED + 1) > LISTED:
        return ()
    members = list(space.configurations())
    free = {name: values for name, values in space.tunables.items() if len(values) > 1}
    multiples = _multiples(members, free)
    return tuple([*_products(members, free), *multiples, *_needs(members, free)][:MOST_BOUNDS])


def neighbour_facts(best: Configuration, new: Sequence[Configuration], evaluations: Sequence[Evaluation] = ()) -> str:
    """Configurations that differ from the best in one tunable, each as what is other in it.

    Args:
        evaluations: where the same change was measured elsewhere, what it did there is told.
    """
    told = [_changed(best, one) + _elsewhere(best, one, evaluations) for one in new]
    more = f" and {len(new) - MOST_NEIGHBOURS} more" if len(new) > MOST_NEIGHBOURS else ""
    return "; ".join(told[:MOST_NEIGHBOURS]) + more


def _changed(one: Configuration, other: Configuration) -> str:
    return ", ".join(f"{name}={value}" for name, value in other.items() if value != one[name])


def _elsewhere(best: Configuration, one: Configuration, evaluations: Sequence[Evaluation]) -> str:
    ratio = effect_elsewhere(best, one, evaluations)
    return "" if ratio is None else f" ({ratio:.3g})"


def _products(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """The range of the product of one tunable along several axes, where it is narrower than the lists allow."""
    stems: defaultdict[str, list[str]] = defaultdict(list)
    for name, values in free.items():
        if _AXIS.search(name) and all(type(value) is int for value in values):
            stems[_AXIS.sub("", name)].append(name)
    for names in (names for names in stems.values() if len(names) > 1):
        products = [math.prod(int(one[name]) for name in names) for one in members]
        least, most = (math.prod(int(end(free[name])) for name in names) for end in (min, max))
        if (min(products), max(products)) != (least, most):
            yield f"{' * '.join(names)}: {min(products)} to {max(products)}"


def _multiples(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """The tunables that are always multiples of others, or of products of two, where their lists would allow else."""
    numbers = {name: values for name, values in free.items() if all(type(v) is int and v > 0 for v in values)}
    columns = {name: [int(one[name]) for one in members] for name in numbers}

    def divides(name: str, factors: Sequence[str]) -> bool:
        rows = set(zip(columns[name], *(columns[factor] for factor in factors), strict=True))
        return not any(one % math.prod(row) for one, *row in rows)

    def could_fail(name: str, factors: Sequence[str]) -> bool:
        lists = product(*(numbers[factor] for factor in factors))
        return any(int(value) % math.prod(map(int, row)) for row in lists for value in numbers[name])

    for name in numbers:
        single = [(other,) for other in numbers if other != name and divides(name, [other])]
        together = [(*one, *other) for one, other in combinations(single, 2) if divides(name, [*one, *other])]
        implied = {(factor,) for pair in together for factor in pair}
        told = [factors for factors in [*single, *together] if could_fail(name, factors) and factors not in implied]
        if told:
            yield f"{name} is a multiple of {', of '.join(' * '.join(factors) for factors in told)}"


def _needs(members: Sequence[Configuration], free: Mapping[str, Sequence[Value]]) -> Iterator[str]:
    """For each position of a switch the values of other tunables that occur with it, where some never do."""
    for switch in (name for name, values in free.items() if len(values) == 2):
        for position in free[switch]:
            own = [one for one in members if one[switch] == position]
            for name, values in free.items():
                occurring = {one[name] for one in own}
                missing = [value for value in values if value not in occurring]
                if own and missing and name != switch:
                    yield f"{switch}={position} occurs only with {name} {_listed(values, occurring, missing)}"


def _listed(values: Sequence[Value], occurring: set[Value], missing: Sequence[Value]) -> str:
    """The shorter of what occurs and what does not."""
    if len(missing) < len(occurring):
        return f"other than {_short(missing)}"
    return _short([value for value in values if value in occurring])


def _short(values: Sequence[Value]) -> str:
    shown = ", ".join(map(str, values[:_MOST_VALUES]))
    return shown if len(values) <= _MOST_VALUES else f"{shown}, ..."


class Use(IntEnum):
    """What a use of a tunable tells, the most telling first."""

    SHARED_ARRAY = 1
    INDEX = 2
    LOOP = 3
    CONDITION = 4
    ARRAY = 5
    CONSTANT = 6
    PRAGMA = 7
    OTHER = 8
    PARAMETER = 9


_SHARED = re.compile(r"\b(?:__shared__|__local|local)\b")
_THREAD = re.compile(r"\b(?:blockIdx|threadIdx|blockDim|get_(?:global|local|group)_(?:id|size)|program_id|arange)\b")
_BOUNDS = re.compile(r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__)\b")
_FIELDS: dict[str, tuple[Use, tuple[str, ...]]] = {
    "for_statement": (Use.LOOP, ("initializer", "condition", "update")),
    "while_statement": (Use.LOOP, ("condition",)),
    "do_statement": (Use.LOOP, ("condition",)),
    "if_statement": (Use.CONDITION, ("condition",)),
    "switch_statement": (Use.CONDITION, ("condition",)),
    "conditional_expression": (Use.CONDITION, ("condition",)),
    "preproc_if": (Use.CONDITION, ("condition",)),
    "preproc_elif": (Use.CONDITION, ("condition",)),
    "subscript_expression": (Use.INDEX, ("index", "indices")),
    "array_declarator": (Use.ARRAY, ("size",)),
}
_WHOLE = {
    "preproc_def": Use.CONSTANT,
    "preproc_function_def": Use.CONSTANT,
    "preproc_call": Use.PRAGMA,
    "parameter_declaration": Use.PARAMETER,
}
_IN_WORDS = (
    (re.compile(r"^\s*(?:async\s+)?(?:for|while)\b"), Use.LOOP),
    (re.compile(r"^\s*#\s*(?:if|elif)\b|^\s*(?:else\s+)?(?:if|elif)\b"), Use.CONDITION),
    (re.compile(r"^\s*#\s*pragma\b"), Use.PRAGMA),
    (re.compile(r"^\s*\w+\s*:[^=]*,?\s*$"), Use.PARAMETER),
    (re.compile(r"^\s*(?:#\s*define\b|(?:const|constexpr)\b)"), Use.CONSTANT),
)


def _by_words(code: str) -> Callable[[int, str], Use]:
    """Uses by the words of their line, where there is no grammar."""

    def use_at(offset: int, name: str) -> Use:
        line = code[code.rfind("\n", 0, offset) + 1 : (code + "\n").index("\n", offset)]
        if _SHARED.search(line):
            return Use.SHARED_ARRAY
        found = (use for pattern, use in _IN_WORDS if pattern.search(line))
        return next(found, Use.INDEX if _THREAD.search(line) or _in_brackets(line, name) else Use.OTHER)

    return use_at


def _in_brackets(line: str, name: str) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\b", inner) for inner in re.findall(r"\[([^\]]*)\]", line))


def _by_tree(code: str, language: Language) -> Callable[[int, str], Use]:
    """Uses by their place in the syntax tree."""
    root = parse_code(code, language)

    def use_at(offset: int, name: str) -> Use:
        if _BOUNDS.search(code[code.rfind("\n", 0, offset) + 1 : offset]):
            return Use.PRAGMA
        node = root.descendant_for_byte_range(offset, offset + len(name))
        return min(_uses_around(node, code), default=Use.OTHER)

    return use_at


def _uses_around(node: Node | None, code: str) -> Iterator[Use]:
    """What the nodes around an identifier make of it, up to its statement."""
    while node is not None and node.parent is not None and node.type != "compound_statement":
        parent = node.parent
        use, fields = _FIELDS.get(parent.type, (Use.OTHER, ()))
        if any(node in parent.children_by_field_name(field) for field in fields):
            yield _shared_or(use, parent, code)
        elif parent.type in _WHOLE:
            yield _WHOLE[parent.type]
        elif parent.type == "declaration":
            text = code[parent.start_byte : parent.end_byte]
            yield Use.INDEX if _THREAD.search(text) else Use.CONSTANT
        node = parent


def _shared_or(use: Use, array: Node, code: str) -> Use:
    """An array's declaration in shared memory, or the use as it is; `parse` blanks what OpenCL calls local."""
    if use is not Use.ARRAY:
        return use
    start = max(code.rfind(mark, 0, array.start_byte) for mark in ";{}")
    return Use.SHARED_ARRAY if _SHARED.search(code, start + 1, array.start_byte) else use


LINES = 4
"""Lines a tunable at most."""
WIDTH = 110
"""Characters a line at most, its number aside."""
_CUT = "..."
_GUARD = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+\w+", re.MULTILINE)
_PYTHON_TEXT = re.compile(
    r"#[^\n]*"
    r"|\"{3}[\s\S]*?(?:\"{3}|\Z)|'{3}[\s\S]*?(?:'{3}|\Z)"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
)


@dataclass(frozen=True)
class _Line:
    """A line of the code with one use in it; `column` counts from 0 in the whole line."""

    use: Use
    number: int
    text: str
    column: int


def tunable_uses(source: str, language: Language, names: Iterable[str]) -> dict[str, list[str]]:
    """For each tunable the lines in which the code uses it, as in "12: for (int k = 0; k < n; k += tile_k) {".

    Comments, the content of strings, and a name's own definition or guard are no use. Of each kind of use one line
    comes first, the most telling kind before the others: shared arrays, index computations, loops, conditions, other
    arrays, constants made from it, pragmas. Source that does not parse is read as far as it goes.

    Returns:
        At most `LINES` lines a name, each at most `WIDTH` characters and its number; none where the code does not
        name it, as with a block size that only the launch knows.
    """
    python = language == "python"
    code = _PYTHON_TEXT.sub(lambda match: spaces(match.group()), source) if python else code_only(source)
    code = code if python else _GUARD.sub(lambda match: spaces(match.group()), code)
    use_at = _by_tree(code, language) if language in COMPILED else _by_words(code)
    return {name: [_told(line, name) for line in _best(_lines(source, code, name, use_at))] for name in names}


def _lines(source: str, code: str, name: str, use_at: Callable[[int, str], Use]) -> Iterator[_Line]:
    lines = source.split("\n")
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", code):
        number = code.count("\n", 0, match.start())
        column = match.start() - (code.rfind("\n", 0, match.start()) + 1)
        yield _Line(use_at(match.start(), name), number + 1, lines[number].rstrip(), column)


def _best(lines: Iterable[_Line]) -> list[_Line]:
    """The most telling of the lines: one of each kind, then more of the same kinds; the same text only once."""
    distinct: dict[str, _Line] = {}
    for line in sorted(lines, key=lambda line: (line.use, line.number)):
        distinct.setdefault(" ".join(line.text.split()), line)
    seen: Counter[Use] = Counter()
    ranked = []
    for line in distinct.values():
        seen[line.use] += 1
        ranked.append((seen[line.use], line))
    return [line for _, line in sorted(ranked, key=lambda pair: (pair[0], pair[1].use, pair[1].number))[:LINES]]


def _told(line: _Line, name: str) -> str:
    """The line with its number, shortened around the name."""
    indent = len(line.text) - len(line.text.lstrip())
    text, at = line.text[indent:], line.column - indent
    if len(text) > WIDTH:
        start = max(0, min(at + len(name) // 2 - WIDTH // 2, len(text) - WIDTH))
        end = start + WIDTH
        left, right = _CUT if start else "", _CUT if end < len(text) else ""
        text = f"{left}{text[start + len(left) : end - len(right)]}{right}"
    return f"{line.number}: {text}"
