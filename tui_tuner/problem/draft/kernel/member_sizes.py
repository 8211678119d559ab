"""Sizes that a kernel is passed in a structure, by their own names, where nobody launches it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.tunables import why_no_size

_COUNTS_BY = r"[<>]=?\s*{0}|[*/%]\s*{0}|{0}\s*(?:[*/%]|-\s*1\b)"
"""What a kernel does with a member that something is as long as."""


def with_named_members(signature: KernelSignature) -> KernelSignature:
    """The kernel whose text has `rows` for `p.rows`, where that seems to be a size."""
    names = {one.name for one in signature.parameters}
    body = signature.body
    for one in signature.parameters:
        for member in (name for name in _whole_members(one) if name not in names):
            element = rf"\b{re.escape(one.name)}\s*\.\s*{member}\b"
            if re.search(_COUNTS_BY.format(element), body):
                body = re.sub(element, member, body)
    return replace(signature, body=body)


def named_members(signature: KernelSignature) -> list[str]:
    """The members for which a kernel's text has their own names."""
    found = [(one.name, member) for one in signature.parameters for member in _whole_members(one)]
    left = [re.search(rf"\b{re.escape(name)}\s*\.\s*{member}\b", signature.body) for name, member in found]
    said = [re.search(rf"(?<![\w.>]){member}\b", signature.body) for _, member in found]
    return [member for (_, member), one, own in zip(found, left, said, strict=True) if own and not one]


def _whole_members(parameter: KernelParameter) -> Iterator[str]:
    if parameter.pointer:
        return
    for one in parameter.members or ():
        is_whole = (one.dtype or "").removeprefix("u") in ("int32", "int64")
        if is_whole and not one.count and not one.pointee and why_no_size(one.name) is None:
            yield one.name
