"""How what the user names - a kernel, a problem file, a recording - becomes the problem that is tuned.

What may be mistyped is told here, before a run is begun.
"""

from __future__ import annotations

import os
from pathlib import Path

from tui_tuner.app.drafting import drafted
from tui_tuner.errors import DeviceError, ProblemError, SettingsError
from tui_tuner.evaluate.devices.choose import recorded_file
from tui_tuner.evaluate.recorded.problem import problem_beside, problem_of_recording
from tui_tuner.evaluate.recorded.reading import check_file, is_cache_name, read_recording
from tui_tuner.problem.draft.kernel.files import file_of_kernels, known_language
from tui_tuner.problem.draft.kernel.misplaced import refuse_text
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.load import Written, written_in_file
from tui_tuner.problem.model import Problem
from tui_tuner.session_options import SessionOptions
from tui_tuner.subjects import loaded, room_for_file, split_name, subjects
from tui_tuner.text import nearest


def problem_of(kernel: Path | None, device: str = "auto", host: Path | None = None) -> Written:
    """The problem of a kernel's file, of a problem file, or of a recording that is the device.

    Args:
        host: the file with the host's code, for a draft, where it is another than the kernel's; of a kernel in Python a
            script that launches it.

    Raises:
        UserError: a file is missing, or what it says is not possible.
    """
    recording = recorded_file(device)
    if recording is not None:
        return recorded_problem(kernel, recording)
    if kernel is None:
        raise SettingsError("no kernel is named", hint="name its file")
    check_kernel(kernel)
    file, name = split_name(kernel)
    room = room_for_file(file)
    if room is not None:
        return loaded(room.problem)(file, name, device, host)  # type: ignore[no-any-return]
    if file.suffix != ".toml" and not file.with_suffix(".toml").exists():
        known_language(file)
        there = file_of_kernels(file, name)
        if there == file or not there.with_suffix(".toml").exists():
            return drafted(there, name, file if there != file and host is None else host)
        file = there
    if host is not None:
        hint = f"leave --host out; or move {file.with_suffix('.toml').name} away, for a new draft"
        raise SettingsError("--host is read to draft a problem, and this kernel has a problem file", hint=hint)
    written = written_in_file(file)
    check_source(file, written.problem)
    return written if name in (None, written.problem.kernel.name.partition("<")[0]) else drafted(file, name)


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


def check_kernel(kernel: Path) -> None:
    """Whether the file is there; its problem file is another matter.

    Raises:
        ProblemError: it is missing, or no file.
    """
    kernel, _ = split_name(kernel)
    try:
        is_directory = kernel.is_dir()
    except OSError as error:  # no file can have this name, or nobody may look there
        raise ProblemError(f"there is no such kernel: {error.strerror}", file=kernel) from None
    if is_directory:
        first = next(iter(_kernels_in(kernel).values()), None)
        example = "" if first is None else f", as in {first}"
        raise ProblemError("is a directory", hint=f"name a kernel's file{example}", file=kernel)
    for subject in subjects().values():
        if kernel.suffix in subject.suffixes:
            hint = f"{subject.title}? tuner-tui {subject.commands[0].name} {kernel}"
            raise ProblemError(f"{kernel} is no kernel", hint=hint)
    if kernel.suffix != ".toml" and not kernel.is_file():
        if os.path.lexists(kernel):
            hint = "name a .cu, .cl, .c or .py file"
            raise ProblemError(
                "is no file that can be read: a link to nowhere, a pipe or a device", hint=hint, file=kernel
            )
        others = _kernels_in(kernel.parent)
        near = nearest(kernel.name, others)
        hint = "name a .cu, .cl, .c or .py file" if near is None else f"did you mean {others[near]}?"
        raise ProblemError(f"there is no kernel file {kernel}", hint=hint)
    refuse_text(kernel)


def check_source(kernel: Path, problem: Problem) -> None:
    """Whether the problem file beside a kernel is about that kernel's file.

    Raises:
        ProblemError: it names another.
    """
    source = problem.directory / problem.kernel.source
    if kernel.suffix != ".toml" and not source.samefile(kernel):
        file = kernel.with_suffix(".toml")
        raise ProblemError(
            f"it is about {problem.kernel.source}, not about {kernel.name}",
            hint=f"set source in [kernel], or run: tuner-tui {file}",
            file=file,
        )


def _kernels_in(directory: Path) -> dict[str, Path]:
    return {file.name: file for file in sorted(directory.glob("*")) if file.suffix in LANGUAGES}
