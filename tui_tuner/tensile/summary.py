"""From the tables of a run to what is kept of it: the ranking at each size, and what each value went with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tui_tuner.tensile.document.configuration import Configuration, SizeGroup
from tui_tuner.tensile.identify import identified
from tui_tuner.tensile.outcome import Contender, SizeOutcome, ValueEffect, Values
from tui_tuner.tensile.results.table import GroupTable, SizeRow
from tui_tuner.tensile.values import same

_RANKED, _SLOWEST = 8, 3
_MANY_SIZES = 40
"""From so many on, less is kept of each."""
Size = tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """What is kept of the tables of one run."""

    sizes: list[SizeOutcome]
    effects: list[ValueEffect]
    notes: list[str]


def summarise(configuration: Configuration, tables: Sequence[GroupTable], names: Sequence[str] = ()) -> Summary:
    """Summarise the tables of a run of this configuration.

    A size that stands in several rows, for several biases or repeats, counts with the median of each solution.

    Args:
        names: of the size groups' tables in the order in which Tensile ran them, where it told them.
    """
    sizes: list[SizeOutcome] = []
    effects: list[ValueEffect] = []
    notes = [f"{table.name}: {note}" for table in tables for note in table.notes]
    many = configuration.sizes > _MANY_SIZES
    for group, table in _assigned(configuration, tables, names, notes):
        values = {name: identified(group, solution) for name, solution in table.solutions.items()}
        speeds = _speeds(table)
        for size, rows in _by_size(table).items():
            sizes.append(_size_outcome(group.number, size, speeds[size], rows, values, short=many))
        effects += _effects(group, speeds, values)
    return Summary(sizes, effects, notes)


def _assigned(
    configuration: Configuration, tables: Sequence[GroupTable], names: Sequence[str], notes: list[str]
) -> list[tuple[SizeGroup, GroupTable]]:
    """Each size group with its table: by its number in its problem; where problems share numbers by what Tensile told
    of its name, else by its sizes and its problem type.
    """
    left = list(tables)
    found: list[tuple[SizeGroup, GroupTable]] = []
    for group in configuration.size_groups:
        told = names[group.number] if group.number < len(names) else ""
        fitting = [table for table in left if table.number == group.place]
        likeness = [(table.name == told, _sizes_fit(group, table), _types_fit(group, table)) for table in fitting]
        chosen = fitting[likeness.index(max(likeness))] if fitting else None
        if chosen is None:
            notes.append(f"size group {group.number} has no results")
            continue
        left.remove(chosen)
        found.append((group, chosen))
    return found


def _sizes_fit(group: SizeGroup, table: GroupTable) -> bool:
    measured = {row.size for row in table.rows}
    return all(any(row[: len(size)] == size[: len(row)] for row in measured) for size in group.sizes.listed)


def _types_fit(group: SizeGroup, table: GroupTable) -> int:
    """How much of a group's problem type a table tells: in its name (`Cijk_Alik_Bljk_HHS_BH_00`), in its solutions."""
    wanted = group.problem_type
    solution: Mapping[str, object] = next(iter(table.solutions.values()), {})
    told = solution.get("ProblemType")
    alike = sum(told.get(key) == value for key, value in wanted.items()) if isinstance(told, Mapping) else 0
    parts = table.name.upper().split("_")
    return alike + (len(parts) > 3 and parts[3].startswith(str(wanted.get("DataType", "S")).upper()))


def _by_size(table: GroupTable) -> dict[Size, list[SizeRow]]:
    found: dict[Size, list[SizeRow]] = defaultdict(list)
    for row in table.rows:
        found[row.size].append(row)
    return dict(found)


def _speeds(table: GroupTable) -> dict[Size, dict[str, float]]:
    """GFLOP/s of every solution that has one, at every size."""
    found: dict[Size, dict[str, float]] = {}
    for size, rows in _by_size(table).items():
        told: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            for name, speed in row.gflops.items():
                if speed is not None and speed > 0:
                    told[name].append(speed)
        bad = {name for row in rows for name in row.failed}
        found[size] = {name: median(speeds) for name, speeds in told.items() if name not in bad}
    return found


def _size_outcome(
    number: int,
    size: Size,
    speeds: Mapping[str, float],
    rows: Sequence[SizeRow],
    values: Mapping[str, Values],
    *,
    short: bool,
) -> SizeOutcome:
    order = sorted(speeds, key=lambda name: (-speeds[name], name))
    best, worst = (3, 1) if short else (_RANKED, _SLOWEST)

    def contenders(names: Sequence[str]) -> list[Contender]:
        return [Contender(solution=name, values=values[name], gflops=round(speeds[name], 3)) for name in names]

    times = [row.microseconds for row in rows if order and row.winner == order[0] and row.microseconds is not None]
    return SizeOutcome(
        group=number,
        size=list(size),
        ranked=contenders(order[:best]),
        slowest=contenders(order[best:][-worst:]),
        measured=len(order),
        failed=len({name for row in rows for name in row.failed}),
        microseconds=round(median(times), 3) if times else None,
    )


def _effects(
    group: SizeGroup, speeds: Mapping[Size, Mapping[str, float]], values: Mapping[str, Values]
) -> list[ValueEffect]:
    """For each value of each varied parameter the best and the median solution with it, as a share of the winner."""
    found: list[ValueEffect] = []
    for name in group.varied:
        for value in group.values_of(name):
            having = {solution for solution, held in values.items() if name in held and same(held[name], value)}
            best: list[float] = []
            middle: list[float] = []
            for told in speeds.values():
                ours = [told[solution] for solution in having if solution in told]
                if ours:
                    best.append(max(ours) / max(told.values()))
                    middle.append(median(ours) / max(told.values()))
            if best:
                shares = {"best": round(fmean(best), 4), "median": round(fmean(middle), 4)}
                found.append(
                    ValueEffect(group=group.number, parameter=name, value=value, solutions=len(having), **shares)
                )
    return found
