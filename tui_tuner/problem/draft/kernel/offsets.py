"""Offsets: arrays of whole numbers of which a kernel takes neighbours for where parts of another begin and end."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.kernel.guesses import BEFORE_ELEMENT, as_factor, is_written
from tui_tuner.problem.signature import KernelParameter, KernelSignature

OF_EACH = 8
"""What is taken for the number of elements between two offsets."""


def arrays_of_offsets(signature: KernelSignature) -> list[str]:
    """The arrays of whole numbers of which the kernel takes neighbours for where something begins and ends."""
    return [one.name for one in signature.parameters if _is_of_offsets(one, signature)]


def _is_of_offsets(one: KernelParameter, signature: KernelSignature) -> bool:
    body, plain = signature.body, re.escape(one.name)
    if (one.dtype or "").removeprefix("u") not in ("int32", "int64") or not one.is_array:  # no pixels
        return False
    ends = re.findall(rf"\b{plain}\s*\[\s*([^][]+?)\s*\+\s*1\s*\]", body)
    begins = [text for text in ends if re.search(rf"\b{plain}\s*\[\s*{re.escape(text)}\s*\]", body)]
    are_apart = all(_is_multiple(text, body) for text in begins) and not _counted(one.name, body)
    return bool(begins) and not are_apart and not is_written(one.name, signature)


def _is_multiple(index: str, body: str) -> bool:
    """Whether an index is twice a number, or more times, so that each pair has two elements of its own."""
    said = re.findall(rf"\b{index}\s*=(?!=)\s*([^;,]*)[;,]", body) if index.isidentifier() else []
    try:
        return _has_factor(arithmetic(said[0] if len(said) == 1 else index))
    except (NotArithmetic, RecursionError):
        return False


def _has_factor(node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _has_factor(left) and _has_factor(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            numbers = [one.value for one in (left, right) if isinstance(one, ast.Constant)]
            return any(isinstance(one, int) and one > 1 for one in numbers) or _has_factor(left) or _has_factor(right)
    return False


def divided_by(name: str, signature: KernelSignature) -> list[str]:
    """The arrays of which the kernel goes through the elements from one number of an array to the next.

    As `values` in `for (j = rows[i]; j < rows[i + 1]; j++) sum += values[j]`, also where names stand for the two, and
    in `values[begin + j]` where it takes their difference for how many there are.
    """
    arrays = [one.name for one in signature.parameters if one.is_array and one.width == 1 and one.name != name]
    found = {*_gone_through(name, signature.body, arrays), *_gone_on_from(name, signature.body, arrays)}
    return [one for one in arrays if one in found]


def _counted(name: str, body: str) -> list[str]:
    """What loops count with that begin at one number of an array and end at another."""
    plain = re.escape(name)

    def is_of_array(text: str) -> bool:
        named = (rf"\b{word}\s*=(?!=)[^;]*\b{plain}\s*\[" for word in re.findall(r"[A-Za-z_]\w*", text))
        return bool(re.search(rf"\b{plain}\s*\[", text)) or any(re.search(one, body) for one in named)

    loops = re.finditer(r"\bfor\s*\([^;]*?\b(\w+)\s*=(?!=)([^;]*);\s*\1\s*<([^;]*);", body)
    return [one[1] for one in loops if is_of_array(one[2]) and is_of_array(one[3])]


def _gone_through(name: str, body: str, arrays: Sequence[str]) -> list[str]:
    """The arrays whose elements such loops go through."""
    counted = "|".join(_counted(name, body)) or "(?!)"
    return [one for one in arrays if re.search(rf"\b{one}\s*\[\s*(?:{counted})\s*\]", body)]


def _gone_on_from(name: str, body: str, arrays: Sequence[str]) -> list[str]:
    """The arrays of which elements are counted from a number on, where its difference to the next is taken."""
    plain = re.escape(name)
    held = re.findall(rf"\b(\w+)\s*=(?!=)\s*{BEFORE_ELEMENT}{plain}\s*\[\s*([^][]+?)\s*\]\s*(?=[;,)])", body)
    is_end = re.compile(r"\+\s*1$")
    begins = "|".join(
        [*(one for one, at in held if not is_end.search(at)), rf"{plain}\s*\[(?![^][]*\+\s*1\s*\])[^][]*\]"]
    )
    ends = "|".join([*(one for one, at in held if is_end.search(at)), rf"{plain}\s*\[[^][]*\+\s*1\s*\]"])
    if not re.search(rf"(?:\b(?:{ends}))\s*-\s*(?:{begins})", body):
        return []
    inside = rf"\[[^;]*?(?<![\w.])(?:{begins})\s*[\]+]"
    return [one for one in arrays if re.search(rf"\b{one}\s*(?:{inside}|\+\s*(?:{begins})(?!\w))", body)]


def extent_of_parts(extent: str, parameter: KernelParameter, signature: KernelSignature) -> str:
    """An extent with one more for offsets, with several for each of what they divide, and in numbers for a vector."""
    offsets = arrays_of_offsets(signature)
    if parameter.name in offsets:
        extent += " + 1"
    elif any(parameter.name in divided_by(one, signature) for one in offsets):
        extent = f"{OF_EACH} * {as_factor(extent, '*')}"
    return extent if parameter.width == 1 else f"{parameter.width} * {as_factor(extent, '*')}"
