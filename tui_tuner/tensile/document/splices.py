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
    """One item less of a sequence that has others."""
    if len(sequence.value) < 2:
        raise Immovable("it is the only item")
    if sequence.flow_style:
        return _remove_from_flow(text, [(start(node), end(node)) for node in sequence.value], number)
    following = dash_index(text, sequence, number + 1) if number == 0 else None
    return _remove_lines(text, dash_index(text, sequence, number), end(sequence.value[number]), following)


def remove_pair(text: str, mapping: yaml.MappingNode, number: int) -> Splice:
    """One key and its value less of a mapping that has others."""
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
    """Another value in place of a node."""
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
        parts = [part for pair in here.value for part in pair] if isinstance(here, yaml.MappingNode) else items(here)
        stack += [(part, held) for part in parts]
    return shared.get(id(node), False)
