"""The steps of the strategy `explicit` from TOML: the user's own, and those for all who have none."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

from pydantic import BaseModel, Field

from tui_tuner.problem.check_steps import check_steps
from tui_tuner.problem.table import TABLE
from tui_tuner.problem.toml_file import read_text, read_toml
from tui_tuner.problem.tuning_step import TuningStep
from tui_tuner.problem.validation import validated_as

_DEFAULT = "default_steps.toml"


class _Steps(BaseModel):
    """All that a file of steps holds."""

    model_config = TABLE

    steps: Annotated[list[TuningStep], Field(min_length=1)]


def load_steps(file: Path) -> list[TuningStep]:
    """The steps of a user's TOML file with `[[steps]]`, in their order.

    Raises:
        ProblemError: the file cannot be read, or what it says is not possible; with line and way out.
    """
    return _steps(read_text(file), file)


def default_steps() -> list[TuningStep]:
    """The steps that are taken where nobody gives any."""
    return _steps(files("tui_tuner.strategies").joinpath(_DEFAULT).read_text(encoding="utf-8"), Path(_DEFAULT))


def steps_prompt(template: str, *, kernel: str, name: str) -> str:
    """What the model shall do in a step: its template with `$kernel` and `$name` filled.

    Other dollars stay as they are: the user may have changed the words on the screen.

    Args:
        kernel: the kernel's source.
        name: the kernel's name.
    """
    return Template(template).safe_substitute(kernel=kernel, name=name).strip()


def _steps(text: str, file: Path) -> list[TuningStep]:
    tables, place = read_toml(text, file)
    steps = validated_as(_Steps, tables, place).steps
    check_steps(steps, place)
    return steps
