"""What is tuned beside kernels: each subject with its settings and commands, named without loading any of it.

A subject is a room of its own, as `tui_tuner/tensile`; its entry here is all that joins it to the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pydantic import BaseModel


class Command(NamedTuple):
    """A command of the command line.

    Attributes:
        name: as it is typed.
        help: a sentence on what it does.
        adder: `module:function` that gives the command's parser its options and, as its default of `command`, the
            function that carries it out: it takes what was parsed and gives the exit code, at once or awaited.
    """

    name: str
    help: str
    adder: str


class Subject(NamedTuple):
    """Something that is tuned.

    Attributes:
        settings: `module:class` of the pydantic model of its table in the settings.
        options: `module:name` of the same as plain data, a sequence of `tui_tuner.options.Option`.
        commands: those that it adds to the command line.
    """

    settings: str
    options: str
    commands: tuple[Command, ...] = ()


SUBJECTS: dict[str, Subject] = {
    "tensile": Subject(
        settings="tui_tuner.strategies.tensile.options:TensileOptions",
        options="tui_tuner.strategies.tensile.option_table:TENSILE_OPTIONS",
        commands=(
            Command(
                "tensile",
                "A language model edits a Tensile benchmark configuration; Tensile measures, round by round.",
                "tui_tuner.cli.tensile:add_tensile",
            ),
        ),
    ),
}
"""Subjects by the name of their table in the settings."""


def loaded(place: str) -> Any:  # noqa: ANN401 (whatever stands there)
    """What stands at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def settings_model(name: str) -> type[BaseModel]:
    """The model of a subject's table in the settings."""
    model: type[BaseModel] = loaded(SUBJECTS[name].settings)
    return model
