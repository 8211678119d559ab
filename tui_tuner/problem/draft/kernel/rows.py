"""The axes of a grid whose blocks have a row each, or another element, where a kernel's own text says so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.extents import array_shape, elements_along, of_sizes
from tui_tuner.problem.draft.kernel.guesses import AXES, TOLD_APART, dimensions, size_names
from tui_tuner.problem.signature import KernelSignature

_ASKS_ALL = re.compile(r"\bget_global_id\b|\bthis_grid\b")
"""What a kernel says that numbers its threads through all blocks."""
_OF_BLOCKS = re.compile(
    r"\bblockIdx\b|\bgridDim\b|\bget_(?:group|global)_id\b|\b\w*(?:grid|cluster|block_index|group_index)\w*\s*\("
)
"""What a kernel says in whose blocks different things are done; all would do the same where it says none of it."""
_OF_BLOCK = re.compile(r"block|tile|threads|group", re.IGNORECASE)
"""In names of sizes that may be the block's extent."""


def with_blocks_of_rows(launch: DraftedLaunch | None, signature: KernelSignature) -> DraftedLaunch | None:
    """A launch of which nobody says the grid, with a block for each row, where the kernel tells rows apart by blocks.

    As in `int row = blockIdx.x; for (int i = threadIdx.x; i < n; i += blockDim.x) y[row * n + i] = ...`. Where it tells
    threads apart and no blocks, there is one of these: several would do the same at the same places.
    """
    body = without_number_casts(signature.body)
    found = {axis for axis in range(dimensions(signature)) if _has_a_row(axis, signature, body)}
    is_alone = not found and TOLD_APART.search(body) and not _OF_BLOCKS.search(body)
    found = {*range(dimensions(signature))} if is_alone else found
    if (launch is not None and "problem_size" in launch.keys) or not found or _ASKS_ALL.search(body):
        return launch
    said = launch or DraftedLaunch(line=0)
    names = size_names(signature)
    usual = elements_along(signature)
    counted = [_rows(axis, names, body, one) if axis in found else one for axis, one in enumerate(usual)]
    counted = ["1"] * len(usual) if is_alone else counted
    divided = {f"grid_div_{AXES[axis]}": ["1"] for axis in sorted(found)}
    alone = {} if TOLD_APART.search(body) else {"block_size": ["1"] * len(usual)}
    return replace(
        said,
        keys={"problem_size": counted, **divided, **alone, **said.keys},
        sizes={**dict.fromkeys(names), **said.sizes},
        values={**{name: name for name in names}, **said.values},
    )


def shapes_of_rows(signature: KernelSignature) -> dict[str, str]:
    """How many elements the arrays of such a kernel are taken for where nothing says it."""
    arrays = [one for one in signature.parameters if one.is_array and not one.is_list]
    return {one.name: " * ".join(array_shape(signature, one, "")) for one in arrays}


def _block(axis: int, body: str) -> str:
    """The pattern of a block's number along an axis, also by a name that stands for it alone."""
    place = rf"(?:\bblockIdx\s*\.\s*{AXES[axis]}\b|\bget_group_id\s*\(\s*{axis}\s*\))"
    names = re.findall(rf"\b(\w+)\s*=\s*{place}\s*[;,]", body)
    only = [one for one in names if len(re.findall(rf"\b{one}\s*(?:[-*/%&|^]|<<|>>)?=(?!=)", body)) == 1]
    return "|".join((place, *(rf"(?<![\w.>]){one}\b(?!\s*[\[(])" for one in only)))


def _has_a_row(axis: int, signature: KernelSignature, body: str) -> bool:
    """Whether a block's number says a row, and never a share of the elements as long as the block."""
    block, names = f"(?:{_block(axis, body)})", size_names(signature)
    if any(of_sizes(one, names, body) for one in re.findall(rf"{block}\s*(?:<|>=)\s*(\w+)", body)):
        return True
    if re.search(rf"{block}\s*<<|mul24\s*\([^()]*{block}", body):
        return False
    factors = re.findall(rf"{block}\s*\*\s*(\(?[\w.]*)", body) + re.findall(rf"(\w+\)?)\s*\*\s*{block}", body)
    if not all(of_sizes(one, names, body) and not _OF_BLOCK.search(one) for one in factors):
        return False
    uses = rf"\[\s*{block}\s*\]|{block}\s*[/%]|\+\s*{block}\s*(?:[;,)\]]|\)\s*\*)"
    return bool(factors) or re.search(uses, body) is not None


def _rows(axis: int, names: Sequence[str], body: str, usual: str) -> str:
    """How many rows there are: up to what a guard says, or what is multiplied by before the row's number is added.

    Where neither says it, the first size that nothing is multiplied by: the rows lie behind each other.
    """
    block = f"(?:{_block(axis, body)})"
    if re.search(rf"{block}\s*(?:<|>=)", body):
        return usual
    before = [one for text in re.findall(rf"\*\s*(\w+)\s*\+\s*{block}", body) if (one := of_sizes(text, names, body))]
    if before:
        return before[0]
    inner = {*re.findall(r"\*\s*(\w+)", body), *re.findall(r"\b(\w+)\s*\*", body)}
    return next((one for one in names if one not in inner), usual)
