"""What a kernel's own text says of its launch, where no host is there to say it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_tuner.problem.draft.guesses import AXES, dimensions, size_names
from tui_tuner.problem.signature import KernelSignature


def elements_along(signature: KernelSignature) -> list[str]:
    """The threads along each axis: as many as the kernel's guards say of it, else one of its sizes after another.

    Along an axis whose threads it tells apart and whose blocks it does not there is one block.
    """
    names = size_names(signature)
    usual = [names[min(axis, len(names) - 1)] for axis in range(dimensions(signature))]
    return [_said_along(axis, names, signature.body) or name for axis, name in enumerate(usual)]


def _said_along(axis: int, names: Sequence[str], body: str) -> str | None:
    blocks = rf"\bblockIdx\s*\.\s*{AXES[axis]}\b|\bget_(?:group|global)_id\s*\(\s*{axis}\s*\)"
    if axis and not re.search(blocks, body):
        return "1"
    places = re.findall(rf"\b(\w+)\s*=(?!=)[^;,=]*(?:{blocks})", body)
    guarded = "|".join(map(re.escape, places)) or "(?!)"
    limits = rf"\b(?:{guarded})\s*(?:<|>=)\s*({'|'.join(map(re.escape, names))})\b(?!\s*[-+*/.(\[])"
    said = {*re.findall(limits, body)}
    return said.pop() if len(said) == 1 else None
