"""Where the values of a launch go that are no parameters of the kernel: constant memory, and arrays behind pointers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tui_tuner.problem.by_value import layout
from tui_tuner.problem.model import Problem

ADDRESS_BYTES = 8
T = TypeVar("T")


@dataclass(frozen=True)
class Placement:
    """Which arguments of a problem the kernel is not given one by one, and where they are put instead.

    Attributes:
        constants: by place among the arguments, the `__constant__` variable that each fills.
        pointers: by place of a structure, the bytes before each pointer in it, with the place of the array that it is
            the address of.
    """

    constants: Mapping[int, str] = field(default_factory=dict)
    pointers: Mapping[int, Mapping[int, int]] = field(default_factory=dict)

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
    constants = {index: argument.name for index, argument in enumerate(problem.arguments) if argument.constant}
    return Placement(constants, pointers)


def with_addresses(structure: np.generic, addresses: Mapping[int, int]) -> np.generic:
    """A structure with addresses in it, each behind so many bytes."""
    if not addresses:
        return structure
    content = bytearray(structure.tobytes())
    for offset, address in addresses.items():
        content[offset : offset + ADDRESS_BYTES] = address.to_bytes(ADDRESS_BYTES, "little")
    held: np.generic = np.frombuffer(content, structure.dtype)[0]
    return held
