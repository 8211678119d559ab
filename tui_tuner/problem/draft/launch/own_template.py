"""The block of a kernel that nobody launches, as far as a number of its template makes it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator

from tui_tuner.problem.draft.drafted_launch import MOST_THREADS, DraftedLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.block_rows import or_named
from tui_tuner.problem.draft.kernel.casts import without_number_casts
from tui_tuner.problem.draft.kernel.device_words import is_warp
from tui_tuner.problem.draft.kernel.guesses import AXES, block_dimensions, dimensions, extents_around
from tui_tuner.problem.draft.kernel.shared_arrays import threads_held
from tui_tuner.problem.draft.launch.own_launch import ASKS, numbered_by, rows_of_blocks
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import name_in, split_list

_WARP, _USUAL = 32, 256


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
    rows = rows_of_blocks(made, without_number_casts(signature.body), dimensions(signature))
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
    asks = ASKS.search(program.without_macros(body)) is not None
    held = threads_held(body, lambda extent: known.index(extent.strip()) + 1 if extent.strip() in known else None)
    axes = block_dimensions(signature)
    for axis in range(axes):
        alone = _gone_on_by(body, known) or _bound(signature) if axes == 1 else ""
        own = "" if asks else numbered_by(axis, body)
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
