"""The code of the examples in techniques."""

from __future__ import annotations

import re

from tui_tuner.strategies.step_lists import default_techniques


def body(technique: str) -> str:
    """The body of a kernel that the text of a technique shows: its indented lines."""
    (text,) = (step.prompt_template for step in default_techniques() if step.id == technique)
    return "\n".join(re.findall(r"^    .*$", text, re.MULTILINE))
