"""Tunables that are held at a value, so that the space that is searched stays bounded from step to step."""

from __future__ import annotations

from tui_tuner.problem.candidate import Candidate
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.history import Outcome
from tui_tuner.strategies.parameters.freezing import freeze, to_freeze
from tui_tuner.strategies.parameters.searching import limits_of, narrowed, space_of
from tui_tuner.strategies.rewriting.rewrite import RewriteReply
from tui_tuner.strategies.steps import StepState

MOST_CONFIGURATIONS = 5000
"""Valid configurations of a search; with more of them what was settled before stays held, whatever a reply lists."""


def release(session: Effects, candidate: Candidate, reply: RewriteReply) -> None:
    """Free the tunables that a reply wants to be searched again, unless the space would become too large."""
    again = {t.name for t in reply.tunables if len(set(t.values)) > 1}
    held = {name: value for name, value in session.frozen.items() if name not in again}
    if held == session.frozen:
        return
    space = space_of(session, freeze(candidate, held, **limits_of(session)))
    if len(space.enumerate_valid(MOST_CONFIGURATIONS + 1)) <= MOST_CONFIGURATIONS:
        session.freeze(held)


def hold_settled(session: Effects, outcome: Outcome) -> None:
    """Hold what no longer matters in a kernel that was accepted, and what is held in it already."""
    candidate, best = outcome.candidate, outcome.best
    if outcome.step.state is not StepState.ACCEPTED or candidate is None or best is None:
        return
    values = best.configuration
    held = {name: value for name, value in session.frozen.items() if values.get(name) == value}
    known = session.bench.evaluations_of(candidate)
    settled = to_freeze(narrowed(session, candidate), values, known, MOST_CONFIGURATIONS, **limits_of(session))
    session.freeze({**held, **settled})
