"""A kernel without a problem file: its problem drafted from the source, tried before it is believed, and told."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path

from tui_tuner.app.choosing import local_options
from tui_tuner.errors import ProblemError, UserError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.trials import Trial, Trials
from tui_tuner.problem.drafted_sizes import Amendments, Tested
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.host_program import constants_of_host
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.problem.model import Argument, Problem, Test
from tui_tuner.problem.scaffold import NO_AMENDMENTS, ranked_kernels, scaffold
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings


def drafted(file: Path, kernel: str | None, host: Path | None = None) -> Written:
    """The problem of a kernel without a problem file, guessed from its signature and how the host launches it.

    Of several kernels, where none is named, it is the one that seems to do the most; the others are its alternatives.

    Raises:
        ProblemError: none can be guessed; the hint says what to write.
    """
    names = () if kernel is not None else ranked_kernels(file)
    if len(names) < 2:
        return _draft(file, kernel, NO_AMENDMENTS, host)
    refused: list[ProblemError] = []
    for position, name in enumerate(names):
        try:
            return replace(_draft(file, name, NO_AMENDMENTS, host), alternatives=tuple(names[position + 1 :]))
        except ProblemError as error:
            refused.append(error)
    raise refused[0]


def _draft(file: Path, kernel: str | None, amendments: Amendments, host: Path | None) -> Written:
    target = file.with_suffix(".toml")
    try:
        text = scaffold(file, kernel, amendments, host)
    except ProblemError as error:
        hint = (error.hint or "").replace("--kernel NAME", f"tuner-tui {file}:NAME")
        raise ProblemError(error.message, hint=hint, file=error.file, line=error.line) from None
    try:
        return Written(problem_in_text(text, target), text, target, is_drafted=True, host=host)
    except ProblemError as error:
        hint = (
            f"{error.hint + '; ' if error.hint else ''}write the draft with: {_init(file, kernel, host)}, "
            f"and correct line {error.line}"
        )
        raise ProblemError(f"the problem drafted from the source does not hold: {error.message}", hint=hint) from None


def _init(file: Path, kernel: str | None, host: Path | None = None) -> str:
    more = "" if host is None else f" --host {shlex.quote(str(host))}"
    return f"tuner-tui init {shlex.quote(str(file))}{'' if kernel is None else f' --kernel {kernel}'}{more}"


async def confirmed(written: Written, options: SessionOptions, settings: Settings) -> Written:
    """A draft that its kernel as given was run with, at two sizes, and amended where that said something else.

    Where this kernel of a file does not hold, the next one is taken. Where nothing can be tried, since the machine has
    no emulator or that cannot build the kernel, the draft is what it was.

    Raises:
        ProblemError: no kernel of the file holds; the hint says what to write.
    """
    if not written.is_drafted or written.problem.language != "cuda":
        return written
    file = written.problem.directory / written.problem.kernel.source
    with tempfile.TemporaryDirectory(prefix="tuner-tui-draft-") as directory:
        there = Path(directory)
        async with Trials(local_options(options, there, there / "log", settings)) as trials:
            return await _first_that_holds(file, written, trials)


async def _first_that_holds(file: Path, written: Written, trials: Trials) -> Written:
    """The draft of the first kernel that could be tried; else of the first that could not."""
    refused: list[ProblemError] = []
    untried: list[Written] = []
    for name in (None, *written.alternatives):
        try:
            first = written if name is None else _draft(file, name, NO_AMENDMENTS, written.host)
            held = await _Amending(file, first, trials).held()
        except ProblemError as error:
            refused.append(error)
        except UserError as error:  # there is no emulator on this machine
            return replace(written, doubts=(f"{_NOT_RUN}: {error.message}",))
        else:
            if not held.doubts[0].startswith(_NOT_RUN):
                names = (written.problem.kernel.name.partition("<")[0], *written.alternatives)
                own = held.problem.kernel.name.partition("<")[0]
                return replace(held, alternatives=tuple(one for one in names if one != own) if names[1:] else ())
            untried.append(held)
    if untried:
        return untried[0]
    raise refused[0]


_NOT_RUN = "not run before"
_MOST_TRIALS = 14
_MOST_HALVINGS = 8
_LONG_S = 2.0
"""A trial is some launches; one that takes longer makes a session on the emulator tedious."""
_MOST_GROWN = 8
_BEHIND = re.compile(r"touched memory (\d+) bytes past the end of argument (\d+)")
_UNWRITTEN = re.compile(r"leaves \d+ of \d+ elements of '(\w+)' unwritten")
_UNKNOWN = re.compile(
    r"['\u2018](\w+)['\u2019] (?:was not declared|does not name a type|has not been declared)"
    r"|identifier \"(\w+)\" is undef"
)
_NOT_FINITE = re.compile(r"no element of '(\w+)' is a finite number")


class _Amending:
    """One kernel's draft, run and amended until it holds."""

    def __init__(self, file: Path, first: Written, trials: Trials) -> None:
        self._file = file
        self._first = first
        self._kernel = first.problem.kernel.name.partition("<")[0]
        self._trials = trials
        self._made = NO_AMENDMENTS

    @property
    def _init(self) -> str:
        return _init(self._file, self._kernel, self._first.host)

    async def held(self) -> Written:
        """The draft that holds.

        Raises:
            ProblemError: none does.
        """
        written = self._first
        for _ in range(_MOST_TRIALS):
            problem = written.problem.on_emulator()
            trial = await self._trials.outcome(problem, [Test(sizes={})])
            if trial.reason is None and trial.seconds > _LONG_S and self._made.halvings < _MOST_HALVINGS:
                shorter = replace(self._made, halvings=self._made.halvings + 1)
                smaller = _draft(self._file, self._kernel, shorter, self._first.host)
                if smaller.problem.on_emulator().sizes != problem.sizes:
                    self._made, written = shorter, smaller
                    continue
            if trial.reason is None and not problem.sizes:
                return replace(written, doubts=self._said(problem, "at its only size"))
            if trial.reason is None:
                return await self._at_other_sizes(written)
            if not trial.is_built:
                return self._unbuilt(written, trial)
            amended = _amended(self._made, trial.reason, problem)
            if amended is None and _is_late(trial.reason):
                return replace(written, doubts=(f"{_NOT_RUN}: the emulator takes too long ({trial.reason})",))
            if amended is None:
                raise self._refused(trial)
            self._made = amended
            written = _draft(self._file, self._kernel, amended, self._first.host)
        raise self._refused(trial)

    async def _at_other_sizes(self, written: Written) -> Written:
        """The draft at a second size that the kernel can do; the least demanding is the same size again."""
        ways: tuple[Tested, ...] = ("", "half", "same")
        reason = ""
        for way in ways:
            self._made = replace(self._made, tested=way)
            trial_of = _draft(self._file, self._kernel, self._made, self._first.host)
            problem = trial_of.problem.on_emulator()
            trial = await self._trials.outcome(problem, problem.tests)
            if trial.reason is None:
                doubts = self._said(problem, f"at {_sizes(problem.sizes)} and {_sizes(problem.tests[0].sizes)}")
                if way:
                    doubts += (f"other sizes than {way} ones do not do: {reason}",)
                return replace(trial_of, doubts=doubts)
            reason = reason or trial.reason
        if _is_late(reason):
            return replace(trial_of, doubts=(f"{_NOT_RUN}: the emulator takes too long ({reason})",))
        raise self._refused(trial)

    def _said(self, problem: Problem, where: str) -> tuple[str, ...]:
        """What a trial that held lets the user know."""
        said = f"run on the emulator as given {where}: every array is large enough, every output is written"
        empty = constants_of_host(problem.source_text)
        more = (f"constant memory that the host fills is all zeros here: {', '.join(empty)}",) if empty else ()
        return (said, *more)

    def _unbuilt(self, written: Written, trial: Trial) -> Written:
        """The draft as it is, where the emulator is at fault; of a kernel that lacks headers nothing is to be had.

        Raises:
            ProblemError: what the kernel needs is not there.
        """
        reason = trial.reason or ""
        names = re.findall(r"^[ \t]*#[ \t]*include[ \t]*[\"<]([^\">\n]+)", written.problem.source_text, re.MULTILINE)
        lost = [name for name in names if f"{name}: No such file" in reason]
        lost += [
            name
            for name in names
            if f'"{name}"' in written.problem.source_text and not (self._file.parent / name).is_file()
        ]
        unknown = _UNKNOWN.search(reason)
        if lost and (unknown or "No such file" in reason):
            said = f": {unknown[1] or unknown[2]} is not known" if unknown else ""
            message = f"{self._kernel}() does not build{said}; not found: {', '.join(dict.fromkeys(lost))}"
            hint = (
                f"put the header beside the kernel; or write the draft with: {self._init}, "
                'and name the header\'s directory in [kernel]: compiler_options = ["-I/its/directory"]'
            )
            raise ProblemError(message, hint=hint, file=self._file)
        line = next(iter(reason.splitlines()), "no reason")
        return replace(written, doubts=(f"{_NOT_RUN}: the emulator cannot build it ({line})",))

    def _refused(self, trial: Trial) -> ProblemError:
        hint = f"write the draft with: {self._init}, correct it, and start again: {_needed(trial)}"
        message = f"the problem drafted for {self._kernel}() does not hold: {trial.reason}"
        empty = constants_of_host(self._first.problem.source_text)
        if empty:
            message += f"; the host fills constant memory, which is all zeros here: {', '.join(empty)}"
            hint = f"give {empty[0]} its values where it is declared, or make it an argument of the kernel"
        return ProblemError(message, hint=hint, file=self._file)


