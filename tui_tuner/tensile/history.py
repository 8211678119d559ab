"""What a session knows after some rounds: the configuration in force and the best at every size; a model's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict, Field

from tui_tuner.tensile.document import BenchmarkConfiguration, ParameterValue, same
from tui_tuner.tensile.document.edits import SpaceEdit
from tui_tuner.tensile.document.judging import BestSolution, EditedConfiguration, EditLimits, apply_edits
from tui_tuner.tensile.outcome import (
    Contender,
    ParameterValues,
    RoundOutcome,
    SizeKey,
    SizeOutcome,
    Winner,
    geometric_mean,
    size_text,
)

Defaults = Callable[[str], ParameterValue | None]
"""Tensile's default of a parameter, None where it is not known."""


@dataclass(frozen=True)
class HeldSolution:
    """A best solution, as far as it can be found again in another run, which varied and held other parameters.

    Attributes:
        values: of all parameters that the file named when it was measured.
        derived: as of `Contender`.
        alike: by parameter, other values that make the same solution.
        instead: solutions of the last run that are not measurably slower at its size.
    """

    values: ParameterValues
    derived: str = ""
    alike: Mapping[str, tuple[ParameterValue, ...]] = field(default_factory=dict)
    instead: tuple[HeldSolution, ...] = ()

    @classmethod
    def of(cls, contender: Contender, constants: ParameterValues) -> HeldSolution:
        """A contender of a run with these constants."""
        alike = {name: tuple(values) for name, values in contender.alike.items()}
        return cls({**constants, **contender.values}, contender.derived, alike)

    def also(self, other: HeldSolution) -> HeldSolution:
        """This solution, seen with other values as well."""
        alike = dict(self.alike)
        for name, value in other.values.items():
            known = (*([self.values[name]] if name in self.values else []), *alike.get(name, ()))
            more = [one for one in (value, *other.alike.get(name, ())) if not any(same(one, old) for old in known)]
            if more:
                alike[name] = (*alike.get(name, ()), *more)
        return replace(self, alike=alike)


@dataclass(frozen=True)
class MeasuredRound:
    """One configuration that was measured, or that Tensile failed on.

    Attributes:
        number: 0 for the configuration as given.
        edits: what led to it, each with the permutations before and after.
        gain: over the best before it, mean of all sizes; None of the first, and where it failed.
    """

    number: int
    configuration: BenchmarkConfiguration
    outcome: RoundOutcome
    edits: tuple[tuple[SpaceEdit, int, int], ...] = ()
    gain: float | None = None


