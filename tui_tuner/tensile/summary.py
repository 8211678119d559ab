"""Tables of results against the configuration: rankings, effects of values, which permutation each solution is."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from tui_tuner.tensile.document import (
    Alternative,
    BenchmarkConfiguration,
    ParameterValue,
    Size,
    SizeGroup,
    same,
)
from tui_tuner.tensile.outcome import Contender, ParameterValues, SizeOutcome, ValueEffect
from tui_tuner.tensile.result_tables import GroupTable, ResultRow

INSTRUCTION = "MatrixInstruction"
_WORK_GROUP = "WorkGroup"
_AUTOMATIC = -1
"""A value by which Tensile is asked to choose one itself."""
_RANKED, _SLOWEST = 8, 3
_MANY_SIZES = 40
"""Sizes from which on less is kept of each."""


def identified(group: SizeGroup, solution: Mapping[str, object]) -> dict[str, ParameterValue]:
    """The values that a solution has of the parameters that its size group varies.

    Args:
        solution: its parameters, as in the results' YAML.

    Returns:
        No entry for a parameter whose value cannot be told, as where Tensile derives it from others.
    """
    found: dict[str, ParameterValue] = {}
    for name, values in group.forked.items():
        value = _matching(name, values, solution)
        if value is not None:
            found[name] = value
    for alternatives in group.groups:
        found.update(_alternative(alternatives, solution))
    return found


def _alternative(alternatives: Sequence[Alternative], solution: Mapping[str, object]) -> Alternative:
    """The alternative that no value of the solution contradicts and that most of its values confirm."""
    fitting = [one for one in alternatives if all(_fits(name, value, solution) for name, value in one.items())]
    told = [sum(_is(name, value, solution) for name, value in one.items()) for one in fitting]
    return {} if not fitting else fitting[told.index(max(told))]


def _fits(name: str, value: ParameterValue, solution: Mapping[str, object]) -> bool:
    return name not in solution or _is(name, value, solution) or value == _AUTOMATIC


def _matching(name: str, values: Sequence[ParameterValue], solution: Mapping[str, object]) -> ParameterValue | None:
    for value in values:
        if _is(name, value, solution):
            return value
    return next((value for value in values if value == _AUTOMATIC), None)


def _is(name: str, value: ParameterValue, solution: Mapping[str, object]) -> bool:
    if name == INSTRUCTION and isinstance(value, list) and len(value) == 9:
        return _instruction(value) == _instruction_of(solution)
    if name == _WORK_GROUP and isinstance(value, list) and solution.get("EnableMatrixInstruction"):
        return _last(solution.get(name)) == _last(value)  # the first two follow from the instruction
    told = solution.get(name)
    return isinstance(told, bool | int | float | str | list | dict) and same(value, told)


def _last(value: object) -> object:
    return value[-1] if isinstance(value, list) and value else None


def _instruction(nine: Sequence[int]) -> tuple[object, ...]:
    """Instruction, blocks, wave tile and wave group, as Tensile derives them from nine numbers."""
    _m, _, _, blocks, block, tile_m, tile_n, wave_m, wave_n = nine
    in_m = min(block * wave_m, blocks) or 1
    waves = wave_m * wave_n
    group_m = min(block * wave_m // in_m, waves) or 1
    return list(nine[:4]), in_m, [tile_m, tile_n], [group_m, waves // group_m]


def _instruction_of(solution: Mapping[str, object]) -> tuple[object, ...]:
    block = solution.get("MIBlock")
    in_m = block[4] if isinstance(block, list) and len(block) > 4 else None
    return solution.get(INSTRUCTION), in_m, solution.get("MIWaveTile"), solution.get("MIWaveGroup")


NAMES_OF_SOLUTION = frozenset({"SolutionIndex", "SolutionNameMin", "KernelNameMin"})
"""Entries of a solution that depend on what else is in its file."""


def digest(solution: Mapping[str, object]) -> str:
    """A digest that is the same for the same solution, in whatever run."""
    told = {name: value for name, value in solution.items() if name not in NAMES_OF_SOLUTION}
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def alike(
    group: SizeGroup, values: Mapping[str, ParameterValues], solutions: Mapping[str, Mapping[str, object]]
) -> dict[str, dict[str, list[ParameterValue]]]:
    """By solution and parameter, other values that make the same solution.

    What Tensile chose in the place of -1 does. And where -1 was tried as well and made no solution of its own beside a
    single other value, it made that one: Tensile keeps one of two that derive to the same.
    """
    found: dict[str, dict[str, list[ParameterValue]]] = {name: {} for name in values}
    for name, held in values.items():
        for parameter, value in {**group.constants, **held}.items():
            told = solutions[name].get(parameter)
            if value == _AUTOMATIC and isinstance(told, int | float | str) and told != value:
                found[name][parameter] = [told]
    for parameter in [name for name, offered in group.forked.items() if _AUTOMATIC in offered]:
        rows: dict[str, list[str]] = defaultdict(list)
        for name, held in values.items():
            rows[repr({key: value for key, value in held.items() if key != parameter})].append(name)
        for alone in [row[0] for row in rows.values() if len(row) == 1]:
            if values[alone].get(parameter, _AUTOMATIC) != _AUTOMATIC:
                found[alone][parameter] = [_AUTOMATIC]
    return found


@dataclass(frozen=True)
class _Contenders:
    """The solutions of a table by name: as Tensile derived them, as they were forked, and what makes the same."""

    derived: Mapping[str, Mapping[str, object]]
    values: Mapping[str, ParameterValues]
    alike: Mapping[str, dict[str, list[ParameterValue]]]
    digests: dict[str, str] = field(default_factory=dict)

    def of(self, name: str, gflops: float) -> Contender:
        """A solution with its speed at one size."""
        if name not in self.digests:
            self.digests[name] = digest(self.derived[name])
        return Contender(
            solution=name,
            values=self.values[name],
            gflops=round(gflops, 3),
            derived=self.digests[name],
            alike=self.alike[name],
        )


@dataclass(frozen=True)
class Summary:
    """What is kept of the tables of one run."""

    sizes: list[SizeOutcome]
    effects: list[ValueEffect]
    notes: list[str]


def summarise(
    configuration: BenchmarkConfiguration, tables: Sequence[GroupTable], names: Sequence[str] = ()
) -> Summary:
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
        contenders = _Contenders(table.solutions, values, alike(group, values, table.solutions))
        speeds = _speeds(table)
        for size, rows in _by_size(table).items():
            sizes.append(_size_outcome(group.number, size, speeds[size], rows, contenders, short=many))
        effects += _effects(group, speeds, values)
    return Summary(sizes, effects, notes)


def _assigned(
    configuration: BenchmarkConfiguration, tables: Sequence[GroupTable], names: Sequence[str], notes: list[str]
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
    shared = min((len(size) for size in (*measured, *group.sizes.listed)), default=0)
    return {size[:shared] for size in group.sizes.listed} <= {size[:shared] for size in measured}


def _types_fit(group: SizeGroup, table: GroupTable) -> int:
    """How much of a group's problem type a table tells: in its name (`Cijk_Alik_Bljk_HHS_BH_00`), in its solutions."""
    wanted = group.problem_type
    solution: Mapping[str, object] = next(iter(table.solutions.values()), {})
    told = solution.get("ProblemType")
    alike = sum(told.get(key) == value for key, value in wanted.items()) if isinstance(told, Mapping) else 0
    parts = table.name.upper().split("_")
    return alike + (len(parts) > 3 and parts[3].startswith(str(wanted.get("DataType", "S")).upper()))


