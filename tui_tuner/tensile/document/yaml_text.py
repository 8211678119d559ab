"""YAML as text with places: nodes know where they stand, so that an edit changes only what it means to.

A configuration is never printed again as a whole: comments, order, spacing and quotes of all that is not edited stay
byte for byte. The parser is PyYAML's, as in Tensile itself, so that both read the same values.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document import ParameterValue

Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 16 * 2**20
"""A larger file is no benchmark configuration."""
_DEPTH = "it is nested too deeply"
_MOST_NESTED = 200
_MOST_PARTS = 1000  # of one value of a parameter: numbers, words and lists
_BLOCKS = re.compile(rf"^ *(?:[-?:] +){{{_MOST_NESTED},}}", re.MULTILINE)
_MERGE = "tag:yaml.org,2002:merge"
_BYTE_ORDER_MARK = "\ufeff"


def compose(text: str, file: Path) -> yaml.MappingNode:
    """The tree of a document that is a mapping.

    Raises:
        ProblemError: this is no YAML, or no single mapping.
    """
    root = compose_any(text, file)
    if not isinstance(root, yaml.MappingNode):
        raise ProblemError("this is no Tensile configuration: it has no keys at its top", file=file)
    return root


def compose_any(text: str, file: Path) -> yaml.Node | None:
    """The tree of a document; None of an empty one.

    Raises:
        ProblemError: this is no YAML, or several documents.
    """
    if len(text) > MAX_BYTES:
        raise ProblemError(f"this is larger than {MAX_BYTES // 2**20} MB: no benchmark configuration", file=file)
    loader = yaml.SafeLoader if text.startswith(_BYTE_ORDER_MARK) else Loader  # libyaml does not count the mark
    try:
        if (_nested(text) > _MOST_NESTED or _BLOCKS.search(text)) and _is_deep(text):
            raise ProblemError(f"this cannot be read: {_DEPTH}", file=file)  # libyaml's recursion would end the process
        return yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 1
        raise ProblemError(f"this is not YAML: {error.problem or error.context}", file=file, line=line) from error
    except yaml.YAMLError as error:
        raise ProblemError(f"this is not YAML: {' '.join(str(error).split())}", file=file) from error
    except RecursionError:
        raise ProblemError(f"this cannot be read: {_DEPTH}", file=file) from None


def loaded(text: str) -> Any:  # noqa: ANN401 - whatever the file says
    """What a document says that is known to be neither too large nor nested too deeply."""
    return yaml.load(text, Loader)  # noqa: S506 - both are safe


def _nested(text: str) -> int:
    """How deep brackets lie in each other, those in comments and quotes included."""
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _is_deep(text: str) -> bool:
    """Whether a text is nested too deeply, brackets in comments and quotes aside."""
    depth = 0
    for token in yaml.scan(text, Loader=Loader):
        name = type(token).__name__
        depth += name.endswith(("SequenceStartToken", "MappingStartToken"))
        depth -= name.endswith(("SequenceEndToken", "MappingEndToken", "BlockEndToken"))
        if depth > _MOST_NESTED:
            return True
    return False


def python_value(node: yaml.Node, file: Path) -> Any:  # noqa: ANN401  # whatever the file says
    """What a node says, as Tensile would have it.

    Raises:
        ProblemError: a tag or key that a configuration cannot have.
    """
    try:
        return SafeConstructor().construct_document(node)
    except ConstructorError as error:
        raise ProblemError(f"this cannot be read: {error.problem}", file=file, line=line_of(node)) from error
    except (RecursionError, ValueError, TypeError) as error:
        words = _DEPTH if isinstance(error, RecursionError) else str(error)
        raise ProblemError(f"this cannot be read: {words}", file=file, line=line_of(node)) from error


def parameter_value(node: yaml.Node, name: str, file: Path) -> ParameterValue:
    """One value of a parameter.

    Raises:
        ProblemError: it is nothing that a parameter can be.
    """
    if _parts(node, {}) > _MOST_PARTS:
        fault = f"{name} has a value that aliases make endless, or larger than any parameter's"
        raise ProblemError(fault, file=file, line=line_of(node))
    value = python_value(node, file)
    if _is_value(value) or (
        isinstance(value, dict) and all(type(part) is int for pair in value.items() for part in pair)
    ):
        return value  # type: ignore[no-any-return]
    raise ProblemError(
        f"{name} has the value {str(value)[:60]}, which is neither number, word, list of numbers nor map of them",
        file=file,
        line=line_of(node),
    )


def _parts(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes a node is made of, aliases followed; more than are allowed where it holds itself."""
    if id(node) not in known:
        known[id(node)] = _MOST_PARTS + 1
        known[id(node)] = 1 + sum(_parts(part, known) for part in _within(node))
    return known[id(node)]