def _needed(trial: Trial) -> str:
    reason = trial.reason or ""
    if any(words in reason for words in ("past the end", "before the start", "belongs to no argument")):
        return "shape says how large an array is, low and high what numbers are in it"
    if "computes nothing" in reason:
        return "fill, low and high say what inputs hold"
    return "[launch] says how many threads run, [[arguments]] what they are given"


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _amended(made: Amendments, reason: str, problem: Problem) -> Amendments | None:
    """The amendments and what a reason adds to them; None where it says nothing that could be amended."""
    if found := _BEHIND.search(reason):
        argument = problem.arguments[int(found[2]) - 1]
        grown = _grown(argument, int(found[1]), problem)
        return None if grown is None else replace(made, shapes={**made.shapes, argument.name: grown})
    if (found := _UNWRITTEN.search(reason) or _NOT_FINITE.search(reason)) and found[1] not in made.filled:
        return replace(made, filled=made.filled | {found[1]})
    if _is_late(reason) and problem.sizes and made.halvings < _MOST_HALVINGS:
        return replace(made, halvings=made.halvings + 2)
    return None


def _is_late(reason: str) -> bool:
    return reason.startswith(FailureKind.TIMEOUT)


def _grown(argument: Argument, beyond: int, problem: Problem) -> str | None:
    """The least product of sizes, times a small number, that holds what was touched behind an array."""
    sizes = problem.sizes
    elements = 1
    for extent in shape_of(argument, sizes):
        elements *= extent
    needed = elements + beyond // _width(argument) + 1
    extents = [name for name, value in sizes.items() if value >= 8]
    products = [names for degree in (1, 2, 3) for names in combinations_with_replacement(extents, degree)]
    choices = {
        " * ".join(([str(times)] if times > 1 else []) + list(names)): (len(set(names)) < len(names), times, names)
        for names in products
        for times in (1, 2, 3, 4, 8)
    }
    choices |= {str(times * elements): (True, times, ()) for times in (2, 3, 4, 8)}
    values = {text: int(evaluate(text, sizes)) for text in choices}
    enough = [text for text in choices if needed <= values[text] <= _MOST_GROWN * needed and values[text] > elements]
    return min(enough, key=lambda text: (choices[text][0], values[text], len(text)), default=None)


