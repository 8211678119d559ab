"""The sections of a size group: parameters with their values, groups, sizes, and what else a kernel is run with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document.configuration import Alternative
from tui_tuner.tensile.document.sizes import ProblemSizes, SizeFault, problem_sizes
from tui_tuner.tensile.document.yaml_text import (
    child,
    is_null,
    items,
    line_of,
    mapping_value,
    pairs,
    parameter_value,
    python_value,
)
from tui_tuner.tensile.values import ParameterValue

COMMON, FORK, FINAL = "BenchmarkCommonParameters", "ForkParameters", "BenchmarkFinalParameters"
GROUPS = "Groups"
DEAD = ("InitialSolutionParameters", "BenchmarkForkParameters", "JoinParameters", "BenchmarkJoinParameters")
"""Keys of a protocol that Tensile no longer has: it ends at once where one of them is not empty."""
_ARGUMENTS = ("ActivationArgs", "BiasTypeArgs", "FactorDimArgs", "ICacheFlush")
_DEFAULT_RANGE = [64, 64, 64, 512]
_PASSED_OVER = ("ProblemSizes", "InternalSupportParams")
"""Names that Tensile takes among parameters, and does not fork."""


def space(
    node: yaml.MappingNode, file: Path
) -> tuple[dict[str, tuple[ParameterValue, ...]], tuple[tuple[Alternative, ...], ...]]:
    """Parameters and groups of a size group.

    Raises:
        ProblemError: a section is not what Tensile takes.
    """
    common, _ = _parameters(child(node, COMMON), COMMON, file)
    forked, groups = _parameters(child(node, FORK), FORK, file)
    if groups is not None and not isinstance(groups, yaml.SequenceNode):
        fault = f"{GROUPS} must be a list of groups, it is {short(groups)}"
        raise ProblemError(fault, file=file, line=line_of(groups))
    return {**common, **forked}, tuple(_alternatives(group, file) for group in items(groups))


def refuse_dead(node: yaml.Node, file: Path) -> None:
    """Whether a size group has a section over which Tensile ends.

    Raises:
        ProblemError: it has.
    """
    for key in DEAD:
        value = child(node, key)
        if value is not None and not is_null(value):
            raise ProblemError(
                f"{key} is no longer supported by Tensile, which ends over it",
                hint=f"leave it empty, and put its parameters into {FORK}",
                file=file,
                line=line_of(value),
            )


def _parameters(
    section: yaml.Node | None, name: str, file: Path
) -> tuple[dict[str, tuple[ParameterValue, ...]], yaml.Node | None]:
    """Values by name, and the node of `Groups`; the last one of each wins, as in Tensile."""
    found: dict[str, tuple[ParameterValue, ...]] = {}
    groups: yaml.Node | None = None
    if section is not None and not is_null(section) and not isinstance(section, yaml.SequenceNode):
        raise ProblemError(f"{name} must be a list of `- Name: [values]`", file=file, line=line_of(section))
    for entry in items(section):
        if not isinstance(entry, yaml.MappingNode):
            raise ProblemError(
                f"an entry of {name} must be `Name: [values]`, it is {short(entry)}", file=file, line=line_of(entry)
            )
        for key, values in pairs(entry):
            if key.value == GROUPS and name == FORK:
                groups = values
            elif key.value not in _PASSED_OVER:
                found[key.value] = _values(key.value, values, file)
    return found, groups


def _values(name: str, node: yaml.Node, file: Path) -> tuple[ParameterValue, ...]:
    if not isinstance(node, yaml.SequenceNode):
        raise ProblemError(
            f"{name} must have a list of values, it is {short(node)}",
            hint=f"write `{name}: [value]`",
            file=file,
            line=line_of(node),
        )
    return tuple(parameter_value(item, name, file) for item in items(node))


def short(node: yaml.Node) -> str:
    """A node in a word or two, for a message."""
    return "empty" if is_null(node) else str(node.value)[:40] if isinstance(node, yaml.ScalarNode) else "a collection"


def _alternatives(group: yaml.Node, file: Path) -> tuple[Alternative, ...]:
    if not isinstance(group, yaml.SequenceNode):
        raise ProblemError(f"an entry of {GROUPS} must be a list of alternatives", file=file, line=line_of(group))
    return tuple(_alternative(entry, file) for entry in items(group))


def _alternative(node: yaml.Node, file: Path) -> Alternative:
    if not isinstance(node, yaml.MappingNode):
        raise ProblemError("an alternative of a group must be `Name: value`", file=file, line=line_of(node))
    return {key.value: parameter_value(value, key.value, file) for key, value in pairs(node)}


def default_sizes(problem_type: Mapping[str, Any]) -> ProblemSizes:
    """Those that Tensile takes where there is no `BenchmarkFinalParameters`."""
    batch = [[1]] if problem_type.get("Batched") else []
    return problem_sizes([{"Range": [_DEFAULT_RANGE, 0, *batch, 0]}])


def sizes_in(final: yaml.Node, file: Path) -> ProblemSizes:
    """The problem sizes of the final parameters.

    Raises:
        ProblemError: there are none, or they cannot be read.
    """
    node = child(items(final)[0] if items(final) else None, "ProblemSizes")
    if node is None:
        raise ProblemError(
            f"{FINAL} must begin with ProblemSizes",
            hint="put `- ProblemSizes:` before all other entries, or leave the whole section out for Tensile's sizes",
            file=file,
            line=line_of(final),
        )
    try:
        return problem_sizes(python_value(node, file))
    except SizeFault as fault:
        raise ProblemError(str(fault), file=file, line=line_of(node)) from fault


def arguments(final: yaml.Node | None, file: Path) -> int:
    """How often every kernel runs at every size, for bias types, activations and the like."""
    count = 1
    for entry in items(final)[1:]:
        said = mapping_value(entry, f"an entry of {FINAL}", file)
        for name in _ARGUMENTS:
            values = said.get(name)
            count *= max(1, len(values)) if isinstance(values, list) else 1
    return count
