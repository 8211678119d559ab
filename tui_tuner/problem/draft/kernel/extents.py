"""How large a kernel's own text lets guess that its arrays and its threads are, where nobody says."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from tui_tuner.problem.draft.arithmetic.c_expressions import NotArithmetic, arithmetic
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.guesses import AXES, SMALL, dimensions, is_guarded, size_names
from tui_tuner.problem.signature import KernelParameter, KernelSignature

_EXTENT = {1: 2**20, 2: 1024, 3: 128, 4: 32}
_LESS_FOR_TESTS = {1: 7, 2: 24, 3: 28, 4: 5}
_EMULATED_EXTENT = {1: 2**14, 2: 128, 3: 24, 4: 16}
_LEFT = re.compile(r"\bif\s*\((?:[^(){};]|\([^(){};]*\))*\)\s*\{?\s*return\s*;")
"""Where threads leave: of several limits those that hold for all that follows."""
_PRODUCT = r"[A-Za-z_]\w*(?:\s*\*\s*[A-Za-z_]\w*)*"


def array_shape(signature: KernelSignature, parameter: KernelParameter, elements: str) -> list[str]:
    """An array of as many elements, else over the sizes, with one extent for each dimension or size, three at most.

    Args:
        elements: as an expression; empty where that is not known.
    """
    names = size_names(signature)
    axes = _degree(parameter, signature) if len(names) == 1 else _array_axes(signature)
    return [elements] if elements else [names[min(axis, len(names) - 1)] for axis in range(axes)]


def _array_axes(signature: KernelSignature) -> int:
    if len(size_names(signature)) == 1:
        arrays = [one for one in signature.parameters if one.is_array]
        return min(3, max((_degree(one, signature) + one.is_list for one in arrays), default=1))
    return min(3, max(dimensions(signature), _most_factors(signature), 2))


def _most_factors(signature: KernelSignature) -> int:
    """Of how many sizes the threads along an axis are the product, 4 at most."""
    return min(4, max(len(re.findall(r"[A-Za-z_]\w*", text)) for text in elements_along(signature)) or 1)


def _degree(parameter: KernelParameter, signature: KernelSignature) -> int:
    """With which power of the only size an array grows, 3 at most: 2 for `a[i * n + j]`, also by a name.

    Also for a place in it, as `a + i * n`. It is no less than the dimensions of threads.
    """
    size, body = size_names(signature)[0], signature.body
    plain = re.escape(parameter.name or "?")
    indices = re.findall(rf"\b{plain}\s*\[([^][]*)\]", body) + re.findall(rf"\b{plain}\s*\+([^][;,:)]*)", body)
    named = [word for index in indices for word in re.findall(r"[A-Za-z_]\w*", index)]
    indices += [text for word in dict.fromkeys(named) for text in re.findall(rf"\b{word}\s*=(?!=)([^;,]*)", body)]
    declared = re.findall(rf"\[[^\]]*\b{size}\b[^\]]*\]", parameter.type_text)
    return min(3, max([dimensions(signature), len(declared), *(_power(index, size) for index in indices)]))


def _power(text: str, size: str) -> int:
    """With which power of a size an index grows that is made of it and of names that go up to it; 1 for any other."""

    def powers(node: ast.expr) -> tuple[int, int]:
        """That of the size itself, and whether another name is there, by which it is multiplied."""
        match node:
            case ast.Name(id=name):
                return (1, 0) if name == size else (0, 1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                (one, named), (other, named_too) = powers(left), powers(right)
                return one + other, named | named_too
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return max(powers(left), powers(right), key=sum)
        return 0, 0

    try:
        return max(1, sum(powers(arithmetic(text))))
    except NotArithmetic:
        return 1


class Extents(NamedTuple):
    """A value for every size: for timing and for a test, and the same two for the emulator."""

    timed: int
    tested: int
    emulated: int
    emulated_test: int


def scaled(size: int, doublings: int) -> int:
    """A size doubled so often, or halved, but not until it says nothing."""
    return size << doublings if doublings >= 0 else max(min(size, SMALL), size >> -doublings)


def usual_axes(signature: KernelSignature) -> int:
    """Of how many sizes the largest array is taken for the product where the text does not say it."""
    return max(_array_axes(signature), _most_factors(signature))


def extents_of(signature: KernelSignature, axes: int, doublings: int) -> Extents:
    """Values for the sizes; no block size divides those of tests, if the kernel looks as if it could do with that.

    Args:
        axes: of how many sizes the largest array is the product.
        doublings: how often what is timed is doubled; below zero, halved.
    """
    axes = min(axes, max(_EXTENT))
    timed, emulated = scaled(_EXTENT[axes], doublings), _EMULATED_EXTENT[axes]
    if not is_guarded(signature):
        return Extents(timed, timed // 2, emulated, emulated // 2)
    return Extents(timed, timed - _LESS_FOR_TESTS[axes], emulated, emulated * 3 // 4 - 1)


def elements_along(signature: KernelSignature) -> list[str]:
    """The threads along each axis: as many as the kernel's guards say of it, else one of its sizes after another.

    Of these none that a guard says of another axis, as long as others are left. Along an axis whose threads it tells
    apart and whose blocks it does not there is one block.
    """
    names = size_names(signature)
    usual = [names[min(axis, len(names) - 1)] for axis in range(dimensions(signature))]
    said = [_said_along(axis, names, signature.body) for axis in range(len(usual))]
    left = [one for one in names if one not in said]
    others = [
        left.pop(0) if one is None and name in said and left else name for one, name in zip(said, usual, strict=True)
    ]
    return [one or other for one, other in zip(said, others, strict=True)]


def _said_along(axis: int, names: Sequence[str], body: str) -> str | None:
    body = without_number_casts(body)
    blocks = rf"\bblockIdx\s*\.\s*{AXES[axis]}\b|\bget_(?:group|global)_id\s*\(\s*{axis}\s*\)"
    if axis and not re.search(blocks, body):
        return "1"
    places = re.findall(rf"\b(\w+)\s*=(?!=)[^;,=]*(?:{blocks})", body)
    begun = "|".join(places) or "(?!)"
    places += re.findall(rf"\b(\w+)\s*=\s*(?:(?:{begun})\s*\+\s*\w+|\w+\s*\+\s*(?:{begun}))\s*[;,]", body)
    found = {**dict.fromkeys(places, 1), **_warps(places, body)}
    for guards in (body, " ".join(_LEFT.findall(body))):
        said = {one for place, lanes in found.items() for one in _limits(place, lanes, names, guards)}
        if len(said) == 1:
            return said.pop()
    return None


def _warps(places: Sequence[str], body: str) -> dict[str, int]:
    """The names for a number of a warp through all blocks, with how many threads each has."""
    numbered = rf"\b(?:{'|'.join(places) or '(?!)'})\b"
    warp = r"(?:/\s*(?:32|warpSize|\w*WARP_?SIZE\w*)|>>\s*5)"
    found = re.findall(rf"\b(\w+)\s*=(?!=)\s*(?:{numbered}|\([^;]*\bblockDim\b[^;]*\))\s*{warp}\s*[;,]", body)
    return dict.fromkeys(found, 32)


def _limits(place: str, lanes: int, names: Sequence[str], body: str) -> set[str]:
    """Up to where a guard says that there is work; a size that others are taken from where none is said alone.

    What is below a margin is left out too: `if (x < border || x >= width - border) return;`.
    """
    most = rf"({_PRODUCT}|\d+)\b"
    inside = rf"(?<!\|\|)(?<!\|\|\s)\b{place}\s*<\s*{most}(?!\s*\|\|)"
    for behind in (r"(?!\s*[-+*/.(\[])", r"(?=\s*-\s*\w)"):
        texts = re.findall(inside + behind, body) + re.findall(rf"\b{place}\s*>=\s*{most}{behind}", body)
        numbers = {text for text in texts if text.isdecimal() and int(text) >= SMALL}
        found = numbers | {product for text in texts if (product := of_sizes(text, names, body))}
        if found:
            return {one if lanes == 1 else f"{lanes} * {one}" for one in found}
    return set()


def of_sizes(product: str, names: Sequence[str], body: str) -> str:
    """A product over the sizes, also by names that the text sets to what these make; empty where of others too."""
    factors = list[str]()
    for name in re.findall(r"\w+", product):
        said = [name] if name in names else re.findall(rf"(?<![\w.>]){name}\s*[-+*/]?=(?!=)\s*([^;,]*)[;,]", body)
        said = [without_number_casts(one).strip() for one in said]
        made = re.findall(r"\w+", said[0]) if len(said) == 1 and re.fullmatch(_PRODUCT, said[0]) else []
        if len(said) == 1 and not made:
            made = _over_sizes(said[0], names)
        if not made or not {*re.findall(r"[A-Za-z_]\w*", " ".join(made))} <= {*names}:
            return ""
        factors += made
    return " * ".join(factors)


def _over_sizes(text: str, names: Sequence[str]) -> list[str]:
    """A number that sizes make by other arithmetic, as `(n + 2 * pad - k) / stride + 1`; nothing for any other."""
    try:
        node = arithmetic(text)
    except (NotArithmetic, RecursionError):
        return []
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    is_plain = all(
        isinstance(one, ast.BinOp | ast.Name | ast.Constant | ast.operator | ast.expr_context) for one in ast.walk(node)
    )
    return [f"({ast.unparse(node)})"] if found and found <= {*names} and is_plain else []
