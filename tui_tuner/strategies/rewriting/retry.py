"""What a model is told of a kernel that failed, by kind of failure, and how often it may try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tui_tuner.prompts.render import render
from tui_tuner.strategies.base import ATTEMPTS
from tui_tuner.strategies.rewriting.failures import (
    BuildTimedOut,
    CandidateFailed,
    CompileFailed,
    Crashed,
    IllegalAccess,
    ImplausibleTime,
    InvalidConfiguration,
    LaunchFailed,
    NoneRight,
    NotFaster,
    Rejected,
    SourceRefused,
    TimedOut,
    WrongResult,
)

Handler = Callable[[CandidateFailed], str]
"""The whole message to the model about a failure."""


def _advising(advice: str) -> Handler:
    return lambda failed: render("failed", outcome=failed.told, advice=advice)


DEFAULT_HANDLERS: Mapping[type[CandidateFailed], Handler] = {
    SourceRefused: _advising("The program does not build such text. Leave out what is named above."),
    CompileFailed: _advising("These are the compiler's own words. Correct the code for this compiler and device."),
    BuildTimedOut: _advising("Make it quicker to compile: unroll less, instantiate less, or offer smaller values."),
    InvalidConfiguration: _advising("The default configuration must satisfy the restrictions and the device's limits."),
    LaunchFailed: _advising(
        "The launch asks for more than the device gives: threads, registers or shared memory. Choose smaller "
        "defaults, or restrict the parameters so that every configuration fits."
    ),
    WrongResult: _advising(
        "Named are the size, the first wrong element, its value and the expected one. Think about bounds at "
        "sizes that are no multiples, the grid's divisors, elements that no thread writes, missing barriers."
    ),
    IllegalAccess: _advising(
        "Check every index at the sizes that are no multiples, alignment of vector accesses, and shared memory."
    ),
    TimedOut: _advising(
        "It was ended after the time named. Look for a loop without end, a barrier that not all threads reach, or far "
        "too much work a thread."
    ),
    Crashed: _advising("It ended the process that ran it. Check indices, array sizes on the stack, and recursion."),
    CandidateFailed: _advising("Correct what is named above."),
    ImplausibleTime: _advising("No device does this work in that time: it leaves out work. Do all of it."),
    NoneRight: _advising("Offer values and restrictions that leave configurations which are right and fit the device."),
    NotFaster: _advising("Take another approach than the one that was measured."),
    Rejected: _advising("Answer with a kernel that the programmer would accept."),
}  # fmt: skip
"""For every class of failure what happened and what to look at; a subclass falls to its nearest base class."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often the model may answer for one kernel, and what it is told in between.

    Attributes:
        attempts: calls for one kernel at most, the first one, refused replies and failed kernels all counted.
        handlers: by class of failure; subclasses are matched, the nearest base class first.
        default_handler: for failures that `handlers` has nothing for; None for those of `DEFAULT_HANDLERS`.
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
        own = _nearest(self.handlers, type(failed)) or self.default_handler
        handler = own or _nearest(DEFAULT_HANDLERS, type(failed)) or DEFAULT_HANDLERS[CandidateFailed]
        return handler(failed)


def _nearest(handlers: Mapping[type[CandidateFailed], Handler], kind: type[CandidateFailed]) -> Handler | None:
    return next((handlers[base] for base in kind.__mro__ if base in handlers), None)
