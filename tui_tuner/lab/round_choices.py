"""Which evaluations of a round stem from which configuration of a model's reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.lab.dataset_example import Origin, RoundChoices
from tui_tuner.llm.finding import json_text
from tui_tuner.llm.thinking import split_thinking
from tui_tuner.problem.model import Configuration

ROUNDS = frozenset({"first_configurations", "more_configurations"})
"""Purposes of the calls whose replies propose configurations."""

Proposed = Mapping[str, object]


@dataclass(frozen=True)
class AssignedRound:
    """The evaluations of a round; `origins` has one entry an evaluation, None where the reply did not choose it."""

    origins: list[Origin | None]
    choices: RoundChoices


def proposals_in(text: str) -> list[Proposed]:
    """The configurations of a reply in their order; none where it cannot be read."""
    try:
        content = json.loads(json_text(split_thinking(text)[0]))
    except ValueError:
        return []
    listed = content.get("configurations") if isinstance(content, dict) else None
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def assigned(
    proposals: Sequence[Proposed], batch: Sequence[Configuration], known: Sequence[Configuration]
) -> AssignedRound:
    """Find the proposal behind each evaluation of a round.

    The events of a session name no repairs. A repaired configuration is the one most like an invalid proposal, equal
    in at least half of its values, in the place of the batch that the proposals around it leave: a batch has the
    order of the reply, behind seeds that no reply chose.

    Args:
        batch: the configurations evaluated after the reply, in their order.
        known: those that were evaluated before.
    """
    origins: list[Origin | None] = [None] * len(batch)
    places: list[int | None] = []
    for proposal in proposals:
        free = (i for i, one in enumerate(batch) if origins[i] is None and _means(proposal, one))
        place = next(free, None)
        places.append(place)
        if place is not None:
            origins[place] = "reply"
    missing = [i for i, place in enumerate(places) if place is None]
    repeated = [i for i in missing if any(_means(proposals[i], one) for one in [*known, *batch])]
    for i in (i for i in missing if i not in repeated):
        places[i] = _repair(proposals[i], batch, origins, _window(places, i, len(batch)))
        if (place := places[i]) is not None:
            origins[place] = "repair"
    counts = {origin: origins.count(origin) for origin in ("reply", "repair")}
    left = len(proposals) - counts["reply"] - counts["repair"] - len(repeated)
    choices = RoundChoices(
        proposed=len(proposals),
        as_proposed=counts["reply"],
        repaired=counts["repair"],
        repeated=len(repeated),
        unmeasured=left,
    )
    return AssignedRound(origins, choices)


def _window(places: Sequence[int | None], index: int, end: int) -> range:
    """The part of the batch between the nearest proposals before and behind that have a place."""
    before = [place for place in places[:index] if place is not None]
    behind = [place for place in places[index + 1 :] if place is not None]
    return range(max(before, default=-1) + 1, min(behind, default=end))


def _repair(
    proposal: Proposed, batch: Sequence[Configuration], origins: Sequence[Origin | None], window: range
) -> int | None:
    free = [i for i in window if origins[i] is None]
    best = max(free, key=lambda i: _alike(proposal, batch[i]), default=None)
    return best if best is not None and _alike(proposal, batch[best]) * 2 >= len(batch[best]) else None


def _means(proposal: Proposed, configuration: Configuration) -> bool:
    """Whether a proposal is this configuration; what it leaves out, the session filled in."""
    given = [name for name in configuration if proposal.get(name) is not None]
    return bool(given) and all(_same(proposal[name], configuration[name]) for name in given)


def _alike(proposal: Proposed, configuration: Configuration) -> int:
    return sum(_same(proposal.get(name), value) for name, value in configuration.items())


def _same(proposed: object, value: object) -> bool:
    """Equal, or the same in other letters: 64.0 or "64" for 64, true for 1."""
    return proposed == value or str(proposed).strip().lower() == str(value).lower()
