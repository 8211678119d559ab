"""One call of the model while a session is gone through, and the outcome that it comes to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from tui_tuner.dataset.choices import ROUNDS
from tui_tuner.dataset.example import Choices, Compared, Fault, Measured, Origin, OutcomeOfReply, StepOutcome
from tui_tuner.evaluate.results import Comparison, Evaluation, Failure
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.session.events import PromptSent, ReplyReceived
from tui_tuner.strategies.steps import Factor, Step


@dataclass
class Call:
    """A call and all that is known of it so far.

    Attributes:
        reply: None where none came.
        kernel: the kernel of the reply.
        batch: evaluations of a round that are not yet assigned.
        closed: whether the round is over.
        planned: ids of the steps that the reply proposed.
        failed: configurations that were right at first and wrong on fresh data.
    """

    sent: PromptSent
    reply: ReplyReceived | None = None
    problems: list[str] = field(default_factory=list)
    decision: Literal["approve", "edit", "skip", "reject"] | None = None
    kernel: Candidate | None = None
    step: Step | None = None
    planned: list[int] = field(default_factory=list)
    batch: list[Evaluation] = field(default_factory=list)
    closed: bool = False
    choices: Choices | None = None
    evaluations: list[Measured] = field(default_factory=list)
    comparisons: list[Compared] = field(default_factory=list)
    failed: list[Configuration] = field(default_factory=list)
    new_best: Factor | None = None

    @property
    def is_round(self) -> bool:
        """Whether the reply proposes configurations."""
        return self.sent.purpose in ROUNDS

    def add(self, evaluation: Evaluation, origin: Origin) -> None:
        """Count an evaluation as one of this reply."""
        timing, needs = evaluation.timing, evaluation.resources
        self.evaluations.append(
            Measured(
                configuration=evaluation.configuration,
                origin=origin,
                ms=None if timing is None else timing.median,
                low=None if timing is None else timing.low,
                high=None if timing is None else timing.high,
                failure=_fault(evaluation.failure),
                registers=needs.registers,
                spill_bytes=needs.spill_bytes,
                shared_bytes=needs.shared_bytes,
                share=evaluation.share,
            )
        )

    def compared(self, configuration: Configuration, comparison: Comparison) -> None:
        """Count a comparison with another configuration."""
        factor = (comparison.ratio, comparison.low, comparison.high)
        failure = _fault(comparison.failure)
        self.comparisons.append(Compared(configuration=configuration, factor=factor, failure=failure))
        if failure is not None:
            self.failed.append(configuration)

    def outcome(self, steps: dict[int, Step]) -> OutcomeOfReply:
        """What came of the reply; `steps` as they stand at the end of the session."""
        return OutcomeOfReply(
            reply="refused" if self.problems else "used",
            problems=self.problems,
            decision=self.decision,
            kernel=None if self.kernel is None else self.kernel.id,
            step=None if self.step is None else _told(self.step),
            plan=[_told(steps[number]) for number in self.planned],
            choices=self.choices,
            evaluations=self.evaluations,
            comparisons=self.comparisons,
            best=self._best(),
            new_best=self.new_best,
        )

    def score(self, given_ms: float | None) -> float | None:
        """Binary logarithm of the best's speed-up over the kernel as given; None if nothing right was timed."""
        best = self._best()
        if best is None or best.ms is None or not given_ms:
            return None
        return round(math.log2(given_ms / best.ms), 4)

    def _best(self) -> Measured | None:
        """The fastest; a kernel that was wrong once is wrong in every configuration."""
        if self.failed and self.kernel is not None:
            return None
        right = [one for one in self.evaluations if one.ms is not None and one.configuration not in self.failed]
        return min(right, key=lambda one: one.ms or 0.0, default=None)


def _told(step: Step) -> StepOutcome:
    return StepOutcome(title=step.title, state=step.state, reason=step.reason, factor=step.factor)


def _fault(failure: Failure | None) -> Fault | None:
    return None if failure is None else Fault(kind=failure.kind, message=failure.message)
