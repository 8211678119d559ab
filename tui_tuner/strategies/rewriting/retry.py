"""What a model is told of a kernel that failed, by kind of failure, and how often it may try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tui_tuner.prompts.render import render
from tui_tuner.strategies.base import ATTEMPTS
from tui_tuner.strategies.rewriting.failures import CandidateFailed

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
