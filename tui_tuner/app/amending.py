"""One kernel's draft, run on the processor and amended until it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_tuner.app.draft_standing import Standing, standing_of
from tui_tuner.app.first_draft import draft_of, init_command, off_the_loop
from tui_tuner.app.needed import (
    MOST_HALVINGS,
    amended_for,
    assigned,
    guessed_scalars,
    needed,
    unfilled,
)
from tui_tuner.app.unbuilt import Lacking
from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.given import with_name_of
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.evaluate.trials import TrialResult, Trials
from tui_tuner.format import assigned_words, time_words
from tui_tuner.problem.draft.amendments import APART, NO_AMENDMENTS, Amendments, Tested
from tui_tuner.problem.draft.proposed_facts import ProposedFacts
from tui_tuner.problem.inputs import array_bytes
from tui_tuner.problem.load import Written
from tui_tuner.problem.model import Problem, Test
from tui_tuner.problem.signature import find_kernel
from tui_tuner.strategies.propose_problem import MOST_ELEMENTS

NOT_RUN = "not run before"
AS_HOST = replace(NO_AMENDMENTS, as_host=True)
_MOST_TRIALS = 14


class Amending:
    """One kernel's draft, run and amended until it holds.

    Args:
        facts: what a model proposes, for its draft; its tests are run, and those kept that hold.

    Attributes:
        standing: how well the draft holds, once one does.
    """

    def __init__(self, file: Path, first: Written, trials: Trials, facts: ProposedFacts | None = None) -> None:
        self._file = file
        self._first = first
        self._kernel = first.problem.kernel.name.partition("<")[0]
        self._trials = trials
        self._made = NO_AMENDMENTS
        self._before: GivenFault | None = None
        self._proposed = facts
        self.standing = Standing(not_run=True)
        self._facts = None if facts is None else replace(facts, tests=())

    async def _draft(self, amendments: Amendments) -> Written:
        return await off_the_loop(draft_of, self._file, self._kernel, self._first.host, amendments, self._facts)

    async def _outcome(self, problem: Problem, tests: Sequence[Test]) -> TrialResult:
        """Of a trial; what touches more than its arrays is told with the array's name and the sizes."""
        trial = await self._trials.outcome(problem, tests)
        if trial.fault is None or not trial.fault.kind.is_outside:
            return trial
        sizes = assigned_words({**problem.sizes, **tests[0].sizes})
        named = f", which is '{trial.fault.argument}'" if trial.fault.argument else ""
        message = f"{trial.fault.message}{named}{f'; at {sizes}' if sizes else ''}"
        return replace(trial, fault=trial.fault.model_copy(update={"message": message}))

    @property
    def _line(self) -> int:
        """Where the kernel stands in its file."""
        problem = self._first.problem
        return find_kernel(problem.source_text, problem.language, self._kernel).line

    @property
    def _init(self) -> str:
        return init_command(self._file, self._kernel, self._first.host)

    @property
    def _is_launched(self) -> bool:
        return "# as the host launches it" in self._first.text

    async def held(self) -> Written:
        """The draft that holds, with sizes that suit the session's GPU, if it has one.

        Raises:
            ProblemError: none does.
        """
        first = self._first if self._facts is None else await self._draft(NO_AMENDMENTS)
        held = await self._held_or_as_host(first)
        made = self._made

        async def doubled(by: int) -> Problem:
            return (await self._draft(replace(made, doublings=by))).problem

        number, took_ms = await self._trials.doublings(held.problem, doubled)
        if number == 0:
            return held
        said = f"sizes {'doubled' if number > 0 else 'halved'} until a launch took {time_words(took_ms)}"
        return replace(await self._draft(replace(made, doublings=number)), doubts=(*held.doubts, said))

    async def _held_or_as_host(self, first: Written) -> Written:
        """The draft that holds; at the host's own sizes where it does not at larger ones than a toy's."""
        try:
            return await self._held(first)
        except ProblemError:
            toy = await self._draft(AS_HOST)
            if toy.text == first.text:
                raise
            self._made, self._before = AS_HOST, None
            return await self._held(toy)

    async def _held(self, written: Written) -> Written:
        for _ in range(_MOST_TRIALS):
            problem = written.problem.on_emulator()
            trial = await self._outcome(problem, [Test(sizes={})])
            if trial.fault is None and trial.seconds > self._trials.long_s and self._made.halvings < MOST_HALVINGS:
                shorter = replace(self._made, halvings=self._made.halvings + 1)
                smaller = await self._draft(shorter)
                if smaller.problem.on_emulator().sizes != problem.sizes:
                    self._made, written = shorter, smaller
                    continue
                if (stated := await self._with_stated_sizes(problem)) is not None:
                    written = stated
                    continue
            if trial.fault is None and trial.no_numbers:
                written, trial = await self._with_numbers(written, trial)
            if trial.fault is None and not problem.sizes:
                self.standing = standing_of(trial, "same")
                return replace(written, doubts=self._said(problem, "at its only size", trial))
            if trial.fault is None:
                return await self._at_other_sizes(written, trial.no_numbers)
            if not trial.is_built:
                return self._unbuilt(written, trial.fault.message)
            amended = amended_for(self._made, trial.fault, problem)
            is_late = trial.fault.kind is GivenFaultKind.LATE
            if is_late and (stated := await self._with_stated_sizes(problem)) is not None:
                written = stated
                continue
            if amended is None and is_late:
                return replace(written, doubts=(self._late(trial.fault),))
            if amended is None:
                raise self._refused(trial.fault)
            self._before = trial.fault if trial.fault.kind is GivenFaultKind.BEFORE else self._before
            self._made = amended
            written = await self._draft(amended)
        if trial.fault is None:  # it holds, only slowly
            return await self._at_other_sizes(written, trial.no_numbers)
        raise self._refused(trial.fault)

    async def _with_numbers(self, written: Written, trial: TrialResult) -> tuple[Written, TrialResult]:
        """The draft without negative inputs, or at whole blocks, and its trial, where more outputs are numbers then."""
        for other in (replace(self._made, positive=True), replace(self._made, whole=True)):
            changed = await self._draft(other)
            if changed.text == written.text:
                continue
            again = await self._outcome(changed.problem.on_emulator(), [Test(sizes={})])
            if again.fault is None and again.no_numbers < trial.no_numbers:
                self._made = other
                return changed, again
        return written, trial

    async def _with_stated_sizes(self, problem: Problem) -> Written | None:
        """The draft with the numbers that the source states made smaller too; None where that changes nothing."""
        if self._made.stated_too:
            return None
        stated = replace(self._made, stated_too=True, halvings=0)
        smaller = await self._draft(stated)
        if smaller.problem.on_emulator().kernel == problem.kernel:
            return None
        self._made = stated
        return smaller

    async def _at_other_sizes(self, written: Written, no_numbers: frozenset[str]) -> Written:
        """The draft at a second size that the kernel can do; the least demanding is the same size again.

        Args:
            no_numbers: outputs with elements that are no number at the first size already.
        """
        ways: tuple[Tested, ...] = ("all", "apart", "", "half", "same")
        faults: list[GivenFault] = []
        for way, simpler in zip(ways, (*ways[1:], ""), strict=True):
            self._made = replace(self._made, tested=way)
            trial_of = await self._draft(self._made)
            if way in APART and trial_of.text == (await self._draft(replace(self._made, tested=simpler))).text:
                continue
            problem = trial_of.problem.on_emulator()
            trial = await self._outcome(problem, [*problem.tests, *problem.tests])  # a guard behind arrays, and before
            if trial.fault is None and way != "same" and (lost := sorted(trial.no_numbers - no_numbers)):
                where = assigned_words(problem.tests[0].sizes)
                message = f"at {where} elements of '{lost[0]}' are no number"
                trial = replace(trial, fault=GivenFault(message=message))
            if trial.fault is None and trial.hardly_changed and self._before is not None:
                raise self._refused(self._before)  # what is larger now is of no use, and nearly nothing was computed
            if trial.fault is None and trial.hardly_changed and trial.no_numbers and not self._is_launched:
                name, (changed, of) = next(iter(trial.hardly_changed.items()))
                message = f"a launch changes {changed} of {of} elements of '{name}'"
                raise self._refused(GivenFault(message=message))
            if trial.fault is None:
                self.standing = standing_of(trial, way)
                where = f"at {assigned_words(problem.sizes)} and {assigned_words(problem.tests[0].sizes)}"
                doubts = self._said(problem, where, trial)
                if faults:
                    holds = "at these sizes and at half of them" if way == "half" else "at these sizes alone"
                    doubts += (f"it holds {holds}; at others: {faults[0].message}",)
                return await self._with_tests(replace(trial_of, doubts=doubts))
            if trial.fault.kind is GivenFaultKind.RACY and not self._made.positive:
                faults = [trial.fault]
                break
            if way not in APART:
                faults.append(trial.fault)
        fault = faults[0]
        if fault.kind is GivenFaultKind.LATE:
            return replace(trial_of, doubts=(self._late(fault),))
        amended = amended_for(self._made, fault, problem)
        is_of_numbers = fault.kind is GivenFaultKind.NOT_FINITE
        if amended is None or not (is_of_numbers or amended.positive is not self._made.positive):
            raise self._refused(faults[-1])
        self._made = replace(amended, tested="")  # the first inputs had no negative number where it matters, by chance
        return await self._held(await self._draft(self._made))

    async def _with_tests(self, held: Written) -> Written:
        """The draft with those of the model's tests at which the kernel as given holds too."""
        if self._facts is None or self._proposed is None or not self._proposed.tests:
            return held
        kept: list[Mapping[str, int]] = []
        lost: list[str] = []
        problem = held.problem.on_emulator()
        for sizes in self._proposed.tests:
            reason = await self._why_no_test(problem, sizes)
            if reason is None:
                kept.append(sizes)
            else:
                lost.append(f"the model's test at {assigned_words(sizes)} is left out: {reason}")
        self._facts = replace(self._facts, tests=kept)
        return replace(await self._draft(self._made), doubts=(*held.doubts, *lost))

    async def _why_no_test(self, problem: Problem, sizes: Mapping[str, int]) -> str | None:
        test = Test(sizes={name: size for name, size in sizes.items() if name in problem.sizes})
        if array_bytes(problem, test.sizes) > 8 * MOST_ELEMENTS:
            return "its arrays are too large for the emulator"
        fault = (await self._outcome(problem, [test])).fault
        return None if fault is None else fault.message

    def _late(self, fault: GivenFault) -> str:
        return f"{NOT_RUN}: {self._trials.where} takes too long ({fault.message})"

    def _said(self, problem: Problem, where: str, trial: TrialResult) -> tuple[str, ...]:
        """What a trial that held lets the user know."""
        notices_reads = problem.language != "opencl"
        enough = "every array is large enough" if notices_reads else "it writes inside its arrays alone"
        if all(one.compare for one in problem.arguments if one.output):
            checked = "what parts come to is what is compared"
        else:
            checked = "what is written is what is compared" if self._made.filled else "every output is written"
        said = f"run on {self._trials.where} as given {where}: {enough}, {checked}"
        empty = unfilled(problem)
        more = [f"constant memory that the host fills is all zeros here: {', '.join(empty)}"] if empty else []
        if self._made.filled:
            more.append(f"written in part, the rest keeps what it held: {', '.join(sorted(self._made.filled))}")
        if self._first.host is not None and not self._is_launched:
            more.append(
                f"{self._first.host.name} launches it nowhere that could be read, so what the host has is guessed"
            )
        if self._made.one_value:
            names = ", ".join(sorted(self._made.one_value))
            more.append(f"with these inputs it holds one value, and what else it could is not checked: {names}")
        if aside := ", ".join(sorted(self._made.unwritten & assigned(problem))):
            more.append(f"with these inputs nothing is written there, so it is to stay as it was, no output: {aside}")
        if self._made.whole:
            more.append("sizes are whole multiples of any block: with others it makes what is no number")
        if trial.no_numbers:
            names = ", ".join(sorted(trial.no_numbers))
            more.append(
                f"elements of {names} are no number, as of negative roots, or of shared memory that nobody wrote"
            )
        for name, (changed, of) in trial.hardly_changed.items():
            more.append(f"a launch changes {changed} of {of} elements of {name}: see that threads and scalars suit it")
        return (said, *more)

    def _unbuilt(self, written: Written, reason: str) -> Written:
        """The draft as it is, where the compiler is at fault; of a kernel that lacks headers nothing is to be had.

        Raises:
            ProblemError: what the kernel needs is not there, as `Unbuildable` where nobody can state it.
        """
        line = with_name_of(self._file, next(iter(reason.splitlines()), "no reason"))
        lacking = Lacking(self._file, self._line, self._kernel, self._init, self._trials.where)
        lacking.refuse(written, self._first.host, reason)
        return replace(written, doubts=(f"{NOT_RUN}: {self._trials.where} cannot build it ({line})",))

    def _refused(self, fault: GivenFault) -> ProblemError:
        hint = f"write the draft with: {self._init}, correct it, and start again: "
        hint += needed(fault, self._first.problem)
        hint += guessed_scalars(self._first.text)
        message = f"the problem drafted for {self._kernel}() does not hold: {fault.message}"
        empty = unfilled(self._first.problem)
        if empty:
            message += f"; the host fills constant memory, which is all zeros here: {', '.join(empty)}"
            hint = f"give {empty[0]} its values where it is declared, or make it an argument of the kernel"
        return ProblemError(message, hint=hint, file=self._file, line=self._line)
