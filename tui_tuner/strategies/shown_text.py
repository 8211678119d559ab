"""What of a long file is shown to a model that is asked about one of its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_tuner.problem.signature import KernelSignature

_MOST_SHOWN = 24_000
"""Characters."""
_BEFORE, _AFTER = 40, 20
"""Lines around a name: what a launch is made of stands before it."""


def shown_of(text: str, signature: KernelSignature) -> str:
    """A text; of a very long one the kernel, what is around its names, what it calls, and what there is room for."""
    text = text.strip()
    if len(text) <= _MOST_SHOWN:
        return text
    lines = text.splitlines()
    shown, room = set[int](), _MOST_SHOWN
    for at in _wanted(lines, signature):
        if at not in shown and 0 <= at < len(lines) and len(lines[at]) < room:
            shown.add(at)
            room -= len(lines[at]) + 1
    parts = [lines[at] if at - 1 in shown or at == 0 else f"[... left out ...]\n{lines[at]}" for at in sorted(shown)]
    return "\n".join([*parts, *(["[... left out ...]"] if len(lines) - 1 not in shown else [])])


def _wanted(lines: list[str], signature: KernelSignature) -> Iterator[int]:
    """The numbers of lines, from 0, what counts most first."""
    own = re.compile(rf"\b{re.escape(signature.name)}\b")
    named = [at for at, line in enumerate(lines) if own.search(line)]
    length = signature.body.count("\n")
    defined = min(named, key=lambda at: abs(at + 1 - signature.line), default=0)
    yield from range(defined - 5, defined + len(signature.parameters) + length + 5)
    for at in named:
        yield from range(at - _BEFORE, at + _AFTER)
    called = "|".join({*re.findall(r"\b([A-Za-z_]\w*)\s*(?:<[^<>;]*>)?\s*\(", signature.body)}) or "(?!)"
    calls = re.compile(rf"__device__.*\b(?:{called})\s*\(|#\s*define\s+(?:{called})\b")
    for at in [at for at, line in enumerate(lines) if calls.search(line)]:
        yield from range(at - 2, at + _AFTER)
    yield from range(len(lines))
