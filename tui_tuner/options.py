"""Options as plain data: names, defaults and help are known before the model that checks the values is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """One option of a table of settings.

    Attributes:
        name: its key in the settings; its flag is the same with hyphens.
        default: what holds where nobody says anything; None for nothing.
        value: what stands for its value in a help text, as in `N`, `SECONDS` or `random|pattern`; empty for a switch.
        help: what it sets, in a phrase.
    """

    name: str
    default: bool | int | float | str | None
    value: str
    help: str

    @property
    def flag(self) -> str:
        """The option as on the command line."""
        return flag_of(self.name)

    @property
    def explained(self) -> str:
        """The option's help with the default behind it, where there is one."""
        return self.help if self.default is None else f"{self.help} (default {self.default})"


_FLAGS = {"max_evaluations": "--max-evals", "max_seconds": "--max-time", "reply_seconds": "--reply-time"}
"""Flags that are not called like the option they set."""


def flag_of(name: str) -> str:
    """The flag that sets an option."""
    return _FLAGS.get(name, f"--{name.replace('_', '-')}")


def model_field(options: Iterable[Option], name: str, **bounds: Any) -> Any:  # noqa: ANN401 (whatever it holds)
    """The field of a pydantic model for the option of this name, with bounds as of `pydantic.Field`."""
    from pydantic import Field  # whoever only names options does without

    option = next(option for option in options if option.name == name)
    return Field(default=option.default, description=option.help, **bounds)
