"""What a Tensile session looks like now: its runs, the best solutions, and the configuration in force."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tui_tuner.session.events import ApprovalAsked, ApprovalGiven, CandidateProposed, Event, SessionStarted
from tui_tuner.subjects import Source
from tui_tuner.tensile.events import BenchmarkFinished, BenchmarkOutput, BenchmarkStarted, WinnersChanged
from tui_tuner.tensile.outcome import FINALS, RoundOutcome, SizeKey, SizeOutcome, Winner, mean_gain, mean_speed


@dataclass(frozen=True)
class BenchmarkRun:
    """One run of Tensile; `outcome` is None while it lasts."""

    round: int
    candidate: str
    permutations: int
    sizes: int
    outcome: RoundOutcome | None = None


@dataclass
class TensileViewModel:
    """The part of a session's view model that only a Tensile session has.

    Attributes:
        runs: by round.
        outcomes: the last successful measurement of every problem size, with its round; not of the finalists.
        winners: the best solution so far at every problem size.
        means: geometric mean of the winners' GFLOP/s, by the round after which it was that.
        in_force: the run whose configuration the next edits start from: the last that gave results.
        line: the last line that Tensile printed in the present run.
    """

    runs: dict[int, BenchmarkRun] = field(default_factory=dict)
    outcomes: dict[SizeKey, tuple[int, SizeOutcome]] = field(default_factory=dict)
    winners: dict[SizeKey, Winner] = field(default_factory=dict)
    means: dict[int, float] = field(default_factory=dict)
    in_force: BenchmarkRun | None = None
    line: str = ""
    _candidates: dict[str, Source] = field(default_factory=dict)
    _asked: Source | None = None

    @property
    def best(self) -> Source | None:
        """The configuration in force; None before the first results."""
        return None if self.in_force is None else self._candidates.get(self.in_force.candidate)

    @property
    def last(self) -> BenchmarkRun | None:
        """The latest run."""
        return next(reversed(self.runs.values()), None)

    @property
    def ended(self) -> list[RoundOutcome]:
        """What the runs said that are over."""
        return [run.outcome for run in self.runs.values() if run.outcome is not None]

    @property
    def seconds(self) -> float:
        """That all runs together took."""
        return sum(outcome.seconds for outcome in self.ended)

    @property
    def permutations(self) -> int:
        """Of all runs together that are over, as the budget counts them."""
        return sum(run.permutations for run in self.runs.values() if run.outcome is not None)

    @property
    def gain(self) -> float | None:
        """Geometric mean of the gains over the first run's winners; None before a second run gave results."""
        if len(self.means) < 2:
            return None
        return mean_gain(self.winners.values())

    def apply(self, event: Event) -> None:
        """Fold one event in; those of other sessions change nothing that is shown."""
        match event:
            case SessionStarted(baseline=candidate) | CandidateProposed(candidate=candidate):
                self._candidates[candidate.id] = candidate
            case ApprovalAsked(proposal=proposal):
                self._asked = proposal.candidate
            case ApprovalGiven(decision=decision) if self._asked is not None:
                taken = decision.applied_to(self._asked)
                self._candidates[taken.id] = taken
            case BenchmarkStarted():
                run = BenchmarkRun(event.round, event.candidate, event.permutations, event.sizes)
                self.runs[event.round], self.line = run, ""
            case BenchmarkOutput():
                self.line = event.text.strip() or self.line
            case BenchmarkFinished():
                self._end(event)
            case WinnersChanged():
                self._take(event)

    def _end(self, event: BenchmarkFinished) -> None:
        outcome = event.outcome
        begun = self.runs.get(event.round)
        if begun is None:
            begun = BenchmarkRun(event.round, event.candidate, outcome.permutations, len(outcome.sizes))
        self.runs[event.round] = replace(begun, outcome=outcome)
        if outcome.failure is None and event.round < FINALS:
            self.in_force = self.runs[event.round]
            for size in outcome.sizes:
                self.outcomes[size.place] = (event.round, size)

    def _take(self, event: WinnersChanged) -> None:
        self.winners = {winner.place: winner for winner in event.winners}
        mean = mean_speed(event.winners)
        if mean is not None:
            self.means[event.round] = mean
