"""The kernel's process: it alone runs the user's file and holds the device, and it can be killed.

Started as `python -m tui_tuner.python_kernels.child REQUESTS ANSWERS`; speaks our own frames over these
two sockets until the first is closed. While one configuration is timed, the next ones are compiled in forks."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from tui_tuner.errors import DeviceError, UserError
from tui_tuner.evaluate.runner.protocol import ChannelClosed, Frame, UserErrorAnswer, receive, send
from tui_tuner.processes.parent import die_with_parent
from tui_tuner.python_kernels import (
    DescriptionAnswer,
    DescriptionRequest,
    KernelLaunchesRequest,
    KernelOpenRequest,
    KernelPhase,
    KernelRequest,
)

if TYPE_CHECKING:
    from tui_tuner.python_kernels.child.service import KernelService


LOAD_LIMIT_S = 300.0
"""Importing torch from a cold disk takes minutes."""


def serve(requests: socket.socket, answers: socket.socket) -> None:
    """Answer until the other side closes."""
    adapter: TypeAdapter[KernelRequest] = TypeAdapter(KernelRequest)

    def say(frame: Frame) -> None:
        send(answers, frame.model_dump(mode="json"))

    try:
        first = adapter.validate_python(receive(requests))
        say(KernelPhase(text="loading torch and the kernel's file, and running what launches it", limit_s=LOAD_LIMIT_S))
        if isinstance(first, DescriptionRequest):
            say(DescriptionAnswer(description=_service().described(first)))
        elif isinstance(first, KernelLaunchesRequest):
            say(_service().launched(first))
        elif isinstance(first, KernelOpenRequest):
            _service().serve_kernel(requests, first, say)
    except UserError as error:
        file = None if error.file is None else str(error.file)
        say(UserErrorAnswer(message=error.message, hint=error.hint, file=file, line=error.line))
    except (ChannelClosed, BrokenPipeError):
        return


def _service() -> type[KernelService]:
    try:
        from tui_tuner.python_kernels.child.service import KernelService
    except ImportError as error:
        raise DeviceError(
            f"kernels in Python need torch and Triton: {error}", hint="pip install 'tuner-tui[helion]'"
        ) from None
    return KernelService


def main() -> None:
    """Entry point of the process."""
    die_with_parent()
    requests, answers = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    serve(requests, answers)
    sys.stdout.flush()
    os._exit(0)  # the driver's own clean-up may hang on a lost context


if __name__ == "__main__":
    main()
