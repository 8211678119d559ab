"""What came of a session, at its end and at any moment before: the outcome, and the files that hold it."""

from __future__ import annotations

from typing import Any

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import Comparison
from tui_tuner.format import time_unit
from tui_tuner.report import (
    SessionOutcome,
    count_builds,
    count_failures,
    problem_key,
    title_of,
    write_as_written,
    write_best,
)
from tui_tuner.resources import __version__
from tui_tuner.session.effects import SessionEffects
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.strategies.base import Incumbent
from tui_tuner.strategies.steps import UNCHANGED, Factor


async def conclude(effects: SessionEffects, run: RunDirectory, strategy: str, reason: str) -> SessionOutcome:
    """Time the best against the kernel as given, and against that kernel with its own parameters tuned.

    Both are paired measurements on fresh data: factors found on the way are never multiplied into a claim. One that
    turns out to be wrong there is none, and gives way to the best before it.
    """
    comparison, over_tuned = await _closing(effects)
    best = effects.incumbent
    if effects.budget.model_calls:  # who rewrites kernels wants to know what is left
        await effects.profile(best.candidate, best.evaluation.configuration)
    speedup = UNCHANGED if comparison is None else comparison.factor
    return SessionOutcome(
        **_of_session(effects, run, strategy, reason),
        **_of_best(best, speedup),
        status="finished" if speedup[1] > 1 else "no_improvement",
        speedup_over_tuned=None if over_tuned is None else over_tuned.factor,
        comparison=comparison,
    )


async def _closing(effects: SessionEffects) -> tuple[Comparison | None, Comparison | None]:
    """The best against the kernel as given and against that one tuned, each where it is another."""
    given = Incumbent(effects.baseline, effects.bench.given, UNCHANGED)
    while (best := effects.incumbent).evaluation != effects.bench.given:
        comparison, over_tuned, tuned = await _against(effects, given), None, effects.tuned_baseline
        if comparison.failure is None and tuned is not None and best.evaluation != tuned.evaluation:
            over_tuned = await _against(effects, tuned)
        failure = (over_tuned or comparison).failure
        if failure is None:
            return comparison, over_tuned
        effects.fall_back(failure)
    return None, None


def best_so_far(effects: SessionEffects) -> Incumbent:
    """The incumbent, or what was measured as faster and not yet timed against it."""
    best, given = effects.incumbent.evaluation.timing, effects.bench.given.timing
    candidate, evaluation = effects.bench.fastest or (effects.baseline, effects.bench.given)
    fastest = evaluation.timing
    if best is None or given is None or fastest is None or evaluation in effects.refused:
        return effects.incumbent
    if fastest.median >= best.median:
        return effects.incumbent
    apart = (given.median / fastest.median, given.low / fastest.high, given.high / fastest.low)
    return Incumbent(candidate, evaluation, apart)


def outcome_so_far(
    best: Incumbent, effects: SessionEffects, run: RunDirectory, strategy: str, reason: str
) -> SessionOutcome:
    """What a session has found that is not at its end, with its best so far; nothing is timed for it."""
    return SessionOutcome(
        **_of_session(effects, run, strategy, reason),
        **_of_best(best, best.speedup),
        status="interrupted",
        confirmed=best.comparison is not None,
        speedup_over_tuned=None,
        comparison=best.comparison,
    )


def write_outcome(outcome: SessionOutcome, best: Incumbent, effects: SessionEffects, run: RunDirectory) -> str:
    """Write best.* and result.json, each file whole or not at all; the path of the latter."""
    write_best(run.path, effects.problem, run.problem_text, best.candidate, outcome)
    write_as_written(run.path, best.candidate.kernel, best.evaluation.as_written)
    return str(outcome.write(run.path))


def _of_session(effects: SessionEffects, run: RunDirectory, strategy: str, reason: str) -> dict[str, Any]:
    tuned, evaluations = effects.tuned_baseline, effects.bench.all_evaluations()
    return {
        "program": __version__,
        "kernel": str(run.problem.kernel.source),
        "reason": reason,
        "strategy": strategy,
        "model": run.model,
        "seed": run.options.seed,
        "device": effects.bench.device,
        "sandbox": effects.bench.sandbox,
        "time_unit": time_unit(cpu=effects.bench.device.is_cpu),
        "baseline": effects.bench.given,
        "baseline_tuned": None if tuned is None else tuned.evaluation,
        "evaluations": effects.budget.evaluations,
        "builds": count_builds(evaluations),
        "failures": count_failures(evaluations),
        "model_calls": effects.budget.model_calls,
        "model_fault": effects.model.fault,
        "cost": effects.budget.cost,
        "elapsed_s": effects.elapsed,
        "sizes": kind_named(effects.bench.device.kind).sized(run.problem).sizes,
        "problem_key": problem_key(run.problem),
        "library": effects.bench.library,
    }


def _of_best(best: Incumbent, speedup: Factor) -> dict[str, Any]:
    return {"best": best.evaluation, "best_title": title_of(best.candidate), "speedup": speedup}


async def _against(effects: SessionEffects, old: Incumbent) -> Comparison:
    best = effects.incumbent
    return await effects.compare(old, best.candidate, best.evaluation)
