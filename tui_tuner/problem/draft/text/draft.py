"""What the text of a problem file is written from."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tui_tuner.problem.argument import ComparedAs
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.constants import DraftedConstant
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.kernel.extents import elements_along
from tui_tuner.problem.draft.kernel.guesses import AXES, as_factor, block_values, is_written, outputs
from tui_tuner.problem.draft.kernel.order import Appended
from tui_tuner.problem.draft.proposed_facts import FROM_THE_MODEL, ProposedFacts
from tui_tuner.problem.draft.sizes.drafted import DraftedSizes
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only

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
        supposed_macros: those of the options that no host is known to define, and without which there is no kernel.
        proposed_macros: those of the options that only a model states.
        reached: elements of arrays, as far as the kernel's text reaches into them.
        parts: outputs in which each block leaves a part of the result, and by what these make it.
        appended: the array that threads append to, and what counts its elements.
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
    supposed_macros: frozenset[str]
    proposed_macros: frozenset[str]
    reached: Mapping[str, str]
    parts: Mapping[str, ComparedAs]
    appended: Appended | None

    @cached_property
    def outputs(self) -> dict[str, bool]:
        """The arrays that are outputs, and whether what they hold before a launch seems to count.

        What the text writes is one for certain; where it writes none itself, what is proposed is.
        """
        read = {one: reads for one, reads in outputs(self.signature).items() if one not in self.amendments.unwritten}
        writable = {one.name for one in self.signature.parameters if one.is_array and not one.const}
        proposed = {name: name in self.facts.fills for name in sorted(self.facts.outputs & writable)}
        certain = {name: reads for name, reads in read.items() if is_written(name, self.signature)}
        found = {**proposed, **certain} or read
        return {name: reads or name in self.amendments.filled for name, reads in found.items()}

    def number(self, text: str) -> int | None:
        """The whole number that text of the source comes to; None where that cannot be told."""
        return self._program.number(text, len(self._program.code))

    @cached_property
    def _program(self) -> HostProgram:
        return HostProgram(code_only(self.source))

    def mark(self, name: str, proposed: Container[str]) -> str:
        """How sure a line is that the host's code does not say."""
        return FROM_THE_MODEL if name in proposed else CHECK

    @property
    def says_blocks(self) -> bool:
        """Whether tunables say how many blocks there are, whatever the sizes are."""
        names = {*re.findall(r"[A-Za-z_]\w*", " ".join(self.launch.problem_size))}
        return bool(names) and names <= self._varied.keys()

    @property
    def _varied(self) -> Mapping[str, Sequence[int]]:
        """The tunables that a script has, as far as they are whole numbers."""
        space = {} if self.launch.space is None else self.launch.space.tunables
        numbers = {name: [one for one in values if isinstance(one, int)] for name, values in space.items()}
        return {name: values for name, values in numbers.items() if len(values) == len(space[name])}

    def most_blocks(self) -> str:
        """How many blocks a launch has at most, with what a draft tries, over the sizes."""
        least = {f"block_size_{axis}": min(one) for axis, one in zip(AXES, block_values(self.signature), strict=False)}
        least |= {name: min(values) for name, values in self.launch.tunables.items()}
        varied = self._varied
        least |= {name: min(values) for name, values in varied.items()}
        found = []
        for axis, size in zip(AXES, self.launch.problem_size or elements_along(self.signature), strict=False):
            divisors = self.launch.keys.get(f"grid_div_{axis}", [f"block_size_{axis}"])
            by = " * ".join(as_factor(one, divisors[1:]) for one in divisors)
            for name, number in least.items():
                by = re.sub(rf"\b{name}\b", str(number), by)
            most = size
            for name, values in varied.items():
                most = re.sub(rf"\b{name}\b", str(max(values)), most)
            found.append(most if by == "1" else f"ceil_div({most}, {by})")
        return " * ".join(as_factor(one, found[1:]) for one in found)