def _within(node: yaml.Node) -> list[yaml.Node]:
    return [part for pair in node.value for part in pair] if isinstance(node, yaml.MappingNode) else items(node)


def _is_value(value: object) -> bool:
    """A number, a word, or a list of such; some parameters have lists of lists, as `SFCWGM: [[1, 1], [1, 1]]`."""
    if isinstance(value, list):
        return all(map(_is_value, value))
    return isinstance(value, bool | int | float | str)


def mapping_value(node: yaml.Node | None, name: str, file: Path) -> dict[str, Any]:
    """What a mapping says; nothing where there is none.

    Raises:
        ProblemError: it is no mapping.
    """
    if node is None or is_null(node):
        return {}
    value = python_value(node, file)
    if not isinstance(value, dict):
        raise ProblemError(f"{name} must have keys and values", file=file, line=line_of(node))
    return value


def pairs(node: yaml.Node | None, within: tuple[yaml.Node, ...] = ()) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Keys and values of a mapping whose keys are words, first those that `<<` takes over; nothing of anything else."""
    if not isinstance(node, yaml.MappingNode) or node in within:
        return []
    own = [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    sources = [source for key, value in own if key.tag == _MERGE for source in reversed(items(value) or [value])]
    merged = [pair for source in sources for pair in pairs(source, (*within, node))]
    return merged + [(key, value) for key, value in own if key.tag != _MERGE]


def child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """The value of a key; of one that stands twice the last, as YAML has it."""
    return next((value for name, value in reversed(pairs(node)) if name.value == key), None)


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a sequence; nothing of anything else."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def is_null(node: yaml.Node | None) -> bool:
    """Whether there is nothing, or an explicit null."""
    return node is None or node.tag == "tag:yaml.org,2002:null"


def line_of(node: yaml.Node) -> int:
    """The line it begins in, from 1."""
    return int(node.start_mark.line) + 1


def start(node: yaml.Node) -> int:
    """Index of its first character."""
    return int(node.start_mark.index)


def end(node: yaml.Node) -> int:
    """Index after its last character; unlike the end mark of a block, it leaves out comments that follow."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        *key, last = node.value[-1] if isinstance(node.value[-1], tuple) else (node.value[-1],)
        is_empty = last.start_mark.index == last.end_mark.index
        return end(key[0] if key and is_empty else last)
    return int(node.end_mark.index)


Splice: TypeAlias = tuple[int, int, str]
"""Characters from here to there become this."""

_BREAK = "\n"
_HANGING = "\n  "
"""A line of an item that is not its first."""


class Immovable(Exception):
    """The text cannot be changed here without touching more than is meant; the message says why."""


def spliced(text: str, splice: Splice) -> str:
    """The text with one change."""
    begin, stop, new = splice
    return text[:begin] + new + text[stop:]


def newline(text: str) -> str:
    """The line end that the file uses."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, index: int) -> int:
    """Index of the first character of the line that holds an index."""
    return text.rfind("\n", 0, index) + 1


def line_end(text: str, index: int) -> int:
    """Index behind the line end of the line that holds an index."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def append_item(text: str, sequence: yaml.SequenceNode, item: str) -> Splice:
    """Append an item to a sequence.

    Args:
        item: on one line, or on several without indentation of their own in a block sequence.

    Raises:
        Immovable: there is no telling where it would stand.
    """
    if sequence.flow_style:
        return _append_to_flow(sequence, item)
    return insert_below(text, sequence.value[-1], column_of(text, sequence), f"- {item.replace(_BREAK, _HANGING)}")


