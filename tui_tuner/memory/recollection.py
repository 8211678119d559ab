"""What the memory offers to a new session: a few lines for the first prompt, and configurations to begin with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.format import configuration_words, factor_in_prompts, time_unit, time_words
from tui_tuner.memory.entry import HelpfulStep, MemoryEntry
from tui_tuner.memory.features import KernelFeatures
from tui_tuner.memory.kept import one_line
from tui_tuner.memory.similarity import THRESHOLD, device_factor, similarity
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.space import SearchSpace

MOST_LINES = 5
MOST_SEEDS = 8
_LONGEST_LINE = 500


class Recollection(BaseModel):
    """What is offered to a session; recorded in its journal.

    Attributes:
        lines: what a prompt tells, the most similar kernel first.
        seeds: valid configurations to measure early, the best known first.
        warning: why there is less than there could be.
    """

    model_config = ConfigDict(frozen=True)

    lines: list[str] = []
    seeds: list[Configuration] = []
    warning: str = ""


@dataclass(frozen=True)
class RecallQuery:
    """What is to be tuned, for which something similar is looked for.

    Attributes:
        features: what the kernel as given is recognised by.
        space: the valid configurations of the candidate that some are wanted for.
    """

    features: KernelFeatures
    device: DeviceInfo
    space: SearchSpace


def ranked(entries: Iterable[MemoryEntry], query: RecallQuery) -> list[MemoryEntry]:
    """The entries that are similar enough, the most similar first, of these the larger and then the newer gain."""

    def score(entry: MemoryEntry) -> float:
        factor = device_factor(query.device, entry.device, entry.architecture)
        return factor * similarity(query.features, entry.features)

    scored = [(score(entry), entry) for entry in entries]
    similar = [(points, entry) for points, entry in scored if points >= THRESHOLD]
    similar.sort(key=lambda pair: (pair[0], pair[1].speedup[1], pair[1].created), reverse=True)
    return [entry for _, entry in similar]


def lines_of(entries: Sequence[MemoryEntry], query: RecallQuery) -> list[str]:
    """A line an entry; of the same kernel with the same tunables on the same device only the first."""
    lines: dict[tuple[object, ...], str] = {}
    for entry in entries:
        names = frozenset(entry.best.configuration)
        line = _line(entry, same=names == query.space.tunables.keys())
        lines.setdefault((entry.features.kernel, entry.device, names), line)
    return [*lines.values()][:MOST_LINES]


def _line(entry: MemoryEntry, *, same: bool) -> str:
    best, time = configuration_words(entry.best.configuration), entry.best.ms
    line = (
        f"{entry.features.kernel} on {entry.device} ({'same' if same else 'other'} tunables): {best}: "
        f"{time_words(time, time_unit(cpu=entry.is_cpu))}, {factor_in_prompts(entry.speedup)}"
    )
    helped = ", ".join(map(_helped, entry.helped))
    return one_line(f"{line}; helped: {helped}" if helped else line, _LONGEST_LINE)


def _helped(step: HelpfulStep) -> str:
    return step.title if step.factor is None else f"{step.title} {step.factor:.3g}x"


def seeds_of(
    entries: Sequence[MemoryEntry], proposed: Iterable[Configuration], space: SearchSpace
) -> list[Configuration]:
    """Configurations for a space: the best of each entry, then the others, then what was only proposed before."""
    known = [entry.best.configuration for entry in entries]
    known += [measured.configuration for entry in entries for measured in entry.others]
    measured = _distinct(_projected(known, space))[:MOST_SEEDS]
    return _distinct([*measured, *proposed])


def _projected(configurations: Iterable[Configuration], space: SearchSpace) -> Iterator[Configuration]:
    """What the configurations say of the space's tunables, where they name all of them and it is valid."""
    for configuration in configurations:
        if space.tunables and configuration.keys() >= space.tunables.keys():
            part = {name: configuration[name] for name in space.tunables}
            if space.contains(part):
                yield part


def _distinct(configurations: Iterable[Configuration]) -> list[Configuration]:
    return list({tuple(c.items()): c for c in configurations}.values())
