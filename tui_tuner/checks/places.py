"""From what the user names to a problem with two kernels of it, and to a device that evaluates them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.app.choosing import local_options
from tui_tuner.errors import ProblemError, SettingsError, UserError
from tui_tuner.evaluate.devices.choose import is_recorded
from tui_tuner.evaluate.evaluator import MachineReport
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.journal.reading import FILE
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.inputs import label_of
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.load import Written, parse_problem, written_in_file
from tui_tuner.problem.model import Problem
from tui_tuner.problem.toml_file import read_text
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import load_settings


@dataclass(frozen=True)
class Pair:
    """Two kernels of one problem.

    Attributes:
        first: the file of the first.
        problem: that of the first, which is its kernel as given.
        second: in its default configuration.
    """

    first: Path
    problem: Problem
    second: Candidate


@dataclass(frozen=True)
class OpenMachine:
    """A device that has checked and timed the kernel as given.

    Attributes:
        problem: at the sizes of the device.
    """

    evaluator: LocalEvaluator
    problem: Problem
    report: MachineReport


def problem_named(path: Path) -> Written:
    """The problem of a kernel's file, a problem file, or a run.

    Raises:
        ProblemError: a file is missing, or what it says is not possible.
    """
    file = _file_of(path)
    written = written_in_file(file)
    if not written.problem.is_compiled:
        message = f"a kernel in {written.problem.language} is built and launched by its framework"
        raise ProblemError(message, hint="name a CUDA, OpenCL or C kernel", file=path)
    if file.suffix != ".toml" and file.name != written.problem.kernel.source.name:
        return replace(written, problem=_with_source(written, file))  # the problem file beside it is another's
    return written


def pair_named(first: Path, second: Path) -> Pair:
    """Two kernels, where one of them may have no problem file: then it is launched as the other.

    Raises:
        ProblemError: neither has one, or they are not of the same problem.
    """
    first, second = _file_of(first), _file_of(second)
    if _has_problem(first) and _has_problem(second):
        given, other = problem_named(first).problem, problem_named(second).problem
        _must_be_alike(given, other, second)
        return Pair(first, given, baseline(other))
    if _has_problem(second):
        written = problem_named(second)
        return Pair(first, _with_source(written, first), baseline(written.problem))
    written = problem_named(first)
    return Pair(first, written.problem, baseline(_with_source(written, second)))


def _file_of(path: Path) -> Path:
    """The file that is meant; of a run the problem file of its best kernel."""
    if not path.is_dir():
        return path
    best = path / "best.toml"
    if not best.exists() and (path / FILE).exists():
        hint = (
            f"write its problem file there, by `tuner-tui best {path} --as problem > {best}`, and beside it the "
            f"kernel that this names, by `tuner-tui best {path}`"
        )
        raise ProblemError("the best kernel of this run lies in no file of its own", hint=hint, file=path)
    if not best.exists():
        raise ProblemError("is no run that found a kernel", hint="name a kernel's file", file=path)
    return best


def _has_problem(path: Path) -> bool:
    return path.suffix == ".toml" or path.with_suffix(".toml").exists()


def _with_source(written: Written, source: Path) -> Problem:
    """A problem with the kernel of another file in the place of its own."""
    if not source.is_file():
        raise ProblemError(f"there is no kernel file {source}", hint="name one, or a .toml file")
    if LANGUAGES.get(source.suffix) != written.problem.language:
        raise ProblemError(f"is no {written.problem.language} kernel, as {written.file} has one", file=source)
    try:
        return parse_problem(
            written.text, directory=written.file.parent, file=written.file, source_text=read_text(source)
        )
    except ProblemError as error:
        message = f"does not fit the problem file {written.file}: {error.message}"
        raise ProblemError(message, hint=error.hint, file=source) from None


def _must_be_alike(one: Problem, other: Problem, file: Path) -> None:
    """Refuse to compare kernels that compute different things.

    Raises:
        ProblemError: language, sizes or arguments differ.
    """
    if one.language != other.language:
        message = f"it is in {other.language}, the other kernel in {one.language}"
        raise ProblemError(message, hint="they must be in one language", file=file)
    hint = "they must be of one problem: the same [sizes] and [[arguments]]"
    if one.sizes != other.sizes:
        message = f"its sizes are {label_of(other.sizes)}, those of the other kernel {label_of(one.sizes)}"
        raise ProblemError(message, hint=hint, file=file)
    if one.arguments != other.arguments:
        pairs = zip_longest(one.arguments, other.arguments)
        first = next(number for number, (its, ours) in enumerate(pairs, 1) if its != ours)
        raise ProblemError(f"its argument {first} is not that of the other kernel", hint=hint, file=file)


def _of_file(error: UserError, named: str, given: Path) -> UserError:
    """The same error, with the file that the user named in place of the one in the problem file."""
    if "the kernel as given" in error.message:
        error.message, error.file = error.message.replace(f"{named}:", f"{given.name}:"), given
    return error


@asynccontextmanager
async def opened(
    problem: Problem, device: str | None, *, allow_unconfined: bool, given: Path | None = None
) -> AsyncIterator[OpenMachine]:
    """Take a device, check and time the kernel as given there; what is built is kept as in a session.

    Args:
        device: as the user names it; None for that of the settings.
        given: the file that the user named for the kernel as given, where another is named as well.

    Raises:
        UserError: device, compiler, sandbox, kernel or reference cannot be used.
    """
    settings = load_settings(beside=problem.directory)
    named = device or settings.session.device
    if is_recorded(named):
        raise SettingsError("a recording can run no kernel", hint="name a device, as in --device emulator")
    options = SessionOptions(device=named, allow_unconfined=allow_unconfined or settings.session.allow_unconfined)
    with TemporaryDirectory(prefix="tuner-tui-") as directory:
        place = Path(directory)
        evaluator = LocalEvaluator(problem, local_options(options, place / "builds", place / "runner.log", settings))
        try:
            sized = await evaluator.sized_problem()
            try:
                report = await evaluator.start()
            except UserError as error:
                raise error if given is None else _of_file(error, problem.kernel.source.name, given) from None
            yield OpenMachine(evaluator, sized, report)
        finally:
            await evaluator.close()
