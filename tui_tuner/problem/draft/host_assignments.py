"""Where host code sets a name, and to what."""

from __future__ import annotations

import re

from tui_tuner.problem.syntax import split_list

NOTHING_YET = re.compile(r"\s*(?:-\s*1|0(?:\.0*)?f?)\s*")
"""What a variable is declared with that is set to something from outside later, as by an option."""


def assignments(name: str) -> re.Pattern[str]:
    """Where a name is set, with what stands behind it up to the end of the statement."""
    return re.compile(rf"(?<![\w.>]){re.escape(name)}\s*=(?!=)(?P<text>[^;]*)")


def first_item(text: str) -> str:
    """What an assignment sets, without the declarators behind it and others that are set to the same."""
    return re.sub(r"^(?:\s*\w+(?:(?:\[\w+\])?(?:\.|->)\w+)*\s*=(?!=))+", "", next(iter(split_list(text)), ""))
