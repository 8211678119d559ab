"""YAML as text with places: nodes know where they stand, so that an edit changes only what it means to.

A configuration is never printed again as a whole: comments, order, spacing and quotes of all that is not edited stay
byte for byte. The parser is PyYAML's, as in Tensile itself, so that both read the same values.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.words import ParameterValue

Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 16 * 2**20
"""A larger file is no benchmark configuration."""
_DEPTH = "it is nested too deeply"
_MOST_NESTED = 200
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


def _nested(text: str) -> int:
    """How deep brackets lie in each other, those in comments and quotes included."""
    depth = deepest = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _is_deep(text: str) -> bool:
    """Whether it is nested too deeply, brackets in comments and quotes aside."""
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
    value = python_value(node, file)
    if _is_value(value):
        return value  # type: ignore[no-any-return]
    raise ProblemError(
        f"{name} has the value {str(value)[:60]}, which is neither number, word nor list of numbers",
        file=file,
        line=line_of(node),
    )


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
    """Index behind its last character; a block's own end mark lies behind comments that follow it, this does not."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return end(last[1]) if isinstance(last, tuple) and not _is_empty(last[1]) else end(_last_of(last))
    return int(node.end_mark.index)


def _last_of(item: yaml.Node | tuple[yaml.Node, yaml.Node]) -> yaml.Node:
    return item[0] if isinstance(item, tuple) else item


def _is_empty(node: yaml.Node) -> bool:
    return int(node.start_mark.index) == int(node.end_mark.index)
