"""The arrays that the threads of a block share, and how many elements of them a kernel uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.signature import KernelParameter

_SHARED = re.compile(r"\b__shared__\s+(?:volatile\s+)?(?P<type>[\w ]+?)\s+(?P<name>\w+)\s*\[(?P<extent>[^][]*)\]\s*;")


_OF_BLOCK = re.compile(r"\b__shared__\s+(?:volatile\s+)?[\w ]+?\s+(?P<name>\w+)\s*(?P<extents>(?:\[[^][]+\]\s*)+);")


def shared_arrays(body: str) -> Iterator[KernelParameter]:
    """The arrays of one extent that a block shares, as if a launch gave them."""
    for found in _SHARED.finditer(body):
        yield KernelParameter(found["name"], found["type"], pointer=True, const=False, dtype=None)


def shared_elements(name: str, body: str, dynamic: str) -> list[str]:
    """How many elements a shared array has, as the text or the launch says; none for other arrays.

    Before that stands how many of them the kernel sets to a number before it adds to them, as a histogram of so many
    bins does that has room for more.

    Args:
        dynamic: the bytes of dynamic shared memory, as an expression.
    """
    found = next((one for one in _SHARED.finditer(body) if one["name"] == name), None)
    if found is None:
        return []
    if found["extent"].strip():
        return [*_set_to_a_number(name, body), found["extent"].strip()]
    dtype, _ = dtype_of(found["type"], "cuda", {})
    nbytes = dtype_named(dtype or "float32").itemsize
    is_whole = dynamic.endswith(f" * {nbytes}")
    return [dynamic.removesuffix(f" * {nbytes}") if is_whole else f"({dynamic or 0}) // {nbytes}"]


def _set_to_a_number(name: str, body: str) -> list[str]:
    """Up to where elements are set to a number, one by one in a loop, or each by its thread."""
    place = r"(?P<place>[\w.]+)"
    counted = rf"\bfor\s*\([^;]*?\b{place}\s*=[^;]*;\s*(?P=place)\s*<\s*(?P<end>\w+)\s*;[^;)]*\)"
    asked = rf"\bif\s*\(\s*{place}\s*<\s*(?P<end>\w+)\s*\)"
    is_set = rf"\s*\{{?\s*{re.escape(name)}\s*\[\s*(?P=place)\s*\]\s*=\s*-?[\d.]+f?\s*;"
    return [one["end"] for how in (counted, asked) for one in re.finditer(how + is_set, body)][:1]


def threads_held(body: str, number: Callable[[str], int | None]) -> dict[str, int]:
    """How many threads along an axis have an element of their own in all arrays of a block, as of `s[threadIdx.x]`.

    Args:
        number: what an extent comes to, where that can be told.
    """
    found = dict[str, int]()
    named = dict(re.findall(r"\b(\w+)\s*=\s*threadIdx\s*\.\s*([xyz])\s*[;,]", body))
    for array in _OF_BLOCK.finditer(body):
        extents = re.findall(r"\[([^][]+)\]", array["extents"])
        for used in re.findall(rf"\b{array['name']}\s*((?:\[[^][]+\]\s*){{{len(extents)}}})", body):
            for index, extent in zip(re.findall(r"\[\s*([^][]+?)\s*\]", used), extents, strict=True):
                thread = re.fullmatch(r"threadIdx\s*\.\s*([xyz])", index)
                axis = named.get(index, thread[1] if thread else "")
                if axis and (count := number(extent)):
                    found[axis] = min(count, found.get(axis, count))
    return found
