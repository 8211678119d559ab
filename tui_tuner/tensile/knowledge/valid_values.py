"""Which parameters a Tensile knows, and which values each may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.problem.nearest import nearest
from tui_tuner.tensile.knowledge.rules import Anything
from tui_tuner.tensile.knowledge.toml_data import shipped, users_own
from tui_tuner.tensile.knowledge.value_table import Parameter, ValueTable
from tui_tuner.tensile.values import ParameterValue, value_text

SHIPPED = ("tensilelite", "tensile")


@dataclass(frozen=True)
class ValidValues:
    """The valid values of one Tensile.

    What only older states of it take is taken too: which one a user has is not known here, and that one will refuse
    for itself. Equality is Python's, as in Tensile: `True` is 1, 2.0 is 2.
    """

    table: ValueTable

    @property
    def name(self) -> str:
        """As in `tensilelite`."""
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

    def has_default(self, parameter: str) -> bool:
        """Whether Tensile sets the parameter where a configuration does not."""
        found = self._find(parameter)
        return found is not None and found.has_default

    def is_unchecked(self, parameter: str) -> bool:
        """Whether the table takes any value."""
        found = self._find(parameter)
        return found is not None and isinstance(found.rule, Anything)

    def written(self, parameter: str, value: ParameterValue) -> ParameterValue:
        """A valid value with the type that the table has.

        TensileLite of 2026 refuses `True` where 1 is listed, and 1 where 1.0 is; older states take either.
        """
        found = self._find(parameter)
        return value if found is None else found.rule.written(value)

    def other_key(self, key: str) -> str | None:
        """What Tensile does with a key that is no parameter of a solution; None if nothing is known of it."""
        return self.table.other_keys.get(key)

    def _find(self, parameter: str) -> Parameter | None:
        return self.table.parameters.get(parameter) or self.table.former.get(parameter)

    def _unknown(self, parameter: str) -> str:
        if (treated := self.other_key(parameter)) is not None:
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
    own = [] if extra is None or not extra.is_dir() else sorted(extra.glob("*.toml"))
    for file in own:
        if (table := users_own(file, ValueTable)) is not None:
            found[table.name] = _merged(found[table.name], table) if table.name in found else table
    return [ValidValues(table) for table in found.values()]


def table_for(parameters: Iterable[str], known: Sequence[ValidValues]) -> ValidValues:
    """The table that knows most of the parameters a file uses; the first of equals, so TensileLite's."""
    names = set(parameters)
    return max(known, key=lambda table: sum(map(table.knows, names)))


def _merged(table: ValueTable, own: ValueTable) -> ValueTable:
    return ValueTable(
        name=table.name,
        source=table.source,
        parameters={**table.parameters, **own.parameters},
        former={**table.former, **own.former},
        other_keys={**table.other_keys, **own.other_keys},
    )
