"""Prompts: one template a purpose beside this file, and the facts that fill it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from string import Template

from tui_tuner.llm import Message

ROOM = "tui_tuner.prompts"
"""The package of the templates that ask about kernels."""


def render(name: str, /, room: str = ROOM, **values: object) -> str:
    """The template `name`.md with its placeholders filled.

    Args:
        room: the package in which it is.

    Raises:
        KeyError: a placeholder has no value.
    """
    return _template(room, name).substitute({key: str(value) for key, value in values.items()}).strip()


def question(prompt: str, system: str = "system", room: str = ROOM) -> list[Message]:
    """A prompt with the words in front of it that every prompt of its kind has.

    Args:
        system: the template of these words.
        room: the package in which it is.
    """
    return [Message("system", render(system, room)), Message("user", prompt)]


@cache
def _template(room: str, name: str) -> Template:
    return Template(files(room).joinpath(f"{name}.md").read_text(encoding="utf-8"))
