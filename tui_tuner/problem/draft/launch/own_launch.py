"""The launch of a kernel that nobody launches, by its own text: rows of blocks, threads by macros or a template."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tui_tuner.problem.draft.drafted_launch import MOST_THREADS, DraftedLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.block_rows import or_named
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.device_words import is_warp
from tui_tuner.problem.draft.kernel.extents import array_shape, elements_along, of_sizes
from tui_tuner.problem.draft.kernel.guesses import (
    AXES,
    TOLD_APART,
    block_dimensions,
    dimensions,
    extents_around,
    size_names,
)
from tui_tuner.problem.draft.kernel.shared_arrays import threads_held
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import name_in, split_list

_ASKS_ALL = re.compile(r"\bget_global_id\b|\bthis_grid\b")
"""What a kernel says that numbers its threads through all blocks."""
_OF_BLOCKS = re.compile(
    r"\bblockIdx\b|\bgridDim\b|\bget_(?:group|global)_id\b|\b\w*(?:grid|cluster|block_index|group_index)\w*\s*\("
)
"""What a kernel says in whose blocks different things are done; all would do the same where it says none of it."""
_OF_BLOCK = re.compile(r"block|tile|threads|group", re.IGNORECASE)
"""In names of sizes that may be the block's extent."""
_ASKS = re.compile(r"\bblockDim\b|\bget_local_size\b")
"""What a kernel says that other blocks suit, whatever its macros are."""
_WARP, _USUAL = 32, 256


def own_block(signature: KernelSignature, program: HostProgram) -> DraftedLaunch | None:
    """What the text says of the block, as in `get_group_id(0) * TILE + get_local_id(0)` with `#define TILE 16`.

    A number in the place of the macro is the block's extent, and nothing to tune. Nothing where it does not say it for
    each axis, or where threads go through a tile by other steps.

    Args:
        program: the kernel's file.
    """
    body = without_number_casts(signature.body)
    if _ASKS.search(program.without_macros(body)) or signature.work_group is not None:
        return None
    made = [_numbered_by(axis, body) for axis in range(block_dimensions(signature))]
    place, words = len(program.code), frozenset(re.findall(r"\w+", body))
    numbers = {name: program.number(name, place) or 0 for name in made if name in program.own_numbers}
    numbers |= {text: int(text) for text in made if text.isdecimal()}
    is_block = all(number > 1 and not is_warp(name, number, words) for name, number in numbers.items())
    if {*made} != numbers.keys() or not is_block or any(_is_gone_through(name, body) for name in numbers):
        return None
    if math.prod(numbers[name] for name in made) > MOST_THREADS:
        return None
    defaults = {name: number for name, number in numbers.items() if not name.isdecimal()}
    tunables = {name: extents_around(number) for name, number in defaults.items()}
    rows = dict(_rows_of_blocks(made, body, dimensions(signature)))
    return DraftedLaunch(line=0, keys={"block_size": [*made], **rows}, tunables=tunables, defaults=defaults)


def block_of_template(signature: KernelSignature, program: HostProgram, template: str) -> DraftedLaunch | None:
    """A launch whose block is numbers of the template, each a tunable then; None where none of these is its extent.

    As in `template <int N> ... { __shared__ float s[N]; s[threadIdx.x] = ...; for (int i = threadIdx.x; ...; i += N)`.

    Args:
        program: the kernel's file.
        template: the arguments of the template, as in "<float,256>".
    """
    given = dict(zip(map(name_in, signature.template), split_list(template[1:-1]), strict=False))
    numbers = {name: int(text) for name, text in given.items() if text.isdecimal()}
    made = list(_extents(signature, program, numbers)) if numbers and signature.work_group is None else []
    if not made or any(one not in numbers for one in made) or "block_size_x" in signature.body:
        return None
    if len(made) == 1 and numbers[made[0]] < _WARP:
        numbers[made[0]] = _USUAL  # the guess at a number of which nothing is known
    words = frozenset(re.findall(r"\w+", signature.body))
    if any(is_warp(one, numbers[one], words) for one in made) or math.prod(numbers[one] for one in made) > MOST_THREADS:
        return None
    tiles = {name: f"block_size_{axis}" for axis, name in reversed([*zip(AXES, made, strict=False)])}
    rows = _rows_of_blocks(made, without_number_casts(signature.body), dimensions(signature))
    divisors = {key: [tiles[one] for one in names] for key, names in rows}
    return DraftedLaunch(
        line=0,
        template=f"<{','.join(tiles.get(name, text) for name, text in given.items())}>",
        keys={"block_size": [tiles[one] for one in made], **divisors},
        tunables={tile: extents_around(numbers[name]) for name, tile in tiles.items()},
        defaults={tile: numbers[name] for name, tile in tiles.items()},
    )


def _extents(signature: KernelSignature, program: HostProgram, names: Collection[str]) -> Iterator[str]:
    """The number of the template that is the block's extent along each axis; empty for an axis of which none is."""
    body, known = without_number_casts(signature.body), [*names]
    asks = _ASKS.search(program.without_macros(body)) is not None
    held = threads_held(body, lambda extent: known.index(extent.strip()) + 1 if extent.strip() in known else None)
    axes = block_dimensions(signature)
    for axis in range(axes):
        alone = _gone_on_by(body, known) or _bound(signature) if axes == 1 else ""
        own = "" if asks else _numbered_by(axis, body)
        yield own or (known[held[AXES[axis]] - 1] if AXES[axis] in held else alone)


