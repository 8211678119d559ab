"""Which templates a prompt is made of, found by their fixed words."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from string import Template

from tui_tuner.llm.prices import estimate

_GAP = "\0"
_ROOMS = ("tui_tuner.prompts", "tui_tuner.tensile.prompts")


def template_names() -> list[str]:
    """The names of all templates, as `render` takes them."""
    names = {file.name for room in _ROOMS for file in files(room).iterdir()}
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))


def fixed_words(name: str) -> list[str]:
    """What a template says before, between and after its placeholders, blanks collapsed."""
    found = (files(room).joinpath(f"{name}.md") for room in _ROOMS)
    template = Template(next(file for file in found if file.is_file()).read_text(encoding="utf-8"))
    gaps = dict.fromkeys(template.get_identifiers(), _GAP)
    return [part for text in template.substitute(gaps).split(_GAP) if (part := _collapsed(text))]


def fixed_tokens(names: Iterable[str]) -> int:
    """An estimate of the fixed words of some templates together."""
    return sum(estimate(" ".join(fixed_words(name))) for name in names)


def templates_in(text: str) -> list[str]:
    """The templates whose fixed words stand in a text, one part behind the other."""
    return [name for name in template_names() if _holds(_collapsed(text), fixed_words(name))]


def _holds(text: str, parts: Iterable[str]) -> bool:
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def _collapsed(text: str) -> str:
    return " ".join(text.split())
