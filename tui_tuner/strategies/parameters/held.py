"""Tunables that are frozen at a value, so that the space that is searched stays bounded from step to step."""

from __future__ import annotations

from collections.abc import Collection

from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome
from tui_tuner.strategies.parameters.freezing import freeze, to_freeze
from tui_tuner.strategies.parameters.searching import limits_of, narrowed, space_of
from tui_tuner.strategies.steps import StepState

MOST_CONFIGURATIONS = 5000
"""Valid configurations of a search; with more of them what was settled before stays frozen, whatever a reply lists."""


def unfreeze(session: Effects, candidate: Candidate, names: Collection[str]) -> None:
    """Let these tunables be searched again, unless the space of the candidate would become too large."""
    frozen = {name: value for name, value in session.frozen.items() if name not in names}
    if frozen == session.frozen:
        return
    space = space_of(session, freeze(candidate, frozen, **limits_of(session)))
    if len(space.enumerate_valid(MOST_CONFIGURATIONS + 1)) <= MOST_CONFIGURATIONS:
        session.freeze(frozen)


def freeze_settled(session: Effects, outcome: Outcome) -> None:
    """Freeze what no longer matters in a kernel that was accepted; what is frozen in it already stays so."""
    candidate, best = outcome.candidate, outcome.best
    if outcome.step.state is not StepState.ACCEPTED or candidate is None or best is None:
        return
    values = best.configuration
    frozen = {name: value for name, value in session.frozen.items() if values.get(name) == value}
    known = session.bench.evaluations_of(candidate)
    settled = to_freeze(narrowed(session, candidate), values, known, MOST_CONFIGURATIONS, **limits_of(session))
    session.freeze({**frozen, **settled})
