"""Sizes that are small numbers: what their names, the host's arithmetic and the kernel's text say."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.guesses import AXES, size_names
from tui_tuner.problem.signature import KernelSignature

_FILTER, _STEP = 9, 1
"""What is taken for the extent of a filter, which no array is as long as, and for how far it goes at once."""
_RATIO, _POOLED = 2, 7
"""What is taken for how many times as many there are, and for the places that a region of a picture is pooled to."""
_EXPONENT = 10
_IN_A_BYTE = 16
"""What is taken for a size that a kernel takes in a byte."""
_COLOURS, _CHOSEN, _TOGETHER = 3, 8, 16
"""What is taken for the colours of a pixel, for how many are the largest or the nearest, or share a number."""
_BLOCKS = 1024
"""What is taken for a count of blocks whose threads share all elements, however many these are."""
_STATED = 1024
"""What the text says that a size is no larger than is what is taken for it up to here."""
_OF_A_FILTER = r"(?:width|height|depth|rows?|cols?|columns?|size|dim|length|len|w|h)"
_BY_NAME = {
    rf"(?:filter|mask|kernel|conv|window|win|stencil|pool|k)_?{_OF_A_FILTER}|k_?size|window": _FILTER,
    r"(?:max|min)_?rad(?:ius)?": _FILTER // 2,
    r"(?:.*_)?(?:radius(?:_(?:px|pixels?|cells?|[xyz]))?|half_?(?:width|window|size))": _FILTER // 2,
    r"min_\w+": 3,
    r"(?:filter|mask|kernel|conv|window|stencil|k)_?(?:radius|r)": _FILTER // 2,
    r"(?:.*_)?(?:dilation|pad(?:ding)?)(?:_?[xyhwd]\d?)?": _STEP,
    r"(?:.*_)?ratio|(?:up|down)(?:_?(?:sample|sampling|scale))?(?:_?[xyhwd])?": _RATIO,
    r"pooled_?(?:height|width|h|w|size)": _POOLED,
    r"(?:.*_)?labels?(?:_id)?|zero_?points?(?:_?\w+)?|(?:.*_)?shift": 3,
    r"top_?k|(?:max_?)?(?:num_?|n_?|k_?)?neighbou?rs?|knn": _CHOSEN,
    r"group_?size": _TOGETHER,
}
"""Names of sizes that are a few: kernels have room for no more, or they are no extents at all."""
_OF_COLOURS = re.compile(r"(?:n_?|num_?)?(?:channels?|components?|comps?|bands?)|ch|nch", re.IGNORECASE)
"""Names of how many colours a pixel has; without a host they may be what threads are counted by."""
_OF_STEPS = re.compile(r"(?:.*_)?(?:stride|step)(?:_?[xyhwd])?", re.IGNORECASE)
"""Names of how far a filter goes at once where there is one; else of how far rows lie apart."""
_SLID = re.compile(
    r"\b(?P<whole>[A-Za-z_]\w*)\s*-\s*(?:(?P<dilation>\w+)\s*\*\s*\(\s*)?(?P<filter>[A-Za-z_]\w*)\s*(?:-\s*1\s*\)\s*-\s*1\s*)?"
    r"(?:\)\s*//?\s*(?P<step>[A-Za-z_]\w*)\s*)?\+\s*\d+\b"
)
"""How many places a filter has, as `n - k + 1` and `(n + 2 * p - d * (k - 1) - 1) // s + 1`."""
_STEPS = re.compile(
    r"\b(?P<place>\w+)\s*=(?!=)\s*\(?\s*\w+\s*\*\s*(?P<step>[A-Za-z_]\w*)\s*\)?\s*(?:-\s*\w+\s*)?\+\s*(?P<within>\w+)\b"
)
"""Where a filter is, as `y = row * stride - pad + i`."""
_PADDED = re.compile(r"\+\s*2\s*\*\s*(\w+)\s*-\s*\w+\s*\)\s*//?")
BETWEEN_ROWS = re.compile(r"pitch|stride|^ld", re.IGNORECASE)
"""Names for how far rows lie apart, which name no size where another name is to be had."""
_BEGINS = re.compile(r"offset|first|start|begin|origin", re.IGNORECASE)
_OF_THE_LARGEST = re.compile(r"top_?k|knn|nearest|neighbou?r|select", re.IGNORECASE)


def few_of(launch: DraftedLaunch, signature: KernelSignature, names: Collection[str]) -> dict[str, int]:
    """Those of the sizes that are small numbers, with what is taken for them: no more than the text allows."""
    found = {name: value for name in names for value in named_few(name)} | _stepped(signature, names)
    found |= {name: _COLOURS for name in names if _OF_COLOURS.fullmatch(name)}
    found = {**{one: value for one, value in _slid(launch, signature) if one in names}, **found}
    found |= {one: _FILTER // 2 for one in names if is_radius(one, signature)}
    chosen = (one for one in names if one in ("k", "K") and one not in found and _is_few(one, launch, signature))
    found |= dict.fromkeys(chosen, _CHOSEN)
    found |= dict.fromkeys((one for one in names if _counts_blocks_that_share(one, launch, signature)), _BLOCKS)
    together = (one for one in names if one not in found and _divides_places(one, launch, signature))
    found |= dict.fromkeys(together, _TOGETHER)
    divided = " ".join(_counted(launch))
    steps = [name for name in names if _OF_STEPS.fullmatch(name)]
    is_slid = _STEP in found.values()
    found |= {name: _STEP for name in steps if is_slid or re.search(rf"//.*\b{name}\b", divided)}
    found |= dict.fromkeys(exponents_in(launch) & {*names}, _EXPONENT)
    of_bytes = {launch.values.get(one.name) for one in signature.parameters if one.dtype in ("int8", "uint8")}
    found |= {name: _IN_A_BYTE for name in names if name in of_bytes and name not in found}
    stated = {name: most for name, most in launch.most.items() if name in names and most <= _STATED}
    return found | {name: min(most, found.get(name, most)) for name, most in stated.items()}


def is_radius(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel goes from as far before a place as behind it, as in `for (int i = -r; i <= r; i++)`."""
    return re.search(rf"\bfor\s*\([^;]*=\s*-\s*{name}\s*;", signature.body) is not None


