"""Small changes of a YAML text: an item more, an item less, another value; nothing else moves."""

from __future__ import annotations

from typing import TypeAlias

import yaml

from tui_tuner.tensile.document.yaml_text import end, items, start

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
    """One more item at the end of a sequence.

    Args:
        item: on one line, or on several without indentation of their own in a block sequence.

    Raises:
        Immovable: there is no telling where it would stand.
    """
    if sequence.flow_style:
        return _append_to_flow(sequence, item)
    return insert_below(text, sequence.value[-1], column_of(sequence), f"- {item.replace(_BREAK, _HANGING)}")


def _append_to_flow(sequence: yaml.SequenceNode, item: str) -> Splice:
    if _BREAK in item:
        raise Immovable("the list stands on one line")
    if not sequence.value:
        inside = start(sequence) + 1
        return inside, inside, item
    behind = end(sequence.value[-1])
    return behind, behind, f", {item}"


def insert_below(text: str, last: yaml.Node, column: int, lines: str) -> Splice:
    """Lines of their own below a node and the comment behind it."""
    place, ending = line_end(text, end(last)), newline(text)
    before = "" if place and text[place - 1] == "\n" else ending
    return place, place, before + "".join(f"{' ' * column}{line}{ending}" for line in lines.split(_BREAK))


def remove_item(text: str, sequence: yaml.SequenceNode, number: int) -> Splice:
    """One item less of a sequence that has others."""
    if len(sequence.value) < 2:
        raise Immovable("it is the only item")
    if sequence.flow_style:
        return _remove_from_flow(text, sequence, number)
    dash = dash_index(text, sequence, number)
    begin = line_start(text, dash)
    if text[begin:dash].strip():  # `- - {...}`: the first item shares its line with what holds the list
        return dash, dash_index(text, sequence, number + 1), ""
    return begin, line_end(text, end(sequence.value[number])), ""


def _remove_from_flow(text: str, sequence: yaml.SequenceNode, number: int) -> Splice:
    node = sequence.value[number]
    if number + 1 < len(sequence.value):
        splice = start(node), start(sequence.value[number + 1]), ""
    else:
        splice = end(sequence.value[number - 1]), end(node), ""
    if "#" not in text[splice[0] : splice[1]]:
        return splice
    comma = end(node)  # of a list over several lines the comments stay, and so may a comma at its end
    if number + 1 < len(sequence.value):
        comma = text.index(",", comma) + 1
    return start(node), comma, ""


def dash_index(text: str, sequence: yaml.SequenceNode, number: int) -> int:
    """Index of the dash of an item of a block sequence; all its dashes stand in one column."""
    if number == 0:
        return start(sequence)
    column, index = column_of(sequence), start(sequence.value[number])
    while True:
        begin = line_start(text, index)
        if text[begin : begin + column + 1].strip() == "-":
            return begin + column
        index = begin - 1


def column_of(sequence: yaml.SequenceNode) -> int:
    """Column of the dashes of a block sequence."""
    return int(sequence.start_mark.column)


def replace_node(node: yaml.Node, new: str) -> Splice:
    """Another value in place of a node."""
    return start(node), end(node), new


def is_shared(root: yaml.Node, node: yaml.Node) -> bool:
    """Whether an alias lets a node stand in several places, so that an edit would act on all of them."""
    seen = 0
    stack: list[yaml.Node] = [root]
    visited: set[int] = set()
    while stack:
        here = stack.pop()
        seen += here is node
        if id(here) in visited:
            continue
        visited.add(id(here))
        if isinstance(here, yaml.MappingNode):
            stack += [part for pair in here.value for part in pair]
        else:
            stack += items(here)
    return seen > 1