@dataclass
class History:
    """The rounds so far.

    Attributes:
        current: what the next edits start from: the last configuration with results, or the one as given.
        default: Tensile's defaults.
        winners: the best at every problem size, in the file's order.
        starts: the first run's winner, at every size.
        held: the same of the best so far.
        model_seconds: what the model's replies took.
        remarks: what else the next prompt should tell.
        noise: share of a speed below which a difference says nothing; None where every difference counts.
    """

    current: BenchmarkConfiguration
    default: Defaults
    rounds: list[MeasuredRound] = field(default_factory=list)
    winners: dict[SizeKey, Winner] = field(default_factory=dict)
    starts: dict[SizeKey, HeldSolution] = field(default_factory=dict)
    held: dict[SizeKey, HeldSolution] = field(default_factory=dict)
    model_seconds: float = 0.0
    remarks: list[str] = field(default_factory=list)
    noise: float | None = None

    @property
    def successes(self) -> list[MeasuredRound]:
        """The rounds with results."""
        return [one for one in self.rounds if one.outcome.failure is None]

    @property
    def first(self) -> MeasuredRound | None:
        """The first round with results: what every gain is over."""
        return self.successes[0] if self.successes else None

    def was_measured(self, configuration: BenchmarkConfiguration) -> bool:
        """Whether a round had this very text and gave results."""
        return any(one.configuration.text == configuration.text for one in self.successes)

    def add(
        self,
        number: int,
        configuration: BenchmarkConfiguration,
        outcome: RoundOutcome,
        edits: Sequence[tuple[SpaceEdit, int, int]] = (),
    ) -> MeasuredRound:
        """Take in what a run said."""
        gain = None
        if outcome.failure is None:
            is_first = self.first is None
            gains = [self._take(number, configuration, size) for size in outcome.sizes if size.ranked]
            gain = None if is_first else geometric_mean(gains)
            if is_first:
                self.starts = dict(self.held)
            self.current = configuration
        added = MeasuredRound(number, configuration, outcome, tuple(edits), gain)
        self.rounds.append(added)
        return added

    def _take(self, number: int, configuration: BenchmarkConfiguration, size: SizeOutcome) -> float:
        """Keep the better of a size's winner and the best so far; returns the gain, 1 where there is none."""
        place, new = size.place, size.ranked[0]
        constants = configuration.size_groups[size.group].constants
        old = self.winners.get(place)
        before = new.gflops
        if old is not None:  # its speed in the same run, where it was measured again
            again = self.speed_of(size, self.held[place])
            before = old.gflops if again is None else again
            if self.is_same(new, self.held[place]) or new.gflops <= before:
                self.held[place] = self._seen_again(size, self.held[place], before, constants)
                return 1.0
        self.winners[place] = Winner(
            group=size.group,
            size=size.size,
            solution=new.solution,
            values=new.values,
            gflops=new.gflops,
            microseconds=size.microseconds,
            round=number,
            first_gflops=self._first_speed(new.gflops, old),
        )
        self.held[place] = self._seen_again(size, HeldSolution.of(new, constants), new.gflops, constants)
        return new.gflops / before

    def _seen_again(
        self, size: SizeOutcome, held: HeldSolution, gflops: float, constants: ParameterValues
    ) -> HeldSolution:
        """A best solution with what a run tells of it: the values it has there, and what is as fast."""
        instead: list[HeldSolution] = []
        for contender in size.ranked:
            if self.is_same(contender, held):
                held = held.also(HeldSolution.of(contender, constants))
            elif self.noise is not None and contender.gflops >= gflops * (1 - self.noise):
                instead.append(HeldSolution.of(contender, constants))
        return replace(held, instead=tuple(instead))

    def _first_speed(self, now: float, old: Winner | None) -> float | None:
        if old is not None:
            return old.first_gflops
        return now if self.first is None else None

    def is_same(self, contender: Contender, held: HeldSolution) -> bool:
        """Whether a contender is a solution of another run: by what Tensile derived, else by the values of both."""
        if contender.derived and held.derived:
            return contender.derived == held.derived
        pairs = ((value, held.values.get(name, self.default(name))) for name, value in contender.values.items())
        return all(other is None or same(value, other) for value, other in pairs)

    def speed_of(self, size: SizeOutcome, held: HeldSolution) -> float | None:
        """GFLOP/s of a solution at a size of one run, where it is among those that are kept of it."""
        kept = (*size.ranked, *size.slowest)
        return next((one.gflops for one in kept if self.is_same(one, held)), None)

    def incumbents(self) -> list[BestSolution]:
        """What no edit may make impossible: each best solution once, with the sizes it is best at."""
        found: list[tuple[int, HeldSolution, list[str]]] = []
        for (group, size), held in self.held.items():
            known = next((entry for entry in found if entry[:2] == (group, held)), None)
            if known is None:
                found.append((group, held, [size_text(size)]))
            else:
                known[2].append(size_text(size))
        return [_best(group, held, _sizes(sizes)) for group, held, sizes in found]


def _best(group: int, held: HeldSolution, sizes: str) -> BestSolution:
    instead = tuple(_best(group, one, sizes) for one in held.instead)
    return BestSolution(group, held.values, sizes, held.alike, instead)


def place_text(place: SizeKey) -> str:
    """Group and size in words; the first group's sizes stand alone."""
    size = size_text(place[1])
    return size if place[0] == 0 else f"group {place[0]}: {size}"


def _sizes(sizes: Sequence[str]) -> str:
    shown = ", ".join(sizes[:3])
    return shown if len(sizes) <= 3 else f"{shown} and {len(sizes) - 3} more sizes"


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
    edits: list[SpaceEdit] = Field(default_factory=list)
    expected: str = ""
    stop: bool = False


def faults(advice: Advice, configuration: BenchmarkConfiguration, rules: EditLimits, history: History) -> list[str]:
    """What is wrong with a reply, in words for the model: every edit that cannot be carried out, and why."""
    if advice.stop and not advice.edits:
        return []
    if not advice.edits:
        return ["there is no edit: give one at least, or set stop to true"]
    edited, refused = apply_edits(configuration, advice.edits, rules)
    if not refused and edited.configuration.text == configuration.text:
        refused = ["the edits together change nothing"]
    if not refused and history.was_measured(edited.configuration):
        refused = ["this very configuration was measured before"]
    return refused


def edit_lines(edited: EditedConfiguration) -> list[str]:
    """Each edit with its reason, and the permutations before and after it."""
    return [
        f"{edit.words()}: {before:,} -> {after:,} permutations. {edit.reason}" for edit, before, after in edited.steps
    ]