def few_alone(name: str, signature: KernelSignature) -> list[int]:
    """What a name or the kernel's own text says of a size where nobody launches it; nothing where it may be any."""
    is_chosen = name in ("k", "K") and _OF_THE_LARGEST.search(signature.name)
    said = [_FILTER // 2] if is_radius(name, signature) else [_CHOSEN] if is_chosen else []
    return named_few(name) or said or [*_stepped(signature, [name]).values()]


def _stepped(signature: KernelSignature, names: Collection[str]) -> dict[str, int]:
    """How far a filter goes at once, and how long it is, where the kernel asks whether it has left an array.

    As `stride` and `k` in `for (int i = 0; i < k; i++) { int y = row * stride + i; if (y < height) ... }`.
    """
    found: dict[str, int] = {}
    sizes = size_names(signature)
    for one in _STEPS.finditer(signature.body):
        counted = re.search(rf"\bfor\s*\([^;]*\b{one['within']}\s*=\s*0\s*;[^;]*<\s*(\w+)\s*;", signature.body)
        limits = re.findall(rf"\b{one['place']}\s*(?:<|>=)\s*([A-Za-z_]\w*)\b", signature.body)
        if counted and {*limits} & {*sizes} - {counted[1], one["step"]} and counted[1] != one["step"]:
            found |= {one["step"]: _STEP, counted[1]: _FILTER}
    named = [name for name in sizes if _OF_STEPS.fullmatch(name)]
    if any(_FILTER in named_few(name) for name in sizes):
        found |= dict.fromkeys(named, _STEP)
    return {name: few for name, few in found.items() if name in names and name in sizes}


def _counted(launch: DraftedLaunch) -> list[str]:
    """What the threads and the elements of arrays are counted by."""
    return [*launch.problem_size, *launch.shapes.values()]


def _divides_places(name: str, launch: DraftedLaunch, signature: KernelSignature) -> bool:
    """Whether the kernel only divides places by it, as `row / tile` to find what rows share: it is no extent."""
    extents = " ".join(_counted(launch))
    passed = "|".join(own for own, text in launch.values.items() if text == name and own.isidentifier()) or "(?!)"
    sizes = "|".join(map(re.escape, size_names(signature)))
    divides = rf"(?<![\w.])(?!(?:{sizes})\b)[A-Za-z_]\w*\s*/\s*(?:{passed})\b"
    reaches = rf"[*<>]=?\s*(?:{passed})\b|(?<!/)(?<!/ )\b(?:{passed})\s*\*"
    return (
        re.search(divides, signature.body) is not None
        and re.search(reaches, signature.body) is None
        and re.search(rf"\b{name}\b", extents) is None
    )


def _counts_blocks_that_share(name: str, launch: DraftedLaunch, signature: KernelSignature) -> bool:
    """Whether it says how many blocks there are along an axis, which the kernel asks for, and nothing else."""
    axes = zip(AXES, launch.problem_size, strict=False)
    counted = [axis for axis, text in axes if text == name and launch.keys.get(f"grid_div_{axis}") == ["1"]]
    asked = rf"\bgridDim\s*\.\s*(?:{'|'.join(counted) or '(?!)'})\b"
    return name not in launch.values.values() and re.search(asked, signature.body) is not None


def is_each_with_all(name: str, launch: DraftedLaunch, signature: KernelSignature) -> bool:
    """Whether there are as many threads as this size, and each goes through as many elements one by one."""
    passed = [own for own, text in launch.values.items() if text == name and own.isidentifier()]
    limits = "|".join(passed) or "(?!)"
    counted = (
        rf"\bfor\s*\([^;]*\b(\w+)\s*=\s*0\s*;\s*\1\s*<\s*(?:{limits})\s*;\s*(?:\+\+\s*\1|\1\s*\+\+|\1\s*\+=\s*1)\s*\)"
    )
    is_of_threads = launch.problem_size == [name] and launch.keys.get("grid_div_x") != ["1"]
    return is_of_threads and re.search(counted, signature.body) is not None


def named_few(name: str) -> list[int]:
    """What a name alone says that a size is; nothing where it may be any."""
    return [value for words, value in _BY_NAME.items() if re.fullmatch(words, name, re.IGNORECASE)][:1]


def usual_number(name: str) -> int:
    """What is taken for a scalar that comes from outside and no array is made of: 0 for where something begins."""
    return 0 if _BEGINS.search(name) else next(iter(named_few(name)), 1)


def exponents_in(launch: DraftedLaunch) -> set[str]:
    """The sizes of which nothing is known but that something is as large as two to their power."""
    said = [*launch.keys.values(), *launch.shapes.values(), *launch.values.values()]
    found = re.findall(r"\b2 \*\* (\w+)", " ".join(map(str, said)))
    return {name for name in found if launch.sizes.get(name, 0) is None}


def _slid(launch: DraftedLaunch, signature: KernelSignature) -> Iterator[tuple[str, int]]:
    """Sizes of a filter, of its steps and of what is added around an array, by how many places it has there."""
    sizes = {*launch.sizes, *size_names(signature)}
    for text in [*_counted(launch), signature.body]:
        for one in (found for found in _SLID.finditer(text) if found["whole"] in sizes):
            yield one["filter"], _FILTER
            yield from ((name, _STEP) for name in (one["dilation"], one["step"]) if name)
        yield from ((name, _STEP) for name in _PADDED.findall(text) if name in sizes)


def _is_few(name: str, launch: DraftedLaunch, signature: KernelSignature) -> bool:
    """Whether a `k` is how many are chosen, or how far away: no rows are as long, and it is none of m, n and k."""
    if _OF_THE_LARGEST.search(signature.name):
        return True
    sizes = {one.lower() for one in size_names(signature)}
    said = " ".join([*_counted(launch), signature.body])
    is_factor = re.search(rf"\*\s*\(?\s*{name}\b|\b{name}\s*(?:\)?\s*\*|//?\s*\d)", said)
    return is_factor is None and name not in launch.problem_size and not {"m", "n"} <= sizes
