"""Fills the templates beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template


def render(name: str, **values: object) -> str:
    """The template `name`.md with its placeholders filled.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _template(name).substitute({key: str(value) for key, value in values.items()}).strip()


@cache
def _template(name: str) -> Template:
    return Template(files("tui_tuner.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8"))