def _gone_on_by(body: str, names: Collection[str]) -> str:
    """The only one of the names by which loops go on that begin at a thread's number in the block."""
    thread = or_named(r"\bthreadIdx\s*\.\s*x\b", body)
    steps = rf"\bfor\s*\([^;]*=\s*{thread}\s*;[^;]*;[^;)]*\+=\s*(\w+)\s*\)"
    found = {*re.findall(steps, body)}
    return found.pop() if len(found) == 1 and found <= {*names} else ""


def _bound(signature: KernelSignature) -> str:
    """What `__launch_bounds__` says of the threads."""
    return (signature.launch_bounds or "").split(",")[0].strip()


def _rows_of_blocks(extents: Sequence[str], body: str, axes: int) -> Iterator[tuple[str, list[str]]]:
    """What blocks cover along axes that they have no threads along: as much as they are long, as `64 * blockIdx.y`."""
    for index in range(len(extents), axes):
        blocks = or_named(_number_of_block(index), body)
        factors = re.findall(rf"{blocks}\s*\*\s*(\w+)", body) + re.findall(rf"\b(\w+)\s*\*\s*{blocks}", body)
        if len({*factors}) == 1 and factors[0] in extents:
            yield f"grid_div_{AXES[index]}", [factors[0]]


def _number_of_block(axis: int) -> str:
    """The pattern of a block's number along an axis."""
    return rf"(?:\bblockIdx\s*\.\s*{AXES[axis]}\b|\bget_group_id\s*\(\s*{axis}\s*\))"


def _numbered_by(axis: int, body: str) -> str:
    """The only factor, a name or a number, of the block's number along an axis, where that makes the thread's of all.

    A kernel that asks for that too, by `get_global_id`, has as many threads in a block.
    """
    thread = rf"(?:\bthreadIdx\s*\.\s*{AXES[axis]}\b|\bget_local_id\s*\(\s*{axis}\s*\))"
    blocks, threads = (or_named(one, body) for one in (_number_of_block(axis), thread))
    product = rf"(?:{blocks}\s*\*\s*(?P<before>\w+)|\b(?P<behind>\w+)\s*\*\s*{blocks})"
    found = {one["before"] or one["behind"] for one in re.finditer(product, body)}
    if len(found) != 1:
        return ""
    [name] = found
    begin = or_named(rf"\(?\s*(?:{blocks}\s*\*\s*{name}|{name}\s*\*\s*{blocks})\s*\)?", body)
    sums = rf"{begin}\s*\+\s*{threads}|{threads}\s*\+\s*{begin}|\bget_global_id\s*\(\s*{axis}\s*\)"
    return name if re.search(sums, body) else ""


def _is_gone_through(name: str, body: str) -> bool:
    """Whether a loop goes up to a macro by other steps than one, so that fewer threads may go through it."""
    steps = rf"\bfor\s*\([^;]*;[^;]*<\s*{name}\b[^;]*;[^)]*\+=\s*(?!{name}\b|1\b)\w"
    return re.search(steps, body) is not None


def with_blocks_of_rows(launch: DraftedLaunch | None, signature: KernelSignature) -> DraftedLaunch | None:
    """A launch of which nobody says the grid, with a block for each row, where the kernel tells rows apart by blocks.

    As in `int row = blockIdx.x; for (int i = threadIdx.x; i < n; i += blockDim.x) y[row * n + i] = ...`. Where it tells
    threads apart and no blocks, there is one of these: several would do the same at the same places. A launch in a
    comment says the grid; the other sizes are the kernel's.
    """
    if launch is not None and launch.comment_line:
        return _with_sizes(launch, signature)
    body = without_number_casts(signature.body)
    found = {axis for axis in range(dimensions(signature)) if _has_a_row(axis, signature, body)}
    is_alone = not found and TOLD_APART.search(body) and not _OF_BLOCKS.search(body)
    found = {*range(dimensions(signature))} if is_alone else found
    if (launch is not None and "problem_size" in launch.keys) or not found or _ASKS_ALL.search(body):
        return launch
    said = _with_sizes(launch or DraftedLaunch(line=0), signature)
    names = size_names(signature)
    usual = elements_along(signature)
    counted = [_rows(axis, names, body, one) if axis in found else one for axis, one in enumerate(usual)]
    counted = ["1"] * len(usual) if is_alone else counted
    divided = {f"grid_div_{AXES[axis]}": ["1"] for axis in sorted(found)}
    alone = {} if TOLD_APART.search(body) else {"block_size": ["1"] * len(usual)}
    return replace(said, keys={"problem_size": counted, **divided, **alone, **said.keys})


def _with_sizes(launch: DraftedLaunch, signature: KernelSignature) -> DraftedLaunch:
    """The launch with the sizes that the kernel is passed."""
    words = {*re.findall(r"\w+", " ".join(map(str, [signature.body, *launch.keys.values()])))}
    names = [name for name in size_names(signature) if name in words or not launch.comment_line]
    return replace(
        launch,
        sizes={**dict.fromkeys(names), **launch.sizes},
        values={**{name: name for name in names}, **launch.values},
    )


def shapes_of_rows(signature: KernelSignature) -> dict[str, str]:
    """How many elements the arrays of such a kernel are taken for where nothing says it."""
    arrays = [one for one in signature.parameters if one.is_array and not one.is_list]
    return {one.name: " * ".join(array_shape(signature, one, "")) for one in arrays}


def _block(axis: int, body: str) -> str:
    """The pattern of a block's number along an axis, also by a name that stands for it alone."""
    place = _number_of_block(axis)
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
