"""Tables of valid values, as shipped and as the user adds them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from tui_tuner.tensile.document import ParameterValue, value_text
from tui_tuner.tensile.knowledge import KnowledgeTable, shipped, users_own
from tui_tuner.tensile.knowledge.rules import (
    AnyValueRule,
    LevelRule,
    ListedRule,
    MatrixInstructionRule,
    NumberRange,
    PairRule,
    ValueRule,
    WorkGroupRule,
)
from tui_tuner.text import nearest

RangeData = Annotated[list[int] | list[float], Field(min_length=3, max_length=3)]
"""[low, high, step], both ends included."""
SHIPPED = ("tensilelite", "tensile")
_TENSILE = re.compile(r"4\.(?:3[4-9]|[4-9]\d)\b")
"""Versions of Tensile since TensileLite, which stayed at 4.33 and went on with 5, is one of its own."""


class PairData(KnowledgeTable):
    """Two numbers, each of `values` and `ranges`, their product at most `area`."""

    values: tuple[int, ...] = ()
    ranges: tuple[RangeData, ...] = ()
    area: int | None = None


class WorkGroupData(KnowledgeTable):
    """[a, b, split]: the product is one of `threads`, the split one of `splits`."""

    threads: RangeData
    splits: list[int]


class MatrixInstructionData(KnowledgeTable):
    """Families of [M, N, K, B] by name; `short` and `long` name those that each form may be of."""

    families: dict[str, list[list[int]]]
    short: list[str]
    long: list[str]
    listed: list[list[int]]
    wave_tiles: RangeData
    waves: list[int]

    @model_validator(mode="after")
    def _families_are_there(self) -> MatrixInstructionData:
        missing = sorted({*self.short, *self.long} - self.families.keys())
        if missing:
            raise ValueError(f"there is no family {missing[0]}")
        return self

    def instructions(self, names: list[str]) -> list[list[int]]:
        """The instructions of some families, each once."""
        found: list[list[int]] = []
        for name in names:
            found += [one for one in self.families[name] if one not in found]
        return found


class LevelData(KnowledgeTable):
    """A list of `at_most` numbers of `range`; with `width` a list of lists of that many."""

    at_most: int
    range: RangeData
    width: int | None = None


class ParameterEntry(KnowledgeTable):
    """One parameter: its rule, its default, and values that only older states of Tensile take.

    Attributes:
        any: Tensile does not check the value.
        default: not given where Tensile gives none.
    """

    values: tuple[ParameterValue, ...] = ()
    ranges: tuple[RangeData, ...] = ()
    any: bool = False
    pair: PairData | None = None
    work_group: WorkGroupData | None = None
    matrix_instruction: MatrixInstructionData | None = None
    levels: LevelData | None = None
    default: ParameterValue | list[list[int]] | dict[str, int] | None = None
    former: tuple[ParameterValue, ...] = ()

    @model_validator(mode="after")
    def _one_rule(self) -> ParameterEntry:
        given = [bool(self.values or self.ranges), self.any]
        given += [one is not None for one in (self.pair, self.work_group, self.matrix_instruction, self.levels)]
        if sum(given) != 1:
            kinds = "values and ranges, any, pair, work_group, matrix_instruction, levels"
            raise ValueError(f"exactly one of these says what is valid: {kinds}")
        return self

    @cached_property
    def rule(self) -> ValueRule:
        """The rule that decides."""
        if self.pair is not None:
            return PairRule(_listed(self.pair.values, self.pair.ranges), self.pair.area)
        if self.work_group is not None:
            return WorkGroupRule(NumberRange(*self.work_group.threads), self.work_group.splits)
        if (data := self.matrix_instruction) is not None:
            short, long = data.instructions(data.short), data.instructions(data.long)
            return MatrixInstructionRule(data.listed, short, long, NumberRange(*data.wave_tiles), data.waves)
        if self.levels is not None:
            return LevelRule(self.levels.at_most, NumberRange(*self.levels.range), self.levels.width)
        return AnyValueRule() if self.any else _listed(self.values, self.ranges)


class ValueTable(KnowledgeTable):
    """A file of valid values.

    Attributes:
        name: the Tensile that it is of; a user's file of the same name adds to it and replaces single parameters.
        source: repository, path and commit.
        parameters: by name, those that the state read has.
        former: by name, parameters that only older states have.
        other_keys: by name, keys that are no parameter of a solution, and what Tensile does with them.
    """

    name: str
    source: str = "a user's file"
    parameters: Mapping[str, ParameterEntry] = {}
    former: Mapping[str, ParameterEntry] = {}
    other_keys: Mapping[str, str] = {}


def _listed(values: Sequence[ParameterValue], ranges: Sequence[RangeData]) -> ListedRule:
    return ListedRule(values, [NumberRange(*one) for one in ranges])


@dataclass(frozen=True)
class ValidValues:
    """The valid values of one Tensile.

    What only older states of it take is taken too: which one a user has is not known here, and that one will refuse
    for itself. Equality is Python's, as in Tensile: `True` is 1, 2.0 is 2.

    Attributes:
        own: parameters that a user's file names.
    """

    table: ValueTable
    own: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The name of the table, as in `tensilelite`."""
        return self.table.name

    @property
    def source(self) -> str:
        """Where the table was read: repository, path and commit."""
        return self.table.source

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of the state that was read, in the table's order."""
        return tuple(self.table.parameters)

    def knows(self, parameter: str) -> bool:
        """Whether this or an older state has the parameter."""
        return self._find(parameter) is not None

    def fault(self, parameter: str, value: ParameterValue) -> str | None:
        """Why Tensile would not take the value, in words with what is near; None if it would."""
        if (found := self._find(parameter)) is None:
            return self._unknown(parameter)
        if found.rule.takes(value) or value in found.former:
            return None
        near = " or ".join(map(value_text, found.rule.near(value)))
        return f"{parameter} cannot be {value_text(value)}: {found.rule.words()}" + (f"; near: {near}" if near else "")

    def words(self, parameter: str) -> str:
        """The valid values in short words, as in "0, 1, 2", "1 to 1024" or "free"; "" for an unknown parameter."""
        found = self._find(parameter)
        return "" if found is None else found.rule.words()

    def default(self, parameter: str) -> ParameterValue | None:
        """What Tensile sets where a configuration does not; None where it sets nothing, or no plain value."""
        found = self._find(parameter)
        if found is None or isinstance(found.default, dict):
            return None
        if isinstance(found.default, list):
            whole = [one for one in found.default if isinstance(one, int)]
            return whole if len(whole) == len(found.default) else None
        return found.default

    def is_unchecked(self, parameter: str) -> bool:
        """Whether the table takes any value."""
        found = self._find(parameter)
        return found is not None and isinstance(found.rule, AnyValueRule)

    def written(self, parameter: str, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that the table has.

        TensileLite of 2026 refuses `True` where 1 is listed, and 1 where 1.0 is; older states take either.
        """
        found = self._find(parameter)
        return value if found is None else found.rule.written(value)

    def _find(self, parameter: str) -> ParameterEntry | None:
        return self.table.parameters.get(parameter) or self.table.former.get(parameter)

    def _unknown(self, parameter: str) -> str:
        if (treated := self.table.other_keys.get(parameter)) is not None:
            return f"{parameter} is no parameter of a solution: {treated}"
        match = nearest(parameter, self.names)
        return f"{self.name} knows no parameter {parameter}" + (f"; did you mean {match}?" if match else "")


def tables(extra: Path | None = None) -> list[ValidValues]:
    """The tables that ship with the program, TensileLite's first, with what a user's files add.

    Args:
        extra: a directory of a user's `*.toml` files; None for none. A file whose `name` is that of a table adds to it
            and replaces single parameters; another name makes another table.

    Raises:
        SettingsError: a mistake in one of the user's files.
    """
    found = {name: shipped(f"valid_values/{name}.toml", ValueTable) for name in SHIPPED}
    users: defaultdict[str, set[str]] = defaultdict(set)
    own = [] if extra is None or not extra.is_dir() else sorted(extra.glob("*.toml"))
    for file in own:
        if (table := users_own(file, ValueTable)) is not None:
            found[table.name] = _merged(found[table.name], table) if table.name in found else table
            users[table.name] |= table.parameters.keys() | table.former.keys()
    return [ValidValues(table, frozenset(users[name])) for name, table in found.items()]


def table_for(parameters: Iterable[str], known: Sequence[ValidValues], version: str = "") -> ValidValues:
    """The table that knows most of some parameters.

    Args:
        version: of the Tensile that runs, which decides between equals; without it they are TensileLite's.
    """
    names = set(parameters)
    of_version = "tensile" if _TENSILE.match(version) else "tensilelite"
    return max(known, key=lambda table: (sum(map(table.knows, names)), table.name == of_version))


def installed_values(told: Mapping[str, Mapping[str, Any]], known: Sequence[ValidValues], version: str) -> ValidValues:
    """The table of an installed Tensile, by what it tells of itself.

    What it does not tell in full, as the lists of `MatrixInstruction`, is taken from the table that knows most of its
    parameters; what a user's file says of a parameter stays.
    """
    base = table_for(told, known, version)
    ours = {**base.table.former, **base.table.parameters}
    parameters = {
        name: ours[name] if name in ours and (name in base.own or "shape" in entry) else _told(entry)
        for name, entry in told.items()
    }
    parameters |= {name: ours[name] for name in base.own - parameters.keys()}
    source = f"the installed Tensile {version}".rstrip()
    table = ValueTable(name=base.name, source=source, parameters=parameters, other_keys=base.table.other_keys)
    return ValidValues(table, base.own)


def _told(entry: Mapping[str, Any]) -> ParameterEntry:
    rule = {key: entry[key] for key in ("values", "ranges", "default") if key in entry}
    if not rule.get("values") and not rule.get("ranges"):
        rule = {key: value for key, value in rule.items() if key == "default"} | {"any": True}
    return ParameterEntry.model_validate(rule)


def _merged(table: ValueTable, own: ValueTable) -> ValueTable:
    return ValueTable(
        name=table.name,
        source=table.source,
        parameters={**table.parameters, **own.parameters},
        former={**table.former, **own.former},
        other_keys={**table.other_keys, **own.other_keys},
    )
