"""Why a proposed kernel did not become the incumbent, what a model is told of it, and how often it may try.

The kinds of failed evaluations are in `tui_tuner.evaluate.results.FailureKind`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tui_tuner.evaluate.results import Evaluation, FailureKind, FailureStage
from tui_tuner.format import configuration_words
from tui_tuner.prompts import evaluation_facts, render
from tui_tuner.strategies.base import ATTEMPTS
from tui_tuner.strategies.steps import Factor

_MOST_TOLD = 5
_Failed = TypeVar("_Failed", bound="CandidateFailed")


class CandidateFailed(Exception):
    """A proposed kernel is not accepted.

    Attributes:
        reason: one line, for people.
        told: what really happened, for the model; may have many lines.
        advice: what the model is told to do about it.
        best: the fastest evaluation of the kernel, where it is right.
        factor: speed-up over the incumbent, with the ends of the interval, where they were compared.
    """

    advice = "Correct what is named above."
    best: Evaluation | None = None
    factor: Factor | None = None

    def __init__(self, reason: str, told: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.told = told or reason

    @property
    def in_history(self) -> str:
        """What later prompts say of the kernel."""
        return self.reason

    @property
    def in_plan(self) -> str:
        """What the plan says of it, for people."""
        return self.reason


class EvaluationFailed(CandidateFailed):
    """A configuration that was not built, not verified or not timed.

    Attributes:
        kind: why the configuration is not usable; a class that stands for one kind names it.

    Raises:
        ValueError: the evaluation did not fail.
    """

    kind: FailureKind

    def __init__(self, evaluation: Evaluation) -> None:
        failure = evaluation.failure
        if failure is None:
            raise ValueError("the evaluation did not fail")
        configuration = f"configuration: {configuration_words(evaluation.configuration)}"
        super().__init__(failure.in_words, f"{configuration}\n{failure.in_words}\n{failure.detail}".strip())
        self.kind, self.advice = failure.kind, failure.kind.advice
        self.evaluation = evaluation


class BuildFailed(EvaluationFailed):
    """No artifact came about."""


class SourceRefused(BuildFailed):
    """Text that is not built at all."""

    kind = FailureKind.REFUSED


class CompileFailed(BuildFailed):
    """The compiler refused it."""

    kind = FailureKind.COMPILE


class BuildTimedOut(BuildFailed):
    """The compiler took too long."""

    kind = FailureKind.BUILD_TIMEOUT


class InvalidConfiguration(EvaluationFailed):
    """A configuration against restrictions or the device's limits, or an expression without a value."""

    kind = FailureKind.INVALID


class RunFailed(EvaluationFailed):
    """A kernel that was built and did not run to a right result."""


class LaunchFailed(RunFailed):
    """The device refused the launch."""

    kind = FailureKind.LAUNCH


class WrongResult(RunFailed):
    """A kernel that computes something else."""

    kind = FailureKind.WRONG_RESULT


class IllegalAccess(RunFailed):
    """A kernel that read or wrote where nothing is."""

    kind = FailureKind.ILLEGAL_ACCESS


class Raced(RunFailed):
    """A kernel whose threads use the same memory in no order."""

    kind = FailureKind.RACE


class TimedOut(RunFailed):
    """A kernel that did not end in time."""

    kind = FailureKind.TIMEOUT


class Crashed(RunFailed):
    """A kernel that ended the process that ran it."""

    kind = FailureKind.CRASH


class ImplausibleTime(RunFailed):
    """A kernel that claims to be faster than the hardware can be."""

    kind = FailureKind.IMPLAUSIBLE


class NoneRight(CandidateFailed):
    """No configuration passed the checks, and they failed for several reasons."""

    advice = "Offer values and restrictions that leave configurations which are right and fit the device."

    def __init__(self, evaluations: Sequence[Evaluation]) -> None:
        failures = [failure_of(evaluation) for evaluation in evaluations if evaluation.failure is not None]
        told = list(dict.fromkeys(failure.told for failure in failures))[:_MOST_TOLD]
        reason = f": {failures[0].reason}" if failures else ""
        super().__init__(
            f"no configuration passed the checks{reason}", "\n".join(["No configuration passed the checks:", *told])
        )


