"""From the text of a configuration to what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document.configuration import Alternative, Configuration, SizeGroup
from tui_tuner.tensile.document.sizes import ProblemSizes, SizeFault, problem_sizes
from tui_tuner.tensile.document.yaml_text import (
    child,
    compose,
    compose_any,
    is_null,
    items,
    line_of,
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
_PASSED_OVER = ("ProblemSizes", "InternalSupportParams")
"""Names that Tensile takes among parameters, and does not fork."""


def read_configuration(file: Path, sizes_file: Path | None = None) -> Configuration:
    """Read a configuration.

    Args:
        sizes_file: the list of sizes that goes with the alternate format.

    Raises:
        ProblemError: it cannot be read, or Tensile would end over it at once.
    """
    sizes = None if sizes_file is None else parse_sizes(read_text(sizes_file), sizes_file)
    return parse_configuration(read_text(file), file, sizes)


def read_text(file: Path) -> str:
    """The text of a file with its line ends as they are.

    Raises:
        ProblemError: it cannot be read.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except OSError as error:
        raise ProblemError(f"cannot be read: {error.strerror}", file=file) from error
    except UnicodeDecodeError as error:
        raise ProblemError(f"is no text: {error.reason} at byte {error.start}", file=file) from error


def parse_configuration(text: str, file: Path, sizes: ProblemSizes | None = None) -> Configuration:
    """What a text says.

    Args:
        sizes: of the alternate format, which has none of its own.

    Raises:
        ProblemError: it says nothing that Tensile could take.
    """
    root = compose(text, file)
    alternate = child(root, "BenchmarkProblems") is None
    if alternate:
        groups: tuple[SizeGroup, ...] = (
            _size_group(root, child(root, "ProblemType"), (0, 0, 0), file, sizes or ProblemSizes()),
        )
        _check_alternate(root, file)
    else:
        groups = tuple(_all_groups(root, file))
    parameters = child(root, "GlobalParameters")
    return Configuration(
        file, text, alternate, groups, {} if parameters is None else python_value(parameters, file) or {}
    )


def group_nodes(root: yaml.MappingNode) -> list[tuple[int, int, yaml.Node, yaml.Node]]:
    """Number of the problem, place in it, problem type and node of every size group, in the file's order."""
    problems = child(root, "BenchmarkProblems")
    if problems is None:
        return [(0, 0, child(root, "ProblemType") or root, root)]
    return [
        (problem, place, entries[0], node)
        for problem, entry in enumerate(items(problems))
        if (entries := items(entry))
        for place, node in enumerate(entries[1:])
    ]


def _check_alternate(root: yaml.MappingNode, file: Path) -> None:
    if child(root, "ProblemType") is None or child(root, FORK) is None:
        raise ProblemError(
            "this is no Tensile benchmark configuration",
            hint="it needs BenchmarkProblems, or ProblemType and ForkParameters as in Tensile's alternate format",
            file=file,
        )


def _all_groups(root: yaml.MappingNode, file: Path) -> Iterator[SizeGroup]:
    problems = child(root, "BenchmarkProblems")
    for entry in items(problems):
        if not items(entry) or not isinstance(items(entry)[0], yaml.MappingNode):
            raise ProblemError("a benchmark problem must begin with its ProblemType", file=file, line=line_of(entry))
    found = group_nodes(root)
    if not found:
        line = None if problems is None else line_of(problems)
        raise ProblemError("BenchmarkProblems holds no size group", file=file, line=line)
    for number, (problem, place, problem_type, node) in enumerate(found):
        yield _size_group(node, problem_type, (number, problem, place), file)


def _size_group(
    node: yaml.Node,
    problem_type: yaml.Node | None,
    numbers: tuple[int, int, int],
    file: Path,
    sizes: ProblemSizes | None = None,
) -> SizeGroup:
    _refuse_dead(node, file)
    common, _ = _parameters(child(node, COMMON), COMMON, file)
    forked, groups = _parameters(child(node, FORK), FORK, file)
    final = child(node, FINAL)
    kernels = child(node, "CustomKernels")
    return SizeGroup(
        *numbers,
        problem_type={} if problem_type is None else python_value(problem_type, file) or {},
        parameters={**common, **forked},
        groups=() if groups is None else tuple(_alternatives(group, file) for group in items(groups)),
        sizes=_sizes(final, file) if sizes is None else sizes,
        arguments=_arguments(final, file),
        custom_kernels=0 if is_null(kernels) else len(items(kernels)),
        line=line_of(node),
    )


def _refuse_dead(node: yaml.Node, file: Path) -> None:
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
                f"an entry of {name} must be `Name: [values]`, it is {_short(entry)}", file=file, line=line_of(entry)
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
            f"{name} must have a list of values, it is {_short(node)}",
            hint=f"write `{name}: [value]`",
            file=file,
            line=line_of(node),
        )
    return tuple(parameter_value(item, name, file) for item in items(node))


def _short(node: yaml.Node) -> str:
    return "empty" if is_null(node) else str(node.value)[:40] if isinstance(node, yaml.ScalarNode) else "a collection"


def _alternatives(group: yaml.Node, file: Path) -> tuple[Alternative, ...]:
    if not isinstance(group, yaml.SequenceNode):
        raise ProblemError(f"an entry of {GROUPS} must be a list of alternatives", file=file, line=line_of(group))
    return tuple(_alternative(entry, file) for entry in items(group))


def _alternative(node: yaml.Node, file: Path) -> Alternative:
    if not isinstance(node, yaml.MappingNode):
        raise ProblemError("an alternative of a group must be `Name: value`", file=file, line=line_of(node))
    return {key.value: parameter_value(value, key.value, file) for key, value in pairs(node)}


def _sizes(final: yaml.Node | None, file: Path) -> ProblemSizes:
    first = items(final)[0] if items(final) else None
    node = child(first, "ProblemSizes")
    if node is None:
        return ProblemSizes((), 1)  # Tensile takes sizes of its own
    try:
        return problem_sizes(python_value(node, file))
    except SizeFault as fault:
        raise ProblemError(str(fault), file=file, line=line_of(node)) from fault


def _arguments(final: yaml.Node | None, file: Path) -> int:
    """How often every kernel runs at every size, for bias types, activations and the like."""
    count = 1
    for entry in items(final)[1:]:
        said: Mapping[str, Any] = python_value(entry, file) or {}
        for name in _ARGUMENTS:
            values = said.get(name)
            count *= max(1, len(values)) if isinstance(values, list) else 1
    return count


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
