"""What others can use of a run: its journal, told again as one object, from which every file of this room is made."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tui_tuner.app.sessions import replayed_session
from tui_tuner.errors import JournalError
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.headless import ApproveAll
from tui_tuner.journal.reading import header_of
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.model import Problem
from tui_tuner.report import FILE, SessionOutcome
from tui_tuner.session import events
from tui_tuner.session.run_directory import RunDirectory
from tui_tuner.subjects import KERNEL, subject_of


@dataclass(frozen=True)
class ToldRun:
    """A run of a kernel as its events tell it.

    Attributes:
        told: all events, in their order.
        outcome: what `result.json` says: the best, also that of a session that did not come to its end.
    """

    run: RunDirectory
    outcome: SessionOutcome
    told: list[events.Event] = field(repr=False)

    @property
    def device(self) -> DeviceInfo:
        """The device with its ceilings."""
        return self.outcome.device

    @cached_property
    def problem(self) -> Problem:
        """At the sizes that this device was tuned for."""
        return kind_named(self.device.kind).sized(self.run.problem)

    @cached_property
    def candidates(self) -> dict[str, Candidate]:
        """The kernel as given and all that were proposed or became the best, by their ids."""
        known = [baseline(self.problem)]
        for event in self.told:
            match event:
                case events.CandidateProposed(candidate=Candidate() as candidate):
                    known.append(candidate)
                case events.IncumbentChanged():
                    known.append(event.candidate)
        return {candidate.id: candidate for candidate in known}

    @property
    def best(self) -> Candidate:
        """The kernel that the best configuration is of.

        Raises:
            JournalError: the journal does not tell it.
        """
        found = self.candidates.get(self.outcome.best.candidate)
        if found is None:
            raise JournalError("its best kernel is not on record", hint="resume the run", file=self.run.path)
        return found

    @cached_property
    def evaluations(self) -> list[tuple[float, Evaluation]]:
        """Seconds and what was measured or failed then, the kernel as given first."""
        given = [(e.elapsed, e.given) for e in self.told if isinstance(e, events.BaselineMeasured) and e.tuned is None]
        found = [(e.elapsed, e.evaluation) for e in self.told if isinstance(e, events.EvaluationFinished)]
        return [*given, *found]

    def evaluations_of(self, candidate: Candidate) -> list[Evaluation]:
        """Those of one kernel, each configuration once, the last word on it."""
        found = (evaluation for _, evaluation in self.evaluations if evaluation.candidate == candidate.id)
        return [*{repr(sorted(e.configuration.items())): e for e in found}.values()]


async def told_run(path: Path) -> ToldRun:
    """Tell a run again from its journal; needs neither device nor model.

    Raises:
        UserError: it cannot be read, is not about a kernel, or found nothing yet.
    """
    if subject_of(header_of(path)) is not KERNEL:
        raise JournalError("this is no run of a kernel", hint="`tuner-tui replay` shows it", file=path)
    setup = replayed_session(path)
    outcome = outcome_of(setup.run.path)
    async with aclosing(setup.session.events(ApproveAll())) as stream:
        told = [event async for event in stream]
    return ToldRun(setup.run, outcome, told)


def outcome_of(run: Path) -> SessionOutcome:
    """What `result.json` of a run says.

    Raises:
        JournalError: there is none yet, or it is another version's.
    """
    file = run / FILE
    try:
        return SessionOutcome.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise JournalError("the run has found nothing yet", hint=f"tuner-tui resume {run}", file=run) from None
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise JournalError(
            f"cannot be read: {reason}", hint=f"write it anew: tuner-tui resume {run}", file=file
        ) from None
