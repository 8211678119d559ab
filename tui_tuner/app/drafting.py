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
from tui_tuner.evaluate.trials import Trial, Trials
from tui_tuner.problem.drafted_sizes import Amendments, Tested
from tui_tuner.problem.expressions import evaluate
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
    names = [kernel] if kernel is not None else ranked_kernels(file)
    refused: ProblemError | None = None
    for position, name in enumerate(names or [None]):
        try:
            written = _draft(file, name if len(names) > 1 else kernel, NO_AMENDMENTS, host)
            return replace(written, alternatives=tuple(names[position + 1 :]))
        except ProblemError as error:
            refused = refused or error
    assert refused is not None
    raise refused


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
            f"{error.hint + '; ' if error.hint else ''}write the draft with: {_init(file, kernel)}, "
            f"and correct line {error.line}"
        )
        raise ProblemError(f"the problem drafted from the source does not hold: {error.message}", hint=hint) from None


def _init(file: Path, kernel: str | None) -> str:
    return f"tuner-tui init {shlex.quote(str(file))}{'' if kernel is None else f' --kernel {kernel}'}"


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
            refused: ProblemError | None = None
            for name in (None, *written.alternatives):
                try:
                    first = written if name is None else _draft(file, name, NO_AMENDMENTS, written.host)
                    return await _Amending(file, first, trials).held()
                except ProblemError as error:
                    refused = refused or error
                except UserError as error:
                    return replace(written, doubts=(f"not tried: {error.message}",))
    assert refused is not None
    raise refused


_MOST_TRIALS = 14
_BEHIND = re.compile(r"touched memory (\d+) bytes past the end of argument (\d+)")
_UNWRITTEN = re.compile(r"leaves \d+ of \d+ elements of '(\w+)' unwritten")
_NOT_FINITE = re.compile(r"no element of '(\w+)' is a finite number")


class _Amending:
    """One kernel's draft, run and amended until it holds."""

    def __init__(self, file: Path, first: Written, trials: Trials) -> None:
        self._file = file
        self._first = first
        self._kernel = first.problem.kernel.name.partition("<")[0]
        self._trials = trials
        self._made = NO_AMENDMENTS

    async def held(self) -> Written:
        """The draft that holds.

        Raises:
            ProblemError: none does.
        """
        written = self._first
        for _ in range(_MOST_TRIALS):
            problem = written.problem.on_emulator()
            trial = await self._trials.outcome(problem, [Test(sizes={})])
            if trial.reason is None:
                return await self._at_other_sizes(written)
            if not trial.is_built:
                return self._unbuilt(written, trial)
            amended = _amended(self._made, trial.reason, problem)
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
                said = f"run on the emulator as given at {_sizes(problem.sizes)} and {_sizes(problem.tests[0].sizes)}"
                doubts = (f"{said}: every array is large enough, every output is written",)
                if way:
                    doubts += (f"other sizes than {way} ones do not do: {reason}",)
                return replace(trial_of, alternatives=self._first.alternatives, doubts=doubts)
            reason = reason or trial.reason
        raise self._refused(trial)

    def _unbuilt(self, written: Written, trial: Trial) -> Written:
        missing = re.findall(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", written.problem.source_text, re.MULTILINE)
        missing = [name for name in missing if not (self._file.parent / name).is_file()]
        unknown = re.search(r"'?\b(\w+)'? (?:was not declared|does not name a type|has not been declared)", trial.reason or "")
        if missing and unknown:
            message = f"{self._kernel}() does not build: {unknown[1]} is not known, and {', '.join(missing)} is not there"
            hint = (
                f"write the draft with: {_init(self._file, self._kernel)}, and name the directory of the header: "
                'compiler_options = ["-IDIRECTORY"] in [kernel]; or put the header beside the kernel'
            )
            raise ProblemError(message, hint=hint, file=self._file)
        line = (trial.reason or "").splitlines()
        return replace(written, doubts=(f"not tried: the emulator cannot build it ({line[0] if line else 'no reason'})",))

    def _refused(self, trial: Trial) -> ProblemError:
        hint = f"write the draft with: {_init(self._file, self._kernel)}, correct it, and start again: {_needed(trial)}"
        message = f"the problem drafted for {self._kernel}() does not hold: {trial.reason}"
        return ProblemError(message, hint=hint, file=self._file)


def _needed(trial: Trial) -> str:
    reason = trial.reason or ""
    if "past the end" in reason or "before the start" in reason:
        return "shape says how large an array is, low and high what numbers are in it"
    if "computes nothing" in reason:
        return "fill, low and high say what inputs hold"
    return "[launch] says how many threads run, [[arguments]] what they are given"


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "its only size"


def _amended(made: Amendments, reason: str, problem: Problem) -> Amendments | None:
    """The amendments and what a reason adds to them; None where it says nothing that could be amended."""
    if found := _BEHIND.search(reason):
        argument = problem.arguments[int(found[2]) - 1]
        grown = _grown(argument, int(found[1]), problem)
        return None if grown is None else replace(made, shapes={**made.shapes, argument.name: grown})
    if (found := _UNWRITTEN.search(reason) or _NOT_FINITE.search(reason)) and found[1] not in made.filled:
        return replace(made, filled=made.filled | {found[1]})
    if "timeout" in reason and made.halvings < 6:
        return replace(made, halvings=made.halvings + 1)
    return None


def _grown(argument: Argument, beyond: int, problem: Problem) -> str | None:
    """The least product of sizes, times a small number, that holds what was touched behind an array."""
    sizes = problem.sizes
    elements = 1
    for extent in shape_of(argument, sizes):
        elements *= extent
    needed = elements + beyond // _width(argument) + 1
    extents = [name for name, value in sizes.items() if value >= 8]
    products = [" * ".join(names) for degree in (1, 2, 3) for names in combinations_with_replacement(extents, degree)]
    products += [str(evaluate(" * ".join(map(str, argument.shape or ["1"])), sizes))]
    choices = [f"{times} * {one}" if times > 1 else one for one in products for times in (1, 2, 3, 4, 8)]
    values = {one: int(evaluate(one, sizes)) for one in choices}
    enough = [one for one in choices if values[one] >= needed and values[one] > elements]
    return min(enough, key=lambda one: (values[one], len(one)), default=None)


def _width(argument: Argument) -> int:
    digits = re.sub(r"\D", "", argument.dtype)
    return int(digits) // 8 if digits else 1


def assumptions(written: Written) -> Iterator[str]:
    """What a drafted problem takes for granted, in lines for the user, and how to correct it; nothing of others."""
    if not written.is_drafted:
        return
    problem, kernel = written.problem, written.problem.kernel
    command = f"tuner-tui init {shlex.quote(str(kernel.source))} --kernel {kernel.name.partition('<')[0]}"
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
