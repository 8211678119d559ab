"""The arrays that the threads of a block share, and how many elements of them a kernel uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.c_types import dtype_of
from tui_tuner.problem.dtypes import dtype_named
from tui_tuner.problem.signature import KernelParameter

_SHARED = re.compile(r"\b__shared__\s+(?:volatile\s+)?(?P<type>[\w ]+?)\s+(?P<name>\w+)\s*\[(?P<extent>[^][]*)\]\s*;")


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
