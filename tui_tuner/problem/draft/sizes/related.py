"""What sizes are to each other: whole multiples of those that divide them, rows no longer than they lie apart."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tui_tuner.problem.draft.arithmetic.worked_out import words_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.kernel.guesses import size_names
from tui_tuner.problem.draft.sizes.feasible import value_of
from tui_tuner.problem.signature import KernelSignature

_DIVIDED = re.compile(r"(?<![\w.*/%])([A-Za-z_][\w.]*)\s*/\s*([A-Za-z_][\w.]*)\b(?!\s*\*)")


def with_divided_sizes(launch: DraftedLaunch, signature: KernelSignature) -> DraftedLaunch:
    """The launch with each size a multiple of one by which the kernel divides it without rounding up, as `C / groups`.

    Not where the host's own numbers leave a remainder, or the kernel asks for it.
    """
    multiples = dict(launch.multiples)
    for name, by in sorted({*_divided(launch, signature)}):
        said = multiples.get(name, "")
        if by not in words_in(said):
            multiples[name] = f"{said} * {by}" if said else by
    return replace(launch, multiples=multiples)


def _divided(launch: DraftedLaunch, signature: KernelSignature) -> Iterator[tuple[str, str]]:
    values = launch.values or {name: name for name in size_names(signature)}
    sizes = launch.sizes or dict.fromkeys(map(str, values.values()))
    for own, other in _DIVIDED.findall(signature.body):
        name, by = str(values.get(own)), str(values.get(other))
        if name not in sizes or by not in sizes or name == by or _asks_for_rest(own, other, signature):
            continue
        if _is_whole(sizes[name], sizes[by]):
            yield name, by


def _is_whole(number: int | None, by: int | None) -> bool:
    return number is None or (by is not None and number % max(1, by) == 0)


def _asks_for_rest(name: str, by: str, signature: KernelSignature) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}\s*%\s*{re.escape(by)}\b", signature.body) is not None


def keep_whole(sizes: dict[str, int], multiples: Mapping[str, str]) -> None:
    """Let sizes be whole multiples of what is said of each: the nearest below, or the least."""
    for _ in multiples:  # one may be a multiple of another that is made one of a third
        for name, text in multiples.items():
            by = int(value_of(text, sizes))
            if by > 1 and name in sizes:
                sizes[name] = max(by, sizes[name] // by * by)


def keep_rows_apart(
    sizes: dict[str, int], timed: Mapping[str, int], rows: Collection[tuple[str, str]], multiples: Mapping[str, str]
) -> None:
    """Let rows lie no closer to each other than they are long, where they do not in what is timed.

    Args:
        rows: by which size rows lie apart, with that which says how long they are.
    """
    for apart, length in rows:
        if apart in sizes and length in sizes and timed[apart] >= timed[length] and sizes[apart] < sizes[length]:
            by = max(1, int(value_of(multiples.get(apart, "1"), sizes)))
            sizes[apart] = math.ceil(sizes[length] / by) * by
