"""What the user may have mistyped, told before a run is begun."""

from __future__ import annotations

import sys
from pathlib import Path

from tui_tuner.errors import DeviceError, ProblemError, SettingsError
from tui_tuner.evaluate.devices.choose import choose_device, recorded_file
from tui_tuner.evaluate.devices.kinds import KINDS
from tui_tuner.evaluate.python_kernels.gpu import visible_gpu
from tui_tuner.evaluate.python_kernels.names import split_name
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.model import Problem
from tui_tuner.problem.nearest import nearest
from tui_tuner.search.methods import method_named
from tui_tuner.session.options import SessionOptions
from tui_tuner.settings import Settings, settings_file
from tui_tuner.strategies.parameters.methods import MODEL_METHODS
from tui_tuner.subjects import subjects


def check_kernel(kernel: Path) -> None:
    """Whether the file is there; its problem file is another matter.

    Raises:
        ProblemError: it is missing, or no file.
    """
    kernel, _ = split_name(kernel)
    if kernel.is_dir():
        first = next(iter(_kernels_in(kernel).values()), None)
        example = "" if first is None else f", as in {first}"
        raise ProblemError("is a directory", hint=f"name a kernel's file{example}", file=kernel)
    for subject in subjects().values():
        if kernel.suffix in subject.suffixes:
            hint = f"{subject.title}? tuner-tui {subject.commands[0].name} {kernel}"
            raise ProblemError(f"{kernel} is no kernel", hint=hint)
    if kernel.suffix != ".toml" and not kernel.is_file():
        others = _kernels_in(kernel.parent)
        near = nearest(kernel.name, others)
        hint = "name a .cu, .cl, .c or .py file" if near is None else f"did you mean {others[near]}?"
        raise ProblemError(f"there is no kernel file {kernel}", hint=hint)


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


async def check_options(options: SessionOptions, problem: Problem) -> None:
    """Whether search method and device are known and fit the problem; what is `auto` is not looked for here.

    Raises:
        SettingsError: they do not.
    """
    if options.search is not None and options.search not in MODEL_METHODS:
        method_named(options.search)
    if options.device.strip().lower() == "auto" and problem.language != "recorded":
        return
    try:
        if problem.language == "python":
            visible_gpu(options.device)
        elif recorded_file(options.device) is None:
            await choose_device(options.device, problem.language)
    except DeviceError as error:
        kind = options.device.partition(":")[0]
        known = ("auto", *KINDS)
        near = None if kind in known else nearest(kind, known)
        meant = "" if near is None else f"did you mean '{near}'? "
        raise SettingsError(error.message, hint=f"{meant}{error.hint or ''}".strip() or None) from None


def check_front_end(settings: Settings, *, auto: bool, output: str | None) -> None:
    """Whether the session can be shown as the user wants it.

    Raises:
        SettingsError: it cannot.
    """
    if auto:
        return
    if output is not None:
        raise SettingsError("--output needs --auto", hint="the screen prints nothing")
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):  # Textual draws on stderr
        raise SettingsError("there is no terminal for the screen", hint="add --auto to run without one")
    from tui_tuner.tui.bindings import checked_keymap

    try:
        checked_keymap(settings.screen.keys)
    except SettingsError as error:
        raise SettingsError(error.message, hint=error.hint, file=settings_file()) from None


def _kernels_in(directory: Path) -> dict[str, Path]:
    return {file.name: file for file in sorted(directory.glob("*")) if file.suffix in LANGUAGES}
