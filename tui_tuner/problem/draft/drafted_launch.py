"""What a draft says of a launch, each only as far as the host's code does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tui_tuner.problem.draft.arithmetic.worked_out import value_in, words_in
from tui_tuner.problem.languages import Value

Keys = Mapping[str, list[str] | str]
"""Of [launch], as expressions."""
MOST_THREADS = 1024
"""Of a block."""


@dataclass(frozen=True)
class TunedSpace:
    """What a script of kernel_tuner has it vary.

    Attributes:
        line: where it does.
        tunables: the values of each.
        restrictions: as expressions over them.
        keys: of [launch]: the divisors of the grid, the names of the block, and more where tunables say it.
        options: for the compiler, of those that say the same to every one.
        left: tunables, restrictions and keys that are no values or expressions of a problem file.
        defaults: the configuration to begin with; empty where none is found.
    """

    line: int
    tunables: Mapping[str, Sequence[Value]]
    restrictions: Sequence[str] = ()
    keys: Keys = field(default_factory=dict)
    options: Sequence[str] = ()
    left: Sequence[str] = ()
    defaults: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class DraftedLaunch:
    """What stands in the tables around the launch, each only as far as the host's code says it.

    Attributes:
        line: where the host launches the kernel.
        template: arguments of the template, as in "<16>".
        keys: of [launch], as expressions.
        tunables: names and values of what makes the block, where macros do.
        defaults: the value of each tunable in the file.
        most_threads: of a block, where the kernel's shared arrays hold no more.
        sizes: names for the expressions, with the host's number; None where it comes from outside.
        proposed: those of which the number is a model's.
        shapes: elements of the arrays that the host takes memory for.
        values: of scalars, as expressions or numbers.
        stated: sizes that the source itself states, by the name of the macro or constant.
        usual: scalars that depend on sizes from outside, which are taken for usual ones.
        drawn: of arrays of whole numbers that the host fills at random, the least and the first that is too large.
        fractions: of arrays of fractions, between which numbers the host fills them.
        multiples: what a size is a whole multiple of, an expression over the others.
        of_block: sizes that the block is made of.
        local: elements of the `__local` arguments of OpenCL, over the block too.
        powers: sizes that are powers of two.
        supposed: arrays whose shape the host does not say, but another of the kind has.
        asked: arrays by the extents that the host asks a tensor for, of which it may have more.
        of_device: whether the grid is as large as the device says, for which a usual number is taken.
        most: what sizes are no larger than, as host and kernel say.
        held: arrays that the host sets to one number before the launch, with that number.
        fixed: scalars whose number the kernel's own text states too.
        space: what the host's script has kernel_tuner vary, in the place of tunables and defaults.
        is_of_host: whether it stands in another file than the kernel's.
        comment_line: where a comment has the launch, and no code.
    """

    line: int
    template: str = ""
    keys: Keys = field(default_factory=dict)
    tunables: dict[str, list[int]] = field(default_factory=dict)
    defaults: dict[str, int] = field(default_factory=dict)
    most_threads: int = MOST_THREADS
    sizes: dict[str, int | None] = field(default_factory=dict)
    proposed: frozenset[str] = frozenset()
    shapes: dict[str, str] = field(default_factory=dict)
    values: dict[str, str | float] = field(default_factory=dict)
    of_block: frozenset[str] = frozenset()
    drawn: dict[str, tuple[int | str, str]] = field(default_factory=dict)
    fractions: dict[str, tuple[float, float]] = field(default_factory=dict)
    stated: dict[str, str] = field(default_factory=dict)
    usual: frozenset[str] = frozenset()
    multiples: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)
    powers: frozenset[str] = frozenset()
    supposed: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    of_device: bool = False
    most: dict[str, int] = field(default_factory=dict)
    held: dict[str, str] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()
    space: TunedSpace | None = None
    is_of_host: bool = False
    comment_line: int = 0

    @property
    def problem_size(self) -> list[str]:
        """The elements along each axis of the grid; none where these are not known."""
        return [*self.keys.get("problem_size", ())]

    def renamed(self, others: Mapping[str, str]) -> DraftedLaunch:
        """The same with other names for some of its sizes."""

        def name(old: str) -> str:
            return others.get(old, old)

        def text(old: str) -> str:
            return re.sub(r"[A-Za-z_]\w*", lambda word: name(word[0]), old)

        return replace(
            self,
            keys={key: text(said) if isinstance(said, str) else [*map(text, said)] for key, said in self.keys.items()},
            sizes={name(one): number for one, number in self.sizes.items()},
            proposed=frozenset(map(name, self.proposed)),
            shapes={one: text(elements) for one, elements in self.shapes.items()},
            values={one: text(value) if isinstance(value, str) else value for one, value in self.values.items()},
            of_block=frozenset(map(name, self.of_block)),
            drawn={
                one: (text(low) if isinstance(low, str) else low, text(high)) for one, (low, high) in self.drawn.items()
            },
            stated={name(one): macro for one, macro in self.stated.items()},
            multiples={name(one): text(by) for one, by in self.multiples.items()},
            local={one: text(elements) for one, elements in self.local.items()},
            powers=frozenset(map(name, self.powers)),
            most={text(one): most for one, most in self.most.items()},
        )

    def without_supposed(self, reached: Mapping[str, str]) -> DraftedLaunch:
        """The same without the shapes that the host does not say, of arrays of which the kernel's text says how far.

        Args:
            reached: elements of arrays, as the text says them.
        """
        lost = {*self.supposed, *(one for one in self.asked & reached.keys() if self._is_less(one, reached[one]))}
        said = {name: text for name, text in self.shapes.items() if name not in lost or name not in reached}
        keys = [part for key in self.keys.values() for part in ([key] if isinstance(key, str) else key)]
        drawn = [str(end) for ends in self.drawn.values() for end in ends]
        others = [*said.values(), *keys, *map(str, self.values.values()), *drawn, *self.local.values()]
        idle = words_in(*self.shapes.values()) - words_in(*others, *self.multiples.values())
        return replace(self, shapes=said, sizes={name: one for name, one in self.sizes.items() if name not in idle})

    def _is_less(self, array: str, elements: str) -> bool:
        """Whether an array's shape holds fewer than so many elements, at sizes of which none divides another."""
        sizes = {name: 1009 + 2 * place for place, name in enumerate(self.sizes)}
        own, other = (value_in(text, sizes) for text in (self.shapes.get(array, ""), elements))
        return own is not None and other is not None and float(own) < float(other)

    def in_elements(self, threads: str) -> str:
        """A count of threads as one of elements: for the host's own block, and without a thread more than there are."""
        for name, number in self.defaults.items():
            threads = re.sub(rf"\b{name}\b", str(number), threads)
        more = re.fullmatch(r"(\w+) \+ 1", threads)
        return more[1] if more and more[1] in self.sizes else threads


NO_LAUNCH = DraftedLaunch(line=0)
"""What a draft says of a launch of which nothing is known."""
