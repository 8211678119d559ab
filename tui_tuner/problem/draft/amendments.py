"""What running the kernel as given said against a first draft of its problem file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tested = Literal["", "all", "apart", "odd", "half", "same"]

APART: tuple[Tested, ...] = ("all", "apart")
"""Sizes of which no two are alike."""


@dataclass(frozen=True)
class Amendments:
    """What running the kernel as given said against a first draft.

    Attributes:
        shapes: elements of arrays that are others than drafted.
        filled: outputs that are filled before each launch, as the kernel writes them in part.
        unwritten: arrays that are no outputs, though the text does not say so: the kernel leaves them as they are.
        one_value: outputs that hold one value at the inputs that are drafted, beside others.
        positive: whether arrays of fractions hold no negative numbers, of which the kernel makes what is no number.
        finer: how often fractions that are guessed were made smaller: outputs of whole numbers held one value, as where
            all leave their range.
        few: whether whole numbers that nothing bounds are 0 or 1: outputs held one value, as where cells count others.
        whole: whether sizes are whole multiples of any block, as others leave what is no number in outputs.
        halvings: how often the sizes of the emulator are halved once more.
        doublings: how often the sizes that are timed are doubled, as far as they are guesses; below zero, halved.
        tested: what the sizes of the tests are to those that are timed; where no two are alike ("apart"), a kernel that
            takes one for another shows, and where small ones are others too ("all"), one that knows them by heart.
        stated_too: whether numbers that the source states are sizes, which the emulator has smaller.
        as_host: whether sizes are the host's where its launch is too small to be timed: the kernel can do no larger.
    """

    shapes: Mapping[str, str] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    unwritten: frozenset[str] = frozenset()
    one_value: frozenset[str] = frozenset()
    positive: bool = False
    finer: int = 0
    few: bool = False
    whole: bool = False
    halvings: int = 0
    doublings: int = 0
    tested: Tested = ""
    stated_too: bool = False
    as_host: bool = False


NO_AMENDMENTS = Amendments()
