"""What a scripted model answers, by purpose of the prompt and title of the step that it is about."""

from __future__ import annotations

import json
from importlib.resources import files

Answer = tuple[list[str], str]
"""Texts that a prompt contains, and the reply to it."""


def to(purpose: str, reply: str, *, step: str | None = None) -> Answer:
    """A reply to prompts of a purpose; only about one step if its title is given."""
    return [_opening(purpose), *([] if step is None else [f'<step title="{step}">'])], reply


def _opening(purpose: str) -> str:
    """The first line of a prompt's template in which nothing is filled in: no two have the same."""
    template = files("tui_tuner.prompts").joinpath(f"{purpose}.md").read_text(encoding="utf-8")
    return next(line for line in template.splitlines() if line and "$" not in line)


def plan(*titles: str, summary: str) -> str:
    steps = [{"title": t, "description": f"Do it: {t}.", "enabling": False, "builds_on": 0} for t in titles]
    return json.dumps({"summary": summary, "steps": steps})


def valid(answer: bool = True, reason: str = "It fits.") -> str:
    return json.dumps({"valid": answer, "reason": reason})


def worth(answer: bool = True, reason: str = "It fits.") -> str:
    return json.dumps({"worth_doing": answer, "already_done": False, "reason": reason})


def tests(*sizes: int) -> str:
    return json.dumps({"tests": [{"sizes": [{"name": "n", "value": n}], "inputs": []} for n in sizes]})
