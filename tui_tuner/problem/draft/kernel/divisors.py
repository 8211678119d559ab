"""Whole numbers of arrays that a kernel divides by, as how many there are of something: none of them is 0."""

from __future__ import annotations

import re

from tui_tuner.problem.signature import KernelSignature

_CAST = r"(?:\(\s*(?:unsigned\s+)?\w+\s*\)\s*|\(\s*)*"
"""Conversions and parentheses before what is divided by."""


def is_divided_by(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel divides by an element of an array, or by a variable that holds one, and nowhere asks for 0."""
    body = signature.body
    element = rf"\b{re.escape(name or '?')}\s*\[(?:[^][;]|\[[^][;]*\])*\]"
    held = re.findall(rf"\b(\w+)\s*=(?!=)\s*{_CAST}{element}[\s)]*;", body)
    divisors = "|".join((element, *(rf"\b{re.escape(one)}\b(?!\s*[\[(.])" for one in held)))
    if re.search(rf"[/%]=?\s*{_CAST}(?:{divisors})(?!\s*[+*])", body) is None:
        return False
    return re.search(rf"(?:{divisors})\s*(?:[!=]=|>)\s*0|\b(?:max|fmaxf?)\s*\([^;]*(?:{divisors})", body) is None
