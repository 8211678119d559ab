"""One configuration on several GPUs: its problem sizes dealt out, a Tensile for each GPU, and the results put together.

Each GPU has every permutation and a part of the sizes, always the same part; so what is compared at a size was measured
on one GPU. Every Tensile builds its kernels by itself.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tui_tuner.errors import UserError
from tui_tuner.tensile.document import BenchmarkConfiguration, value_text
from tui_tuner.tensile.document.reading import FINAL, parse_configuration, parse_sizes
from tui_tuner.tensile.document.yaml_text import loaded
from tui_tuner.tensile.library import read_logic
from tui_tuner.tensile.library.files import LOGIC
from tui_tuner.tensile.library.merging import merged
from tui_tuner.tensile.measure import OUTPUT, TensileBench, measure
from tui_tuner.tensile.outcome import GroupOutcome, RoundOutcome, ValueEffect

_SIZES = "ProblemSizes"


@dataclass(frozen=True)
class Share:
    """What one GPU measures.

    Attributes:
        device: its number.
        groups: numbers that its size groups have in the whole configuration.
        sizes: text of its file of sizes, with the alternate format.
    """

    device: int
    configuration: BenchmarkConfiguration
    groups: tuple[int, ...]
    sizes: str | None = None


def shares(configuration: BenchmarkConfiguration, devices: Sequence[int], sizes: str | None = None) -> list[Share]:
    """The parts of a configuration, for as many of the GPUs as there are sizes to deal out.

    Args:
        sizes: text of the file of sizes with the alternate format.
    """
    dealt = (_share(configuration, place, devices, sizes) for place in range(len(devices)))
    return [share for share in dealt if share is not None]


def _share(
    configuration: BenchmarkConfiguration, place: int, devices: Sequence[int], sizes: str | None
) -> Share | None:
    document = loaded(configuration.text)
    document["GlobalParameters"] = {**(document.get("GlobalParameters") or {}), "Device": devices[place]}
    numbers: tuple[int, ...] = (0,)
    own = None
    if configuration.alternate:
        dealt = (loaded(sizes or "[]") or [])[place :: len(devices)]
        own = yaml.safe_dump(dealt, sort_keys=False)
        if not dealt:
            return None
    else:
        numbers = tuple(_deal(document, place, len(devices)))
        if not numbers:
            return None
    text = yaml.safe_dump(document, sort_keys=False)
    parsed = None if own is None else parse_sizes(own, configuration.file)
    return Share(devices[place], parse_configuration(text, configuration.file, parsed), numbers, own)


def _deal(document: dict[str, Any], place: int, count: int) -> Iterator[int]:
    """Leave every so many of the sizes in a document; the numbers of the groups that have some."""
    number, problems = 0, []
    for problem, *groups in document["BenchmarkProblems"]:
        kept = []
        for group in groups:
            if _leave(group, place, count):
                kept.append(group)
                yield number
            number += 1
        problems += [[problem, *kept]] if kept else []
    document["BenchmarkProblems"] = problems


def _leave(group: dict[str, Any], place: int, count: int) -> bool:
    """Whether sizes are left in a group."""
    finals = [entry for entry in group.get(FINAL) or [] if isinstance(entry, dict) and entry.get(_SIZES)]
    for entry in finals:
        entry[_SIZES] = entry[_SIZES][place::count]
    return any(entry[_SIZES] for entry in finals)


async def measure_on_all(
    bench: TensileBench, configuration: BenchmarkConfiguration, directory: Path, on_line: Callable[[str], None]
) -> RoundOutcome:
    """As `measure`, on all GPUs of the bench at once; on the one that Tensile takes where none is named."""
    if not bench.devices:
        return await measure(bench, configuration, directory, on_line)
    parts = shares(configuration, bench.devices, bench.sizes)
    tasks = [asyncio.create_task(_measured(bench, part, directory, on_line)) for part in parts]
    try:
        outcomes = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    outcome = together(configuration, parts, outcomes)
    notes = [] if outcome.failure else await asyncio.to_thread(_join_logic, directory, parts)
    return outcome.model_copy(update={"notes": [*outcome.notes, *notes]})


async def _measured(bench: TensileBench, part: Share, directory: Path, on_line: Callable[[str], None]) -> RoundOutcome:
    own = replace(bench, sizes=part.sizes)
    place = directory / f"gpu{part.device}"

    def tell(line: str) -> None:
        on_line(f"GPU {part.device}: {line}" if any(map(str.isalpha, line)) else line)

    return await measure(own, part.configuration, place, tell)


def together(
    configuration: BenchmarkConfiguration, parts: Sequence[Share], outcomes: Sequence[RoundOutcome]
) -> RoundOutcome:
    """One outcome from those of all GPUs; where one of them gave no results, its failure is that of the run."""
    pairs = list(zip(parts, outcomes, strict=True))
    failed = next(((part, one.failure) for part, one in pairs if one.failure is not None), None)
    places = {(group.number, tuple(size)): at for group in configuration.size_groups
              for at, size in enumerate(group.sizes.listed)}  # fmt: skip
    sizes = [size.model_copy(update={"group": part.groups[size.group]}) for part, one in pairs for size in one.sizes]
    return RoundOutcome(
        seconds=max(one.seconds for one in outcomes),
        groups=_groups(configuration, pairs),
        sizes=sorted(sizes, key=lambda size: (size.group, places.get((size.group, tuple(size.size)), len(places)))),
        effects=list(_effects(pairs)),
        phases={name: max(one.phases.get(name, 0.0) for one in outcomes) for name in outcomes[0].phases},
        device=next((one.device for one in outcomes if one.device), ""),
        failure=None if failed is None else failed[1].model_copy(
            update={"message": f"GPU {failed[0].device}: {failed[1].message}"}
        ),
        notes=[f"GPU {part.device}: {note}" for part, one in pairs for note in one.notes],
    )  # fmt: skip


def _groups(configuration: BenchmarkConfiguration, pairs: Iterable[tuple[Share, RoundOutcome]]) -> list[GroupOutcome]:
    """Each size group as the first GPU told it that had it: all build the same permutations."""
    told: dict[int, GroupOutcome] = {}
    for part, outcome in pairs:
        for group in outcome.groups:
            number = part.groups[group.group]
            told.setdefault(number, group.model_copy(update={"group": number}))
    return [
        told.get(group.number, GroupOutcome(group=group.number, permutations=group.permutations))
        for group in configuration.size_groups
    ]


def _effects(pairs: Iterable[tuple[Share, RoundOutcome]]) -> Iterator[ValueEffect]:
    """The mean over all sizes, from those over the sizes of each GPU."""
    found: defaultdict[tuple[int, str, str], list[tuple[int, ValueEffect]]] = defaultdict(list)
    for part, outcome in pairs:
        for effect in outcome.effects:
            weight = sum(size.group == effect.group and bool(size.ranked) for size in outcome.sizes)
            number = part.groups[effect.group]
            found[number, effect.parameter, value_text(effect.value)].append((max(1, weight), effect))
    for (number, _, _), told in found.items():
        total = sum(weight for weight, _ in told)
        yield told[0][1].model_copy(
            update={
                "group": number,
                "best": round(sum(weight * one.best for weight, one in told) / total, 6),
                "median": round(sum(weight * one.median for weight, one in told) / total, 6),
                "solutions": max(one.solutions for _, one in told),
            }
        )


def _join_logic(directory: Path, parts: Sequence[Share]) -> list[str]:
    """Merge the library logic of all GPUs to where a run of one leaves it; returns why that failed, if it did."""
    target = directory / OUTPUT / LOGIC
    found: defaultdict[str, list[Path]] = defaultdict(list)
    for part in parts:
        for file in sorted((directory / f"gpu{part.device}" / OUTPUT / LOGIC).glob("*.yaml")):
            found[file.name].append(file)
    try:
        for name, files in found.items():
            logic = read_logic(files[0])
            for file in files[1:]:
                logic = merged(logic, read_logic(file)).logic
            target.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(logic.text(), encoding="utf-8")
    except (UserError, OSError) as error:
        return [f"the library logic of the GPUs is not put together: {error}"]
    return []
