"""What is wrong with a candidate, from where it is found to the answer that tells it."""

from __future__ import annotations

from tui_tuner.evaluate.devices.base import DeviceFault
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.runner.protocol import EvaluationAnswer
from tui_tuner.evaluate.verify.datasets import LaunchData


class ResultMismatch(Exception):
    """A launch that ran and computed something else.

    Args:
        data: what it was launched with.
    """

    def __init__(self, message: str, data: LaunchData) -> None:
        super().__init__(message)
        self.data = data


def failed(fault: DeviceFault | ResultMismatch, where: str = "", *, verify_ms: float = 0.0) -> EvaluationAnswer:
    """The answer for a candidate that has failed.

    Args:
        where: what the message begins with.
    """
    if isinstance(fault, ResultMismatch):
        failure = Failure(kind=FailureKind.WRONG_RESULT, message=f"{where}{fault}")
        return EvaluationAnswer(failure=failure, verify_ms=verify_ms)
    failure = Failure(kind=fault.kind, message=f"{where}{fault.message}")
    return EvaluationAnswer(failure=failure, verify_ms=verify_ms, fatal=fault.fatal)