def _append_to_flow(sequence: yaml.SequenceNode, item: str) -> Splice:
    if _BREAK in item:
        raise Immovable("the list stands on one line")
    if not sequence.value:
        inside = end(sequence) - 1
        return inside, inside, item
    behind = end(sequence.value[-1])
    return behind, behind, f", {item}"


def insert_below(text: str, last: yaml.Node, column: int, lines: str) -> Splice:
    """Lines of their own below a node and the comment behind it."""
    place, ending = line_end(text, end(last)), newline(text)
    before = "" if place and text[place - 1] == "\n" else ending
    return place, place, before + "".join(f"{' ' * column}{line}{ending}" for line in lines.split(_BREAK))


def remove_item(text: str, sequence: yaml.SequenceNode, number: int) -> Splice:
    """Remove an item from a sequence that has others."""
    if len(sequence.value) < 2:
        raise Immovable("it is the only item")
    if sequence.flow_style:
        return _remove_from_flow(text, [(start(node), end(node)) for node in sequence.value], number)
    following = dash_index(text, sequence, number + 1) if number == 0 else None
    return _remove_lines(text, dash_index(text, sequence, number), end(sequence.value[number]), following)


def remove_pair(text: str, mapping: yaml.MappingNode, number: int) -> Splice:
    """Remove a key and its value from a mapping that has others."""
    spans = [(start(key), max(end(key), end(value))) for key, value in mapping.value]
    if len(spans) < 2:
        raise Immovable("it is the only key")
    if mapping.flow_style:
        return _remove_from_flow(text, spans, number)
    return _remove_lines(text, *spans[number], spans[1][0] if number == 0 else None)


def _remove_lines(text: str, begin: int, stop: int, following: int | None) -> Splice:
    """Part of a block and the comment behind it; of a first part also where the next one begins."""
    behind = line_end(text, stop)
    if not text[line_start(text, begin) : begin].strip():
        return line_start(text, begin), behind, ""
    # `- - {...}`: the first part shares its line with what holds it, the next one takes its place
    if following is None or not text[behind:following].strip():
        return begin, behind if following is None else following, ""
    return len(text[:begin].rstrip(" ")), behind, newline(text)  # but for comments above the next one


def _remove_from_flow(text: str, spans: list[tuple[int, int]], number: int) -> Splice:
    begin, stop = spans[number]
    last = number + 1 == len(spans)
    splice = (spans[number - 1][1], stop, "") if last else (begin, spans[number + 1][0], "")
    if "#" not in text[splice[0] : splice[1]]:
        return splice
    # of a list over several lines the comments stay, and so may a comma at its end
    return begin, stop if last else text.index(",", stop) + 1, ""


def dash_index(text: str, sequence: yaml.SequenceNode, number: int) -> int:
    """Index of the dash of an item of a block sequence; all its dashes stand in one column."""
    if number == 0:
        begin = start(sequence)  # or that of an anchor before it
        return begin if text[begin] == "-" else text.rindex("-", begin, start(sequence.value[0]))
    column, index = column_of(text, sequence), start(sequence.value[number])
    while True:
        begin = line_start(text, index)
        if text[begin : begin + column + 1].strip() == "-":
            return begin + column
        index = begin - 1


def column_of(text: str, sequence: yaml.SequenceNode) -> int:
    """Column of the dashes of a block sequence."""
    dash = dash_index(text, sequence, 0)
    return dash - line_start(text, dash)


def replace_node(node: yaml.Node, new: str) -> Splice:
    """Replace a node by another value."""
    return start(node), end(node), new


def is_shared(root: yaml.Node, node: yaml.Node) -> bool:
    """Whether an alias lets a node, or what holds it, stand in several places: an edit would act on all of them."""
    stack: list[tuple[yaml.Node, bool]] = [(root, False)]
    shared: dict[int, bool] = {}
    while stack:
        here, held = stack.pop()
        if shared.get(id(here)):
            continue
        shared[id(here)] = held = held or id(here) in shared
        stack += [(part, held) for part in _within(here)]
    return shared.get(id(node), False)
