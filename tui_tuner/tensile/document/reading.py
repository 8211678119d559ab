"""Reads a configuration: its sections, where each parameter stands, and every mistake with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.errors import ProblemError
from tui_tuner.resources import how_to_unpack, is_packed
from tui_tuner.tensile import ALTERNATE, PROBLEMS
from tui_tuner.tensile.document import (
    Alternative,
    BenchmarkConfiguration,
    ParameterValue,
    ProblemSizes,
    SizeFault,
    SizeGroup,
    problem_sizes,
)
from tui_tuner.tensile.document.yaml_text import (
    child,
    compose,
    compose_any,
    is_null,
    items,
    line_of,
    mapping_value,
    pairs,
    parameter_value,
    python_value,
)

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
    """Refuse a size group with a section that Tensile no longer supports.

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
    """The sizes that Tensile takes where there is no `BenchmarkFinalParameters`."""
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


def read_configuration(file: Path) -> BenchmarkConfiguration:
    """Read a configuration.

    Raises:
        ProblemError: it cannot be read, or Tensile would end over it at once.
    """
    return parse_configuration(read_text(file), file)


def read_text(file: Path) -> str:
    """The text of a file with its line ends as they are.

    Raises:
        ProblemError: it cannot be read.
    """
    try:
        raw = file.read_bytes()
        if is_packed(raw):
            raise ProblemError("it is packed", hint=how_to_unpack(file), file=file)
        return raw.decode("utf-8")
    except OSError as error:
        raise ProblemError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise ProblemError(f"is no text: {error.reason} at byte {error.start}", file=file) from error


def parse_configuration(text: str, file: Path, sizes: ProblemSizes | None = None) -> BenchmarkConfiguration:
    """What a text says.

    Args:
        sizes: of the alternate format, which has none of its own.

    Raises:
        ProblemError: it says nothing that Tensile could take.
    """
    root = compose(text, file)
    alternate = child(root, PROBLEMS) is None
    if alternate:
        _check_alternate(root, file)
        groups: tuple[SizeGroup, ...] = (_alternate_group(root, file, sizes or ProblemSizes()),)
    else:
        groups = tuple(_all_groups(root, file))
    parameters = mapping_value(child(root, "GlobalParameters"), "GlobalParameters", file)
    return BenchmarkConfiguration(file, text, alternate, groups, parameters)


def group_nodes(root: yaml.MappingNode) -> list[tuple[int, int, yaml.Node, yaml.Node]]:
    """Number of the problem, place in it, problem type and node of every size group, in the file's order.

    A problem with nothing but its type has one all the same, without a key.
    """
    problems = child(root, PROBLEMS)
    if problems is None:
        return [(0, 0, child(root, "ProblemType") or root, root)]
    return [
        (problem, place, entries[0], node)
        for problem, entry in enumerate(items(problems))
        if (entries := items(entry))
        for place, node in enumerate(entries[1:] or [_nothing(entries[0])])
    ]


def _nothing(beside: yaml.Node) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], beside.start_mark, beside.start_mark, flow_style=False)


def _check_alternate(root: yaml.MappingNode, file: Path) -> None:
    if any(child(root, key) is None for key in ALTERNATE):
        raise ProblemError(
            "this is no Tensile benchmark configuration",
            hint=f"it needs {PROBLEMS}, or {' and '.join(ALTERNATE)} as in Tensile's alternate format",
            file=file,
        )


def _all_groups(root: yaml.MappingNode, file: Path) -> Iterator[SizeGroup]:
    problems = child(root, PROBLEMS)
    for entry in items(problems):
        if not items(entry) or not isinstance(items(entry)[0], yaml.MappingNode):
            raise ProblemError("a benchmark problem must begin with its ProblemType", file=file, line=line_of(entry))
    found = group_nodes(root)
    if not found:
        line = None if problems is None else line_of(problems)
        raise ProblemError("BenchmarkProblems holds no size group", file=file, line=line)
    for number, (_, place, problem_type, node) in enumerate(found):
        if not isinstance(node, yaml.MappingNode):
            raise ProblemError(f"a size group must have keys, it is {short(node)}", file=file, line=line_of(node))
        yield _size_group(node, mapping_value(problem_type, "ProblemType", file), (number, place), file)


def _alternate_group(root: yaml.MappingNode, file: Path, sizes: ProblemSizes) -> SizeGroup:
    """Of the alternate format Tensile reads the problem type and these two sections, and nothing else."""
    parameters, groups = space(root, file)
    problem_type = mapping_value(child(root, "ProblemType"), "ProblemType", file)
    return SizeGroup(0, 0, problem_type, parameters, groups, sizes, line=line_of(root))


def _size_group(
    node: yaml.MappingNode, problem_type: Mapping[str, Any], numbers: tuple[int, int], file: Path
) -> SizeGroup:
    refuse_dead(node, file)
    parameters, groups = space(node, file)
    final = child(node, FINAL)
    kernels = child(node, "CustomKernels")
    return SizeGroup(
        *numbers,
        problem_type,
        parameters,
        groups,
        sizes=default_sizes(problem_type) if final is None else sizes_in(final, file),
        arguments=arguments(final, file),
        custom_kernels=0 if is_null(kernels) else len(items(kernels)),
        line=line_of(node),
    )


def parse_sizes(text: str, file: Path) -> ProblemSizes:
    """The list of sizes that goes with the alternate format.

    Raises:
        ProblemError: it is none.
    """
    root = compose_any(text, file)
    try:
        return problem_sizes(None if root is None else python_value(root, file))
    except SizeFault as fault:
        raise ProblemError(str(fault), file=file) from fault
