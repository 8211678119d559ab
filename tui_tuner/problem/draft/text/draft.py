"""What the text of a problem file is written from."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.constants import DraftedConstant
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL, ProposedFacts
from tui_tuner.problem.draft.sizes.drafted import DraftedSizes
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature

CHECK = "  # a guess: check"
"""Behind a line of which neither the host nor the kernel is sure."""


@dataclass(frozen=True)
class Draft:
    """What the text of a problem file is written from.

    Attributes:
        source: the file's text.
        read: what the host's code says of the launch.
        launch: the same, completed by what is proposed.
        is_launched: whether either says anything of it.
        options: what the host builds the kernel with.
        reached: elements of arrays, as far as the kernel's text reaches into them.
    """

    file: Path
    source: str
    language: Language
    signature: KernelSignature
    name: str
    read: DraftedLaunch
    launch: DraftedLaunch
    is_launched: bool
    sizes: DraftedSizes
    amendments: Amendments
    facts: ProposedFacts
    constants: Sequence[DraftedConstant]
    options: Sequence[str]
    reached: Mapping[str, str]

    def mark(self, name: str, proposed: Container[str]) -> str:
        """How sure a line is that the host's code does not say."""
        return FROM_THE_MODEL if name in proposed else CHECK
