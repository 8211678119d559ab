"""Fills the templates beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from tui_tuner.llm.base import Message


def render(name: str, **values: object) -> str:
    """The template `name`.md with its placeholders filled.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _template(name).substitute({key: str(value) for key, value in values.items()}).strip()


def question(prompt: str, system: str = "system") -> list[Message]:
    """A prompt with the words in front of it that every prompt of its kind has.

    Args:
        system: the template of these words.
    """
    return [Message("system", render(system)), Message("user", prompt)]


@cache
def _template(name: str) -> Template:
    return Template(files("tui_tuner.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8"))
