"""Tests from the model, as data: sizes and input distributions for a problem that has no tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, get_args

from pydantic import BaseModel, ConfigDict

from tui_tuner.evaluate.given import why_unusable
from tui_tuner.llm import Message
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.inputs import array_bytes
from tui_tuner.problem.model import Fill, InputFill, Problem, Test
from tui_tuner.prompts import fill_facts, launch_facts, question, render, size_facts
from tui_tuner.strategies.base import ATTEMPTS, ReplyType

MOST_TESTS = 6
WARP = 32


class SizeReply(BaseModel):
    """One size that a test changes."""

    model_config = ConfigDict(extra="forbid")

    name: str
    value: int


class InputReply(BaseModel):
    """One array that a test fills otherwise."""

    model_config = ConfigDict(extra="forbid")

    argument: str
    fill: Fill
    low: float | None = None
    high: float | str | None = None


class TestReply(BaseModel):
    """One test."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    model_config = ConfigDict(extra="forbid")

    sizes: list[SizeReply]
    inputs: list[InputReply]


class TestsReply(BaseModel):
    """The tests that the model proposes; the fields are explained in the prompt."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    model_config = ConfigDict(extra="forbid")

    tests: list[TestReply]


class AskModel(Protocol):
    """The effect `ask` of a session."""

    async def __call__(
        self,
        purpose: str,
        messages: Sequence[Message],
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]],
        attempts: int,
    ) -> ReplyType:
        """A validated reply of the model."""


async def propose_tests(ask: AskModel, problem: Problem) -> list[Test]:
    """What the model proposes to verify at; whether it is of use only the kernel as given can tell.

    Args:
        problem: the problem without tests, at the sizes that are timed.

    Raises:
        ModelFailed: the model gives no usable reply.
        BudgetSpent: the budget allows no call.
    """
    prompt = render(
        "propose_tests",
        language=problem.language,
        kernel=problem.kernel.name,
        source=problem.source_text.strip(),
        launch=launch_facts(problem, baseline(problem)),
        sizes=size_facts(problem),
        inputs=fill_facts(problem),
        bytes=array_bytes(problem, {}),
        most=MOST_TESTS,
        fills=", ".join(get_args(Fill)),
    )
    reply = await ask(
        "propose_tests", question(prompt), TestsReply, lambda reply: faults_of_tests(reply, problem), ATTEMPTS
    )
    return tests_of(reply)


def tests_of(reply: TestsReply) -> list[Test]:
    """The reply as tests of a problem."""
    return [_test(test) for test in reply.tests]


def _test(reply: TestReply) -> Test:
    inputs = {given.argument: InputFill(fill=given.fill, low=given.low, high=given.high) for given in reply.inputs}
    return Test(sizes={size.name: size.value for size in reply.sizes}, inputs=inputs)


def faults_of_tests(reply: TestsReply, problem: Problem) -> list[str]:
    """What is wrong with a reply, in words for the model; empty if every test can be tried."""
    if not 1 <= len(reply.tests) <= MOST_TESTS:
        return [f"tests: 1 to {MOST_TESTS} are wanted, these are {len(reply.tests)}"]
    faults = [
        f"test {number}: {fault}"
        for number, test in enumerate(reply.tests, start=1)
        for fault in [*_named_twice(test)] or why_unusable(problem, _test(test))
    ]
    return faults or [*_faults_together(tests_of(reply), problem)]


def _named_twice(reply: TestReply) -> Iterator[str]:
    names = [size.name for size in reply.sizes], [given.argument for given in reply.inputs]
    for what, listed in zip(("size", "argument"), names, strict=True):
        for name in dict.fromkeys(listed):
            if listed.count(name) > 1:
                yield f"the {what} '{name}' is listed twice"


def _faults_together(tests: Sequence[Test], problem: Problem) -> Iterator[str]:
    for number, test in enumerate(tests, start=1):
        if test in tests[: number - 1]:
            yield f"test {number}: it is the same as test {tests.index(test) + 1}"
    if not any(_is_odd(problem, test) for test in tests) and _may_be_odd(problem):
        yield f"tests: at least one must change a size to what is no multiple of {WARP}"


def _is_odd(problem: Problem, test: Test) -> bool:
    return any(value % WARP and value != problem.sizes[name] for name, value in test.sizes.items())


def _may_be_odd(problem: Problem) -> bool:
    """Whether some size can be changed to what is no multiple of a warp."""
    tests = [Test(sizes={name: value}) for name, timed in problem.sizes.items() for value in (timed - 1, WARP + 1, 7)]
    return any(_is_odd(problem, test) and not why_unusable(problem, test) for test in tests)
