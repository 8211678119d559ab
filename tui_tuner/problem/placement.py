"""Where the values of a launch go that a kernel is not given as they are: constant memory, arrays behind pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tui_tuner.problem.by_value import layout
from tui_tuner.problem.model import Argument, Problem
from tui_tuner.problem.syntax import constant_in_namespaces

ADDRESS_BYTES = 8
T = TypeVar("T")


@dataclass(frozen=True)
class Placement:
    """Which arguments of a problem the kernel is not given one by one, and where they are put instead.

    Attributes:
        constants: by place among the arguments, the `__constant__` variable that each fills, with the namespaces around
            it.
        pointers: by place of a structure, the bytes before each pointer in it, with the place of the array that it is
            the address of.
        lists: the places of arrays of which the kernel is given a list of their parts' addresses.
    """

    constants: Mapping[int, str] = field(default_factory=dict)
    pointers: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    lists: frozenset[int] = frozenset()

    @property
    def aside(self) -> frozenset[int]:
        """The places of arguments that are no parameters."""
        return frozenset(self.constants).union(*(held.values() for held in self.pointers.values()))

    def passed(self, arguments: Sequence[T]) -> Iterator[tuple[int, T]]:
        """What the kernel is given one by one, each with its place among the arguments."""
        return ((index, one) for index, one in enumerate(arguments) if index not in self.aside)


def placement_of(problem: Problem) -> Placement:
    """What the tables of a problem that has been checked say."""
    places = {argument.name: index for index, argument in enumerate(problem.arguments)}
    pointers: dict[int, dict[int, int]] = {}
    for array, index, number, _ in problem.pointed:
        members = problem.arguments[index].members or []
        fields: Mapping[str, Any] = layout(members).fields or {}
        pointers.setdefault(index, {})[fields[members[number].name][1]] = places[array]
    named = ((index, one.name) for index, one in enumerate(problem.arguments) if one.constant)
    constants = {index: constant_in_namespaces(name, problem.source_text) for index, name in named}
    lists = frozenset(index for index, argument in enumerate(problem.arguments) if argument.addresses)
    return Placement(constants, pointers, lists)


def with_addresses(structure: np.generic, addresses: Mapping[int, int]) -> np.generic:
    """A structure with addresses in it, each behind so many bytes."""
    if not addresses:
        return structure
    content = bytearray(structure.tobytes())
    for offset, address in addresses.items():
        content[offset : offset + ADDRESS_BYTES] = address.to_bytes(ADDRESS_BYTES, "little")
    held: np.generic = np.frombuffer(content, structure.dtype)[0]
    return held


def in_order(argument: Argument, array: np.ndarray) -> np.ndarray:
    """The parts of an array in the order of the list that leads to them, and the other way round.

    In memory they lie in the opposite order: a kernel that takes the first address alone leaves the array.
    """
    return array[::-1] if argument.addresses else array


def addresses_of_parts(at: int, nbytes: int, parts: int) -> np.ndarray:
    """The list of the addresses of an array's parts, where the array lies there."""
    listed: np.ndarray = at + nbytes // parts * np.arange(parts, dtype=np.uint64)[::-1]
    return np.ascontiguousarray(listed)