def _width(argument: Argument) -> int:
    digits = re.sub(r"\D", "", argument.dtype)
    return int(digits) // 8 if digits else 1


def assumptions(written: Written) -> Iterator[str]:
    """What a drafted problem takes for granted, in lines for the user, and how to correct it; nothing of others."""
    if not written.is_drafted:
        return
    problem, kernel = written.problem, written.problem.kernel
    command = _init(kernel.source, kernel.name.partition("<")[0], written.host)
    yield f"no {written.file.name} beside it: drafted the problem of {kernel.name}; to correct it: {command}"
    if written.alternatives:
        others = ", ".join(written.alternatives)
        yield f"  kernel      {kernel.name} of several; for another: tuner-tui {kernel.source}:NAME, as in {others}"
    launch = ", ".join(f"{key} = {value}" for key, value in problem.launch.model_dump(exclude_defaults=True).items())
    yield f"  launch      {launch}"
    yield f"  sizes       {', '.join(f'{name} = {value}' for name, value in problem.sizes.items())}"
    for title, chosen in (("outputs", True), ("inputs", False)):
        arrays = [one for one in problem.arguments if one.shape is not None and one.output is chosen]
        if arrays:
            told = ", ".join(f"{one.name} {one.dtype}[{', '.join(map(str, one.shape or []))}]" for one in arrays)
            yield f"  {title:11} {told}"
    scalars = [f"{one.name} = {one.value}" for one in problem.arguments if one.value is not None]
    if scalars:
        yield f"  scalars     {', '.join(scalars)}"
    yield from (f"  {'tried' if position == 0 else 'but':11} {doubt}" for position, doubt in enumerate(written.doubts))
