"""A recording on the command line: as the device, or in the place of the kernel."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.commands.check import check_kernel, check_source
from tui_tuner.errors import DeviceError, SettingsError
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.recorded.cache_file import check_file, is_cache_name
from tui_tuner.evaluate.recorded.problem import problem_beside, problem_of_recording
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.problem.in_python import Written
from tui_tuner.session.options import SessionOptions


def with_recording(kernel: Path | None, options: SessionOptions) -> tuple[Path | None, SessionOptions]:
    """Kernel and options, a recording in the place of the kernel made the device; the kernel may then be missing.

    Raises:
        SettingsError: there is neither kernel nor recording, or two devices are named.
    """
    if kernel is not None and is_cache_name(kernel):
        if options.device.strip().lower() != "auto":
            message = f"{kernel} is a recording, and so is itself the device; --device names '{options.device}'"
            raise SettingsError(message, hint=f"leave one out, or name the kernel: --device recorded:{kernel}")
        kernel, options = None, options.model_copy(update={"device": f"recorded:{kernel}"})
    file = _recorded_file(options.device)
    if file is not None:
        options = options.model_copy(update={"device": f"recorded:{file.absolute()}"})
    elif kernel is None:
        hint = "as in: tuner-tui kernel.cu, or: tuner-tui --device recorded:FILE"
        raise SettingsError("no kernel is named", hint=hint)
    return kernel, options


def recorded_problem(kernel: Path | None, file: Path) -> Written:
    """The problem of a recording, with the problem file or the kernel that is named or stands beside it.

    Raises:
        UserError: a file is missing, or what it says is not possible.
    """
    try:
        recording = read_recording(file)
    except DeviceError as error:
        raise SettingsError(error.message, hint=error.hint, file=error.file, line=error.line) from None
    if kernel is not None:
        check_kernel(kernel)
    written = problem_of_recording(recording, kernel or problem_beside(file))
    if kernel is not None:
        check_source(kernel, written.problem)
    return written


def _recorded_file(device: str) -> Path | None:
    try:
        file = recorded_file(device)
        if file is not None:
            check_file(file)
    except DeviceError as error:
        raise SettingsError(error.message, hint=error.hint, file=error.file) from None
    return file