def _by_size(table: GroupTable) -> dict[Size, list[ResultRow]]:
    found: dict[Size, list[ResultRow]] = defaultdict(list)
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
    rows: Sequence[ResultRow],
    contenders: _Contenders,
    *,
    short: bool,
) -> SizeOutcome:
    order = sorted(speeds, key=lambda name: (-speeds[name], name))
    best, worst = (3, 1) if short else (_RANKED, _SLOWEST)
    times = [row.microseconds for row in rows if order and row.winner == order[0] and row.microseconds is not None]
    return SizeOutcome(
        group=number,
        size=list(size),
        ranked=[contenders.of(name, speeds[name]) for name in order[:best]],
        slowest=[contenders.of(name, speeds[name]) for name in order[best:][-worst:]],
        measured=len(order),
        failed=len({name for row in rows for name in row.failed}),
        microseconds=round(median(times), 3) if times else None,
    )


def _effects(
    group: SizeGroup, speeds: Mapping[Size, Mapping[str, float]], values: Mapping[str, ParameterValues]
) -> list[ValueEffect]:
    """For each value of each varied parameter the best and the median solution with it, as a share of the winner."""
    found: list[ValueEffect] = []
    for name in group.varied:
        for value in group.values_of(name):
            having = {solution for solution, held in values.items() if name in held and same(held[name], value)}
            if shares := _shares(having, speeds):
                found.append(
                    ValueEffect(group=group.number, parameter=name, value=value, solutions=len(having), **shares)
                )
    return found


def _shares(having: Collection[str], speeds: Mapping[Size, Mapping[str, float]]) -> dict[str, float]:
    """The best and the median of some solutions as shares of the winner, averaged over the sizes; empty for none."""
    ours = [(told, [told[solution] for solution in having if solution in told]) for told in speeds.values()]
    reached = [(max(own) / max(told.values()), median(own) / max(told.values())) for told, own in ours if own]
    if not reached:
        return {}
    best, middle = zip(*reached, strict=True)
    return {"best": round(fmean(best), 4), "median": round(fmean(middle), 4)}
