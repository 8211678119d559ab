"""Library logic of a run merged into an existing file, by the rules of Tensile's own merge.

As there, sizes lose their leading dimensions, solutions that differ in number and name only are one, those that win
nowhere go, and the rest is numbered anew. Held apart here and not there: percent and GFLOP/s, exact tables and grids.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tui_tuner.errors import UserError
from tui_tuner.format import counted
from tui_tuner.tensile.library import VERSION, LibraryLogic, LogicRow, LogicSolution, Size
from tui_tuner.tensile.outcome import gflops_words, size_text

_PERCENT = 100.0
_IMPLIED: dict[str, Any] = {
    "Fp32toFp8SWClip": True,
    "SupportUserArgs": True,
    "AssignedDerivedParameters": True,
    "ActivationType": "none",
    "BiasSrc": "D",
    "UseBias": 0,
}
"""What holds where a version of Tensile that did not know the key yet wrote the file; all others: 0, or nothing."""
_DERIVED = re.compile(r"DataType|Metadata|^(?:MX|Ind|NumInd|TLU|Tile|Tensor|TotalInd)")
"""Keys of newer versions that follow from the others."""
_NUMBERS = re.compile(r"\d+")


class MergeError(UserError):
    """Two files of library logic that do not go together."""


@dataclass(frozen=True)
class RowChange:
    """What a merge does to one size.

    Attributes:
        before: speed in the existing file; None where it does not have the size.
        after: speed in the file that is merged into it.
        taken: whether the new solution is taken.
    """

    size: Size
    before: float | None
    after: float
    taken: bool

    def words(self) -> str:
        """One line for people."""
        was = "new" if self.before is None else f"{gflops_words(self.before)} before"
        kept = "" if self.taken else ", kept as it was"
        return f"{size_text(self.size)}: {gflops_words(self.after)}, {was}{kept}"


@dataclass(frozen=True)
class Merge:
    """The outcome of a merge.

    Attributes:
        changes: one for each size of what was merged in.
        notes: what else there is to know.
    """

    logic: LibraryLogic
    changes: tuple[RowChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def taken(self) -> int:
        """Sizes that have the new solution."""
        return sum(change.taken for change in self.changes)


def merged(base: LibraryLogic, new: LibraryLogic, *, force: bool = False) -> Merge:
    """Merge what a run found into an existing file.

    Args:
        force: whether a size is replaced also where it is no faster, or where speeds cannot be compared.

    Raises:
        MergeError: they are of different problems, GPUs or kinds, or their speeds are in different units.
    """
    notes = checked(base, new, force=force)
    rows, trimmed = _trimmed(base)
    added, trimmed_new = _trimmed(new)
    if trimmed + trimmed_new:
        told = counted(trimmed + trimmed_new, "size")
        notes.append(f"{told} that differed in leading dimensions only: the fastest of each is kept")
    known = {row.size: row for row in rows}
    changes = tuple(_change(row, known.get(row.size), force=force) for row in added)
    solutions, table, words = _joined(base, new, rows, added, {change.size for change in changes if change.taken})
    logic = replace(_versioned(base, new), solutions=solutions, rows=table)
    return Merge(logic, changes, (*notes, words))


def _change(row: LogicRow, known: LogicRow | None, *, force: bool) -> RowChange:
    before = None if known is None else known.speed
    return RowChange(row.size, before, row.speed, before is None or force or row.speed > before)


def _trimmed(logic: LibraryLogic) -> tuple[list[LogicRow], int]:
    """Rows without leading dimensions, the fastest of each size, and how many fell together."""
    found: dict[Size, LogicRow] = {}
    for row in logic.rows:
        size = row.size[: logic.indices] if len(row.size) == logic.indices + 4 else row.size
        if size not in found or row.speed > found[size].speed:
            found[size] = replace(row, size=size)
    return list(found.values()), len(logic.rows) - len(found)


class _Pool:
    """The solutions of both files, each once: those that were there in their order, new ones behind them."""

    def __init__(self, solutions: Iterable[LogicSolution]) -> None:
        self.solutions = list(solutions)
        self.again: set[int] = set()
        self._alike: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, solution in enumerate(self.solutions):
            self._alike[solution.likeness].append(place)

    def place(self, solution: LogicSolution) -> int:
        """Where a new solution is: that of the same one where there is one already."""
        alike = self._alike[solution.likeness]
        found = next((place for place in alike if self.solutions[place].key == solution.key), None)
        if found is not None:
            self.again.add(found)
            return found
        self.solutions.append(solution)
        alike.append(len(self.solutions) - 1)
        return len(self.solutions) - 1


def _joined(
    base: LibraryLogic, new: LibraryLogic, rows: list[LogicRow], added: list[LogicRow], taken: set[Size]
) -> tuple[tuple[LogicSolution, ...], tuple[LogicRow, ...], str]:
    """Solutions and table of both, ordered as Tensile does it, and in words what came and went."""
    won = sorted({row.solution for row in rows})
    places = {number: place for place, number in enumerate(won)}
    pool = _Pool(base.solutions[number] for number in won)
    table = {row.size: (places[row.solution], row.speed) for row in rows}
    for row in added:
        if row.size in taken:
            table[row.size] = (pool.place(new.solutions[row.solution]), row.speed)
    used = sorted({place for place, _ in table.values()})
    numbers = {place: number for number, place in enumerate(used)}
    solutions = tuple(pool.solutions[place].numbered(number) for place, number in numbers.items())
    kept = sum(place < len(won) for place in used)
    words = (
        f"{counted(len(used) - kept, 'solution')} added, {len([one for one in pool.again if one < len(won)])} there "
        f"already, {len(base.solutions) - kept} no longer in use"
    )
    return solutions, tuple(LogicRow(size, numbers[place], speed) for size, (place, speed) in table.items()), words


def _versioned(base: LibraryLogic, new: LibraryLogic) -> LibraryLogic:
    """With the version that all of its solutions need."""
    version = max(base.version, new.version, key=_numbers)
    first = base.items[VERSION].replace(base.version, version)
    return replace(base, version=version, items=(first, *base.items[1:]))


def _numbers(version: str) -> list[int]:
    return [int(part) for part in _NUMBERS.findall(version)]


# --- whether they go together


def checked(base: LibraryLogic, new: LibraryLogic, *, force: bool = False) -> list[str]:
    """Check that two files go together; returns what people should know of them.

    Raises:
        MergeError: they don't.
    """
    faults = [*_header_faults(base, new), *_problem_faults(base.problem_type, new.problem_type)]
    if faults:
        why = "; ".join(faults)
        raise MergeError(f"they do not go together: {why}", hint=f"merge {new.file.name} into a file of the same kind")
    return [*_matching_notes(base, new, force=force), *_unit_notes(base, new, force=force)]


def _header_faults(base: LibraryLogic, new: LibraryLogic) -> Iterator[str]:
    if _numbers(base.version)[:1] != _numbers(new.version)[:1]:
        yield f"version {new.version} is not compatible with {base.version}"
    if base.schedule != new.schedule:
        yield f"schedule {new.schedule}, not {base.schedule}"
    if base.gpu != new.gpu:
        yield f"architecture {new.gpu}, not {base.gpu}"
    elif (units := _units(new)) is not None and _units(base) not in (None, units):
        yield f"{units} compute units, not {_units(base)}"
    if base.devices and new.devices and not set(base.devices) & set(new.devices):
        yield f"device {', '.join(new.devices)}, not {', '.join(base.devices)}"


def _units(logic: LibraryLogic) -> int | None:
    return logic.architecture.get("CUCount") if isinstance(logic.architecture, dict) else None


def _problem_faults(base: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for key in sorted(base.keys() | new.keys()):
        if (key in base) != (key in new) and _DERIVED.search(key):
            continue
        ours, theirs = (told.get(key, _IMPLIED.get(key)) for told in (new, base))
        if ours != theirs and (ours or theirs):
            yield f"problem type: {key} {_told(new, key)}, not {_told(base, key)}"


def _told(problem: dict[str, Any], key: str) -> str:
    return str(problem[key]) if key in problem else "(not told)"


def _matching_notes(base: LibraryLogic, new: LibraryLogic, *, force: bool) -> Iterator[str]:
    if base.matching in ("FreeSize", "Prediction", "Range"):
        raise MergeError(f"its table is of the kind {base.matching}, which no sizes are merged into", file=base.file)
    if new.matching and base.matching and new.matching != base.matching:
        why = f"{new.file.name} is {new.matching}, and {base.file.name} is {base.matching}"
        raise MergeError(f"they do not go together: {why}", hint="name the file of the same kind beside it")
    if base.matching == "GridBased" and not new.matching:
        why = f"{base.file.name} is GridBased: a size that stands alone would win for all that are nearest to it"
        if not force:
            raise MergeError(why, hint="merge into the Equality file of the same problem type, or with --force")
        yield why
    elif base.matching not in ("Equality", "GridBased"):
        yield "sizes that are not in the table take the solution of the nearest one that is, so of new ones too"


def _unit_notes(base: LibraryLogic, new: LibraryLogic, *, force: bool) -> Iterator[str]:
    percent = [_in_percent(logic.rows) for logic in (base, new)]
    if None in percent or percent[0] == percent[1]:
        return
    words = [f"{logic.file.name} tells {'percent of the peak' if one else 'GFLOP/s'}"
             for logic, one in zip((base, new), percent, strict=True)]  # fmt: skip
    why = f"speeds cannot be compared: {', '.join(words)}"
    common = {row.size for row in _trimmed(base)[0]} & {row.size for row in _trimmed(new)[0]}
    if common and not force:
        hint = "bring both to one unit (Tensile's ConvertToEfficiency), or replace the sizes unseen with --force"
        raise MergeError(f"{why}; {counted(len(common), 'size')} in both", hint=hint)
    yield why


def _in_percent(rows: Iterable[LogicRow]) -> bool | None:
    """Whether speeds are a share of the peak; None where none is told, as where hipBLASLt writes 0."""
    speeds = [row.speed for row in rows if row.speed > 0]
    return max(speeds) <= _PERCENT if speeds else None
