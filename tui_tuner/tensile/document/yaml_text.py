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
from tui_tuner.tensile.values import ParameterValue

Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 16 * 2**20
"""A larger file is no benchmark configuration."""
_DEPTH = "it is nested too deeply"
_MOST_NESTED = 200
_BLOCKS = re.compile(rf"^ *(?:[-?:] +){{{_MOST_NESTED},}}", re.MULTILINE)


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
    if _nested(text) > _MOST_NESTED or _BLOCKS.search(text):  # libyaml's own recursion would end the process
        raise ProblemError(f"this cannot be read: {_DEPTH}", file=file)
    try:
        return yaml.compose(text, Loader=Loader)
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
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return value
    raise ProblemError(
        f"{name} has the value {str(value)[:60]}, which is neither number, word nor list of numbers",
        file=file,
        line=line_of(node),
    )


def pairs(node: yaml.Node | None) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    """Keys and values of a mapping whose keys are words; nothing of anything else."""
    if not isinstance(node, yaml.MappingNode):
        return []
    return [(key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]


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
