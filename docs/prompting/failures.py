"""An example of every kind of failure, and what a model is told of it."""

from __future__ import annotations

from collections.abc import Iterator

from tui_tuner.evaluate.results import Evaluation, Failure, FailureKind, Timing
from tui_tuner.strategies.rewriting.failures import (
    CandidateFailed,
    NoneRight,
    NotFaster,
    Rejected,
    RetryPolicy,
    SameKernel,
    failure_of,
)
from tui_tuner.strategies.rewriting.line import on_fresh_data

_CONFIGURATION = {"block_size_x": 32, "block_size_y": 8}
_COMPILE = 'matmul.cu(9): error: identifier "tile_n" is undefined'
_LINE = "      for (int k = 0; k < tile_n; k++)"
_REASONS = {
    FailureKind.REFUSED: "#include of an absolute path is not allowed: include headers of the toolkit by name",
    FailureKind.COMPILE: _COMPILE,
    FailureKind.BUILD_TIMEOUT: "the compiler was stopped after 60 s",
    FailureKind.INVALID: "breaks the restriction tile_k % block_size_x == 0",
    FailureKind.LAUNCH: "uses too much shared data (73728 bytes, 49152 max)",
    FailureKind.WRONG_RESULT: (
        "at n=1000: C[992,0] is 0, expected 248.613434 (8000 of 1000000 elements off, allowed 0.00171); wrong: exactly "
        "the last 8 rows (behind whole tiles of 32)"
    ),
    FailureKind.ILLEGAL_ACCESS: "at n=17: an illegal memory access was encountered",
    FailureKind.RACE: (
        "racecheck: at n=33: a race between a write in line 59 and a read in line 62, with no barrier between"
    ),
    FailureKind.TIMEOUT: "at n=512: no end after 20 s",
    FailureKind.CRASH: "at n=512: the process ended (SIGSEGV)",
    FailureKind.IMPLAUSIBLE: "0.01 ms is less than moving its bytes takes (0.05412 ms)",
}


def example_failures() -> list[CandidateFailed]:
    """One failure of each kind, and one on fresh data.

    Raises:
        ValueError: there is a kind of which there is no example.
    """
    missing = [str(kind) for kind in FailureKind if kind not in _REASONS]
    if missing:
        raise ValueError(f"no example of {', '.join(missing)}")
    return [
        *(failure_of(_evaluation(kind)) for kind in FailureKind),
        NoneRight([_evaluation(FailureKind.LAUNCH), _evaluation(FailureKind.IMPLAUSIBLE)]),
        failure_of(on_fresh_data(_timed(22.1), _failure(FailureKind.WRONG_RESULT))),
        NotFaster("not faster than the best so far", _timed(22.1), (0.96, 0.958, 0.962)),
        SameKernel(),
        Rejected("keep the loads as they are"),
    ]


def rows() -> Iterator[tuple[str, str, str]]:
    """Of each kind of failure its name, what the model is told of it, and the advice that follows."""
    for failed in example_failures():
        message = RetryPolicy().message(failed)
        advice = message.partition("</outcome>")[2].strip().splitlines()[0]
        yield type(failed).__name__, failed.told, advice


def example_message() -> str:
    """The whole message after a wrong result."""
    return RetryPolicy().message(failure_of(_evaluation(FailureKind.WRONG_RESULT)))


def _failure(kind: FailureKind) -> Failure:
    detail = f"{_COMPILE}\n{_LINE}" if kind is FailureKind.COMPILE else ""
    return Failure(kind=kind, message=_REASONS[kind], detail=detail)


def _evaluation(kind: FailureKind) -> Evaluation:
    return Evaluation(candidate="example", configuration={**_CONFIGURATION}, failure=_failure(kind))


def _timed(ms: float) -> Evaluation:
    timing = Timing(median=ms, low=ms * 0.999, high=ms * 1.001, samples=20)
    return Evaluation(candidate="example", configuration={**_CONFIGURATION}, timing=timing)