class NotFaster(CandidateFailed):
    """A kernel that is right, and not faster than the incumbent."""

    advice = "Take another approach than the one that was measured."

    def __init__(self, reason: str, best: Evaluation, factor: Factor) -> None:
        times = "{:.3g} times the speed of the best so far, interval [{:.3g}, {:.3g}]".format(*factor)
        told = f"It is right, but {reason}: {times}. Its best: {configuration_words(best.configuration)}: "
        super().__init__(reason, told + evaluation_facts(best))
        self.best = best
        self.factor = factor

    @property
    def in_history(self) -> str:
        """How slow it is, with its best configuration."""
        return self.told


class SameKernel(CandidateFailed):
    """A kernel that was written for the step before, where several are wanted."""

    advice = "Take another idea than those that were tried."

    def __init__(self) -> None:
        super().__init__("the same kernel as one before it for this step")


class Rejected(CandidateFailed):
    """The programmer does not want it.

    Args:
        words: the programmer's.
        faster: by how much it is, in words, where it was timed against the incumbent before.
    """

    advice = "Answer with a kernel that the programmer would accept."

    def __init__(self, words: str, faster: str = "") -> None:
        self._faster = faster
        said = f": {words}" if words else ""
        super().__init__(f"rejected by hand{said}", f"The programmer rejected it{said or ', without a reason'}.")

    @property
    def in_plan(self) -> str:
        """How fast it is, too."""
        return f"{self._faster} over the best so far, but {self.reason}" if self._faster else self.reason


def _below(kind: type[_Failed]) -> Iterator[type[_Failed]]:
    """The class and all below it."""
    yield kind
    for below in kind.__subclasses__():
        yield from _below(below)


_BY_STAGE: dict[FailureStage, type[EvaluationFailed]] = {
    FailureStage.CHECK: InvalidConfiguration,
    FailureStage.BUILD: BuildFailed,
    FailureStage.RUN: RunFailed,
}
_BY_KIND: dict[FailureKind, type[EvaluationFailed]] = {
    failed.kind: failed for failed in _below(EvaluationFailed) if "kind" in vars(failed)
}


def failure_of(evaluation: Evaluation) -> EvaluationFailed:
    """The failure of an evaluation, as the class of its kind, or of its stage where the kind has no class of its own.

    Raises:
        ValueError: it did not fail.
    """
    if evaluation.failure is None:
        raise ValueError("the evaluation did not fail")
    kind = evaluation.failure.kind
    return _BY_KIND.get(kind, _BY_STAGE[kind.stage])(evaluation)


def failure_of_all(evaluations: Sequence[Evaluation]) -> CandidateFailed:
    """The failure of a kernel of which no configuration passed the checks: that of the first, if all failed alike."""
    failed = [evaluation for evaluation in evaluations if evaluation.failure is not None]
    alike = len({evaluation.failure.kind for evaluation in failed if evaluation.failure is not None}) == 1
    return failure_of(failed[0]) if alike else NoneRight(failed)


def failure_named(name: str) -> type[CandidateFailed]:
    """The class of failures of this name.

    Raises:
        ValueError: there is none.
    """
    kinds = {kind.__name__: kind for kind in _below(CandidateFailed)}
    if name not in kinds:
        raise ValueError(f"there is no class of failures '{name}'; there are {', '.join(kinds)}")
    return kinds[name]


Handler = Callable[[CandidateFailed], str]
"""The whole message to the model about a failure."""


def with_advice(failed: CandidateFailed) -> str:
    """What happened, and what to look at."""
    return render("failed", outcome=failed.told, advice=failed.advice)


@dataclass(frozen=True)
class RetryPolicy:
    """How often the model may answer for one kernel, and what it is told in between.

    Attributes:
        attempts: calls for one kernel at most, the first one, refused replies and failed kernels all counted.
        handlers: what tells the model of a class of failures; subclasses are matched, the nearest base class first.
        default_handler: tells of failures that `handlers` has nothing for; None for `with_advice`.
        final: classes of failures that end the step at once.
    """

    attempts: int = ATTEMPTS
    handlers: Mapping[type[CandidateFailed], Handler] = field(default_factory=dict)
    default_handler: Handler | None = None
    final: tuple[type[CandidateFailed], ...] = ()

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts must be 1 or more, it is {self.attempts}")

    def puts_back(self, failed: CandidateFailed) -> bool:
        """Whether the model is told of a failure and asked again."""
        return not isinstance(failed, self.final)

    def message(self, failed: CandidateFailed) -> str:
        """What the model is told."""
        own = (self.handlers[base] for base in type(failed).__mro__ if base in self.handlers)
        return next(own, self.default_handler or with_advice)(failed)
