"""The kernel as given on the runner: tried at proposed tests, then checked and timed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tui_tuner.errors import MachineError, ProblemError, UserError
from tui_tuner.evaluate.results import Build, Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import (
    EvaluationAnswer,
    Executable,
    PreparationRequest,
    RehearsalAnswer,
    RehearsalRequest,
)
from tui_tuner.evaluate.runner.supervisor import RunnerDied
from tui_tuner.evaluate.site import Place, expected
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.check_inputs import faults_of_test
from tui_tuner.problem.inputs import array_bytes, label_of
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.model import Configuration, Problem, Test
from tui_tuner.processes.limits import usable_memory

MakeExecutable = Callable[[Candidate, Configuration, Problem], Awaitable[Failure | tuple[Build, Executable | None]]]
"""Builds a configuration with its launches at every test of a problem, or says why that is not possible."""


@dataclass(frozen=True)
class GivenKernel:
    """The kernel as given, checked.

    Attributes:
        problem: with the tests that candidates are verified at.
        tests: those of them that were proposed.
        dropped: a line for each proposed test that is not among them.
    """

    problem: Problem
    build: Build
    answer: EvaluationAnswer
    tests: list[Test]
    dropped: list[str]


async def check_given(problem: Problem, proposed: Sequence[Test], make: MakeExecutable, place: Place) -> GivenKernel:
    """Keep the proposed tests that can be used, check the kernel as given there, and time it.

    Raises:
        ProblemError: it does not build or run, or it fails a check that was not only proposed.
    """
    _refuse_beyond_memory(problem)
    kept, dropped = await kept_tests(problem, proposed, partial(_rehearse, make=make, place=place))
    if kept:
        try:
            with_tests = problem.with_tests(kept)
            build, answer = await _prepare(with_tests, DRAWS, make, place)
            return GivenKernel(with_tests, build, answer, kept, dropped)
        except MachineError:
            raise  # which says nothing about the tests
        except UserError as error:
            dropped += [dropped_line(problem, test, error.message) for test in kept]
            await place.close()  # and what the runner has allocated goes with it
    build, answer = await _prepare(problem, 1, make, place)
    return GivenKernel(problem, build, answer, [], dropped)


def _refuse_beyond_memory(problem: Problem) -> None:
    """Refuse what could not be held, before minutes go by in filling arrays.

    Raises:
        ProblemError: inputs and expected outputs are larger than the memory of this machine.
    """
    needed, there = array_bytes(problem, {}), usable_memory()
    if needed > there:
        message = f"its arrays take {needed / 2**30:.1f} GiB at the timed size, there are {there / 2**30:.1f} here"
        raise ProblemError(message, hint="choose smaller [sizes]", file=problem.directory / problem.kernel.source)


async def _rehearse(trial: Problem, make: MakeExecutable, place: Place) -> str | None:
    """Why the kernel as given cannot be checked at the tests of a problem; None if it can."""
    built = await _built(trial, make)
    if isinstance(built, Failure):
        return built.message
    try:
        answer = await place.ask(RehearsalRequest(problem=trial, baseline=built[1]))
    except RunnerDied as died:
        return died.failure.in_words
    fault = expected(RehearsalAnswer, answer).fault
    return None if fault is None else fault.message


async def _prepare(problem: Problem, draws: int, make: MakeExecutable, place: Place) -> tuple[Build, EvaluationAnswer]:
    built = await _built(problem, make)
    source = problem.directory / problem.kernel.source
    if isinstance(built, Failure):
        raise ProblemError(f"the kernel as given cannot run: {built.message}", file=source)
    build, executable = built
    try:
        request = PreparationRequest(problem=problem, baseline=executable, draws=draws)
        answer = expected(EvaluationAnswer, await place.open(request))
    except RunnerDied as died:
        answer = EvaluationAnswer(failure=died.failure)
    if answer.failure is not None:
        raise ProblemError(
            f"the kernel as given fails: {answer.failure.kind}, {answer.failure.message}",
            hint=_what_to_write(problem, answer.failure),
            file=source,
        )
    return build, answer


def _what_to_write(problem: Problem, failure: Failure) -> str:
    if failure.kind == FailureKind.TIMEOUT and not problem.sizes:
        return "its sizes are numbers of its own source: write smaller ones there, or take a faster device"
    if failure.kind == FailureKind.WRONG_RESULT:
        if problem.reference is not None and problem.tolerance.is_declared:
            return "[tolerance] allows less than it is off by, beside its reference: allow more, or correct either"
        return (
            "two launches of it on the same inputs differ: its threads race, as where shared memory is written again "
            "with no barrier since others read it (`compute-sanitizer --tool racecheck` names the line); correct that, "
            "or say by [tolerance] how much may differ"
        )
    return (
        f"check [launch], [defaults] and [[arguments]] of {_problem_file(problem)}: fill, low and high say what an "
        "array may hold"
    )


def _problem_file(problem: Problem) -> str:
    """The problem file in words; where none is written, how to have one."""
    source = problem.directory / problem.kernel.source
    if source.suffix not in LANGUAGES or source.with_suffix(".toml").exists():
        return "the problem file"
    name = problem.kernel.name.partition("<")[0]
    return f"the problem file, which this writes: tuner-tui init {shlex.quote(str(source))} --kernel {name}"


async def _built(problem: Problem, make: MakeExecutable) -> Failure | tuple[Build, Executable]:
    """The kernel as given for the sizes of a problem; a failure where it cannot be launched at one of them."""
    candidate = baseline(problem)
    built = await make(candidate, candidate.default_configuration, problem)
    if isinstance(built, Failure):
        return built
    build, executable = built
    if executable is None:
        failure = build.failure
        source = problem.directory / problem.kernel.source
        words = "" if failure is None else f"{failure.message}\n{failure.detail}".strip()
        detail = with_name_of(source, words)
        raise ProblemError(f"the kernel as given does not build: {detail}", file=source)
    return build, executable


REHEARSALS = 2
"""How often the kernel as given runs at a proposed test: with a guard behind its arrays, and before them."""
DRAWS = 20
"""How often the data of a proposed test are drawn before it is given up: chance alone must not end a session."""

RehearseTests = Callable[[Problem], Awaitable[str | None]]
"""Runs the kernel as given at every test of a problem; why it cannot be checked there, or None."""


async def kept_tests(
    problem: Problem, proposed: Sequence[Test], rehearse: RehearseTests
) -> tuple[list[Test], list[str]]:
    """The tests to keep, and a line for each that is dropped.

    Args:
        problem: at the sizes in force; where it has tests of its own, nothing that is proposed is used.
    """
    kept: list[Test] = []
    dropped: list[str] = []
    for test in proposed if not problem.tests else ():
        faults = why_unusable(problem, test)
        reason = faults[0] if faults else await rehearse(problem.with_tests([test] * REHEARSALS))
        if reason is None:
            kept.append(test)
        else:
            dropped.append(dropped_line(problem, test, reason))
    return kept, dropped


def why_unusable(problem: Problem, test: Test) -> list[str]:
    """Why a test cannot even be tried; empty if it can."""
    faults = [f"{fault.message} ({fault.hint})" for fault in faults_of_test(problem, test)]
    if faults:
        return faults
    if problem.at(test) == problem:
        return ["it changes neither sizes nor inputs"]
    needed, most = array_bytes(problem, test.sizes), array_bytes(problem, {})
    return [f"its arrays take {needed} bytes, more than the {most} of the timed size"] if needed > most else []


def dropped_line(problem: Problem, test: Test, reason: str) -> str:
    """The test and why it is dropped, as in "n=33: illegal access: ..."."""
    label = label_of({**problem.sizes, **test.sizes}, test.inputs)
    return f"{label}: {reason.replace(f'at {label}: ', '').replace(f'at {label} ', '')}"


def with_name_of(source: Path, words: str) -> str:
    """What a compiler said, which builds give every source under one name, with the name of the user's file."""
    return re.sub(rf"\bkernel{re.escape(source.suffix)}(?=:)", source.name, words)
