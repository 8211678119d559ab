"""`tuner-tui check`: what the tests of a problem cover, and which known faults of its kernel they would not notice."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tui_tuner.checks import Case, Code
from tui_tuner.checks.mutants import Fault, Mutant, mutants
from tui_tuner.checks.pairs import DELTA
from tui_tuner.checks.places import OpenMachine, opened, problem_named
from tui_tuner.errors import ExitCode, UserError
from tui_tuner.evaluate.results import Evaluation, FailureStage
from tui_tuner.format import assigned_words, counted, time_unit, time_words
from tui_tuner.problem.candidate import Candidate, baseline, geometry
from tui_tuner.problem.inputs import label_of
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.text import tell

HOPELESS_MS = 1e-9
"""Beside such a time any other is so long that few samples are taken: a fault is not to be timed."""
DRAWN = 16
"""Configurations of which one is taken that differs most from the default."""
PRIMES = (37, 53, 67, 83, 101, 127, 149, 173)
"""Sizes that no block, tile or vector divides, another for each name."""


class FaultOutcome(StrEnum):
    """What came of a fault."""

    NOTICED = "noticed"
    MISSED = "not noticed"
    NO_CHANGE = "changed nothing"
    NOT_BUILT = "not built"


@dataclass(frozen=True)
class Trial:
    """A fault that was put into the kernel.

    Attributes:
        reason: why it was refused; empty where it was not.
    """

    mutant: Mutant
    outcome: FaultOutcome
    reason: str = ""


_CLOSE = {
    Fault.TAIL: "add a test at sizes that no block, tile or vector divides",
    Fault.GUARD: "add a test at sizes that the block does not divide, so that the last block reaches over the end",
    Fault.BRANCH: "add a test whose sizes or inputs take this branch, unless the other way computes the same",
    Fault.STORE: "add a test whose sizes or inputs reach this store, or declare the array an output",
    Fault.SKIP: "give inputs whose every element counts ([[arguments]] fill), or a narrower [tolerance]",
    Fault.LARGE: "set a narrower [tolerance]: at the timed size half of this loop is within the bound",
    Fault.BARRIER: "add a test with more blocks and threads, and check with --device emulator, which shuffles threads",
    Fault.ATOMIC: "add a test where several blocks update one element",
    Fault.PRECISION: "set [tolerance] relative below what fewer bits give",
    Fault.MAXIMUM: 'let inputs be large: fill = "normal" declares that any number may occur',
    Fault.SIZE: "add a test where the sizes differ",
}
_REFERENCE = {Fault.LARGE: "or give a [reference]", Fault.PRECISION: "or give a [reference] in float64"}
"""What closes a hole as well where there is none."""


async def check(chosen: argparse.Namespace) -> tuple[int, list[Case]]:
    """Say what the check of a kernel covers and what it would let through.

    Raises:
        UserError: the problem, the device or the kernel as given cannot be used.
    """
    problem = (await asyncio.to_thread(problem_named, chosen.kernel)).problem
    async with opened(problem, chosen.device, allow_unconfined=bool(chosen.allow_unconfined)) as machine:
        given = baseline(machine.problem)
        trials = await _tried(machine, mutants(given, machine.problem, chosen.faults))
    missed = [trial for trial in trials if trial.outcome is FaultOutcome.MISSED]
    test = uneven_test(machine.problem)
    closed = await _closed_by(test, missed, machine.problem, chosen) if missed and test else None
    if chosen.json:
        tell(json.dumps(_as_json(machine, trials, test, closed or set())))
    else:
        has_reference = machine.problem.reference is not None
        for line in (*coverage(machine), *verdict_lines(trials, test, closed, has_reference=has_reference)):
            tell(line)
    cases = [Case("right", output="\n".join(coverage(machine))), *map(_case, trials)]
    return (Code.HOLES if missed else ExitCode.FINISHED), cases


def _case(trial: Trial) -> Case:
    """A fault as a test case: what was not built or changed nothing tells nothing."""
    mutant, outcome = trial.mutant, trial.outcome
    name = f"{mutant.fault} ({mutant.place})"
    if outcome is FaultOutcome.NOTICED:
        return Case(name, output=trial.reason)
    return Case(name, "failure" if outcome is FaultOutcome.MISSED else "skipped", str(outcome), _CLOSE[mutant.fault])


async def _tried(machine: OpenMachine, faulty: Sequence[Mutant]) -> list[Trial]:
    """Build and check all, as a session would before it accepts a kernel."""
    evaluations = await asyncio.gather(*(_evaluated(machine, mutant.candidate) for mutant in faulty))
    return [await _trial(machine, mutant, done) for mutant, done in zip(faulty, evaluations, strict=True)]


async def _evaluated(machine: OpenMachine, candidate: Candidate) -> Evaluation:
    """In the default configuration; where that lets it pass, in one that differs, since a fault may need it to show."""
    default = candidate.default_configuration
    done = await machine.evaluator.evaluate(candidate, default, best_ms=HOPELESS_MS)
    other = other_configuration(candidate, machine.problem, machine.report.device.max_threads_per_block)
    if done.failure is not None or other is None:
        return done
    elsewhere = await machine.evaluator.evaluate(candidate, other, best_ms=HOPELESS_MS)
    return done if elsewhere.failure is None else elsewhere


def other_configuration(candidate: Candidate, problem: Problem, max_threads: int | None) -> Configuration | None:
    """Of some valid configurations the one with the most tunables other than the default; None where there is none."""
    default = candidate.default_configuration
    space = candidate.space(sizes=problem.sizes, max_threads=max_threads)
    drawn = space.sample(DRAWN, random.Random(0))  # noqa: S311 (it is to be the same again)
    others = [(sum(each[name] != default[name] for name in default), each) for each in drawn if each != default]
    return max(others, key=lambda pair: pair[0])[1] if others else None


async def _trial(machine: OpenMachine, mutant: Mutant, done: Evaluation) -> Trial:
    failure, given = done.failure, baseline(machine.problem)
    if failure is not None:
        built = failure.kind.stage is FailureStage.RUN
        return Trial(mutant, FaultOutcome.NOTICED if built else FaultOutcome.NOT_BUILT, failure.in_words)
    if done.same_as is not None:
        return Trial(mutant, FaultOutcome.NO_CHANGE)  # the machine code of the kernel as given, or of another fault
    changed = (mutant.candidate, mutant.candidate.default_configuration)
    fresh = await machine.evaluator.compare((given, given.default_configuration), changed, DELTA, thorough=True)
    noticed = fresh.failure or await machine.evaluator.accusation(*changed)
    if noticed is not None:
        return Trial(mutant, FaultOutcome.NOTICED, noticed.in_words)
    return Trial(mutant, FaultOutcome.MISSED)


def uneven_test(problem: Problem) -> Test | None:
    """A test at sizes that nothing divides, all different; None where every size is fixed by the tests there are."""
    varied = [name for name in problem.sizes if _varies(problem, name)]
    sizes = {name: min(prime, problem.sizes[name]) for name, prime in zip(varied, PRIMES, strict=False)}
    return Test(sizes=sizes) if sizes else None


def _varies(problem: Problem, name: str) -> bool:
    """Whether a size is not the same everywhere; where there are no tests, any may be another."""
    values = {test.sizes.get(name, problem.sizes[name]) for test in problem.tests}
    return not problem.tests or len(values | {problem.sizes[name]}) > 1


async def _closed_by(
    test: Test, missed: Sequence[Trial], problem: Problem, chosen: argparse.Namespace
) -> set[str] | None:
    """The candidates with a fault that is noticed with one more test; None where the kernel as given cannot do it."""
    more = problem.model_copy(update={"tests": [*problem.tests, test], "emulator": None})
    try:
        async with opened(more, chosen.device, allow_unconfined=bool(chosen.allow_unconfined)) as machine:
            again = await asyncio.gather(*(_evaluated(machine, trial.mutant.candidate) for trial in missed))
    except UserError:
        return None
    return {trial.mutant.candidate.id for trial, done in zip(missed, again, strict=True) if done.failure is not None}


def coverage(machine: OpenMachine) -> list[str]:
    """What is checked, in lines."""
    problem, report = machine.problem, machine.report
    reference = "the kernel as given itself: what is wrong with it is expected of every rewrite"
    if problem.reference is not None:
        reference = problem.reference.python
    given, device = report.given, report.device
    time = "" if given.timing is None else f", {time_words(given.timing.median, time_unit(cpu=given.timing.cpu))}"
    return [
        f"device     {device.name}, {device.toolchain}",
        f"builds     {report.sandbox}",
        f"expected   from {reference}",
        f"given      right, with {given.error or 0:.2g} of the deviation that is allowed{time}",
        *(f"test       {_covers(problem, test.sizes, label_of(test.sizes, test.inputs))}" for test in problem.tests),
        f"timed at   {_covers(problem, {}, label_of(problem.sizes))}",
        *([] if problem.tests else ["test       none: nothing but the timed size is checked; add [[tests]]"]),
        *(f"left out   {line}" for line in report.left_out),
    ]


def _covers(problem: Problem, sizes: dict[str, int], label: str) -> str:
    """The sizes of a test with what they say of blocks."""
    given = baseline(problem)
    launch = geometry(given.launch, {**problem.sizes, **sizes}, given.default_configuration)
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
    return f"{label}  ({counted(blocks, 'block')})"


def verdict_lines(
    trials: Sequence[Trial], test: Test | None, closed: set[str] | None, *, has_reference: bool = False
) -> list[str]:
    """How many faults were noticed, and of those that were not what they are and how to close the hole.

    Args:
        test: one more, that was tried.
        closed: the candidates whose fault it notices; None where it was not tried.
    """
    counts = Counter(trial.outcome for trial in trials)
    told = ", ".join(f"{counts[outcome]} {outcome}" for outcome in FaultOutcome if counts[outcome])
    lines = [f"faults     {len(trials)} put into the kernel, one at a time: {told or 'none fits it'}"]
    for trial in trials:
        if trial.outcome is FaultOutcome.MISSED:
            mutant = trial.mutant
            lines.append(f"MISSED     {mutant.fault} ({mutant.place})")
            if closed and mutant.candidate.id in closed:
                lines.append("           the test below notices it")
                continue
            more = () if has_reference or mutant.fault not in _REFERENCE else (_REFERENCE[mutant.fault],)
            lines.append(f"           {', '.join((_CLOSE[mutant.fault], *more))}")
            if test is not None and closed is not None:
                lines.append(f"           (a test at {label_of(test.sizes)} does not notice it either)")
    if counts[FaultOutcome.MISSED]:
        lines.append("           (what is missed may also do no harm: a needless barrier, a bound that divides anyway)")
    if closed and test is not None:
        lines += ["", "[[tests]]", f"sizes = {{ {assigned_words(test.sizes)} }}"]
    return lines


def _as_json(machine: OpenMachine, trials: Sequence[Trial], test: Test | None, closed: set[str]) -> dict[str, object]:
    problem, report = machine.problem, machine.report
    return {
        "device": {"name": report.device.name, "toolchain": report.device.toolchain},
        "reference": None if problem.reference is None else problem.reference.python,
        "given": report.given.model_dump(mode="json"),
        "tests": [one.model_dump(mode="json") for one in problem.tests],
        "timed_at": problem.sizes,
        "left_out": report.left_out,
        "faults": [_trial_as_json(trial, closed) for trial in trials],
        "closing_test": None if test is None or not closed else test.model_dump(mode="json"),
    }


def _trial_as_json(trial: Trial, closed: set[str]) -> dict[str, object]:
    mutant, is_missed = trial.mutant, trial.outcome is FaultOutcome.MISSED
    place = {"line": mutant.line, "was": mutant.was, "now": mutant.now}
    told = {"fault": mutant.fault.name, "outcome": trial.outcome.name, **place, "reason": trial.reason}
    return (
        {**told, "close": _CLOSE[mutant.fault], "closed_by_test": mutant.candidate.id in closed} if is_missed else told
    )
