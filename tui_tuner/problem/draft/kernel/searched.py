"""The arrays that a kernel searches by halves, which have to be in order, and those of what it looks for there."""

from __future__ import annotations

import re

from tui_tuner.problem.draft.kernel.guesses import BEFORE_ELEMENT
from tui_tuner.problem.signature import KernelSignature


def searched_by_halves(signature: KernelSignature) -> set[str]:
    """The arrays whose element in the middle of what is left a kernel reads, as in `if (x[mid] < v) low = mid + 1;`.

    The middle is half of a sum, or of a difference, that is moved to one of the ends, or beside it.
    """
    arrays = (one.name for one in signature.parameters if one.is_array and one.name)
    return {name for name in arrays if re.search(_in_the_middle(name, signature.body), signature.body)}


def sought_in(signature: KernelSignature) -> dict[str, str]:
    """The arrays whose elements a kernel looks for, also by a name for one, with the array in which it does so."""
    body, found = signature.body, dict[str, str]()
    arrays = {one.name for one in signature.parameters if one.is_array and one.name}
    for searched in searched_by_halves(signature):
        for name in re.findall(rf"{_in_the_middle(searched, body)}\s*(?:[<>=!]=|[<>])\s*(\w+)\b", body):
            held = re.findall(rf"\b{name}\s*=(?!=)\s*{BEFORE_ELEMENT}(\w+)\s*\[", body)
            found |= dict.fromkeys(arrays & {name, *held} - {searched}, searched)
    return found


def _in_the_middle(array: str, body: str) -> str:
    """The pattern of an array's element in the middle."""
    halves = re.findall(r"\b(\w+)\s*=(?!=)[^;=]*[-+][^;=]*(?:/\s*2|>>\s*1)\b[^;=]*;", body)
    middle = "|".join(one for one in halves if re.search(rf"(?<!=)=\s*{one}\s*(?:[-+]\s*1\s*)?;", body)) or "(?!)"
    return rf"\b{re.escape(array)}\s*\[\s*(?:{middle})\s*\]"
