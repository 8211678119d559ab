"""What every prompt about a kernel tells: device, kernel, launch, sizes, measurements, and what was tried before."""

from __future__ import annotations

from tui_tuner.problem.candidate import Candidate
from tui_tuner.prompts import render
from tui_tuner.prompts.facts import device_facts, launch_facts, measurement_facts, size_facts
from tui_tuner.strategies.base import Effects
from tui_tuner.strategies.parameters import narrowed


def situation(session: Effects, candidate: Candidate, history: str = "") -> str:
    """The facts about a candidate as one text for a prompt."""
    problem = session.problem
    return render(
        "situation",
        device=device_facts(session.bench.device),
        language=problem.language,
        kernel=candidate.kernel,
        source=candidate.source.strip(),
        launch=launch_facts(problem, narrowed(session, candidate)),
        sizes=size_facts(problem),
        measurements=measurement_facts(
            problem,
            session.bench.device,
            session.bench.given,
            session.incumbent.evaluation,
            session.bench.evaluations_of(candidate),
        ),
        history=history,
    )


def rewrite_answer(evaluations: int) -> str:
    """What a prompt for a rewritten kernel wants to be answered.

    Args:
        evaluations: how many configurations of it can be measured.
    """
    return render("rewrite_answer", evaluations=max(1, evaluations))
