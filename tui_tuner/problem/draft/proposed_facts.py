"""What somebody says of a kernel who read it, a language model: put where the rules of a first draft only guess."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from tui_tuner.problem.draft.arithmetic.worked_out import value_in
from tui_tuner.problem.draft.drafted_launch import DraftedLaunch

T = TypeVar("T")

FROM_THE_MODEL = "  # a guess: the model's, check"
"""Stands behind a line that a model's word is all there is for."""


@dataclass(frozen=True)
class ProposedFill:
    """What an array holds before a launch; `low` and `high` are numbers or expressions over sizes."""

    fill: str
    low: str | float | None = None
    high: str | float | None = None

    def lines(self) -> Iterator[str]:
        """As the keys of an argument."""
        yield f'fill = "{self.fill}"{FROM_THE_MODEL}'
        if self.low is not None:
            yield f"low = {json.dumps(self.low)}"
        if self.high is not None:
            yield f"high = {json.dumps(self.high)}"


@dataclass(frozen=True)
class ProposedFacts:
    """What a model proposes; each is used only where the rules are not certain.

    Attributes:
        sizes: names for the expressions, with the values to time.
        multiples: what a size is a whole multiple of, an expression over the others.
        powers: sizes that are powers of two.
        keys: of [launch].
        shapes: elements of arrays.
        local: elements of memory of a work-group, over the block too.
        values: of scalars, as expressions or numbers.
        outputs: arrays that the kernel writes.
        fills: of arrays.
        tests: further sizes to check at, which were run.
        macros: of the build, by name, each a number or a name; used where nothing states them.
        flops: operations of a launch, an expression; empty where it is not said.
        bytes: least memory traffic of a launch, likewise.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, str] = field(default_factory=dict)
    powers: frozenset[str] = frozenset()
    keys: Mapping[str, list[str] | str] = field(default_factory=dict)
    shapes: Mapping[str, str] = field(default_factory=dict)
    local: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str | float] = field(default_factory=dict)
    outputs: frozenset[str] = frozenset()
    fills: Mapping[str, ProposedFill] = field(default_factory=dict)
    tests: Sequence[Mapping[str, int]] = ()
    macros: Mapping[str, str] = field(default_factory=dict)
    flops: str = ""
    bytes: str = ""


def completed(launch: DraftedLaunch | None, facts: ProposedFacts | None) -> DraftedLaunch | None:
    """What the host's code says of a launch, and where it says nothing, what is proposed.

    Where the host has a number and the proposal an expression that comes to it, the expression is meant.
    """
    if facts is None:
        return launch
    said = launch or DraftedLaunch(line=0)
    known = {name: number for name, number in said.sizes.items() if number is not None}
    passed = {name: value for name, value in said.values.items() if isinstance(value, int) and name in facts.sizes}
    sizes = {**said.sizes, **facts.sizes, **passed, **known}

    def meant(host: Mapping[str, T], proposed: Mapping[str, T]) -> dict[str, T]:
        both = {name: _meant(value, proposed.get(name), sizes) for name, value in host.items()}
        return {**proposed, **both}

    keys = meant(said.keys, facts.keys if "problem_size" not in said.keys else _of(facts.keys, said.keys))
    return replace(
        said,
        keys=keys,
        sizes=sizes,
        proposed=frozenset(facts.sizes.keys() - known.keys() - passed.keys()),
        shapes=meant(said.shapes, facts.shapes),
        local={**facts.local, **said.local},
        values=meant(said.values, facts.values),
        multiples={**facts.multiples, **said.multiples},
        powers=said.powers | facts.powers,
    )


def _of(proposed: Mapping[str, T], host: Mapping[str, T]) -> dict[str, T]:
    return {name: value for name, value in proposed.items() if name in host}


def _meant(host: T, proposed: T | None, sizes: Mapping[str, int | None]) -> T:
    """An expression in the place of the host's number, where it is the same."""
    if isinstance(host, list) and isinstance(proposed, list) and len(host) == len(proposed):
        return [_meant(one, other, sizes) for one, other in zip(host, proposed, strict=True)]  # type: ignore[return-value]
    if (
        isinstance(proposed, str)
        and _number(host, {}) not in (None, 1)
        and _number(host, {}) == _number(proposed, sizes)
    ):
        return proposed
    return host


def _number(text: object, sizes: Mapping[str, int | None]) -> float | None:
    value = value_in(text, sizes) if isinstance(text, str | int | float) else None
    return None if value is None or isinstance(value, str) else float(value)
