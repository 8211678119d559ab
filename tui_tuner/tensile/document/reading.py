"""From the text of a configuration to what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.errors import ProblemError
from tui_tuner.tensile.document.configuration import Configuration, SizeGroup
from tui_tuner.tensile.document.sections import (
    FINAL,
    FORK,
    arguments,
    default_sizes,
    refuse_dead,
    short,
    sizes_in,
    space,
)
from tui_tuner.tensile.document.sizes import ProblemSizes, SizeFault, problem_sizes
from tui_tuner.tensile.document.yaml_text import (
    child,
    compose,
    compose_any,
    is_null,
    items,
    line_of,
    mapping_value,
    python_value,
)


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
        _check_alternate(root, file)
        groups: tuple[SizeGroup, ...] = (_alternate_group(root, file, sizes or ProblemSizes()),)
    else:
        groups = tuple(_all_groups(root, file))
    parameters = mapping_value(child(root, "GlobalParameters"), "GlobalParameters", file)
    return Configuration(file, text, alternate, groups, parameters)


def group_nodes(root: yaml.MappingNode) -> list[tuple[int, int, yaml.Node, yaml.Node]]:
    """Number of the problem, place in it, problem type and node of every size group, in the file's order.

    A problem with nothing but its type has one all the same, without a key.
    """
    problems = child(root, "BenchmarkProblems")
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
        if not isinstance(node, yaml.MappingNode):
            raise ProblemError(f"a size group must have keys, it is {short(node)}", file=file, line=line_of(node))
        yield _size_group(node, mapping_value(problem_type, "ProblemType", file), (number, problem, place), file)


def _alternate_group(root: yaml.MappingNode, file: Path, sizes: ProblemSizes) -> SizeGroup:
    """Of the alternate format Tensile reads the problem type and these two sections, and nothing else."""
    parameters, groups = space(root, file)
    problem_type = mapping_value(child(root, "ProblemType"), "ProblemType", file)
    return SizeGroup(0, 0, 0, problem_type, parameters, groups, sizes, line=line_of(root))


def _size_group(
    node: yaml.MappingNode, problem_type: Mapping[str, Any], numbers: tuple[int, int, int], file: Path
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
