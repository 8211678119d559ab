"""What the model answers: an analysis, and edits of the configuration."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.strategies.tensile.history import History
from tui_tuner.tensile.document.configuration import Configuration
from tui_tuner.tensile.document.edits import Edit
from tui_tuner.tensile.document.judging import Edited, Rules, carry_out


class Advice(BaseModel):
    """One reply.

    Attributes:
        analysis: what the results say.
        edits: the operations, in their order.
        expected: what they are to bring.
        stop: whether nothing is left that is worth a run.
    """

    model_config = ConfigDict(extra="ignore")

    analysis: str
    edits: list[Edit] = Field(default_factory=list)
    expected: str = ""
    stop: bool = False


def faults(advice: Advice, configuration: Configuration, rules: Rules, history: History) -> list[str]:
    """What is wrong with a reply, in words for the model: every edit that cannot be carried out, and why."""
    if advice.stop and not advice.edits:
        return []
    if not advice.edits:
        return ["there is no edit: give one at least, or set stop to true"]
    edited, refused = carry_out(configuration, advice.edits, rules)
    if not refused and edited.configuration.text == configuration.text:
        refused = ["the edits together change nothing"]
    if not refused and history.was_measured(edited.configuration):
        refused = ["this very configuration was measured before"]
    return refused


def edit_lines(edited: Edited) -> list[str]:
    """Each edit with its reason, and the permutations before and after it."""
    return [
        f"{edit.words()}: {before:,} -> {after:,} permutations. {edit.reason}" for edit, before, after in edited.steps
    ]
